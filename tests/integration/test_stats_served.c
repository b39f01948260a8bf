/* The stats of a real daemon: after a known workload they say what the replies said, and the probes answer
 * while a loop is busy. */
#include "daemon/stats/metrics.h"
#include "map/blocks.h"
#include "map/map.h"
#include "tests/lib/exposition.h"
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct wire_daemon daemon_;

static void begin(void)
{
    wire_daemon_init(&daemon_);
}

static void end(void)
{
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

/* The page's text, to be freed; fails unless it comes with this status. */
static char *page(const char *path, int status)
{
    int got = 0;
    char *text = wire_http_get(&daemon_, path, &got);
    ck_assert_msg(text, "no answer on %s", path);
    ck_assert_msg(got == status, "%s: status %d: %s", path, got, text);
    return text;
}

static void wait_for_sample(const char *name, uint64_t value)
{
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS, got;
    for (;;) {
        char *text = page("/metrics", 200);
        got = (uint64_t)tp_test_sample(text, name);
        free(text);
        if (got == value)
            return;
        ck_assert_msg(wire_now_ms() < until, "%s stays %" PRIu64 ", never %" PRIu64, name, got, value);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

static void wait_for_metric(const char *field, uint64_t value)
{
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS, got;
    for (;;) {
        char *text = page("/metrics", 200);
        got = tp_test_metric(text, field);
        free(text);
        if (got == value)
            return;
        ck_assert_msg(wire_now_ms() < until, "%s stays %" PRIu64 ", never %" PRIu64, field, got, value);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

/* A daemon listens before its maps are loaded. */
static void wait_until_ready(void)
{
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    int status = 0;
    for (;;) {
        char *text = wire_http_get(&daemon_, "/readyz", &status);
        ck_assert_msg(text, "no answer on /readyz");
        ck_assert_msg(status == 200 || wire_now_ms() < until, "never ready: %s", text);
        free(text);
        if (status == 200)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

/* What the replies said, added up. */
struct tally {
    uint64_t ticks, agent_ticks, moves, back_moves, arrivals, searching, blocked, unreachable, restarts,
        looping;
    uint64_t expansions, traced, generated, learned, guide, refused;
};

enum { AGENTS = 6 };

/* Ticks `sessions` once and adds up; true when all that were served have nothing left to do. */
static bool tick_once(struct wire *wire, uint64_t *sessions, size_t count, uint32_t *cells,
                      struct tally *tally)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = count;
    tick.session = sessions;
    tick.has_want_work = tick.want_work = 1;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    const Tickpath__Ticked *ticked = reply->ticked;
    ck_assert_uint_eq(ticked->n_session + ticked->n_refused, count);
    tally->ticks++;
    tally->refused += ticked->n_refused;
    tally->agent_ticks += ticked->n_session;
    bool settled = true;
    for (size_t i = 0; i < ticked->n_session; i++) {
        size_t agent = 0;
        while (sessions[agent] != ticked->session[i])
            agent++;
        bool moved = ticked->cell[i] != cells[agent];
        cells[agent] = ticked->cell[i];
        tally->moves += moved;
        tally->back_moves += (ticked->flags[i] & TICKPATH__FLAG__BACK_MOVE) != 0;
        tally->looping += (ticked->flags[i] & TICKPATH__FLAG__LOOPING) != 0;
        tally->restarts += (ticked->flags[i] & TICKPATH__FLAG__RESTARTED) != 0;
        tally->arrivals += moved && ticked->status[i] == TICKPATH__STATUS__ARRIVED;
        tally->searching += ticked->status[i] == TICKPATH__STATUS__SEARCHING;
        tally->blocked += ticked->status[i] == TICKPATH__STATUS__BLOCKED;
        tally->unreachable += ticked->status[i] == TICKPATH__STATUS__UNREACHABLE;
        tally->expansions += ticked->expansions[i];
        tally->traced += ticked->traced[i];
        tally->generated += ticked->generated[i];
        tally->learned += ticked->learned[i];
        tally->guide += ticked->guide_expansions[i];
        settled &= ticked->status[i] == TICKPATH__STATUS__ARRIVED ||
                   ticked->status[i] == TICKPATH__STATUS__UNREACHABLE;
    }
    wire_reply_free(reply);
    return settled;
}

static uint64_t metric(const char *text, const char *field)
{
    return tp_test_metric(text, field);
}

/* What test_workload has open when it looks, by algorithm; those that name none are guided. */
static void check_algorithms(const char *text)
{
    static const struct {
        const char *sample;
        double sessions;
    } due[] = {
        {"tickpath_sessions_open{algorithm=\"tba\"}", 1},    {"tickpath_sessions_open{algorithm=\"tbwa\"}", 1},
        {"tickpath_sessions_open{algorithm=\"tbgbfs\"}", 1}, {"tickpath_sessions_open{algorithm=\"astar\"}", 1},
        {"tickpath_sessions_open{algorithm=\"guided\"}", 4}, {"tickpath_sessions_open{algorithm=\"lrta\"}", 0},
    };
    for (size_t i = 0; i < sizeof due / sizeof *due; i++)
        ck_assert_msg(tp_test_sample(text, due[i].sample) == due[i].sessions, "%s", due[i].sample);
}

START_TEST(test_workload)
{
    wire_daemon_start(&daemon_, "--stats", "127.0.0.1:0", "--threads", "2", NULL);
    ck_assert_uint_ne(daemon_.stats_port, 0);
    wait_until_ready();
    free(page("/livez", 200));

    /* A wall with a door at its foot, and a pocket that nobody leaves: back-moves and an unreachable goal. */
    enum { WIDTH = 40, HEIGHT = 20, CELLS = WIDTH * HEIGHT };
    uint8_t cells[CELLS];
    memset(cells, '.', sizeof cells);
    for (int y = 0; y < HEIGHT - 1; y++)
        cells[y * WIDTH + 20] = '@';
    cells[1 * WIDTH + 38] = cells[1 * WIDTH + 39] = cells[0 * WIDTH + 38] = '@'; /* (39,0) is shut in */

    struct wire wire;
    wire_open_greeted(&wire, daemon_.port);
    wire_put_map(&wire, "wall", WIDTH, HEIGHT, cells);
    wire_put_free_map(&wire, "free", 8, 8);
    static const char *const algorithms[AGENTS] = {"tba", "tbwa", "tbgbfs", "astar", "guided", "tbwa"};
    uint64_t sessions[AGENTS + 1];
    uint32_t at[AGENTS];
    for (int i = 0; i < AGENTS; i++) {
        at[i] = (uint32_t)(2 + i) * WIDTH + 3;
        Tickpath__Budget budget = TICKPATH__BUDGET__INIT;
        budget.has_resource_limit = 1;
        budget.resource_limit = 20;
        Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
        open.map = "wall";
        open.has_start = open.has_goal = 1;
        open.start = at[i];
        open.goal = i < AGENTS - 1 ? (uint32_t)(2 + i) * WIDTH + 35 : 39; /* the last goal is shut in */
        open.algorithm = (char *)(uintptr_t)algorithms[i];
        open.budget = &budget;
        Tickpath__Reply *reply = wire_ask(&wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open,
                                          TICKPATH__REPLY__BODY_SESSION_OPENED);
        sessions[i] = reply->session_opened->session;
        wire_reply_free(reply);
    }

    struct tally tally = {0};
    tick_once(&wire, sessions, AGENTS, at, &tally);
    wait_for_metric("guide_fields", 1); /* one goal is led to; who has arrived lets go of its field when it rests */
    char *begun = page("/metrics", 200);
    ck_assert(tp_test_sample(begun, "tickpath_pool_bytes{pool=\"guide\"}") > 0);
    free(begun);
    for (int i = 0; i < 2000 && !tick_once(&wire, sessions, AGENTS, at, &tally); i++)
        ck_assert_int_lt(i, 1999);
    ck_assert_uint_eq(tally.arrivals, AGENTS - 1);
    ck_assert_uint_ge(tally.unreachable, 1);
    ck_assert_uint_gt(tally.expansions, 100);

    wire_set_cell(&wire, "wall", 5, '@');
    wire_set_cell(&wire, "wall", 5, '.');
    uint32_t outside = CELLS, terrain = '@';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "wall";
    change.n_cell = change.n_cell_terrain = 1;
    change.cell = &outside;
    change.cell_terrain = &terrain;
    wire_ask_error(&wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__ERROR_CODE__OUT_OF_RANGE,
                   NULL);

    /* one closed by request, ticked once more in vain, and three that end with their connection */
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.n_session = 1;
    close.session = &sessions[1];
    wire_reply_free(wire_ask(&wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                             TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
    tick_once(&wire, sessions, AGENTS, at, &tally);
    ck_assert_uint_eq(tally.refused, 1);

    /* two ticks that are refused whole; the second is what protobuf-c reads, since a message that the daemon's own reader leaves to it is in it */
    Tickpath__Tick nobody = TICKPATH__TICK__INIT;
    wire_ask_error(&wire, TICKPATH__REQUEST__BODY_TICK, &nobody, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, NULL);
    Tickpath__Budget each = TICKPATH__BUDGET__INIT;
    nobody.each = &each;
    wire_ask_error(&wire, TICKPATH__REQUEST__BODY_TICK, &nobody, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, NULL);
    struct wire other;
    wire_open_greeted(&other, daemon_.port);
    for (uint32_t i = 0; i < 3; i++)
        wire_open_session(&other, "free", i, 63, NULL, 10);

    wait_for_metric("connections_open", 2);
    char *text = page("/metrics", 200);
    ck_assert_uint_eq(metric(text, "connections_accepted"), 2);
    ck_assert_uint_eq(metric(text, "connections_dropped"), 0);
    ck_assert_uint_eq(metric(text, "sessions_opened"), AGENTS + 3);
    ck_assert_uint_eq(metric(text, "sessions_open"), AGENTS + 3 - 1);
    ck_assert_uint_eq(metric(text, "sessions_closed"), 1);
    ck_assert_uint_eq(metric(text, "session_states"), AGENTS + 3 - 1);
    ck_assert(tp_test_sample(text, "tickpath_session_states{state=\"FRESH\"}") == 3);
    check_algorithms(text);
    ck_assert_uint_eq(metric(text, "ticks_deadline_missed"), 0);
    ck_assert_uint_eq(metric(text, "tick_seconds"), tally.ticks);
    ck_assert_uint_eq(metric(text, "tick_sessions"), tally.ticks);
    ck_assert_uint_eq(metric(text, "tick_expansions"), tally.ticks);
    ck_assert_uint_eq((uint64_t)tp_test_sample(text, "tickpath_tick_expansions_sum"), tally.expansions);
    ck_assert_uint_eq((uint64_t)tp_test_sample(text, "tickpath_tick_sessions_sum"), tally.agent_ticks);
    ck_assert_uint_eq(metric(text, "statuses"), tally.agent_ticks);
    ck_assert_uint_eq(metric(text, "agent_ticks_refused"), tally.refused);
    ck_assert_uint_eq(metric(text, "agent_ticks_starved"), 0);
    ck_assert_uint_eq(metric(text, "moves"), tally.moves);
    ck_assert_uint_eq(metric(text, "back_moves"), tally.back_moves);
    ck_assert_uint_eq(metric(text, "looping"), tally.looping);
    ck_assert_uint_eq(metric(text, "arrivals"), tally.arrivals);
    ck_assert_uint_eq((uint64_t)tp_test_sample(text, "tickpath_statuses_total{status=\"SEARCHING\"}"), tally.searching);
    ck_assert_uint_eq((uint64_t)tp_test_sample(text, "tickpath_statuses_total{status=\"BLOCKED\"}"), tally.blocked);
    ck_assert_uint_eq((uint64_t)tp_test_sample(text, "tickpath_statuses_total{status=\"UNREACHABLE\"}"), tally.unreachable);
    ck_assert_uint_eq(metric(text, "restarts"), tally.restarts);
    ck_assert_uint_eq(metric(text, "expansions"), tally.expansions);
    ck_assert_uint_eq(metric(text, "traced"), tally.traced);
    ck_assert_uint_eq(metric(text, "generated"), tally.generated);
    ck_assert_uint_eq(metric(text, "learned"), tally.learned);
    ck_assert_uint_gt(tally.guide, 0);
    ck_assert_uint_eq(metric(text, "guide_expansions"), tally.guide);
    ck_assert_uint_eq(metric(text, "guide_fields_made"), 1);
    ck_assert_uint_eq(metric(text, "guide_refused"), 0);
    ck_assert_uint_ge(metric(text, "guide_settled"), 1);
    ck_assert_uint_eq(metric(text, "layers"), 2); /* each map has agents that are led */
    ck_assert_uint_eq(metric(text, "maps"), 2);
    ck_assert_uint_eq(metric(text, "map_cells"), CELLS + 64);
    ck_assert_uint_eq(metric(text, "maps_put"), 2);
    ck_assert_uint_eq(metric(text, "batches_applied"), 2);
    ck_assert_uint_eq(metric(text, "changes_applied"), 2);
    ck_assert_uint_eq(metric(text, "batches_refused"), 1);
    ck_assert_uint_eq(metric(text, "errors"), 3);
    ck_assert(tp_test_sample(text, "tickpath_errors_total{code=\"INVALID_ARGUMENT\"}") == 2);
    ck_assert(tp_test_sample(text, "tickpath_errors_total{code=\"OUT_OF_RANGE\"}") == 1);
    ck_assert_uint_eq(metric(text, "requests"), wire.next_id - 1 + other.next_id - 1);
    ck_assert_uint_gt(metric(text, "received_bytes"), CELLS);
    ck_assert_uint_gt(metric(text, "sent_bytes"), tally.agent_ticks);
    ck_assert_uint_eq(metric(text, "output_queued_bytes"), 0);
    ck_assert(tp_test_sample(text, "tickpath_store_volatile") == 1);
    ck_assert(tp_test_sample(text, "tickpath_store_degraded") == 0);
    ck_assert(tp_test_sample(text, "tickpath_ready") == 1);
    ck_assert(tp_test_sample(text, "tickpath_threads") == 2);
    free(text);

    text = page("/stats", 200);
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"wall\",\"width\":40,\"height\":20"));
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"free\",\"width\":8,\"height\":8"));
    ck_assert_ptr_nonnull(strstr(text, "\"store\":{\"name\":\"memory\",\"volatile\":true"));
    ck_assert_ptr_nonnull(strstr(text, "\"loop0\":"));
    ck_assert_ptr_nonnull(strstr(text, "\"loop1\":"));
    free(text);

    wire_close(&other);
    wait_for_metric("connections_open", 1);
    wait_for_metric("sessions_open", AGENTS - 1);
    wire_close(&wire);
    wait_for_metric("sessions_closed", AGENTS + 3);
    wait_for_metric("sessions_open", 0);
    wait_for_metric("layers", 0); /* and with the layer what was kept of goal fields over it */
    wait_for_metric("guide_fields", 0);
    wait_for_sample("tickpath_pool_bytes{pool=\"guide\"}", 0);
}
END_TEST

/* The same tick two times in one write: the second waits for the first. */
static void send_twice(struct wire *wire, Tickpath__Tick *tick)
{
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = 1;
    request.id = 1000000;
    request.body_case = TICKPATH__REQUEST__BODY_TICK;
    request.tick = tick;
    size_t size;
    uint8_t *frame = wire_frame(&request, &size), *both = malloc(2 * size);
    memcpy(both, frame, size);
    memcpy(both + size, frame, size);
    ck_assert(wire_send_bytes(wire, both, 2 * size));
    free(both);
    free(frame);
}

/* Every loop has a tick that keeps it busy for long: the probes and the numbers answer before the first of the ticks does. Then the slow ticks are told with
 * their causes: the long one, and one that waited behind it. */
START_TEST(test_probes_while_all_loops_are_busy)
{
    enum { SIDE = 500, CROWD = 4, LOOPS = 2, LONGEST_MS = 2000 };
    wire_daemon_start(&daemon_, "--stats", "127.0.0.1:0", "--threads", "2", "--slow-tick-us", "1000", NULL);
    struct wire wires[LOOPS]; /* one on each loop */
    for (int i = 0; i < LOOPS; i++)
        wire_open_greeted(&wires[i], daemon_.port);
    /* Walls from both sides in turn, one door each: every A* sees the whole map. */
    uint8_t *cells = malloc(SIDE * SIDE);
    memset(cells, '.', SIDE * SIDE);
    for (int x = 10, wall = 0; x < SIDE - 10; x += 20, wall++)
        for (int y = 0; y < SIDE - 1; y++)
            cells[(wall % 2 ? y : y + 1) * SIDE + x] = '@';
    wire_put_map(&wires[0], "walls", SIDE, SIDE, cells);
    free(cells);
    for (int i = 0; i < LOOPS; i++)
        for (uint32_t j = 0; j < CROWD; j++)
            wire_open_session(&wires[i], "walls", j * SIDE, SIDE * SIDE - 1, "astar", 1000000000);

    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    for (int i = 0; i < LOOPS; i++)
        send_twice(&wires[i], &tick);
    unsigned during = 0;
    uint64_t slowest_ms = 0, from = wire_now_ms();
    Tickpath__Reply *reply[LOOPS] = {NULL};
    while (reply[0] == NULL && reply[1] == NULL) {
        uint64_t asked = wire_now_ms();
        free(page("/livez", 200));
        free(page("/metrics", 200));
        uint64_t took = wire_now_ms() - asked;
        for (int i = 0; i < LOOPS; i++)
            ck_assert_int_ne(wire_poll(&wires[i], &reply[i], 0), WIRE_GOT_CLOSE);
        during += reply[0] == NULL && reply[1] == NULL;
        slowest_ms = took > slowest_ms ? took : slowest_ms;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        ck_assert_uint_lt(wire_now_ms() - from, 120000);
    }
    printf("busy for %" PRIu64 " ms; %u probes meanwhile, the slowest took %" PRIu64 " ms\n",
           wire_now_ms() - from, during, slowest_ms);
    ck_assert_uint_ge(during, 3);
    ck_assert_uint_lt(slowest_ms, LONGEST_MS);
    for (int i = 0; i < LOOPS; i++)
        for (int j = 0; j < 2; j++) {
            if (reply[i] == NULL)
                reply[i] = wire_recv(&wires[i]);
            ck_assert_int_eq(reply[i]->body_case, TICKPATH__REPLY__BODY_TICKED);
            ck_assert_uint_eq(reply[i]->ticked->n_session, CROWD);
            wire_reply_free(reply[i]);
            reply[i] = NULL;
        }

    char *text = page("/stats", 200), *all = strstr(text, "\"slow_ticks\":["), *end = strstr(text, "\"metrics\":{");
    ck_assert(all != NULL && end > all);
    *end = '\0';
    size_t ticks = 0, searched = 0, queued = 0;
    for (const char *at = all; (at = strstr(at, "{\"at\":\"2")) != NULL; at++, ticks++) {
        const char *why = strstr(at, "\"why\":["), *over = strchr(why, ']');
        const char *search = strstr(why, "\"search\""), *queue = strstr(why, "\"queue\"");
        ck_assert_ptr_nonnull(strstr(at, "\"sessions\":4,"));
        searched += search != NULL && search < over;
        queued += queue != NULL && queue < over;
    }
    ck_assert_msg(ticks == 2 * LOOPS && searched >= LOOPS && queued == LOOPS, "of %zu slow ticks %zu searched, %zu waited: %s", ticks,
                  searched, queued, all);
    free(text);
    text = page("/metrics", 200);
    ck_assert_uint_eq(metric(text, "ticks_slow"), 2 * LOOPS);
    ck_assert_uint_eq((uint64_t)tp_test_sample(text, "tickpath_slow_causes_total{cause=\"queue\"}"), LOOPS);
    ck_assert_uint_eq((uint64_t)tp_test_sample(text, "tickpath_slow_causes_total{cause=\"search\"}"), searched);
    ck_assert_uint_eq(metric(text, "tick_wait_seconds"), 2 * LOOPS);
    ck_assert(tp_test_sample(text, "tickpath_tick_wait_seconds_sum") > 0.001);
    free(text);
    for (int i = 0; i < LOOPS; i++)
        wire_close(&wires[i]);
}
END_TEST

/* ---- What versions hold ---- */

static void wait_for_versions(uint64_t versions, uint64_t bytes)
{
    wait_for_sample("tickpath_map_versions", versions);
    wait_for_sample("tickpath_pool_bytes{pool=\"maps\"}", bytes);
}

static void tick_session(struct wire *wire, uint64_t session)
{
    wire_reply_free(wire_tick(wire, session));
}

/* A session that does not tick holds its version, and of that just the tiles that changed since: its tick, its end or its
 * connection's end gives exactly those back. */
START_TEST(test_bytes_of_versions)
{
    enum { WIDTH = 200, HEIGHT = 130, TABLE = 12 * sizeof(void *), FIRST = 1, LAST = WIDTH * HEIGHT - 1 };
    wire_daemon_start(&daemon_, "--stats", "127.0.0.1:0", "--threads", "2", NULL);
    wait_for_versions(0, 0);
    struct wire wires[2], *holder = &wires[0], *other = &wires[1]; /* on two loops */
    wire_open_greeted(holder, daemon_.port);
    wire_open_greeted(other, daemon_.port);
    wire_put_free_map(holder, "m", WIDTH, HEIGHT);
    /* 4 x 3 tiles; a tile is its head, a word a row, and a byte a cell */
    uint64_t version = sizeof(struct tp_map) + TABLE, head = sizeof(struct tp_map_tile);
    uint64_t base = version + 12 * head + 4 * HEIGHT * 8 + WIDTH * HEIGHT;
    uint64_t whole_tile = head + 64 * 8 + 64 * 64, corner_tile = head + 2 * 8 + 2 * 8;
    wait_for_versions(1, base);

    uint64_t held = wire_open_session(holder, "m", FIRST + 1, 3 * WIDTH + 5, "tba", 1);
    uint64_t ticked = wire_open_session(other, "m", FIRST + 1, 3 * WIDTH + 5, "tba", 1);
    tick_session(holder, held);
    tick_session(other, ticked);
    wait_for_versions(1, base);
    wire_set_cell(other, "m", FIRST, '@');
    tick_session(other, ticked);
    wait_for_versions(2, base + version + whole_tile);
    wire_set_cell(other, "m", LAST, '@'); /* the one between goes: its readers went on */
    tick_session(other, ticked);
    wait_for_versions(2, base + version + whole_tile + corner_tile);
    tick_session(holder, held);
    wait_for_versions(1, base);

    wire_set_cell(holder, "m", FIRST, '.');
    tick_session(holder, held);
    wait_for_versions(2, base + version + whole_tile);
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.n_session = 1;
    close.session = &ticked;
    wire_reply_free(wire_ask(other, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                             TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
    wait_for_versions(1, base);

    /* a layer is a version too, made for a session and gone with its connection */
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = "m";
    open.has_start = open.has_goal = open.has_agent_size = 1;
    open.algorithm = (char *)"tba";
    open.goal = 3 * WIDTH + 5;
    open.agent_size = 2;
    wire_reply_free(
        wire_ask(other, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    wait_for_versions(2, 2 * base);
    wire_set_cell(holder, "m", LAST,
                  '.'); /* the layer's corner tile stays: its cells were closed by the edge, and are */
    tick_session(holder, held);
    char *text = page("/stats", 200);
    ck_assert_ptr_nonnull(strstr(text, "\"map_versions\":"));
    free(text);
    wire_close(other);
    wait_for_versions(1, base);

    wire_close(holder);
    wait_for_metric("sessions_open", 0);
    wait_for_versions(1, base);
}
END_TEST

/* The block graphs of guided sessions are counted with the versions that they are of: those that a session, its goal field or its
 * way is over stay until the session went on or is gone, and then all is as before. */
START_TEST(test_bytes_of_guided)
{
    enum { WIDTH = 200, HEIGHT = 130, TABLE = 12 * sizeof(void *), GOAL = WIDTH * HEIGHT - 1 };
    wire_daemon_start(&daemon_, "--stats", "127.0.0.1:0", "--threads", "2", NULL);
    struct wire wires[2], *holder = &wires[0], *other = &wires[1]; /* on two loops */
    wire_open_greeted(holder, daemon_.port);
    wire_open_greeted(other, daemon_.port);
    wire_put_free_map(holder, "m", WIDTH, HEIGHT);
    uint64_t version = sizeof(struct tp_map) + TABLE;
    uint64_t base = version + 12 * sizeof(struct tp_map_tile) + 4 * HEIGHT * 8 + WIDTH * HEIGHT;
    wait_for_versions(1, base);
    uint64_t held = wire_open_session(holder, "m", 0, GOAL, "guided", 1), ticked;
    /* the layer shares the map's tiles; an area for each of the 12 tiles, a node for each block, a run along each side that is a tile's
     * whole width or height from the other; one region with one label in one square */
    enum { NODES = 25 * 17, RUNS = 4 * 12 - 3 - 4 };
    uint64_t tables = 12 * sizeof(void *) + (2 * 13 + 2) * 4 + 1, labels = (12 + 2) * 4;
    uint64_t parts = 12 * (sizeof(struct tp_blocks_tile) + sizeof(struct tp_blocks_area)) + NODES * 12 + RUNS * 2;
    /* and beside it one of a map of which nothing is known, without labels, of four parts: within, right, below and at the corner */
    enum { FREE_NODES = 64 + 8 + 8 + 1, FREE_RUNS = 4 + 3 + 3 + 2 };
    uint64_t free_parts = 4 * (sizeof(struct tp_blocks_tile) + sizeof(struct tp_blocks_area)) + FREE_NODES * 12 + FREE_RUNS * 2;
    uint64_t graph = 2 * (sizeof(struct tp_blocks) + tables) + labels + parts + free_parts;
    wait_for_versions(2, base + version + graph);
    wire_set_cell(holder, "m", 50 * WIDTH + 50, '@');
    tick_session(holder, held);
    wait_for_versions(2, base + version + graph);
    ticked = wire_open_session(other, "m", 0, GOAL, "guided", 1);
    for (uint32_t i = 0; i < 40; i++) {
        wire_set_cell(other, "m", 50 * WIDTH + 50 + i / 2, i % 2 ? '@' : '.');
        tick_session(other, ticked);
        if (i % 7 == 0)
            tick_session(holder, held);
    }
    char *text = page("/metrics", 200);
    ck_assert_uint_gt((uint64_t)tp_test_sample(text, "tickpath_map_versions"), 2);
    ck_assert_uint_gt(tp_test_metric(text, "guide_fields"), 0);
    free(text);
    wire_close(other);
    wire_close(holder);
    wait_for_metric("sessions_open", 0);
    wait_for_versions(1, base);
    wait_for_sample("tickpath_pool_bytes{pool=\"guide\"}", 0);
}
END_TEST

/* How many names a folder has, . and .. left out. */
static uint64_t names_in(const char *path)
{
    DIR *folder = opendir(path);
    uint64_t count = 0;
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2;
}

static uint64_t sample_of(const char *name)
{
    char *text = page("/metrics", 200);
    uint64_t value = (uint64_t)tp_test_sample(text, name);
    free(text);
    return value;
}

/* Connections are descriptors: as many more are told of, beside those that the system lists of the process, and as many less once they are closed. */
START_TEST(test_descriptors)
{
    enum { MORE = 40, OF_SCRAPES = 4 }; /* a scrape has a connection itself, and the one before may still be there */
    static const char open[] = "tickpath_descriptors_open";
    struct wire wires[MORE];
    struct rlimit limit;
    char path[64];
    wire_daemon_start(&daemon_, "--stats", "127.0.0.1:0", "--threads", "2", NULL);
    snprintf(path, sizeof path, "/proc/%d/fd", (int)daemon_.pid);
    uint64_t before = sample_of(open), listed = names_in(path);
    ck_assert_msg(before >= 10 && before + OF_SCRAPES >= listed && before <= listed + OF_SCRAPES, "%" PRIu64 " are told, listed are %" PRIu64, before, listed);
    for (int i = 0; i < MORE; i++)
        wire_open_greeted(&wires[i], daemon_.port);
    uint64_t after = sample_of(open);
    ck_assert_msg(after + OF_SCRAPES >= before + MORE && after <= before + MORE + OF_SCRAPES, "%" PRIu64 " became %" PRIu64, before, after);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0); /* it has raised its own to the hard one, which is ours */
    double most = wire_sample(&daemon_, "tickpath_descriptors_max");
    ck_assert_msg(limit.rlim_max == RLIM_INFINITY ? isinf(most) : most == (double)limit.rlim_max, "at most %g", most);
    for (int i = 0; i < MORE; i++)
        wire_close(&wires[i]);
    wait_for_metric("connections_open", 0);
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    while (sample_of(open) > before + OF_SCRAPES)
        ck_assert_msg(wire_now_ms() < until, "the descriptors stay");
}
END_TEST

/* Without --stats there is no such port; a stats port that is taken stops the start, with words. */
START_TEST(test_no_endpoint)
{
    wire_daemon_start(&daemon_, NULL);
    ck_assert_uint_eq(daemon_.stats_port, 0);
    char address[32], said[4096];
    snprintf(address, sizeof address, "127.0.0.1:%u", daemon_.port);
    int code = wire_daemon_run(said, sizeof said, "--listen", "127.0.0.1:0", "--stats", address, NULL);
    ck_assert_msg(code != 0 && strstr(said, "in use") != NULL, "it ended with %d, and no word of the taken port: %s", code, said);
}
END_TEST

static Suite *stats_served_suite(void)
{
    Suite *suite = suite_create("stats_served");
    TCase *served = tcase_create("daemon");
    tcase_add_checked_fixture(served, begin, end);
    tcase_add_test(served, test_workload);
    tcase_add_test(served, test_probes_while_all_loops_are_busy);
    tcase_add_test(served, test_bytes_of_versions);
    tcase_add_test(served, test_bytes_of_guided);
    tcase_add_test(served, test_descriptors);
    tcase_add_test(served, test_no_endpoint);
    suite_add_tcase(suite, served);
    return suite;
}

int main(void)
{
    return tp_test_main("test_stats_served", stats_served_suite);
}
