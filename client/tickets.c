/* Opening and closing a connection, and the requests outstanding on it.
 *
 * Ids are consecutive, replies come in the order sent, so the requests outstanding are a ring and the next
 * reply belongs to ticket number `answered`. A ticket's way:
 *
 *     WAITING --reply--> ANSWERED --collect, drop--> DONE
 *        \--drop--> DROPPED --reply--> DONE
 *
 * DONE tickets at the ring's front are forgotten.
 */
#include "client/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tp__ticket *ring_at(struct tp_client *client, size_t index)
{
    return &client->ring[(client->ring_start + index) & (client->ring_room - 1)];
}

static struct tp__ticket *find(struct tp_client *client, uint64_t ticket)
{
    if (ticket < client->first_id || ticket - client->first_id >= client->ring_count)
        return NULL;
    return ring_at(client, (size_t)(ticket - client->first_id));
}

static void release_held(struct tp_client *client)
{
    if (client->held != NULL)
        tickpath__reply__free_unpacked(client->held, NULL);
    client->held = NULL;
    for (size_t i = 0; i < sizeof client->shown / sizeof client->shown[0]; i++) {
        free(client->shown[i]);
        client->shown[i] = NULL;
    }
}

static void forget_done(struct tp_client *client)
{
    while (client->ring_count > 0 && ring_at(client, 0)->state == TICKET_DONE) {
        client->ring_start = (client->ring_start + 1) & (client->ring_room - 1);
        client->ring_count--;
        client->answered--;
        client->first_id++;
    }
}

/* Makes room for one more ticket. false: out of memory. */
static bool ring_grow(struct tp_client *client)
{
    if (client->ring_count < client->ring_room)
        return true;
    size_t room = client->ring_room == 0 ? 16 : client->ring_room * 2;
    struct tp__ticket *ring = calloc(room, sizeof *ring);
    if (ring == NULL)
        return false;
    for (size_t i = 0; i < client->ring_count; i++)
        ring[i] = *ring_at(client, i);
    free(client->ring);
    client->ring = ring;
    client->ring_start = 0;
    client->ring_room = room;
    return true;
}

void tp__begin(struct tp_client *client)
{
    release_held(client);
    memset(&client->error, 0, sizeof client->error);
}

/* Tickets lost with their connection get no reply: the next one is for another. */
static void skip_lost(struct tp_client *client)
{
    while (client->answered < client->ring_count && ring_at(client, client->answered)->state == TICKET_DONE)
        client->answered++;
    forget_done(client);
}

/* With failover: puts the request by, to be sent again. Uploads are not: who makes one sends it again whole. */
static bool put_by(struct tp__ticket *ticket, const Tickpath__Request *request)
{
    if (request->body_case == TICKPATH__REQUEST__BODY_PUT_MAP || request->body_case == TICKPATH__REQUEST__BODY_PUT_GRAPH)
        return true;
    ticket->copy_size = tickpath__request__get_packed_size(request);
    ticket->copy = malloc(ticket->copy_size + 1);
    if (ticket->copy == NULL)
        return false;
    tickpath__request__pack(request, ticket->copy);
    return true;
}

/* Appends the request that was put by under an id, with the daemon's names of sessions. */
static int append_copy(struct tp_client *client, const struct tp__ticket *ticket, uint64_t id, int64_t deadline_ms)
{
    Tickpath__Request *request = tickpath__request__unpack(NULL, ticket->copy_size, ticket->copy);
    if (request == NULL)
        return tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a request");
    request->id = id;
    tp__book_translate(&client->failover->book, request);
    int result = tp__stream_append(client, request, deadline_ms);
    tickpath__request__free_unpacked(request, NULL);
    return result;
}

/* The request is in the output. */
static void note_sent(struct tp_client *client, struct tp__ticket ticket)
{
    if (!tp__tickets_wait_for_some(client))
        client->heard_ms = tp__deadline(0); /* from now on it owes an answer */
    *ring_at(client, client->ring_count++) = ticket;
    client->outstanding += ticket.state == TICKET_WAITING;
    tp__stream_flush(client);
}

