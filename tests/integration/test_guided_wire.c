/* Guided agents through a real daemon: two hundred of them, of several kinds, on a city whose doors open and close, every reply
 * being the library's; the daemon ended and started again, the map put anew, no room for what guides them, goals that can't be
 * reached, and a total of guide units for a tick. */
#include "client/cli/generate.h"
#include "client/tickpath_client.h"
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
    uint32_t kind, cell, goal;
    struct tp_session *session;
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
};

static struct town town;

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

/* Opens both sessions where the agent stands. */
static void open_agent(struct agent *agent)
{
    struct tp_refusal refusal;
    agent->params.start = agent->cell;
    agent->params.goal = agent->goal;
    ck_assert_int_eq(tp_session_open(&agent->session, &agent->params, town.layer[agent->kind], &town.pool, &refusal), 0);
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
    for (uint32_t i = 0; i < town.agent_count; i++)
        tp_session_close(town.agents[i].session);
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
    Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
    set.has_session = set.has_goal = 1;
    set.session = agent->id;
    set.goal = agent->goal;
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__REPLY__BODY_GOAL_SET));
}

/* Ticks all, here and there; `total`: guide units that they share, 0 for none. The replies must be the same. */
static void tick_all(uint64_t total)
{
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
    for (uint32_t i = 0; i < town.agent_count; i++) {
        struct agent *agent = &town.agents[i];
        struct tp_tick_reply want;
        struct tp_budget budget = agent->params.budget;
        budget.caps_guide = total > 0;
        budget.guide_max = total > 0 ? got->guide_expansions[i] : 0; /* the moves are those of what it was given */
        tp_session_tick(agent->session, town.layer[agent->kind], &budget, &want);
        uint64_t most = agent->params.guide_units == TP_GUIDE_UNITS_UNSET ? 100 : agent->params.guide_units;
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

/* A yard without a gate: told at once, without a state expanded or a unit paid; with a gate the agent goes there. */
START_TEST(test_unreachable_at_once)
{
    enum { WIDTH = 200, HEIGHT = 150, GOAL = 75 * WIDTH + 150 };
    uint8_t *cells = malloc(WIDTH * HEIGHT);
    start("268435456");
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        int x = i % WIDTH, y = i / WIDTH;
        bool inside = x > 120 && x < 180 && y > 40 && y < 110, yard = x >= 120 && x <= 180 && y >= 40 && y <= 110;
        cells[i] = yard && !inside ? '@' : '.';
    }
    wire_put_map(&wire_, "yard", WIDTH, HEIGHT, cells);
    free(cells);
    uint64_t session = wire_open_session(&wire_, "yard", 0, GOAL, "guided", 5);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = 1;
    tick.session = &session;
    tick.has_want_work = tick.want_work = 1;
    for (int i = 0; i < 3; i++) {
        Tickpath__Reply *reply = wire_ask(&wire_, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
        ck_assert_int_eq((int)reply->ticked->status[0], TICKPATH__STATUS__UNREACHABLE);
        ck_assert_uint_eq(reply->ticked->expansions[0] + reply->ticked->guide_expansions[0], 0);
        ck_assert_uint_eq(reply->ticked->cell[0], 0);
        wire_reply_free(reply);
    }
    wire_set_cell(&wire_, "yard", 60 * WIDTH + 180, '.');
    uint32_t status = 0;
    for (int i = 0; i < 3000 && status != TICKPATH__STATUS__ARRIVED; i++) {
        Tickpath__Reply *reply = wire_ask(&wire_, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
        status = reply->ticked->status[0];
        ck_assert_int_ne((int)status, TICKPATH__STATUS__UNREACHABLE);
        wire_reply_free(reply);
    }
    ck_assert_int_eq((int)status, TICKPATH__STATUS__ARRIVED);
}
END_TEST

/* A map that leads sessions that were told it has sessions: it is dropped when they are closed, and not before. */
START_TEST(test_a_map_told_has_sessions)
{
    enum { SIDE_TOLD = 100 };
    start("268435456");
    wire_put_free_map(&wire_, "m", SIDE_TOLD, SIDE_TOLD);
    wire_put_free_map(&wire_, "told", SIDE_TOLD, SIDE_TOLD);
    Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
    drop.map = (char *)"told";
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = (char *)"m";
    open.known_map = (char *)"told";
    open.algorithm = (char *)"guided";
    open.has_start = open.has_goal = open.has_knowledge = 1;
    open.goal = SIDE_TOLD * SIDE_TOLD - 1;
    open.knowledge = TICKPATH__KNOWLEDGE__KNOWN_MAP;
    uint64_t sessions[2];
    for (int i = 0; i < 2; i++) {
        Tickpath__Reply *reply =
            wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED);
        sessions[i] = reply->session_opened->session;
        wire_reply_free(reply);
    }
    open.has_epoch = open.epoch = 1; /* refused: the map told is left again */
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__ERROR_CODE__VERSION_MISMATCH, "epoch");
    for (int i = 0; i < 2; i++) {
        wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__ERROR_CODE__FAILED_PRECONDITION, "map");
        wire_reply_free(wire_tick(&wire_, sessions[i]));
        Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
        close.n_session = 1;
        close.session = &sessions[i];
        wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close, TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
    }
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__REPLY__BODY_MAP_DROPPED));
}
END_TEST

