/* 1,000 sessions on one daemon for 100 ticks (TICKPATH_LONG=1: 10,000), goals renewed on arrival, doors
 * opening and closing: no leak (the daemon ends with 0, which under ASan means that nothing was lost), and no
 * growth once it is warm (resident bytes and search memory, sampled). */
#include "tests/lib/exposition.h"
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 96,
    CELLS = SIDE * SIDE,
    ROOM = 12, /* a wall every so many cells, with doors */
    CONNECTIONS = 4,
    SESSIONS = 1000,
    SESSIONS_EACH = SESSIONS / CONNECTIONS,
    CHANGE_EVERY = 5,
    SAMPLES = 50,
};

/* Growth allowed between the warm third and the last third of a run. */
#define GROWTH_FACTOR 1.2
#define GROWTH_BYTES (16u << 20)

static struct wire_daemon daemon_;
static struct wire wire[CONNECTIONS];
static uint64_t session[CONNECTIONS][SESSIONS_EACH];
static uint8_t cells[CELLS];
static struct tp_test_rng rng;

/* Rooms with a door in each wall; corridors never close whole. */
static void draw_map(void)
{
    memset(cells, '.', sizeof cells);
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++)
            if ((x % ROOM == 0 && y % ROOM != 4 && y % ROOM != 8) ||
                (y % ROOM == 0 && x % ROOM != 4 && x % ROOM != 8))
                cells[y * SIDE + x] = '@';
}

static uint32_t draw_free_cell(void)
{
    for (;;) {
        uint32_t cell = tp_test_below(&rng, CELLS);
        uint32_t x = cell % SIDE, y = cell / SIDE;
        if (x % ROOM != 0 && y % ROOM != 0) /* inside a room: never closed by a door */
            return cell;
    }
}

/* Shuts or opens eight doors at random: one batch, one version. */
static void change_doors(uint32_t c)
{
    uint32_t door[8], terrain[8];
    for (int i = 0; i < 8; i++) {
        uint32_t wall = ROOM * tp_test_below(&rng, SIDE / ROOM),
                 along = ROOM * tp_test_below(&rng, SIDE / ROOM) + 4;
        door[i] = tp_test_percent(&rng, 50) ? along * SIDE + wall : wall * SIDE + along;
        terrain[i] = tp_test_percent(&rng, 50) ? '@' : '.';
    }
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "rooms";
    change.n_cell = change.n_cell_terrain = 8;
    change.cell = door;
    change.cell_terrain = terrain;
    wire_reply_free(
        wire_ask(&wire[c], TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED));
}

struct tally {
    uint64_t answers, moves, arrivals, unreachable;
};

static void take_ticked(uint32_t c, const Tickpath__Ticked *ticked, struct tally *tally)
{
    ck_assert_uint_eq(ticked->n_session, SESSIONS_EACH);
    ck_assert_uint_eq(ticked->n_refused, 0);
    uint32_t renewed = 0;
    for (uint32_t i = 0; i < SESSIONS_EACH; i++) {
        ck_assert_uint_eq(ticked->session[i], session[c][i]);
        uint32_t status = ticked->status[i];
        tally->answers++;
        tally->moves += status == TICKPATH__STATUS__MOVING || status == TICKPATH__STATUS__ARRIVED;
        tally->arrivals += status == TICKPATH__STATUS__ARRIVED;
        tally->unreachable += status == TICKPATH__STATUS__UNREACHABLE;
        if (status != TICKPATH__STATUS__ARRIVED && status != TICKPATH__STATUS__UNREACHABLE)
            continue;
        Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
        set.has_session = set.has_goal = 1;
        set.session = session[c][i];
        set.goal = draw_free_cell();
        wire_send(&wire[c], TICKPATH__REQUEST__BODY_SET_GOAL, &set);
        renewed++;
    }
    while (renewed-- > 0) {
        Tickpath__Reply *reply = wire_recv(&wire[c]);
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_GOAL_SET);
        wire_reply_free(reply);
    }
}

struct sample {
    uint64_t resident_bytes, node_bytes;
};

static struct sample take_sample(void)
{
    int status = 0;
    char *text = wire_http_get(&daemon_, "/metrics", &status);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(status, 200);
    struct sample sample = {wire_resident_bytes(daemon_.pid), tp_test_metric(text, "node_bytes")};
    ck_assert_uint_eq(tp_test_metric(text, "sessions_open"), SESSIONS);
    free(text);
    return sample;
}