/* The id of the next ticket. */
static uint64_t next_id(const struct tp_client *client)
{
    return client->first_id + client->ring_count;
}

static int append(struct tp_client *client, const struct tp__ticket *ticket, Tickpath__Request *request, int64_t deadline_ms)
{
    if (ticket->copy != NULL)
        return append_copy(client, ticket, next_id(client), deadline_ms);
    request->id = next_id(client);
    return tp__stream_append(client, request, deadline_ms);
}

/* Sends with failover: all the sessions stand when the request goes out. */
static int send_safely(struct tp_client *client, Tickpath__Request *request, int64_t deadline_ms)
{
    struct tp__ticket ticket = {.state = TICKET_WAITING, .request = request->body_case};
    if (!put_by(&ticket, request))
        return tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a request");
    int result;
    do {
        result = client->broken.code != 0 ? tp__recover(client, &deadline_ms) : 0;
        if (result == 0 && client->failover->book.any_stale)
            result = tp__reopen_stale(client, &deadline_ms);
        if (result == 0 && client->broken.code == 0)
            result = ring_grow(client) ? append(client, &ticket, request, deadline_ms)
                                       : tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a ticket");
    } while (client->broken.code != 0 && !client->failover->over);
    if (client->broken.code != 0)
        result = tp__break(client, &client->broken);
    if (result != 0) {
        free(ticket.copy);
        return result;
    }
    note_sent(client, ticket);
    return 0;
}

int tp__tickets_send_own(struct tp_client *client, Tickpath__Request__BodyCase kind, void *message, uint64_t reopens,
                         int64_t deadline_ms)
{
    if (!ring_grow(client))
        return tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a ticket");
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = 1;
    request.id = next_id(client);
    request.body_case = kind;
    request.hello = message;
    int result = tp__stream_append(client, &request, deadline_ms);
    if (result == 0)
        note_sent(client, (struct tp__ticket){.state = TICKET_DROPPED, .request = kind, .reopens = reopens});
    return result;
}

int tp__tickets_resend(struct tp_client *client, int64_t deadline_ms)
{
    for (size_t i = client->answered; i < client->ring_count; i++) {
        struct tp__ticket *ticket = ring_at(client, i);
        if (ticket->state == TICKET_DONE || ticket->copy != NULL)
            continue;
        client->outstanding -= ticket->state == TICKET_WAITING;
        ticket->state = TICKET_DONE;
    }
    skip_lost(client);
    client->heard_ms = tp__deadline(0);
    uint64_t last = next_id(client);
    for (uint64_t id = client->first_id + client->answered; id < last; id++) { /* answers may come meanwhile: the ring moves on */
        struct tp__ticket *ticket = ring_at(client, (size_t)(id - client->first_id));
        if (ticket->state == TICKET_DONE)
            continue;
        int result = append_copy(client, ticket, id, deadline_ms);
        if (result != 0)
            return result;
        ticket->resent = true;
    }
    tp__stream_flush(client);
    return 0;
}

int tp__tickets_send(struct tp_client *client, Tickpath__Request__BodyCase kind, void *message,
                     uint64_t *ticket, int64_t deadline_ms)
{
    if (client->broken.code != 0 && client->failover == NULL)
        return tp__break(client, &client->broken);
    if (client->ring_count >= TP_CLIENT_OUTSTANDING_MAX)
        return tp__fail(client, TP_CLIENT_RESOURCE_EXHAUSTED, "%d replies are not collected",
                        TP_CLIENT_OUTSTANDING_MAX);
    if (!ring_grow(client))
        return tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a ticket");
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = 1;
    request.id = next_id(client);
    request.body_case = kind;
    request.hello = message; /* the members of the union are pointers to messages, all alike */
    int result;
    if (client->failover != NULL) {
        result = send_safely(client, &request, deadline_ms);
    } else {
        result = tp__stream_append(client, &request, deadline_ms);
        if (result == 0)
            note_sent(client, (struct tp__ticket){.state = TICKET_WAITING, .request = kind});
    }
    if (result == 0)
        *ticket = next_id(client) - 1;
    return result;
}

