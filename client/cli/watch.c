/* `tickpath watch`: the changes of a daemon's map, one JSON line each, as the daemon pushes them. */
#include "client/cli/commands.h"
#include "client/cli/remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { PING_MS = 60000 }; /* a daemon ends a connection that says nothing for long */

struct watch_options {
    const char *map;
    struct tp_cli_host_port via;
    bool cells;
    uint64_t count, seconds; /* 0: without end */
};

#define AT(field) offsetof(struct watch_options, field)

static const struct tp_cli_option watch_options[] = {
    {"map", TP_CLI_STRING, AT(map), "NAME", "the map's name on the daemon", 0, 0, NULL, true},
    {"via", TP_CLI_HOST_PORT, AT(via), "HOST:PORT", "the daemon", 0, 0, NULL, true},
    {"cells", TP_CLI_FLAG, AT(cells), NULL, "list the cells that changed, with their classes", 0, 0, NULL,
     false},
    {"count", TP_CLI_UINT, AT(count), "N", "end after so many changes (0: no end)", 0, UINT32_MAX, NULL,
     false},
    {"seconds", TP_CLI_UINT, AT(seconds), "N", "end after so many seconds (0: no end)", 0, 100000000, NULL,
     false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "watch",
    .summary = "Prints the changes of a map on a daemon as they come, one JSON line each.",
    .notes = "One line may stand for several versions. \"resync\" says that the cells are not listed (too "
             "many, or the\n"
             "map was replaced). It ends when the map is dropped.",
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void print_push(const struct tp_client_push *push, bool cells)
{
    printf("{\"epoch\": %" PRIu64 ", \"from_version\": %" PRIu64 ", \"version\": %" PRIu64, push->epoch,
           push->from_version, push->version);
    if (cells && !push->resync && !push->dropped) {
        printf(", \"cells\": [");
        for (size_t i = 0; i < push->cell_count; i++)
            printf("%s[%" PRIu32 ", %" PRIu32 "]", i > 0 ? ", " : "", push->cells[i], push->terrains[i]);
        printf("]");
    }
    printf("%s%s}\n", push->resync ? ", \"resync\": true" : "", push->dropped ? ", \"dropped\": true" : "");
}

/* Prints what comes until it is enough. */
static int watch(const struct watch_options *options, struct tp_client *client)
{
    int64_t until_ms = options->seconds == 0 ? INT64_MAX : now_ms() + (int64_t)options->seconds * 1000;
    for (uint64_t count = 0; options->count == 0 || count < options->count;) {
        int64_t left_ms = until_ms - now_ms();
        if (left_ms <= 0)
            return TP_CLI_OK;
        struct tp_client_push push;
        int error = tp_client_next_push(client, &push, left_ms < PING_MS ? (int)left_ms : PING_MS);
        if (error == TP_CLIENT_TIMEOUT && !tp_client_error(client)->from_server)
            error = tp_client_ping(client, NULL, 0, TP_CLI_CALL_MS);
        else if (error == 0) {
            print_push(&push, options->cells);
            fflush(stdout);
            count++;
            if (push.dropped)
                return TP_CLI_OK;
        }
        if (error != 0)
            return tp_cli_client_failed(&usage, "the changes end", tp_client_error(client));
    }
    return TP_CLI_OK;
}

int tp_cli_watch(int argc, char **argv)
{
    struct watch_options options = {.map = NULL};
    const struct tp_cli_group groups[] = {{watch_options, &options}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result != TP_CLI_GO_ON)
        return result;
    struct tp_client *client;
    result = tp_cli_remote_open(&usage, &options.via, &client);
    if (result != TP_CLI_OK)
        return result;
    struct tp_client_subscribed subscribed;
    if (tp_client_subscribe(client, options.map, options.cells, &subscribed, TP_CLI_CALL_MS) != 0) {
        result = tp_cli_client_failed(&usage, options.map, tp_client_error(client));
    } else {
        printf("{\"epoch\": %" PRIu64 ", \"version\": %" PRIu64 "}\n", subscribed.epoch, subscribed.version);
        fflush(stdout);
        result = watch(&options, client);
    }
    tp_client_close(client);
    return result;
}
