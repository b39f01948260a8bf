/* Maps that change under walking agents, against a plain model: random interleavings of change batches, ticks, goals,
 * positions, sessions opened and closed, and connections that break with requests under way, on a real daemon.
 *
 * A round: each connection sends a burst of random requests without waiting; then all replies are collected; then the
 * batches that were acknowledged are put in the order of their versions, which gives the model every version's cells; then
 * each connection's replies are checked one by one, in their order. A connection that broke took replies with it: the
 * batches that it had under way were applied as far as the daemon had read them, in their order, and fill the versions that
 * nobody acknowledged; or they were not applied at all. Batches with a key are sent again.
 *
 * 100,000 steps (a step is a request); TICKPATH_LONG=1: 1,000,000; TICKPATH_STEPS as many as given. The requests repeat with
 * TICKPATH_SEED, how the daemon's threads meet does not. */
#include "tests/lib/exposition.h"
#include "tests/lib/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void collect_all(void)
{
    for (int c = 0; c < CONNECTIONS; c++)
        model_collect(&model.connections[c], model.connections[c].entry_count);
}

/* Breaks a connection after some of its replies; what is under way may be applied or not. Batches with a key are sent again
 * at once, sometimes, on another connection. */
static void break_now(struct connection *connection, struct connection *other)
{
    model_collect(connection, model_below((uint32_t)connection->entry_count + 1));
    if (model_percent(30)) {
        uint8_t half[] = {50, 8, 1};
        wire_send_bytes(&connection->wire, half, sizeof half);
    }
    wire_close(&connection->wire);
    bool race = model_percent(50);
    for (size_t i = connection->answered; i < connection->entry_count; i++) {
        struct entry *entry = &connection->entries[i];
        struct key *key = model_key_of(entry->key);
        if (entry->kind != CHANGE || entry->wanted == REFUSED || (entry->key && (!key || key->version)))
            continue;
        struct grid *grid = &model.grids[entry->map];
        struct lost *lost = &grid->lost[grid->lost_count++];
        lost->key = entry->key;
        memcpy(lost->effect, entry->effect, sizeof lost->effect);
        if (race && key && model_percent(70))
            model_send_change(other, key->map, key->number, key->effect);
    }
    connection->entry_count = connection->answered;
    model.seen.breaks++;
}

/* Waits until the daemon has closed the sessions of a connection that broke, and nothing of it is under way any more; then
 * its client comes back, opens its sessions where the agents stand, and sends the batches again that have a key. */
static void come_back(struct connection *connection, struct connection *other)
{
    size_t count = connection->session_count;
    struct session *sessions = malloc((count + 1) * sizeof *sessions);
    memcpy(sessions, connection->sessions, count * sizeof *sessions);
    connection->session_count = 0;
    static int16_t fence[CELLS_MAX];
    for (int i = 0; i < CELLS_MAX; i++)
        fence[i] = i ? UNTOUCHED : '.';
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    for (bool ended = false; !ended;) { /* sessions alone don't tell: it may have closed them itself */
        SAY(wire_now_ms() < until, "a connection that broke is open still");
        int status = 0;
        char *text = wire_http_get(&model.daemon, "/metrics", &status);
        SAY(text && status == 200, "no metrics: %d", status);
        ended = tp_test_sample(text, "tickpath_connections_open") == CONNECTIONS - 1;
        free(text);
    }
    for (bool closed = false; !closed;) {
        SAY(wire_now_ms() < until, "the sessions of a connection that broke are open still");
        for (int m = 0; m < MAPS; m++)
            model_send_open_map(other, m);
        model.steps -= MAPS;
        model_collect(other, MAPS);
        closed = true;
        for (int m = 0; m < MAPS; m++)
            closed &= other->entries[m].reply->map_info->sessions == model_sessions_on(m);
        model_check_round();
    }
    for (int m = 0; m < MAPS; m++)
        model_send_change(other, m, 0, fence); /* behind all that was under way */
    model_collect(other, MAPS);
    model_check_round();
    wire_open_greeted(&connection->wire, model.daemon.port);
    memset(connection->floor, 0, sizeof connection->floor);
    memset(connection->subscribed, 0, sizeof connection->subscribed);
    connection->tick = 0;
    for (int m = 0; m < MAPS; m++) {
        for (size_t i = 0; i < model.grids[m].lost_count; i++) {
            struct key *key = model_key_of(model.grids[m].lost[i].key);
            SAY(!key || !key->again, "a lost batch made version %llu, which nobody saw", ULL(key->version));
            model.seen.lost_gone++;
        }
        model.grids[m].lost_count = 0;
    }
    for (size_t i = 0; i < count; i++)
        model_send_open(connection, &sessions[i]);
    free(sessions);
    for (uint64_t number = model.next_key > 20 ? model.next_key - 20 : 1; number <= model.next_key;
         number++) {
        struct key *key = model_key_of(number);
        if (key)
            model_send_change(connection, key->map, number, key->effect);
    }
    collect_all();
    model_check_round();
}

