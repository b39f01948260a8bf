/* The rows that plan to the end are as good as a fresh A* after whatever changed, each under the rule that promises it:
 *   costs that only rise    rows whose own rule is ON_RISE: the path is given up when one of its steps rose, and else nothing
 *                           can be better than what was best before
 *   costs that also fall    every row, under restart = eager, D* Lite by its own rule
 *   an unknown map          freespace: what is believed only rises
 * And what adaptive rows learn is a true h: never above what the way costs, consistent from state to state, while costs rise; when
 * one fell, the first search begun after it finds the right cost (the number of trials that the rows promise is one).
 */
#include "tests/lib/distances.h"
#include "tests/lib/mind.h"
#include "tests/lib/play.h"


#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const planners[] = {"astar", "wastar", "rastar", "aastar", "dstarlite"};
static const char *const risers[] = {"wastar", "rastar", "aastar", "dstarlite"};
static const char *const adaptive[] = {"aastar", "tbaa"};
#define COUNT(names) (int)(sizeof(names) / sizeof *(names))

static uint32_t random_cell(struct tp_test_rng *rng, const struct tp_map *map)
{
    return tp_test_below(rng, map->width * map->height);
}

/* Three kinds of ground, '.' the lightest, 'S' the heaviest. */
static struct tp_map *random_map(struct tp_test_rng *rng)
{
    uint32_t width = tp_test_between(rng, 3, 32), height = tp_test_between(rng, 3, 32);
    uint32_t percent = tp_test_between(rng, 0, 30), top = tp_test_percent(rng, 50) ? 1 : 6;
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    profile.weight['G'] = (uint16_t)tp_test_between(rng, 1, top);
    profile.weight['S'] = (uint16_t)(profile.weight['G'] + (top > 1 ? 3 : 0));
    uint8_t *cells = malloc((size_t)width * height);
    ck_assert_ptr_nonnull(cells);
    for (uint32_t i = 0; i < width * height; i++)
        cells[i] = tp_test_percent(rng, percent) ? '@' : (uint8_t) "..GS"[tp_test_below(rng, 4)];
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, width, height, cells, &profile, 1), 0);
    free(cells);
    return map;
}

/* One of the classes that weigh at least what the cell does now; for a blocked cell, blocked. */
static uint8_t heavier(struct tp_test_rng *rng, uint8_t class)
{
    static const char ladder[] = ".GS@";
    const char *at = strchr(ladder, class);
    uint32_t left = (uint32_t)(ladder + 3 - at);
    return (uint8_t)at[tp_test_between(rng, left ? 1 : 0, left)];
}

/* Changes some cells, half of the time near the agent; its own and the goal are left alone. */
static void change_some(struct tp_test_rng *rng, struct play *play, bool only_rise)
{
    struct tp_change changes[6];
    uint32_t count = 0, width = play->map->width, height = play->map->height;
    for (uint32_t tries = tp_test_between(rng, 1, 6); tries > 0; tries--) {
        uint32_t x = tp_test_below(rng, width), y = tp_test_below(rng, height);
        if (tp_test_percent(rng, 50)) {
            int64_t near_x = (int64_t)(play->cell % width) + tp_test_below(rng, 9) - 4;
            int64_t near_y = (int64_t)(play->cell / width) + tp_test_below(rng, 9) - 4;
            if (near_x >= 0 && near_y >= 0 && near_x < (int64_t)width && near_y < (int64_t)height)
                x = (uint32_t)near_x, y = (uint32_t)near_y;
        }
        if (y * width + x == play->cell || y * width + x == play->goal)
            continue;
        uint8_t class_to = only_rise ? heavier(rng, tp_map_class(play->map, x, y)) : (uint8_t) ".GS@"[tp_test_below(rng, 4)];
        changes[count++] = (struct tp_change){.kind = TP_CHANGE_CELL, .class_to = class_to, .x = x, .y = y};
    }
    bool twice = false; /* a cell named twice could end lighter than it was */
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            twice |= changes[i].x == changes[j].x && changes[i].y == changes[j].y;
    if (count && !twice)
        play_apply(play, changes, count);
}

struct trial {
    struct tp_map *map;
    struct tp_session_params params;
    struct play play;
    uint64_t *costs;
};

