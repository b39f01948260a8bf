/* `tickpath watch`: the changes of a daemon's map, one JSON line each, as the daemon pushes them. */
#include "client/cli/clock.h"
#include "client/cli/commands.h"
#include "client/cli/remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum {
    PING_MS = 60000, /* a daemon ends a connection that says nothing for long */
    ASK_MS = 50,     /* with --wait: between two questions for the map */
};

struct watch_options {
    const char *map;
    struct tp_cli_addresses via;
    bool cells, wait;
    uint64_t count, seconds; /* 0: without end */
};

#define AT(field) offsetof(struct watch_options, field)

static const struct tp_cli_option watch_options[] = {
    {"map", TP_CLI_STRING, AT(map), "NAME", "the map's name on the daemon", 0, 0, NULL, true},
    {"via", TP_CLI_ADDRESSES, AT(via), "HOST:PORT,...", "the daemon, or several: when one is lost the next takes over", 0, 0, NULL,
     true},
    {"cells", TP_CLI_FLAG, AT(cells), NULL, "list the cells that changed: [x, y, class now] each", 0, 0, NULL,
     false},
    {"wait", TP_CLI_FLAG, AT(wait), NULL, "wait until the daemon has a map of that name", 0, 0, NULL, false},
    {"count", TP_CLI_UINT, AT(count), "N", "end after so many changes (0: no end)", 0, UINT32_MAX, NULL,
     false},
    {"seconds", TP_CLI_UINT, AT(seconds), "N", "end after so many seconds (0: no end)", 0, 100000000, NULL,
     false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "watch",
    .summary = "Prints the changes of a map on a daemon as they come, one JSON line each.",
    .notes = "\"time\" is when the line was written, in seconds since 1970. One line may stand for several\n"
             "versions. \"resync\" says that the map was replaced or, with --cells, that the cells are not\n"
             "listed: they are too many, or the map is a graph, whose edges and nodes are never listed. It\n"
             "ends when the map is dropped.",
};

/* The map as it is known, to turn cells into x and y: none while `width` is 0. */
struct shape {
    uint64_t epoch;
    uint32_t width;
};

/* Asks for the map's width, unless it was replaced meanwhile: then a push will say so. */
static void learn_shape(struct tp_client *client, const char *name, uint64_t epoch, struct shape *shape)
{
    struct tp_client_map map;
    *shape = (struct shape){.epoch = epoch};
    if (tp_client_open_map_of(client, name, epoch, 0, &map, TP_CLI_CALL_MS) == 0)
        shape->width = map.width;
}

static void print_begin(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    printf("{\"time\": %lld.%03ld, ", (long long)now.tv_sec, now.tv_nsec / 1000000);
}

static void print_push(const struct tp_client_push *push, bool cells, const struct shape *shape)
{
    bool lists = cells && !push->resync && !push->dropped;
    bool resync = push->resync || (lists && push->cell_count > 0 && shape->width == 0);
    print_begin();
    printf("\"epoch\": %" PRIu64 ", \"from_version\": %" PRIu64 ", \"version\": %" PRIu64, push->epoch,
           push->from_version, push->version);
    if (lists && !resync) {
        printf(", \"cells\": [");
        for (size_t i = 0; i < push->cell_count; i++)
            printf("%s[%" PRIu32 ", %" PRIu32 ", %" PRIu32 "]", i > 0 ? ", " : "",
                   push->cells[i] % shape->width, push->cells[i] / shape->width, push->terrains[i]);
        printf("]");
    }
    printf("%s%s}\n", resync ? ", \"resync\": true" : "", push->dropped ? ", \"dropped\": true" : "");
}

/* Subscribes; with --wait again and again until the map is there or the time is over (then *subscribed stays as it was). */
static int subscribe(const struct watch_options *options, struct tp_client *client, int64_t until_ms,
                     struct tp_client_subscribed *subscribed)
{
    for (;;) {
        int error = tp_client_subscribe(client, options->map, options->cells, subscribed, TP_CLI_CALL_MS);
        if (error == 0)
            return TP_CLI_OK;
        if (!options->wait || (error != TP_CLIENT_NOT_FOUND && error != TP_CLIENT_MAP_NOT_READY))
            return tp_cli_client_failed(&usage, options->map, tp_client_error(client));
        if (tp_cli_now_ms() >= until_ms)
            return TP_CLI_OK;
        const struct timespec pause = {.tv_nsec = ASK_MS * 1000000L};
        nanosleep(&pause, NULL);
    }
}

/* Prints what comes until it is enough. */
static int watch(const struct watch_options *options, struct tp_client *client, int64_t until_ms,
                 struct shape *shape)
{
    for (uint64_t count = 0; options->count == 0 || count < options->count;) {
        int64_t left_ms = until_ms - tp_cli_now_ms();
        if (left_ms <= 0)
            return TP_CLI_OK;
        struct tp_client_push push;
        int error = tp_client_next_push(client, &push, left_ms < PING_MS ? (int)left_ms : PING_MS);
        if (error == TP_CLIENT_TIMEOUT && !tp_client_error(client)->from_server)
            error = tp_client_ping(client, NULL, 0, TP_CLI_CALL_MS);
        else if (error == 0) {
            print_push(&push, options->cells, shape);
            fflush(stdout);
            count++;
            if (push.dropped)
                return TP_CLI_OK;
            if (options->cells && push.epoch != shape->epoch)
                learn_shape(client, options->map, push.epoch, shape);
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
    struct tp_cli_failovers failovers = {.count = 0};
    result = tp_cli_remote_open_any(&usage, &options.via, &failovers, &client);
    if (result != TP_CLI_OK)
        return result;
    struct tp_client_subscribed subscribed = {.epoch = 0};
    int64_t until_ms = options.seconds == 0 ? INT64_MAX : tp_cli_now_ms() + (int64_t)options.seconds * 1000;
    result = subscribe(&options, client, until_ms, &subscribed);
    if (result == TP_CLI_OK && subscribed.epoch != 0) {
        struct shape shape = {.epoch = 0};
        print_begin();
        printf("\"epoch\": %" PRIu64 ", \"version\": %" PRIu64 "}\n", subscribed.epoch, subscribed.version);
        fflush(stdout);
        if (options.cells)
            learn_shape(client, options.map, subscribed.epoch, &shape);
        result = watch(&options, client, until_ms, &shape);
    }
    tp_client_close(client);
    return result;
}