static void play_round(void)
{
    int breaks = model_percent(12) ? (int)model_below(CONNECTIONS) : -1,
        alone = model_percent(30) ? (int)model_below(CONNECTIONS) : -1;
    uint32_t target[CONNECTIONS];
    for (int c = 0; c < CONNECTIONS; c++) {
        target[c] = alone < 0 || alone == c || breaks == c ? 5 + model_below(BURST_MAX - 8) : 0;
        model.connections[c].breaks = breaks == c;
    }
    for (bool more = true; more;) { /* in pieces, so that connections meet */
        more = false;
        for (int c = 0; c < CONNECTIONS; c++) {
            uint32_t upto = (uint32_t)model.connections[c].entry_count + 1 + model_below(6);
            model_send_burst(&model.connections[c], upto < target[c] ? upto : target[c]);
            more |= model.connections[c].entry_count < target[c];
        }
    }
    if (breaks < 0) {
        collect_all();
        model_check_round();
        return;
    }
    struct connection *other = &model.connections[(breaks + 1) % CONNECTIONS];
    break_now(&model.connections[breaks], other);
    for (int c = 0; c < CONNECTIONS; c++)
        if (c != breaks)
            model_collect(&model.connections[c], model.connections[c].entry_count);
    model_check_round();
    come_back(&model.connections[breaks], other);
}

static void put_grid(int map, const char *name, uint32_t width, uint32_t height)
{
    struct grid *grid = &model.grids[map];
    *grid = (struct grid){.name = name, .width = width, .height = height, .version = 1, .seen = 1};
    grid->history = calloc(HISTORY, sizeof grid->history[0]);
    uint8_t *cells = grid->history[1];
    for (uint32_t i = 0; i < model_cells_of(map); i++)
        cells[i] = model_percent(25) ? '@' : '.';
    Tickpath__ClassWeight rows[sizeof model_weights / sizeof model_weights[0]],
        *row[sizeof model_weights / sizeof model_weights[0]];
    for (int profile = 0; profile < PROFILES; profile++) {
        size_t count = 0;
        for (size_t i = 0; i < sizeof model_weights / sizeof model_weights[0]; i++) {
            row[count] = &rows[count];
            tickpath__class_weight__init(row[count]);
            row[count]->has_terrain = row[count]->has_weight = 1;
            row[count]->terrain = (uint8_t)model_weights[i].class_;
            row[count++]->weight = model_weights[i].weight[profile];
        }
        if (profile == 0) {
            Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
            put.map = (char *)name;
            put.has_width = put.has_height = put.has_cells = put.has_last = put.last = 1;
            put.width = width;
            put.height = height;
            put.cells.data = cells;
            put.cells.len = model_cells_of(map);
            put.profile = row;
            put.n_profile = count;
            wire_reply_free(wire_ask(&model.connections[0].wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put,
                                     TICKPATH__REPLY__BODY_MAP_INFO));
            continue;
        }
        Tickpath__PutProfile put = TICKPATH__PUT_PROFILE__INIT;
        put.map = (char *)name;
        put.name = (char *)model_profile_name[profile];
        put.weights = row;
        put.n_weights = count;
        wire_reply_free(wire_ask(&model.connections[0].wire, TICKPATH__REQUEST__BODY_PUT_PROFILE, &put,
                                 TICKPATH__REPLY__BODY_PROFILE_PUT));
    }
}

START_TEST(test_interleavings)
{
    model.rng = tp_test_rng("interleavings");
    uint64_t steps_max = tp_test_steps(100000, 1000000);
    wire_daemon_init(&model.daemon);
    wire_daemon_start(&model.daemon, "--threads", "2", "--stats", "127.0.0.1:0", NULL);
    for (int c = 0; c < CONNECTIONS; c++)
        wire_open_greeted(&model.connections[c].wire, model.daemon.port);
    put_grid(0, "rooms", 20, 14);
    put_grid(1, "yard", 13, 11);
    while (model.steps < steps_max)
        play_round();
    printf("%llu steps: %llu batches applied, %llu refused (%llu by version), %llu answered by their key, "
           "%llu of them a race with a lost one\n"
           "%llu broken connections: %llu lost batches applied, %llu not; %llu pushes; %llu sessions opened, "
           "%llu unsupported\n"
           "%llu ticks: %llu moves, arrived %llu, partial %llu, unreachable %llu, blocked %llu, restarted "
           "%llu, continued %llu, "
           "repaired %llu, start blocked %llu\n",
           ULL(model.steps), ULL(model.seen.batches), ULL(model.seen.refused), ULL(model.seen.mismatch),
           ULL(model.seen.again), ULL(model.seen.races), ULL(model.seen.breaks), ULL(model.seen.lost_applied),
           ULL(model.seen.lost_gone), ULL(model.seen.pushes), ULL(model.seen.opened),
           ULL(model.seen.unsupported), ULL(model.seen.ticks), ULL(model.seen.moves), ULL(model.seen.arrived),
           ULL(model.seen.partial), ULL(model.seen.unreachable), ULL(model.seen.blocked),
           ULL(model.seen.restarted), ULL(model.seen.continued), ULL(model.seen.repaired),
           ULL(model.seen.start_blocked));
    for (int c = 0; c < CONNECTIONS; c++)
        wire_close(&model.connections[c].wire);
    wire_daemon_stop(&model.daemon);
    wire_daemon_fini(&model.daemon);
    for (int m = 0; m < MAPS; m++)
        free(model.grids[m].history);
    if (steps_max >= 50000) /* nothing that is checked stays away */
        ck_assert(model.seen.batches && model.seen.refused && model.seen.mismatch && model.seen.again &&
                  model.seen.races && model.seen.breaks && model.seen.lost_applied && model.seen.pushes &&
                  model.seen.moves && model.seen.arrived && model.seen.partial && model.seen.unreachable &&
                  model.seen.blocked && model.seen.restarted && model.seen.continued && model.seen.repaired &&
                  model.seen.start_blocked);
}
END_TEST

static Suite *model_suite(void)
{
    Suite *suite = suite_create("model");
    TCase *tcase = tcase_create("interleavings");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 400);
    tcase_add_test(tcase, test_interleavings);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_model", model_suite);
}
