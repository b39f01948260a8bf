/* Guided agents through a real daemon: two hundred of them, of several kinds, on a city whose doors open and close, every reply
 * being the library's; the daemon ended and started again, the map put anew, no room for what guides them, and a total of guide
 * units for a tick. */
#include "client/cli/generate.h"
#include "daemon/serve/scheduler.h"
#include "guide/field.h"
#include "map/layer.h"
#include "search/session.h"
#include "tests/lib/exposition.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct wire_daemon daemon_;
static struct wire wire_;

static void begin(void)
{
    wire_daemon_init(&daemon_);
}

static void end(void)
{
    wire_close(&wire_);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}

/* ---- The library's side: one map, its layers, its agents ---- */

enum { SIDE = 192, CELLS = SIDE * SIDE, AGENTS = 200, KINDS = 5, FIELD_BYTES = 64 << 20, DOORS_MAX = 6 };

/* What kinds of agents there are. */
static const struct kind {
    const char *profile; /* of the wire; NULL: the map's own */
    uint32_t size;
    enum tp_neighbours neighbours;
    enum tp_corners corners;
} kinds[KINDS] = {
    {NULL, 1, TP_NEIGHBOURS_8, TP_CORNERS_BOTH_FREE},  {NULL, 2, TP_NEIGHBOURS_4, TP_CORNERS_BOTH_FREE},
    {"cart", 1, TP_NEIGHBOURS_8, TP_CORNERS_ONE_FREE}, {NULL, 1, TP_NEIGHBOURS_8, TP_CORNERS_ALWAYS},
    {"cart", 3, TP_NEIGHBOURS_16, TP_CORNERS_ALWAYS},
};

struct agent {
    struct tp_session_params params;
    uint32_t kind, cell, goal, slot;
    struct tp_session *session; /* where units are shared it is that slot's */
    uint64_t id;
};

struct town {
    struct tp_test_rng rng;
    struct tp_pool pool;
    struct tp_field_cache *fields;
    struct tp_map *map, *layer[KINDS];
    struct tp_map *plan[KINDS]; /* the city as it was put, in layers: what some agents are told */
    struct tp_layer_kind layer_kind[KINDS];
    struct agent agents[AGENTS];
    uint32_t agent_count;
    uint64_t ahead; /* our versions less the daemon's */
    uint64_t units, units_of_knowing, arrivals, waits; /* of those that know the map */
    /* Where the units of a tick are shared. How many each is given no reply says, and whether an agent looks for another way depends on it: so
     * they are shared here by the daemon's own scheduler, from the same ticks. */
    bool shares;
    struct tp_sessions sessions;
    struct tp_closing closing;
    struct tp_world_map of[KINDS]; /* slot i: layer i */
    uint64_t ticks;
};

static struct town town;
static struct tp_metrics counted; /* by the sharing here */

static struct tp_profile cart_profile(void)
{
    struct tp_profile profile = {{0}};
    profile.weight['.'] = 2;
    profile.weight['T'] = 5;
    return profile;
}

static void put_map(const char *name, uint8_t *cells, bool replace)
{
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = (char *)name;
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = put.has_replace = 1;
    put.replace = replace;
    put.width = put.height = SIDE;
    put.cells = (ProtobufCBinaryData){CELLS, cells};
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
}

/* A city from a seed, and a plan of it; on the wire too. */
static void put_city(uint64_t seed, bool replace)
{
    uint8_t *cells = malloc(CELLS);
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    ck_assert_int_eq(tp_generate_map(TP_GENERATE_CITY, SIDE, SIDE, seed, NULL, cells), 0);
    ck_assert_int_eq(tp_map_build(&town.map, SIDE, SIDE, cells, &profile, 1), 0);
    town.ahead = town.map->version - 1;
    put_map("town", cells, replace);
    put_map("plan", cells, replace);
    free(cells);
}