static bool fits(Tickpath__Request__BodyCase request, Tickpath__Reply__BodyCase reply)
{
    switch (request) {
    case TICKPATH__REQUEST__BODY_HELLO:
        return reply == TICKPATH__REPLY__BODY_WELCOME;
    case TICKPATH__REQUEST__BODY_PING:
        return reply == TICKPATH__REPLY__BODY_PONG;
    case TICKPATH__REQUEST__BODY_PUT_MAP:
    case TICKPATH__REQUEST__BODY_PUT_GRAPH:
        return reply == TICKPATH__REPLY__BODY_MAP_CHUNK || reply == TICKPATH__REPLY__BODY_MAP_INFO;
    case TICKPATH__REQUEST__BODY_OPEN_MAP:
        return reply == TICKPATH__REPLY__BODY_MAP_INFO;
    case TICKPATH__REQUEST__BODY_DROP_MAP:
        return reply == TICKPATH__REPLY__BODY_MAP_DROPPED;
    case TICKPATH__REQUEST__BODY_PUT_PROFILE:
        return reply == TICKPATH__REPLY__BODY_PROFILE_PUT;
    case TICKPATH__REQUEST__BODY_CHANGE_COSTS:
        return reply == TICKPATH__REPLY__BODY_CHANGED;
    case TICKPATH__REQUEST__BODY_SUBSCRIBE:
        return reply == TICKPATH__REPLY__BODY_SUBSCRIBED;
    case TICKPATH__REQUEST__BODY_OPEN_SESSION:
        return reply == TICKPATH__REPLY__BODY_SESSION_OPENED;
    case TICKPATH__REQUEST__BODY_SET_GOAL:
        return reply == TICKPATH__REPLY__BODY_GOAL_SET;
    case TICKPATH__REQUEST__BODY_TICK:
        return reply == TICKPATH__REPLY__BODY_TICKED;
    case TICKPATH__REQUEST__BODY_CLOSE_SESSION:
        return reply == TICKPATH__REPLY__BODY_SESSIONS_CLOSED;
    case TICKPATH__REQUEST__BODY_DUMP_SESSION:
        return reply == TICKPATH__REPLY__BODY_SESSION_DUMP;
    case TICKPATH__REQUEST__BODY_LIST:
        return reply == TICKPATH__REPLY__BODY_LISTING;
    default:
        return false;
    }
}

int tp__tickets_take(struct tp_client *client, const uint8_t *message, size_t size)
{
    Tickpath__Reply *reply = tickpath__reply__unpack(NULL, size, message);
    if (reply == NULL)
        return tp__break_with(client, TP_CLIENT_MALFORMED_FRAME, "the server sent a frame that is no reply");
    int result = 0;
    bool is_error = reply->body_case == TICKPATH__REPLY__BODY_ERROR;
    if (is_error && (!reply->has_id || reply->id == 0)) { /* about the connection: its last word */
        struct tp_client_error why;
        tp__error_take(&why, reply->error);
        result = tp__break(client, &why);
    } else if (reply->body_case == TICKPATH__REPLY__BODY_MAP_CHANGED && (!reply->has_id || reply->id == 0)) {
        return tp__pushes_take(client, reply);
    } else if (client->answered >= client->ring_count || !reply->has_id ||
               reply->id != client->first_id + client->answered) {
        result = tp__break_with(client, TP_CLIENT_MALFORMED_FRAME,
                                "the server sent a reply that nobody asked for");
    } else {
        struct tp__ticket *ticket = ring_at(client, client->answered);
        if (!is_error && !fits(ticket->request, reply->body_case)) {
            result = tp__break_with(client, TP_CLIENT_MALFORMED_FRAME,
                                    "the server sent a reply of the wrong kind");
        } else {
            if (client->failover != NULL) {
                result = tp__book_answer(client, ticket, reply);
                if (result != 0) {
                    tickpath__reply__free_unpacked(reply, NULL);
                    return result;
                }
                free(ticket->copy);
                ticket->copy = NULL;
            }
            client->answered++;
            bool wanted = ticket->state == TICKET_WAITING;
            ticket->state = wanted ? TICKET_ANSWERED : TICKET_DONE;
            ticket->reply = wanted ? reply : NULL;
            skip_lost(client);
            if (wanted)
                return 0;
        }
    }
    tickpath__reply__free_unpacked(reply, NULL);
    return result;
}