/* The same through the client library: units asked for, none, a total, and what was paid. */
START_TEST(test_client_library)
{
    struct tp_client *client;
    struct tp_client_session guided, unguided;
    struct tp_client_ticked ticked;
    struct tp_client_listing listing;
    start("268435456");
    wire_put_free_map(&wire_, "m", 300, 300);
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", daemon_.port, NULL, WIRE_TIMEOUT_MS, NULL), 0);
    struct tp_client_session_params params = {
        .map = "m", .goal = 300 * 300 - 1, .algorithm = "guided", .guide_units = 9,
        .budget = {.kind = TP_CLIENT_BUDGET_K, .amount = 4}};
    ck_assert_int_eq(tp_client_open_session(client, &params, &guided, WIRE_TIMEOUT_MS), 0);
    params.unguided = true; /* before guide_units */
    ck_assert_int_eq(tp_client_open_session(client, &params, &unguided, WIRE_TIMEOUT_MS), 0);
    params.unguided = false;
    params.bounded = true;
    params.algorithm = "astar";
    params.guide_units = 0;
    ck_assert_int_eq(tp_client_open_session(client, &params, &unguided, WIRE_TIMEOUT_MS), TP_CLIENT_UNSUPPORTED);
    ck_assert_str_eq(tp_client_error(client)->field, "bounded");
    params.bounded = false;
    params.guide_units = 9;
    params.algorithm = "tbwa";
    ck_assert_int_eq(tp_client_open_session(client, &params, &unguided, WIRE_TIMEOUT_MS), TP_CLIENT_UNSUPPORTED);
    ck_assert_str_eq(tp_client_error(client)->field, "guide_units");
    struct tp_client_tick tick = {.all = true};
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    ck_assert_ptr_null(ticked.guide_expansions);
    ck_assert_ptr_null(ticked.bounds_milli);
    tick.want_work = true;
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(ticked.guide_expansions[0], 9);
    ck_assert_uint_eq(ticked.guide_expansions[1], 0);
    tick.total_guide_units = 2;
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(ticked.guide_expansions[0], 2);
    ck_assert_int_eq(tp_client_list(client, TP_CLIENT_LIST_SESSIONS | TP_CLIENT_LIST_ALGORITHMS, &listing, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(listing.sessions[0].guide_expansions, 9 + 9 + 2);
    ck_assert_uint_eq(listing.sessions[1].guide_expansions, 0);
    uint32_t capabilities = 0;
    for (size_t i = 0; i < listing.algorithm_count; i++)
        if (strcmp(listing.algorithms[i].name, "guided") == 0)
            capabilities = listing.algorithms[i].capabilities;
    ck_assert_uint_eq(capabilities & (2048 + 4096), 2048 + 4096);
    params.bounded = true;
    params.guide_units = 0;
    params.budget.amount = 2000; /* open ground: the first path is a cheapest, and h says so */
    ck_assert_int_eq(tp_client_open_session(client, &params, &unguided, WIRE_TIMEOUT_MS), 0);
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, WIRE_TIMEOUT_MS), 0);
    ck_assert_ptr_nonnull(ticked.bounds_milli);
    ck_assert_uint_eq(ticked.bounds_milli[0], 0); /* not asked for */
    ck_assert_uint_eq(ticked.bounds_milli[2], 1000);
    tp_client_close(client);
}
END_TEST

