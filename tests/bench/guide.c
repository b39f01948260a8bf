/* A crowd of guided sessions, measured: a thousand agents to a thousand goals on one map.
 *
 *     guide MAP.map SESSIONS CACHE_KIB FRAMES [SIDE]
 *
 * With SIDE the map is repeated side by side up to SIDE x SIDE cells. All agents set off in one frame, and are ticked until each has moved;
 * then FRAMES frames in which who arrived is given another goal, FRAMES more in which also CHANGED cells of the map close or open again in
 * each, and last as many as it takes until all have arrived. Prints one JSON object: for the trips begun in each part the ticks until the
 * goal's field over areas reached the agent, until its way over nodes was found, and until it moved; for its frames CPU time and guide units;
 * and what no frame may do: ticks over a budget, moves that are illegal, bytes over the cap. Time spent on the map's versions is not
 * counted. Exit code 2: it could not be run. */
#include "guide/field.h"
#include "map/layer.h"
#include "search/rest.h"
#include "tests/bench/bench.h"
#include "tests/lib/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { K = 16, UNITS = 100, CHANGED = 100, FRAMES_MAX = 50000, SAMPLES_MAX = 1 << 20 };

static struct tp_test_rng rng = {7};

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- Samples ---- */

struct samples {
    double *values;
    size_t count;
};

static void note(struct samples *samples, double value)
{
    if (!samples->values)
        samples->values = take(SAMPLES_MAX, sizeof samples->values[0]);
    if (samples->count < SAMPLES_MAX)
        samples->values[samples->count++] = value;
}

static void print_samples(const char *name, struct samples *samples)
{
    size_t count = samples->count;
    if (count)
        sort(samples->values, count);
    printf("\"%s\": {\"count\": %zu, \"p50\": %.3f, \"p99\": %.3f, \"max\": %.3f}, ", name, count,
           count ? samples->values[count / 2] : 0, count ? samples->values[count * 99 / 100] : 0,
           count ? samples->values[count - 1] : 0);
}

/* ---- The map, and its versions ---- */

struct scene {
    struct tp_map *map, *layer;
    struct tp_layer_kind kind;
    struct tp_pool pool;
    struct tp_field_cache *cache;
    uint64_t cap;
    uint32_t *closed; /* cells that were closed here, the oldest first */
    size_t first, closed_count;
};

static void load_scene(struct scene *scene, const char *path, uint32_t side)
{
    scene->map = load("guide", path, side);
    scene->kind = (struct tp_layer_kind){scene->map->profile, 1, true, TP_BLOCKS_STRAIGHT};
    must(tp_layer_build(&scene->layer, scene->map, &scene->kind), "can't build the layer");
    scene->closed = take((size_t)scene->map->width * scene->map->height, sizeof scene->closed[0]);
}

static uint32_t draw_free(const struct scene *scene)
{
    const struct tp_map *map = scene->layer;
    for (;;) {
        uint32_t cell = tp_test_below(&rng, map->width * map->height);
        if (tp_map_passable(map, cell % map->width, cell / map->width))
            return cell;
    }
}

/* A free cell that nothing says can't be reached from there. */
static uint32_t draw_goal(const struct scene *scene, uint32_t from)
{
    uint32_t width = scene->layer->width, goal;
    do
        goal = draw_free(scene);
    while (goal == from ||
           tp_blocks_apart(scene->layer->blocks, from % width, from / width, goal % width, goal / width));
    return goal;
}

/* Closes free cells, and opens as many of those closed before once there are enough of them: the map stays of its kind. */
static void change_map(struct scene *scene)
{
    struct tp_change changes[CHANGED];
    uint32_t width = scene->map->width, all = width * scene->map->height;
    size_t opened = scene->closed_count >= 10 * CHANGED ? CHANGED / 2 : 0;
    for (size_t i = 0; i < CHANGED; i++) {
        uint32_t cell = i < opened ? scene->closed[scene->first++ % all] : draw_free(scene);
        if (i >= opened)
            scene->closed[(scene->first + scene->closed_count++) % all] = cell;
        else
            scene->closed_count--;
        changes[i] = (struct tp_change){.kind = TP_CHANGE_CELL, .x = cell % width, .y = cell / width};
        changes[i].class_to = i < opened ? '.' : '@';
    }
    struct tp_map *map, *layer;
    size_t bad;
    uint32_t x, y;
    must(tp_map_apply(&map, scene->map, changes, CHANGED, &bad, &x, &y), "can't apply a batch");
    must(tp_layer_follow(&layer, scene->layer, scene->map, map, &scene->kind), "can't follow");
    tp_field_cache_retire(scene->cache, scene->layer->blocks);
    tp_map_unref(scene->map);
    tp_map_unref(scene->layer);
    scene->map = map;
    scene->layer = layer;
}

/* ---- The agents ---- */