int tp__wait_some(struct tp_client *client, int64_t *deadline_ms, const char *late)
{
    if (client->broken.code != 0)
        return tp__recover(client, deadline_ms);
    int64_t stalled_ms = tp__stalled_at(client);
    int result = tp__stream_pump(client, stalled_ms < *deadline_ms ? stalled_ms : *deadline_ms);
    if (client->broken.code != 0)
        return client->failover != NULL ? 0 : result; /* what came before may be what is waited for */
    if (tp__expired(tp__stalled_at(client))) {
        tp__break_stalled(client);
        return 0;
    }
    if (result == 0 && tp__expired(*deadline_ms))
        result = tp__fail(client, TP_CLIENT_TIMEOUT, "%s", late);
    return result;
}

int tp__tickets_settle(struct tp_client *client, int64_t *deadline_ms)
{
    uint64_t last = next_id(client), connections = client->connections;
    while (client->connections == connections && client->first_id + client->answered < last) {
        int result = tp__wait_some(client, deadline_ms, "no answer in time");
        if (result != 0)
            return result;
    }
    return 0;
}

int tp__tickets_wait(struct tp_client *client, uint64_t id, int64_t deadline_ms)
{
    struct tp__ticket *ticket = find(client, id);
    if (ticket == NULL || ticket->state == TICKET_DROPPED || ticket->state == TICKET_DONE)
        return tp__fail(client, TP_CLIENT_NOT_FOUND, "no request of that ticket is outstanding");
    while (ticket->state == TICKET_WAITING) {
        int result = tp__wait_some(client, &deadline_ms, "no answer in time");
        if (ticket->state == TICKET_WAITING && result != 0)
            return result;
        memset(&client->error, 0, sizeof client->error);
    }
    if (ticket->state == TICKET_DONE)
        return tp__fail(client, TP_CLIENT_CLOSED, "a part of an upload was lost with its connection");
    client->held = ticket->reply;
    ticket->reply = NULL;
    ticket->state = TICKET_DONE;
    client->outstanding--;
    forget_done(client);
    if (client->held->body_case == TICKPATH__REPLY__BODY_ERROR)
        return tp__error_take(&client->error, client->held->error);
    return 0;
}

void tp_client_drop(struct tp_client *client, uint64_t id)
{
    struct tp__ticket *ticket = find(client, id);
    if (ticket == NULL || ticket->state == TICKET_DROPPED || ticket->state == TICKET_DONE)
        return;
    client->outstanding--;
    if (ticket->state == TICKET_WAITING) {
        ticket->state = TICKET_DROPPED;
        return;
    }
    tickpath__reply__free_unpacked(ticket->reply, NULL);
    ticket->reply = NULL;
    ticket->state = TICKET_DONE;
    forget_done(client);
}

void tp__tickets_fini(struct tp_client *client)
{
    release_held(client);
    for (size_t i = 0; i < client->ring_count; i++) {
        struct tp__ticket *ticket = ring_at(client, i);
        if (ticket->reply != NULL)
            tickpath__reply__free_unpacked(ticket->reply, NULL);
        free(ticket->copy);
    }
    free(client->ring);
}

/* ---- opening and closing ---- */

