#include "tests/lib/walkers.h"

#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_MS = WIRE_TIMEOUT_MS };

static void hear(const struct tp_client_event *event, void *context)
{
    struct told *told = context;
    switch (event->kind) {
    case TP_CLIENT_LOST:
        told->lost++;
        told->lost_code = event->error->code;
        return;
    case TP_CLIENT_FAILED:
        told->failed++;
        return;
    case TP_CLIENT_BACK:
        told->back++;
        told->pause_ms = event->pause_ms;
        return;
    case TP_CLIENT_NEW_EPOCH:
        told->epochs++;
        told->old_epoch = event->old_epoch;
        told->epoch = event->epoch;
        return;
    case TP_CLIENT_SESSION_GONE:
        told->gone++;
        told->session_gone = event->session;
        return;
    }
}

void walkers_put_map_on(struct tp_client *client, const char *name, uint32_t side)
{
    uint8_t *cells = malloc((size_t)side * side);
    ck_assert_ptr_nonnull(cells);
    memset(cells, '.', (size_t)side * side);
    ok_on(client, tp_client_put_map(client, name, side, side, cells, NULL, 0, false, NULL, CALL_MS));
    free(cells);
}

struct tp_client *walkers_connect_plain(uint16_t port)
{
    struct tp_client *client;
    struct tp_client_error error;
    int result = tp_client_open(&client, "127.0.0.1", port, "test", CALL_MS, &error);
    ck_assert_msg(result == 0, "open: %s", error.message);
    return client;
}

void walkers_put_map(uint16_t port, const char *name, uint32_t side)
{
    struct tp_client *client = walkers_connect_plain(port);
    walkers_put_map_on(client, name, side);
    tp_client_close(client);
}

struct tp_client *walkers_connect(uint16_t first, uint16_t second, struct tp_client_options options, struct told *told)
{
    char list[64];
    struct tp_client *client;
    struct tp_client_error error;
    snprintf(list, sizeof list, second != 0 ? "127.0.0.1:%u,127.0.0.1:%u" : "127.0.0.1:%u", first, second);
    options.addresses = list;
    options.name = "test";
    options.event_cb = hear;
    options.context = told;
    int result = tp_client_open_any(&client, &options, CALL_MS, &error);
    ck_assert_msg(result == 0, "open: %s", error.message);
    return client;
}

void walkers_open(struct tp_client *client, struct walker *walkers, size_t count, uint32_t side)
{
    for (size_t i = 0; i < count; i++) {
        walkers[i] = (struct walker){.cell = (uint32_t)i, .goal = side * side - 1 - (uint32_t)i};
        const struct tp_client_session_params params = {.map = "m", .start = walkers[i].cell, .goal = 0};
        struct tp_client_session session;
        ok_on(client, tp_client_open_session(client, &params, &session, CALL_MS));
        walkers[i].session = session.id;
        ok_on(client, tp_client_set_goal(client, session.id, walkers[i].goal, CALL_MS)); /* which has to outlive the daemon too */
    }
}

static unsigned distance(uint32_t a, uint32_t b, uint32_t side)
{
    int dx = abs((int)(a % side) - (int)(b % side)), dy = abs((int)(a / side) - (int)(b / side));
    return (unsigned)(dx > dy ? dx : dy);
}

size_t walkers_take(struct walker *walkers, size_t count, const struct tp_client_ticked *ticked, uint32_t side)
{
    size_t arrived = 0;
    ck_assert_uint_eq(ticked->count, count);
    ck_assert_uint_eq(ticked->refused_count, 0);
    for (size_t i = 0; i < count; i++) {
        unsigned steps = distance(walkers[i].cell, ticked->cells[i], side);
        if (ticked->sessions[i] != walkers[i].session || steps > 1 ||
            ticked->costs[i] - walkers[i].cost > 2 * TP_CLIENT_COST_UNIT || (steps > 0) != (ticked->costs[i] > walkers[i].cost))
            ck_abort_msg("agent %zu, session %llu (is %llu), %u steps, cost %llu after %llu", i, (unsigned long long)walkers[i].session,
                         (unsigned long long)ticked->sessions[i], steps, (unsigned long long)ticked->costs[i],
                         (unsigned long long)walkers[i].cost);
        walkers[i].cell = ticked->cells[i];
        walkers[i].cost = ticked->costs[i];
        walkers[i].arrived = ticked->statuses[i] == TP_CLIENT_ARRIVED;
        if (walkers[i].arrived)
            ck_assert_uint_eq(walkers[i].cell, walkers[i].goal);
        arrived += walkers[i].arrived;
    }
    return arrived;
}