static bool trial_open(struct trial *trial, struct tp_test_rng *rng, const char *name, uint64_t number, enum tp_restart restart,
                       uint64_t k)
{
    static const enum tp_neighbours neighbours[] = {TP_NEIGHBOURS_4, TP_NEIGHBOURS_8, TP_NEIGHBOURS_16};
    struct tp_map *map = trial->map = random_map(rng);
    struct tp_session_params *params = &trial->params;
    tp_session_params_init(params);
    params->algorithm = tp_algorithm_find(name);
    ck_assert_ptr_nonnull(params->algorithm);
    params->neighbours = neighbours[tp_test_below(rng, 3)];
    params->corners = (enum tp_corners)tp_test_below(rng, 3);
    params->start = random_cell(rng, map);
    params->goal = random_cell(rng, map);
    params->restart = restart;
    params->budget = tp_budget_k(k);
    if (!tp_map_passable(map, params->start % map->width, params->start / map->width) || params->start == params->goal) {
        tp_map_unref(map);
        return false;
    }
    trial->costs = malloc((size_t)map->width * map->height * sizeof *trial->costs);
    ck_assert_ptr_nonnull(trial->costs);
    play_open(&trial->play, params, map);
    snprintf(trial->play.label, sizeof trial->play.label,
             "case %llu of %s (%ux%u, n %d, corners %d, restart %d, start %u, goal %u; TICKPATH_SEED=%llu)",
             (unsigned long long)number, name, map->width, map->height, (int)params->neighbours, (int)params->corners, (int)restart,
             params->start, params->goal, (unsigned long long)tp_test_seed());
    return true;
}

static void trial_close(struct trial *trial)
{
    play_close(&trial->play);
    free(trial->costs);
    tp_map_unref(trial->map);
}

/* The move made is the first of a way of least cost on `problem`; no way is there when that is said. True when it told. */
static bool check_move(struct trial *trial, const struct ref_problem *problem, const struct tp_tick_reply *reply)
{
    struct play *play = &trial->play;
    uint64_t *costs = trial->costs, cost;
    if (reply->to == reply->from && reply->status != TP_STATUS_UNREACHABLE)
        return reply->status == TP_STATUS_ARRIVED;
    ref_costs_to(problem, play->goal, costs);
    if (reply->status == TP_STATUS_UNREACHABLE) {
        PLAY_SAY(play, costs[reply->from] == UINT64_MAX || !problem->weight[play->goal], "UNREACHABLE, but a way costs %llu",
            (unsigned long long)costs[reply->from]);
        return true;
    }
    PLAY_SAY(play, ref_step(problem, reply->from, reply->to, &cost) && costs[reply->to] != UINT64_MAX &&
                  cost + costs[reply->to] == costs[reply->from],
        "%u to %u: %llu + %llu, the least is %llu", reply->from, reply->to, (unsigned long long)cost,
        (unsigned long long)costs[reply->to], (unsigned long long)costs[reply->from]);
    return true;
}

static bool ended(const struct tp_tick_reply *reply)
{
    return reply->status == TP_STATUS_ARRIVED || reply->status == TP_STATUS_UNREACHABLE;
}

/* ---- as good as a fresh search ---- */

/* Changes before each tick, every tick's move compared. */
static void changing_walks(const char *name, const char *label, bool only_rise, enum tp_restart restart)
{
    struct tp_test_rng rng = tp_test_rng(label);
    uint64_t cases = tp_test_steps(60, 1500), told = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct trial trial;
        if (!trial_open(&trial, &rng, name, i, restart, TP_BUDGET_UNLIMITED))
            continue;
        struct play *play = &trial.play;
        struct tp_tick_reply reply;
        do {
            change_some(&rng, play, only_rise);
            reply = play_tick(play, NULL);
            bool now = check_move(&trial, &play->plain, &reply);
            PLAY_SAY(play, now, "status %d", (int)reply.status);
            told += now;
        } while (reply.status != TP_STATUS_ARRIVED && play->ticks < 60);
        trial_close(&trial);
    }
    printf("%s, %s: %llu moves compared\n", name, label, (unsigned long long)told);
    ck_assert_uint_gt(told, cases);
}

START_TEST(costs_that_rise)
{
    changing_walks(risers[_i], "rises", true, TP_RESTART_DEFAULT);
}
END_TEST

START_TEST(costs_that_rise_and_fall_under_eager)
{
    changing_walks(planners[_i], "rises and falls", false, TP_RESTART_EAGER);
}
END_TEST

START_TEST(dstarlite_by_its_own_rule)
{
    changing_walks("dstarlite", "rises and falls, repaired", false, TP_RESTART_DEFAULT);
}
END_TEST

/* Freespace: each move is the best over what the test's own account says the agent believes. A row may spend a tick on
 * beginning anew. */