static int take_welcome(struct tp_client *client, const Tickpath__Welcome *welcome)
{
    size_t frame_max = FRAME_BYTES_DEFAULT;
    if (welcome->has_frame_bytes_max) {
        if (welcome->frame_bytes_max < FRAME_BYTES_LEAST)
            return tp__break_with(client, TP_CLIENT_MALFORMED_FRAME,
                                  "the welcome's frame_bytes_max makes no sense");
        frame_max = welcome->frame_bytes_max > FRAME_BYTES_TRUSTED ? FRAME_BYTES_TRUSTED
                                                                   : (size_t)welcome->frame_bytes_max;
    }
    client->frame_out_max = client->frame_in_max = frame_max;
    snprintf(client->server_version, sizeof client->server_version, "%s",
             welcome->server_version != NULL ? welcome->server_version : "");
    snprintf(client->server_degraded, sizeof client->server_degraded, "%s",
             welcome->degraded != NULL ? welcome->degraded : "");
    client->server = (struct tp_client_server){
        .protocol = welcome->protocol,
        .version = client->server_version,
        .frame_bytes_max = frame_max,
        .map_cells_max = welcome->map_cells_max,
        .sessions_max = welcome->sessions_max,
        .batch_changes_max = welcome->batch_changes_max,
        .path_cells_max = welcome->path_cells_max,
        .volatile_store = welcome->volatile_store,
        .degraded = client->server_degraded,
        .graph_nodes_max = welcome->graph_nodes_max,
        .graph_edges_max = welcome->graph_edges_max,
    };
    return 0;
}

static int say_hello(struct tp_client *client, const char *name, int64_t deadline_ms)
{
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    char copy[129];
    snprintf(copy, sizeof copy, "%s", name != NULL ? name : "libtickpath-client");
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = hello.protocol_max = 1;
    hello.client = copy;
    uint64_t ticket = 0;
    int result = tp__tickets_send(client, TICKPATH__REQUEST__BODY_HELLO, &hello, &ticket, deadline_ms);
    if (result == 0)
        result = tp__tickets_wait(client, ticket, deadline_ms);
    if (result == TP_CLIENT_TIMEOUT && !client->error.from_server)
        return tp__fail(client, result, "the time is over" WITHOUT_WELCOME);
    if (result == 0)
        result = take_welcome(client, client->held->welcome);
    return result;
}

int tp_client_open(struct tp_client **out, const char *host, uint16_t port, const char *name, int timeout_ms,
                   struct tp_client_error *error)
{
    struct tp_client_error ignored;
    if (error == NULL)
        error = &ignored;
    memset(error, 0, sizeof *error);
    if (out == NULL)
        return tp__error_argument(error, "", "no room for the connection");
    *out = NULL;
    if (host == NULL || host[0] == '\0' || port == 0)
        return tp__error_set(error, TP_CLIENT_INVALID_ARGUMENT, "no host, or port 0");
    struct tp_client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return tp__error_set(error, TP_CLIENT_NO_MEMORY, "out of memory");
    client->fd = -1;
    client->first_id = 1;
    client->frame_out_max = client->frame_in_max = FRAME_BYTES_DEFAULT;
    int64_t deadline_ms = tp__deadline(timeout_ms);
    int result = tp__stream_connect(client, host, port, deadline_ms);
    if (result == 0)
        result = say_hello(client, name, deadline_ms);
    if (result != 0) {
        *error = client->error;
        tp_client_close(client);
        return result;
    }
    *out = client;
    return 0;
}

void tp_client_close(struct tp_client *client)
{
    if (client == NULL)
        return;
    tp__tickets_fini(client);
    tp__pushes_fini(client);
    tp__stream_close(client);
    tp__failover_fini(client);
    free(client);
}

const struct tp_client_error *tp_client_error(const struct tp_client *client)
{
    return &client->error;
}

const struct tp_client_server *tp_client_server(const struct tp_client *client)
{
    return &client->server;
}

int tp_client_socket(const struct tp_client *client)
{
    return client->fd;
}

size_t tp_client_outstanding(const struct tp_client *client)
{
    return client->outstanding;
}