/* Profiles are the daemon's memory's: to be put after each start, and for each new map. */
static void put_cart(void)
{
    Tickpath__ClassWeight row[2], *rows[2] = {&row[0], &row[1]};
    for (int i = 0; i < 2; i++) {
        tickpath__class_weight__init(&row[i]);
        row[i].has_terrain = row[i].has_weight = 1;
        row[i].terrain = (uint8_t) ".T"[i];
        row[i].weight = cart_profile().weight[row[i].terrain];
    }
    Tickpath__PutProfile put = TICKPATH__PUT_PROFILE__INIT;
    put.map = (char *)"town";
    put.name = (char *)"cart";
    put.weights = rows;
    put.n_weights = 2;
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_PUT_PROFILE, &put, TICKPATH__REPLY__BODY_PROFILE_PUT));
}

static void build_layers(void)
{
    for (int i = 0; i < KINDS; i++) {
        town.layer_kind[i] = (struct tp_layer_kind){
            kinds[i].profile != NULL ? cart_profile() : town.map->profile, kinds[i].size, true,
            tp_blocks_links_of(kinds[i].neighbours, kinds[i].corners)};
        ck_assert_int_eq(tp_layer_build(&town.layer[i], town.map, &town.layer_kind[i]), 0);
    }
}

/* What agents are told that are told the map: as it is now, before its doors move. */
static void build_plans(void)
{
    for (int i = 0; i < KINDS; i++) {
        tp_map_unref(town.plan[i]);
        town.plan[i] = (struct tp_map *)tp_map_ref(town.layer[i]);
    }
}

static void drop_layers(void)
{
    for (int i = 0; i < KINDS; i++)
        tp_map_unref(town.layer[i]);
}

static void share_units(void)
{
    town.shares = true;
    tp_closing_init(&town.closing);
    tp_sessions_init(&town.sessions, &town.closing, &counted, AGENTS, 42);
    for (uint32_t i = 0; i < KINDS; i++)
        town.of[i] = (struct tp_world_map){.name = "town", .slot = i};
}

static void town_begin(const char *label, uint64_t field_bytes)
{
    memset(&town, 0, sizeof town);
    town.rng = tp_test_rng(label);
    tp_pool_init(&town.pool, NULL);
    town.fields = tp_field_cache_open(&town.pool, field_bytes);
    ck_assert_ptr_nonnull(town.fields);
    put_city(tp_test_below(&town.rng, 1000), false);
    put_cart();
    build_layers();
    build_plans();
}

static void town_end(void)
{
    for (int i = 0; i < KINDS; i++)
        tp_map_unref(town.plan[i]);
    drop_layers();
    tp_map_unref(town.map);
    tp_field_cache_close(town.fields);
    tp_pool_fini(&town.pool);
}

static void draw_agent(struct agent *agent, uint32_t kind)
{
    struct tp_session_params *params = &agent->params;
    tp_session_params_init(params);
    agent->kind = kind;
    params->algorithm = tp_algorithm_find("guided");
    params->neighbours = kinds[kind].neighbours;
    params->corners = kinds[kind].corners;
    params->fields = town.fields;
    params->budget = tp_test_percent(&town.rng, 50) ? tp_budget_k(tp_test_between(&town.rng, 4, 40))
                                                    : tp_budget_r(tp_test_between(&town.rng, 10, 60), 900, 10);
    params->w_milli = tp_test_percent(&town.rng, 50) ? 1000 : 1500;
    static const uint32_t units[] = {TP_GUIDE_UNITS_UNSET, 1000, 100, 10, 1};
    params->guide_units = units[tp_test_below(&town.rng, 5)];
    bool is_plain = !kinds[kind].profile && kinds[kind].size == 1;
    if (tp_test_percent(&town.rng, 30))
        params->knowledge = TP_KNOWLEDGE_FREESPACE;
    else if (is_plain && tp_test_percent(&town.rng, 40))
        params->knowledge = TP_KNOWLEDGE_MAP;
    params->known = params->knowledge == TP_KNOWLEDGE_MAP ? town.plan[kind] : NULL;
    params->sensor_radius = params->knowledge == TP_KNOWLEDGE_FULL ? 0 : tp_test_between(&town.rng, 2, 5);
    params->bounded = params->knowledge == TP_KNOWLEDGE_FULL && tp_test_percent(&town.rng, 40);
    agent->cell = tp_test_free_cell(&town.rng, town.layer[kind]);
    agent->goal = tp_test_percent(&town.rng, 40) && town.agent_count > 0 ? town.agents[0].goal : tp_test_free_cell(&town.rng, town.layer[kind]);
}