START_TEST(unknown_maps)
{
    const char *name = risers[_i];
    struct tp_test_rng rng = tp_test_rng("unknown");
    uint64_t cases = tp_test_steps(40, 1000), told = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct trial trial;
        if (!trial_open(&trial, &rng, name, i, TP_RESTART_DEFAULT, TP_BUDGET_UNLIMITED))
            continue;
        struct tp_session_params params = trial.params;
        trial_close(&trial);
        params.knowledge = TP_KNOWLEDGE_FREESPACE;
        trial.map = random_map(&rng);
        params.start = random_cell(&rng, trial.map);
        params.goal = random_cell(&rng, trial.map);
        uint32_t cells = trial.map->width * trial.map->height;
        trial.costs = malloc(cells * sizeof *trial.costs);
        uint16_t *weight = malloc(cells * sizeof *weight);
        ck_assert(trial.costs && weight);
        struct play *play = &trial.play;
        play_open(play, &params, trial.map);
        snprintf(play->label, sizeof play->label, "unknown case %llu of %s (TICKPATH_SEED=%llu)", (unsigned long long)i, name,
                 (unsigned long long)tp_test_seed());
        struct ref_problem believed = play->plain;
        believed.weight = weight;
        for (uint32_t cell = 0; cell < cells; cell++)
            weight[cell] = believed.least_weight;
        int64_t radius = params.neighbours == TP_NEIGHBOURS_16 ? 2 : 1, width = trial.map->width;
        uint32_t silent = 0;
        struct tp_tick_reply reply;
        do {
            for (int64_t cell = 0; cell < cells; cell++)
                if (llabs(cell % width - play->cell % width) <= radius && llabs(cell / width - play->cell / width) <= radius)
                    weight[cell] = play->plain.weight[cell];
            reply = play_tick(play, NULL);
            bool now = check_move(&trial, &believed, &reply);
            told += now;
            silent = now ? 0 : silent + 1;
            PLAY_SAY(play, silent < 3, "status %d", (int)reply.status);
        } while (!ended(&reply) && play->ticks < 20000);
        PLAY_SAY(play, ended(&reply), "status %d", (int)reply.status);
        trial_close(&trial);
        free(weight);
    }
    printf("%s, unknown maps: %llu moves compared\n", name, (unsigned long long)told);
}
END_TEST

/* ---- what is learned ---- */

/* h of a state as the next search will take it: what was learned, and what the tile's last search still has to teach
 * (node/nodes.h: on first touch). */
static uint64_t h_of(const struct tp_mind *session, uint32_t cell)
{
    const struct tp_search *search = &session->search;
    const struct tp_nodes *nodes = &search->nodes;
    const struct tp_tiles *tiles = &nodes->tiles;
    tp_state state = search->domain->at_cell(search, cell);
    uint32_t x = tp_state_x(search, state), y = tp_state_y(search, state), tx = x >> TP_TILE_BITS, ty = y >> TP_TILE_BITS;
    uint64_t h = tp_search_h_now(search, state);
    struct tp_tile **page = tiles->top ? tiles->top[tp__tiles_page(tiles, tx, ty)] : NULL;
    const struct tp_node_tile *tile = page ? (const struct tp_node_tile *)page[tp__tiles_in_page(tiles, tx, ty)] : NULL;
    if (!tile || !tile->tile.stamp || tile->tile.stamp == tiles->stamp)
        return h;
    uint64_t pathcost = tp_nodes_taught(nodes, tile->tile.stamp), g = tp_nodes_g(nodes, tile, tp_tile_slot(x, y));
    return g < pathcost && pathcost - g > h ? pathcost - g : h;
}

static void check_h(struct trial *trial, uint64_t *raised)
{
    struct play *play = &trial->play;
    const struct ref_problem *problem = &play->plain;
    uint32_t width = problem->width, height = problem->height;
    ref_costs_to(problem, play->goal, trial->costs);
    for (uint32_t cell = 0; cell < width * height; cell++) {
        if (!problem->weight[cell])
            continue;
        uint64_t h = h_of(mind_of(play->session), cell);
        PLAY_SAY(play, h <= trial->costs[cell], "h of %u is %llu, the way costs %llu", cell, (unsigned long long)h,
            (unsigned long long)trial->costs[cell]);
        *raised += h > ref_distance(problem, cell, play->goal);
        for (int64_t y = (int64_t)(cell / width) - 2; y <= (int64_t)(cell / width) + 2; y++)
            for (int64_t x = (int64_t)(cell % width) - 2; x <= (int64_t)(cell % width) + 2; x++) {
                uint64_t cost;
                if (x < 0 || y < 0 || x >= (int64_t)width || y >= (int64_t)height || y * width + x == cell ||
                    !ref_step(problem, cell, (uint32_t)(y * width + x), &cost))
                    continue;
                uint64_t next = h_of(mind_of(play->session), (uint32_t)(y * width + x));
                PLAY_SAY(play, h <= cost + next, "h of %u is %llu, of %lld beside it %llu, %llu away", cell, (unsigned long long)h,
                    (long long)(y * width + x), (unsigned long long)next, (unsigned long long)cost);
            }
    }
}

