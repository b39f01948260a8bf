/* What the server sends without being asked: changes of the maps subscribed to, kept until they are collected.
 *
 * Beyond TP_CLIENT_PUSHES_MAX of them a push is folded into the one that its map has last in the queue, so that a program that
 * never collects any keeps a bounded number and loses no news: only the list of the cells, which then says resync.
 */
#include "client/internal.h"

#include <stdlib.h>
#include <string.h>

struct tp__push {
    struct tp__push *next;
    Tickpath__Reply *reply;
};

/* Adds what `late` says to `early`, a push about the same map that comes before it. */
static void fold(Tickpath__MapChanged *early, const Tickpath__MapChanged *late)
{
    bool resync =
        early->resync || late->resync || early->n_cell > 0 || late->n_cell > 0 || early->epoch != late->epoch;
    early->n_cell = early->n_terrain = 0;
    early->epoch = late->epoch;
    early->version = late->version;
    early->dropped = late->dropped;
    early->resync = resync && !late->dropped;
}

static struct tp__push *last_of(struct tp_client *client, const char *map)
{
    struct tp__push *last = NULL;
    for (struct tp__push *push = client->push_first; push != NULL; push = push->next)
        if (strcmp(push->reply->map_changed->map, map) == 0)
            last = push;
    return last;
}

int tp__pushes_take(struct tp_client *client, Tickpath__Reply *reply)
{
    const Tickpath__MapChanged *changed = reply->map_changed;
    if (changed->map == NULL || changed->n_cell != changed->n_terrain) {
        tickpath__reply__free_unpacked(reply, NULL);
        return tp__break_with(client, TP_CLIENT_MALFORMED_FRAME,
                              "the server pushed a message that makes no sense");
    }
    if (client->failover != NULL)
        tp__book_push(client, changed);
    struct tp__push *early =
        client->push_count >= TP_CLIENT_PUSHES_MAX ? last_of(client, changed->map) : NULL;
    if (early != NULL) {
        fold(early->reply->map_changed, changed);
        tickpath__reply__free_unpacked(reply, NULL);
        return 0;
    }
    struct tp__push *push = calloc(1, sizeof *push);
    if (push == NULL) {
        tickpath__reply__free_unpacked(reply, NULL);
        return tp__break_with(client, TP_CLIENT_NO_MEMORY, "out of memory for a push");
    }
    push->reply = reply;
    if (client->push_last != NULL)
        client->push_last->next = push;
    else
        client->push_first = push;
    client->push_last = push;
    client->push_count++;
    return 0;
}

/* Takes the oldest out of the queue. */
static Tickpath__Reply *take_first(struct tp_client *client)
{
    struct tp__push *push = client->push_first;
    Tickpath__Reply *reply = push->reply;
    client->push_first = push->next;
    if (client->push_first == NULL)
        client->push_last = NULL;
    client->push_count--;
    free(push);
    return reply;
}

Tickpath__Reply *tp__pushes_first(struct tp_client *client)
{
    return client->push_first != NULL ? take_first(client) : NULL;
}

void tp__pushes_fini(struct tp_client *client)
{
    while (client->push_first != NULL)
        tickpath__reply__free_unpacked(take_first(client), NULL);
}

int tp_client_next_push(struct tp_client *client, struct tp_client_push *push, int timeout_ms)
{
    struct tp_client_push ignored;
    int64_t deadline_ms = tp__deadline(timeout_ms);
    tp__begin(client);
    while (client->push_first == NULL) {
        int result = tp__wait_some(client, &deadline_ms, "no push in time");
        if (client->push_first == NULL && result != 0)
            return result;
        memset(&client->error, 0, sizeof client->error);
    }
    client->held = take_first(client);
    const Tickpath__MapChanged *changed = client->held->map_changed;
    *(push != NULL ? push : &ignored) = (struct tp_client_push){
        .map = changed->map,
        .epoch = changed->epoch,
        .from_version = changed->from_version,
        .version = changed->version,
        .cells = changed->cell,
        .terrains = changed->terrain,
        .cell_count = changed->n_cell,
        .resync = changed->resync,
        .dropped = changed->dropped,
    };
    return 0;
}