/* Units a tick at most. */
static uint32_t units_of(const struct agent *agent)
{
    return agent->params.guide_units == TP_GUIDE_UNITS_UNSET ? 100 : agent->params.guide_units;
}

/* Takes a session that was opened in among those that share. */
static void share_with(struct agent *agent)
{
    const struct tp_budget *of = &agent->params.budget;
    struct tp_agent_budget budget = {.kind = of->kind, .expansions = of->expansions, .r_milli = of->r_milli, .c = of->c};
    struct tp_world_map *map = &town.of[agent->kind];
    ck_assert(tp_world_enter(map));
    ck_assert_int_eq(tp_sessions_add(&town.sessions, agent->session, map, &budget, &agent->slot), 0);
    struct tp_agent *shares = &town.sessions.agents[agent->slot];
    shares->is_bounded = agent->params.bounded;
    shares->guide_units = units_of(agent);
    tp_agent_set_off(shares);
}

/* Opens both sessions where the agent stands. */
static void open_agent(struct agent *agent)
{
    struct tp_refusal refusal;
    agent->params.start = agent->cell;
    agent->params.goal = agent->goal;
    ck_assert_int_eq(tp_session_open(&agent->session, &agent->params, town.layer[agent->kind], &town.pool, &refusal), 0);
    if (town.shares)
        share_with(agent);
    Tickpath__OpenSession open;
    Tickpath__Budget budget;
    stage_open_message(&open, &budget, &agent->params, false);
    open.map = (char *)"town";
    open.known_map = agent->params.known ? (char *)"plan" : NULL;
    open.profile = (char *)kinds[agent->kind].profile;
    open.has_agent_size = kinds[agent->kind].size > 1;
    open.agent_size = kinds[agent->kind].size;
    Tickpath__Reply *reply =
        wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED);
    agent->id = reply->session_opened->session;
    ck_assert_uint_eq(reply->session_opened->version, town.map->version - town.ahead);
    wire_reply_free(reply);
}

static void open_agents(uint32_t count)
{
    for (town.agent_count = 0; town.agent_count < count; town.agent_count++) {
        draw_agent(&town.agents[town.agent_count], town.agent_count % KINDS);
        open_agent(&town.agents[town.agent_count]);
    }
}

/* Their sessions end; `tells`: the daemon's by request. */
static void close_agents(bool tells)
{
    for (uint32_t i = 0; i < town.agent_count && !town.shares; i++)
        tp_session_close(town.agents[i].session);
    if (town.shares) {
        tp_sessions_fini(&town.sessions);
        tp_closing_fini(&town.closing);
    }
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.has_all = close.all = 1;
    if (tells)
        wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                                 TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
}