/* The peak of the last third is no higher than that of the second by more than is allowed. */
static void expect_no_growth(const struct sample samples[SAMPLES])
{
    struct sample warm = {0}, late = {0};
    for (int i = SAMPLES / 3; i < SAMPLES; i++) {
        struct sample *peak = i < 2 * SAMPLES / 3 ? &warm : &late;
        if (samples[i].resident_bytes > peak->resident_bytes)
            peak->resident_bytes = samples[i].resident_bytes;
        if (samples[i].node_bytes > peak->node_bytes)
            peak->node_bytes = samples[i].node_bytes;
    }
    printf("resident: %.1f MiB warm, %.1f MiB late; search memory: %.1f MiB warm, %.1f MiB late\n",
           (double)warm.resident_bytes / 1048576, (double)late.resident_bytes / 1048576,
           (double)warm.node_bytes / 1048576, (double)late.node_bytes / 1048576);
    ck_assert_msg((double)late.resident_bytes < GROWTH_FACTOR * (double)warm.resident_bytes + GROWTH_BYTES,
                  "resident memory grows");
    ck_assert_msg((double)late.node_bytes < GROWTH_FACTOR * (double)warm.node_bytes + GROWTH_BYTES,
                  "search memory grows");
}

START_TEST(test_soak)
{
    uint64_t ticks = tp_test_promised(100, 10000);
    rng = tp_test_rng("soak");
    wire_daemon_lean();
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", "--stats", "127.0.0.1:0", NULL);
    draw_map();
    static const char *const algorithms[] = {"tba", "tbwa", "tbgbfs", "guided"};
    for (uint32_t c = 0; c < CONNECTIONS; c++) {
        wire_open_greeted(&wire[c], daemon_.port);
        if (c == 0)
            wire_put_map(&wire[c], "rooms", SIDE, SIDE, cells);
        for (uint32_t i = 0; i < SESSIONS_EACH; i++) {
            Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT; /* with the daemon's default budget */
            open.map = "rooms";
            open.has_start = open.has_goal = 1;
            open.start = draw_free_cell();
            open.goal = draw_free_cell();
            open.algorithm = (char *)algorithms[c];
            open.has_w = c == 3;
            open.w = 2.6;
            Tickpath__Reply *reply = wire_ask(&wire[c], TICKPATH__REQUEST__BODY_OPEN_SESSION, &open,
                                              TICKPATH__REPLY__BODY_SESSION_OPENED);
            session[c][i] = reply->session_opened->session;
            wire_reply_free(reply);
        }
    }
    struct sample samples[SAMPLES];
    struct tally tally = {0};
    int sampled = 0;
    for (uint64_t tick = 0; tick < ticks; tick++) {
        if (tick % CHANGE_EVERY == 0)
            change_doors((uint32_t)(tick / CHANGE_EVERY % CONNECTIONS));
        Tickpath__Tick all = TICKPATH__TICK__INIT;
        all.has_all = all.all = all.has_want_work = all.want_work = 1;
        for (uint32_t c = 0; c < CONNECTIONS; c++) /* side by side */
            wire_send(&wire[c], TICKPATH__REQUEST__BODY_TICK, &all);
        for (uint32_t c = 0; c < CONNECTIONS; c++) {
            Tickpath__Reply *reply = wire_recv(&wire[c]);
            ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_TICKED);
            take_ticked(c, reply->ticked, &tally);
            wire_reply_free(reply);
        }
        while (sampled < SAMPLES && (tick + 1) * SAMPLES >= ticks * (uint64_t)(sampled + 1))
            samples[sampled++] = take_sample();
    }
    ck_assert_int_eq(sampled, SAMPLES);
    printf("%llu answers, %llu moves, %llu arrivals, %llu times unreachable\n",
           (unsigned long long)tally.answers, (unsigned long long)tally.moves,
           (unsigned long long)tally.arrivals, (unsigned long long)tally.unreachable);
    ck_assert_uint_eq(tally.answers, ticks * SESSIONS);
    ck_assert_uint_gt(tally.moves, tally.answers / 2); /* they do walk */
    ck_assert_uint_gt(tally.arrivals, SESSIONS / 4);
    expect_no_growth(samples);

    for (uint32_t c = 0; c < CONNECTIONS; c++)
        wire_close(&wire[c]);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}
END_TEST

static Suite *soak_suite(void)
{
    Suite *suite = suite_create("soak");
    TCase *cases = tcase_create("soak");
    tcase_add_test(cases, test_soak);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_soak", soak_suite);
}