/* A part of the run: the trips begun in it, and its frames. */
struct part {
    struct samples field, way, move; /* ticks */
    struct samples ms, units;        /* of a frame */
    uint64_t arrived, refused;       /* trips that ended in it, at the goal and as unreachable */
    uint64_t without;                /* trips that were without a way once: there was none, or no memory */
};

struct agent {
    struct tp_session *session;
    struct part *begun_in; /* the trip */
    uint32_t ticks;        /* since */
    bool field, way, move, without, over; /* what was noted of it */
};

struct crowd {
    struct scene *scene;
    struct agent *agents;
    size_t count;
    struct tp_tick_reply *replies;
    uint64_t over_budget, illegal, agent_ticks, bytes_most, units_most;
};

/* Whether a lead is to where the agent goes now. */
static bool is_to_goal(const struct agent *agent, const struct tp_lead *lead)
{
    uint32_t goal = tp_session_goal(agent->session), width = tp_session_map(agent->session)->width;
    return lead->blocks && lead->goal_count == 1 &&
           lead->goals[0] == tp_blocks_node_at(lead->blocks, goal % width, goal / width);
}

static bool reaches(const struct tp_lead *lead)
{
    return lead->areas && lead->from != TP_BLOCKS_NONE &&
           tp_field_at(lead->areas, tp_blocks_node(lead->blocks, lead->from).area, lead->view) != TP_FIELD_UNSEEN;
}

static void note_once(bool *noted, bool now, struct samples *samples, uint32_t ticks)
{
    if (*noted || !now)
        return;
    *noted = true;
    note(samples, ticks);
}

/* After a tick of an agent that is on its way. */
static void note_trip(struct agent *agent, const struct tp_tick_reply *reply)
{
    static const struct tp_guide none; /* it has what it needs, and rests */
    const struct tp_guide *guide = agent->session->mind ? &agent->session->mind->guide : &none;
    struct part *part = agent->begun_in;
    bool led = is_to_goal(agent, &guide->now), coming = is_to_goal(agent, &guide->coming);
    agent->ticks++;
    part->without += led && !guide->now.scout && !agent->without;
    agent->without |= led && !guide->now.scout;
    note_once(&agent->field, (led && reaches(&guide->now)) || (coming && reaches(&guide->coming)), &part->field,
              agent->ticks);
    note_once(&agent->way, led && guide->now.scout, &part->way, agent->ticks);
    note_once(&agent->move, reply->from != reply->to, &part->move, agent->ticks);
}

static void judge(struct crowd *crowd, const struct tp_tick_reply *reply)
{
    const struct tp_map *map = crowd->scene->layer;
    uint32_t width = map->width;
    crowd->agent_ticks++;
    crowd->over_budget += reply->work.expansions > K || reply->work.guide > UNITS;
    crowd->units_most = reply->work.guide > crowd->units_most ? reply->work.guide : crowd->units_most;
    crowd->illegal += reply->version != map->version ||
                      (reply->from != reply->to &&
                       !tp_walk_legal(map, reply->from % width, reply->from / width, reply->to % width,
                                      reply->to / width, TP_NEIGHBOURS_8, TP_CORNERS_BOTH_FREE));
}

static void set_off(struct agent *agent, struct part *part)
{
    agent->begun_in = part;
    agent->ticks = 0;
    agent->field = agent->way = agent->move = agent->without = agent->over = false;
}

/* Ticks all; then looks at what they did. */
static void frame(struct crowd *crowd, struct part *part)
{
    struct tp_field_cache_stats stats;
    double units = 0, from = now_ms();
    for (size_t i = 0; i < crowd->count; i++)
        tp_session_tick(crowd->agents[i].session, crowd->scene->layer, NULL, &crowd->replies[i]);
    note(&part->ms, now_ms() - from);
    tp_field_cache_stats(crowd->scene->cache, &stats);
    crowd->bytes_most = stats.bytes > crowd->bytes_most ? stats.bytes : crowd->bytes_most;
    for (size_t i = 0; i < crowd->count; i++) {
        struct agent *agent = &crowd->agents[i];
        const struct tp_tick_reply *reply = &crowd->replies[i];
        judge(crowd, reply);
        units += (double)reply->work.guide;
        if (agent->over)
            continue;
        note_trip(agent, reply);
        agent->over = reply->status == TP_STATUS_ARRIVED || reply->status == TP_STATUS_UNREACHABLE;
        part->arrived += reply->status == TP_STATUS_ARRIVED;
        part->refused += reply->status == TP_STATUS_UNREACHABLE;
    }
    note(&part->units, units);
}

/* Who came to an end is given another goal. */
static void renew(struct crowd *crowd, struct part *part)
{
    for (size_t i = 0; i < crowd->count; i++) {
        struct agent *agent = &crowd->agents[i];
        if (!agent->over)
            continue;
        must(tp_session_retarget(agent->session, draw_goal(crowd->scene, tp_session_cell(agent->session))), "retarget");
        set_off(agent, part);
    }
}