/* Doors open and close: one batch, here and there. */
static void change_doors(void)
{
    struct tp_change changes[DOORS_MAX];
    Tickpath__Rectangle row[DOORS_MAX], *rows[DOORS_MAX];
    uint32_t count = tp_test_between(&town.rng, 1, DOORS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        bool wide = tp_test_percent(&town.rng, 50);
        changes[i] = (struct tp_change){.kind = TP_CHANGE_RECT,
                                        .class_to = (uint8_t) "@@T..."[tp_test_below(&town.rng, 6)],
                                        .x = tp_test_below(&town.rng, SIDE - 8),
                                        .y = tp_test_below(&town.rng, SIDE - 8),
                                        .width = wide ? tp_test_between(&town.rng, 1, 8) : 1,
                                        .height = wide ? 1 : tp_test_between(&town.rng, 1, 8)};
        tickpath__rectangle__init(&row[i]);
        row[i].has_x = row[i].has_y = row[i].has_width = row[i].has_height = row[i].has_terrain = 1;
        row[i].x = changes[i].x;
        row[i].y = changes[i].y;
        row[i].width = changes[i].width;
        row[i].height = changes[i].height;
        row[i].terrain = changes[i].class_to;
        rows[i] = &row[i];
    }
    struct tp_map *next, *layer;
    size_t bad;
    uint32_t x, y;
    ck_assert_int_eq(tp_map_apply(&next, town.map, changes, count, &bad, &x, &y), 0);
    for (int i = 0; i < KINDS; i++) {
        ck_assert_int_eq(tp_layer_follow(&layer, town.layer[i], town.map, next, &town.layer_kind[i]), 0);
        tp_field_cache_retire(town.fields, town.layer[i]->blocks);
        tp_map_unref(town.layer[i]);
        town.layer[i] = layer;
    }
    tp_map_unref(town.map);
    town.map = next;
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)"town";
    change.rectangle = rows;
    change.n_rectangle = count;
    Tickpath__Reply *reply =
        wire_ask(&wire_, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED);
    ck_assert_uint_eq(reply->changed->version, town.map->version - town.ahead);
    wire_reply_free(reply);
}

static void send_home(struct agent *agent)
{
    agent->goal = tp_test_free_cell(&town.rng, town.layer[agent->kind]);
    ck_assert_int_eq(tp_session_retarget(agent->session, agent->goal), 0);
    if (town.shares)
        tp_agent_set_off(&town.sessions.agents[agent->slot]);
    Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
    set.has_session = set.has_goal = 1;
    set.session = agent->id;
    set.goal = agent->goal;
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__REPLY__BODY_GOAL_SET));
}

/* Ticks all here, by themselves or sharing `total`. */
static void tick_here(uint64_t total, struct tp_tick_reply *replies)
{
    static uint32_t slots[AGENTS], order[2 * AGENTS];
    static struct tp_claim claims[2 * AGENTS];
    static struct tp_schedule_refused refused[AGENTS];
    struct tp_schedule schedule = {.sessions = &town.sessions,
                                   .current = (const struct tp_map *const *)town.layer,
                                   .all = true,
                                   .total_guide_units = total,
                                   .tick = ++town.ticks,
                                   .capacity = AGENTS,
                                   .slots = slots,
                                   .order = order,
                                   .claims = claims,
                                   .replies = replies,
                                   .refused = refused};
    struct tp_refusal refusal;
    ck_assert(town.shares == (total > 0));
    if (town.shares)
        ck_assert_int_eq(tp_schedule_serve(&schedule, &refusal), 0);
    for (uint32_t i = 0; i < town.agent_count && !town.shares; i++) {
        const struct agent *agent = &town.agents[i];
        tp_session_tick(agent->session, town.layer[agent->kind], &agent->params.budget, &replies[i]);
    }
}