/* Guide units of 0 need no layer, a graph and a vehicle none either; what a map can't hold more of is refused by that name. */
START_TEST(test_without_a_layer)
{
    start("268435456");
    wire_put_free_map(&wire_, "m", 100, 100);
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = (char *)"m";
    open.has_start = open.has_goal = 1;
    open.goal = 9999;
    open.algorithm = (char *)"guided";
    open.has_guide_units = 1;
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    open.guide_units = 100;
    open.has_motion = 1;
    open.motion = TICKPATH__MOTION__INERTIA;
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    uint32_t edge[2] = {0, 1}, cost[2] = {1, 1}, to[2] = {1, 0};
    Tickpath__PutGraph put = TICKPATH__PUT_GRAPH__INIT;
    put.map = (char *)"g";
    put.has_nodes = put.has_edges = put.has_last = put.last = 1;
    put.nodes = put.edges = 2;
    put.edge_from = edge;
    put.edge_to = to;
    put.edge_cost = cost;
    put.n_edge_from = put.n_edge_to = put.n_edge_cost = 2;
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    open.map = (char *)"g";
    open.goal = 1;
    open.has_motion = 0;
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    ck_assert_uint_eq(metric("layers"), 0);
    open.map = (char *)"m";
    open.has_agent_size = 1;
    for (open.agent_size = 1; open.agent_size <= 8; open.agent_size++)
        for (int always = 0; always < 2; always++) {
            open.has_corners = 1;
            open.corners = always ? TICKPATH__CORNERS__ALWAYS : TICKPATH__CORNERS__ONE_FREE;
            wire_reply_free(
                wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
        }
    ck_assert_uint_eq(metric("layers"), 16);
    open.agent_size = 1;
    open.corners = TICKPATH__CORNERS__BOTH_FREE; /* as ONE_FREE */
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    open.map = (char *)"n";
    wire_put_free_map(&wire_, "n", 100, 100);
    open.algorithm = (char *)"tbwa";
    open.has_guide_units = 0;
    Tickpath__ClassWeight row = TICKPATH__CLASS_WEIGHT__INIT, *rows[1] = {&row};
    row.has_terrain = row.has_weight = 1;
    row.terrain = '.';
    for (row.weight = 1; row.weight <= 16; row.weight++) {
        char name[] = {(char)('a' + row.weight), '\0'};
        Tickpath__PutProfile profile = TICKPATH__PUT_PROFILE__INIT;
        profile.map = (char *)"n";
        profile.name = name;
        profile.weights = rows;
        profile.n_weights = 1;
        wire_reply_free(
            wire_ask(&wire_, TICKPATH__REQUEST__BODY_PUT_PROFILE, &profile, TICKPATH__REPLY__BODY_PROFILE_PUT));
        open.profile = name;
        wire_reply_free(
            wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED));
    }
    open.profile = NULL;
    open.algorithm = (char *)"guided";
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED,
                   "guide_units");
}
END_TEST

static Suite *guided_wire_suite(void)
{
    Suite *suite = suite_create("guided_wire");
    TCase *all = tcase_create("guided");
    tcase_set_timeout(all, tp_test_long() ? 3600 : 120);
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_test(all, test_as_the_library);
    tcase_add_test(all, test_total);
    tcase_add_test(all, test_no_room);
    tcase_add_test(all, test_little_room);
    tcase_add_test(all, test_unreachable_at_once);
    tcase_add_test(all, test_a_map_told_has_sessions);
    tcase_add_test(all, test_client_library);
    tcase_add_test(all, test_without_a_layer);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return tp_test_main("test_guided_wire", guided_wire_suite);
}