static void crowd_open(struct crowd *crowd, struct scene *scene, size_t count, struct part *part)
{
    *crowd = (struct crowd){.scene = scene, .count = count};
    crowd->agents = take(count, sizeof crowd->agents[0]);
    crowd->replies = take(count, sizeof crowd->replies[0]);
    uint8_t *taken = take(scene->map->width, scene->map->height); /* no goal twice */
    for (size_t i = 0; i < count; i++) {
        struct tp_session_params params;
        struct tp_refusal refusal;
        tp_session_params_init(&params);
        params.algorithm = tp_algorithm_find("guided");
        params.w_milli = TP_W_UNSET;
        params.budget = tp_budget_k(K);
        params.guide_units = UNITS;
        params.fields = scene->cache;
        params.start = draw_free(scene);
        do
            params.goal = draw_goal(scene, params.start);
        while (taken[params.goal]);
        taken[params.goal] = 1;
        must(tp_session_open(&crowd->agents[i].session, &params, scene->layer, &scene->pool, &refusal), "open");
        set_off(&crowd->agents[i], part);
    }
    free(taken);
}

static size_t under_way(const struct crowd *crowd)
{
    size_t count = 0;
    for (size_t i = 0; i < crowd->count; i++)
        count += !crowd->agents[i].over;
    return count;
}

static bool all_moved(const struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++)
        if (!crowd->agents[i].over && !crowd->agents[i].move)
            return false;
    return true;
}

static void print_part(const char *name, struct part *part)
{
    printf("\"%s\": {", name);
    print_samples("field_ticks", &part->field);
    print_samples("way_ticks", &part->way);
    print_samples("move_ticks", &part->move);
    print_samples("frame_ms", &part->ms);
    print_samples("frame_units", &part->units);
    printf("\"without\": %llu, \"unreachable\": %llu, \"arrived\": %llu},\n", (unsigned long long)part->without,
           (unsigned long long)part->refused, (unsigned long long)part->arrived);
}

int main(int argc, char **argv)
{
    if (argc < 5 || argc > 6)
        give_up("guide MAP.map SESSIONS CACHE_KIB FRAMES [SIDE]");
    size_t sessions = (size_t)atol(argv[2]), frames = (size_t)atol(argv[4]);
    static struct scene scene;
    static struct part first, steady, churn, last;
    struct crowd crowd;
    if (sessions < 1 || sessions > 100000)
        give_up("sessions: 1 to 100000");
    tp_pool_init(&scene.pool, NULL);
    scene.cap = (uint64_t)atol(argv[3]) << 10;
    if (!(scene.cache = tp_field_cache_open(&scene.pool, scene.cap)))
        give_up("out of memory");
    load_scene(&scene, argv[1], argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 0);
    crowd_open(&crowd, &scene, sessions, &first);
    for (size_t i = 0; i < FRAMES_MAX && !all_moved(&crowd); i++)
        frame(&crowd, &first);
    for (size_t i = 0; i < frames; i++) {
        renew(&crowd, &steady);
        frame(&crowd, &steady);
    }
    for (size_t i = 0; i < frames; i++) {
        renew(&crowd, &churn);
        change_map(&scene);
        frame(&crowd, &churn);
    }
    for (size_t i = 0; i < FRAMES_MAX && under_way(&crowd); i++)
        frame(&crowd, &last);
    struct tp_field_cache_stats stats;
    tp_field_cache_stats(scene.cache, &stats);
    printf("{\"width\": %u, \"height\": %u, \"nodes\": %u, \"areas\": %u, \"sessions\": %zu,\n", scene.map->width,
           scene.map->height, scene.layer->blocks->nodes, scene.layer->blocks->areas, sessions);
    print_part("first", &first);
    print_part("steady", &steady);
    print_part("churn", &churn);
    print_part("last", &last);
    printf("\"under_way\": %zu, \"agent_ticks\": %llu, \"over_budget\": %llu, \"illegal\": %llu, \"units_most\": %llu, "
           "\"cap_bytes\": %llu, \"most_bytes\": %llu, \"refused\": %llu}\n",
           under_way(&crowd), (unsigned long long)crowd.agent_ticks, (unsigned long long)crowd.over_budget,
           (unsigned long long)crowd.illegal, (unsigned long long)crowd.units_most, (unsigned long long)scene.cap,
           (unsigned long long)crowd.bytes_most, (unsigned long long)stats.refused);
    for (size_t i = 0; i < crowd.count; i++)
        tp_session_close(crowd.agents[i].session);
    tp_field_cache_close(scene.cache);
    tp_pool_fini(&scene.pool);
    tp_map_unref(scene.layer);
    tp_map_unref(scene.map);
    return 0;
}