/* Ticks all, here and there; `total`: guide units that they share, 0 for none. The replies must be the same. */
static void tick_all(uint64_t total)
{
    static struct tp_tick_reply replies[AGENTS];
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = tick.has_want_work = tick.want_work = 1;
    tick.has_total_guide_units = total > 0;
    tick.total_guide_units = total;
    Tickpath__Reply *reply = wire_ask(&wire_, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    const Tickpath__Ticked *got = reply->ticked;
    ck_assert_uint_eq(got->n_session, town.agent_count);
    ck_assert_uint_eq(got->n_guide_expansions, town.agent_count);
    uint64_t spent = 0;
    bool some_bounded = false;
    for (uint32_t i = 0; i < town.agent_count; i++)
        some_bounded |= town.agents[i].params.bounded;
    ck_assert_uint_eq(got->n_bound_milli, some_bounded ? town.agent_count : 0);
    tick_here(total, replies);
    for (uint32_t i = 0; i < town.agent_count; i++) {
        struct agent *agent = &town.agents[i];
        struct tp_tick_reply want = replies[i];
        uint64_t most = units_of(agent);
        bool same = got->session[i] == agent->id && got->cell[i] == want.to && got->status[i] == want.status &&
                    got->flags[i] == want.flags && got->version[i] == want.version - town.ahead &&
                    got->cost[i] == want.cost && got->expansions[i] == want.work.expansions &&
                    got->traced[i] == want.work.traced && got->generated[i] == want.work.generated &&
                    got->guide_expansions[i] == want.work.guide && (!some_bounded || got->bound_milli[i] == want.bound_milli);
        if (!same)
            ck_abort_msg("agent %u: the daemon says cell %u, status %u, flags %u, %llu expansions, %llu units, the library "
                         "%u, %d, %u, %llu, %llu",
                         i, got->cell[i], got->status[i], got->flags[i], (unsigned long long)got->expansions[i],
                         (unsigned long long)got->guide_expansions[i], want.to, (int)want.status, want.flags,
                         (unsigned long long)want.work.expansions, (unsigned long long)want.work.guide);
        if (want.work.guide > most)
            ck_abort_msg("agent %u paid %llu units, of %llu", i, (unsigned long long)want.work.guide, (unsigned long long)most);
        spent += want.work.guide;
        town.units_of_knowing += agent->params.knowledge == TP_KNOWLEDGE_FULL ? want.work.guide : 0;
        agent->cell = want.to;
        town.waits += want.status == TP_STATUS_SEARCHING;
        if (want.status == TP_STATUS_ARRIVED)
            town.arrivals++;
    }
    ck_assert(total == 0 || spent <= total);
    town.units += spent;
    wire_reply_free(reply);
}

static void walk_about(int ticks, uint64_t total)
{
    for (int i = 0; i < ticks; i++) {
        if (i % 3 == 0)
            change_doors();
        tick_all(total);
        for (uint32_t j = 0; j < town.agent_count; j++)
            if (town.agents[j].cell == town.agents[j].goal || tp_test_percent(&town.rng, 1))
                send_home(&town.agents[j]);
    }
}

/* ---- The tests ---- */

static char data_[160];

static void start(const char *guide_bytes_max)
{
    snprintf(data_, sizeof data_, "%s/data", daemon_.folder);
    wire_daemon_start(&daemon_, "--stats", "127.0.0.1:0", "--threads", "2", "--data", data_, "--guide-bytes-max",
                      guide_bytes_max, NULL);
    wire_open_greeted(&wire_, daemon_.port);
}

/* The daemon is ended, and started again on what it kept: agents open their sessions again where they stand. A map put anew is
 * another, with all that guides over it. */
START_TEST(test_as_the_library)
{
    int ticks = tp_test_long() ? 1000 : 60;
    start("268435456");
    town_begin("as the library", FIELD_BYTES);
    open_agents(AGENTS);
    walk_about(ticks, 0);
    ck_assert_uint_gt(town.units, 1000);
    ck_assert_uint_gt(town.arrivals, 0);

    close_agents(false);
    wire_close(&wire_);
    wire_daemon_stop(&daemon_);
    start("268435456");
    put_cart();
    drop_layers();
    build_layers();
    for (uint32_t i = 0; i < AGENTS; i++)
        open_agent(&town.agents[i]);
    walk_about(ticks / 2, 0);

    close_agents(true);
    drop_layers();
    tp_map_unref(town.map);
    put_city(tp_test_below(&town.rng, 1000), true);
    put_cart();
    build_layers();
    build_plans();
    open_agents(AGENTS);
    walk_about(ticks / 2, 0);
    close_agents(true);
    town_end();
}
END_TEST

/* The total of a tick is shared in the order of the sessions, here as there. */
START_TEST(test_total)
{
    start("268435456");
    town_begin("total", FIELD_BYTES);
    share_units();
    open_agents(60);
    walk_about(tp_test_long() ? 400 : 40, 333);
    ck_assert_uint_gt(town.units, 333 * 10);
    walk_about(10, 1);
    close_agents(true);
    town_end();
}
END_TEST

static uint64_t metric(const char *field)
{
    int status;
    char *text = wire_http_get(&daemon_, "/metrics", &status);
    ck_assert_ptr_nonnull(text);
    uint64_t value = tp_test_metric(text, field);
    free(text);
    return value;
}

/* No room at all: agents go by the heuristic, as with guide units of 0; those that don't know the map go on laying over what they see. */
START_TEST(test_no_room)
{
    start("0");
    town_begin("no room", 0);
    open_agents(40);
    walk_about(tp_test_long() ? 400 : 60, 0);
    ck_assert_uint_eq(town.units_of_knowing, 0);
    ck_assert_uint_gt(metric("guide_refused"), 0);
    ck_assert(wire_sample(&daemon_, "tickpath_pool_bytes{pool=\"guide\"}") == 0);
    close_agents(true);
    town_end();
}
END_TEST

/* Room for a few: the cap holds at every tick, whoever gets what, and all arrive. */
START_TEST(test_little_room)
{
    enum { COUNT = 60, ROOM = 16384 };
    start("16384");
    town_begin("little room", ROOM);
    bool has_arrived[COUNT] = {false};
    for (uint32_t i = 0; i < COUNT; i++)
        wire_open_session(&wire_, "town", tp_test_free_cell(&town.rng, town.layer[0]), tp_test_free_cell(&town.rng, town.layer[0]), "guided", 20);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    uint32_t arrived = 0;
    for (int i = 0; i < 3000 && arrived < COUNT; i++) {
        Tickpath__Reply *reply = wire_ask(&wire_, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
        for (uint32_t j = 0; j < COUNT; j++) {
            arrived += reply->ticked->status[j] == TICKPATH__STATUS__ARRIVED && !has_arrived[j];
            has_arrived[j] |= reply->ticked->status[j] == TICKPATH__STATUS__ARRIVED;
            ck_assert_int_ne((int)reply->ticked->status[j], TICKPATH__STATUS__UNREACHABLE);
        }
        wire_reply_free(reply);
        if (i % 10 == 0)
            ck_assert(wire_sample(&daemon_, "tickpath_pool_bytes{pool=\"guide\"}") <= ROOM);
    }
    ck_assert_uint_eq(arrived, COUNT);
    ck_assert_uint_gt(metric("guide_refused"), 0);
    ck_assert_uint_gt(metric("guide_fields_made"), 0);
    town_end();
}
END_TEST

static Suite *guided_wire_suite(void)
{
    Suite *suite = suite_create("guided_wire");
    TCase *alone = tcase_create("alone"), *sharing = tcase_create("sharing"), *all[] = {alone, sharing};
    tcase_add_test(alone, test_as_the_library);
    tcase_add_test(alone, test_no_room);
    tcase_add_test(alone, test_little_room);
    tcase_add_test(sharing, test_total);
    for (int i = 0; i < 2; i++) {
        tcase_set_timeout(all[i], tp_test_long() ? 3600 : 120);
        tcase_add_checked_fixture(all[i], begin, end);
        suite_add_tcase(suite, all[i]);
    }
    return suite;
}

int main(void)
{
    return tp_test_main("test_guided_wire", guided_wire_suite);
}