START_TEST(what_is_learned_is_a_true_h)
{
    const char *name = adaptive[_i];
    struct tp_test_rng rng = tp_test_rng("learned");
    uint64_t cases = tp_test_steps(40, 1000), raised = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct trial trial;
        uint64_t k = i % 2 ? TP_BUDGET_UNLIMITED : tp_test_between(&rng, 1, 60);
        enum tp_restart restart = i % 4 < 2 ? TP_RESTART_DEFAULT : TP_RESTART_EAGER;
        if (!trial_open(&trial, &rng, name, i, restart, k))
            continue;
        struct tp_tick_reply reply;
        do {
            if (tp_test_percent(&rng, 50))
                change_some(&rng, &trial.play, true);
            reply = play_tick(&trial.play, NULL);
            check_h(&trial, &raised);
            if (reply.status == TP_STATUS_ARRIVED) /* again, to the same goal: what was learned stays */
                play_at(&trial.play, random_cell(&rng, trial.map));
        } while (trial.play.ticks < 40);
        trial_close(&trial);
    }
    printf("%s: %llu states met whose h was raised\n", name, (unsigned long long)raised);
    ck_assert_uint_gt(raised, 0);
}
END_TEST

/* Rises teach, a fall makes the lesson wrong: the first search begun after it knows nothing of it. */
START_TEST(after_a_fall_one_search_finds_the_right_cost)
{
    const char *name = adaptive[_i];
    struct tp_test_rng rng = tp_test_rng("falls");
    uint64_t cases = tp_test_steps(120, 3000), compared = 0;
    for (uint64_t i = 0; i < cases; i++) {
        struct trial trial;
        if (!trial_open(&trial, &rng, name, i, TP_RESTART_DEFAULT, TP_BUDGET_UNLIMITED))
            continue;
        struct play *play = &trial.play;
        for (int round = 0; round < 6 && play->cell != play->goal; round++) {
            for (int rises = 0; rises < 3 && play->cell != play->goal; rises++) { /* learn */
                change_some(&rng, play, true);
                play_tick(play, NULL);
            }
            if (play->cell == play->goal)
                break;
            change_some(&rng, play, false);
            if (tp_test_percent(&rng, 50)) { /* a block on the path: the rule asks for a new search */
                uint32_t path[2], count = tp_session_path(play->session, path, 2);
                if (count == 2 && path[1] != play->goal)
                    play_set(play, path[1] % play->map->width, path[1] / play->map->width, '@');
            }
            bool fresh = false;
            struct tp_tick_reply reply;
            for (int ticks = 0; ticks < 4 && play->cell != play->goal; ticks++) {
                reply = play_tick(play, NULL);
                fresh |= (reply.flags & TP_FLAG_RESTARTED) != 0;
                if (fresh)
                    compared += check_move(&trial, &play->plain, &reply);
            }
        }
        trial_close(&trial);
    }
    printf("%s: %llu moves after a fall compared\n", name, (unsigned long long)compared);
    ck_assert_uint_gt(compared, cases / 4);
}
END_TEST

static Suite *replan_suite(void)
{
    Suite *suite = suite_create("replan");
    TCase *tcase = tcase_create("as a fresh search");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 60);
    tcase_add_loop_test(tcase, costs_that_rise, 0, COUNT(risers));
    tcase_add_loop_test(tcase, costs_that_rise_and_fall_under_eager, 0, COUNT(planners));
    tcase_add_test(tcase, dstarlite_by_its_own_rule);
    tcase_add_loop_test(tcase, unknown_maps, 0, COUNT(risers));
    tcase_add_loop_test(tcase, what_is_learned_is_a_true_h, 0, COUNT(adaptive));
    tcase_add_loop_test(tcase, after_a_fall_one_search_finds_the_right_cost, 0, COUNT(adaptive));
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_replan_equal", replan_suite);
}
