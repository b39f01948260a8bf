/* The 15-puzzle: its maps, its space against moves made on a plain board, and sessions on random and on Korf's instances. */
#include "search/search.h"
#include "search/session.h"
#include "tests/lib/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A board on which moves are made plainly. */
struct board {
    uint8_t tiles[16];
};

static const struct board goal_board = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};

/* Moves the blank up, down, left or right; false over the edge. */
static bool board_move(struct board *board, uint32_t move)
{
    static const int dx[] = {0, 0, -1, 1}, dy[] = {-1, 1, 0, 0};
    int blank = 0;
    while (board->tiles[blank])
        blank++;
    int x = blank % 4 + dx[move], y = blank / 4 + dy[move];
    if (x < 0 || y < 0 || x > 3 || y > 3)
        return false;
    board->tiles[blank] = board->tiles[4 * y + x];
    board->tiles[4 * y + x] = 0;
    return true;
}

static uint32_t board_manhattan(const struct board *a, const struct board *b)
{
    uint32_t steps = 0;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            if (a->tiles[i] && a->tiles[i] == b->tiles[j])
                steps += (uint32_t)(abs(i % 4 - j % 4) + abs(i / 4 - j / 4));
    return steps;
}

static struct board board_shuffled(struct tp_test_rng *rng, uint32_t moves)
{
    struct board board = goal_board;
    while (moves)
        moves -= board_move(&board, tp_test_below(rng, 4));
    return board;
}

static bool board_same(const struct board *a, const struct board *b)
{
    return memcmp(a->tiles, b->tiles, 16) == 0;
}

START_TEST(test_maps)
{
    struct tp_map *map;
    struct board board = goal_board;
    ck_assert_int_eq(tp_map_build_puzzle(&map, board.tiles), TP_ERR_INVALID_ARGUMENT);
    ck_assert_ptr_null(map);
    board.tiles[3] = 16;
    ck_assert_int_eq(tp_map_build_puzzle(&map, board.tiles), TP_ERR_INVALID_ARGUMENT);
    board.tiles[3] = 4;
    ck_assert_int_eq(tp_map_build_puzzle(&map, board.tiles), TP_ERR_INVALID_ARGUMENT);
    struct tp_test_rng rng = tp_test_rng("maps");
    for (int i = 0; i < 200; i++) {
        board = board_shuffled(&rng, 1 + tp_test_below(&rng, 200));
        if (board_same(&board, &goal_board))
            continue;
        ck_assert_int_eq(tp_map_build_puzzle(&map, board.tiles), 0);
        ck_assert(map->width == 2 && map->height == 1);
        size_t bad;
        uint32_t bad_x, bad_y;
        struct tp_map *next;
        struct tp_change change = {TP_CHANGE_CELL, '@', 0, 0, 1, 1, NULL, 0};
        ck_assert_int_eq(tp_map_apply(&next, map, &change, 1, &bad, &bad_x, &bad_y), TP_ERR_UNSUPPORTED);
        tp_map_unref(map);
        /* two tiles exchanged: the other half of all arrangements */
        uint32_t a = tp_test_below(&rng, 16), b = (a + 1 + tp_test_below(&rng, 15)) % 16;
        if (board.tiles[a] && board.tiles[b]) {
            uint8_t tile = board.tiles[a];
            board.tiles[a] = board.tiles[b];
            board.tiles[b] = tile;
            ck_assert_int_eq(tp_map_build_puzzle(&map, board.tiles), TP_ERR_INVALID_ARGUMENT);
        }
    }
}
END_TEST

/* ---- The space ---- */

struct shown {
    const struct tp_search *search;
    tp_state into;
    uint32_t count;
};

static bool visit(void *context, tp_state state, uint8_t move, tp_cost cost)
{
    struct shown *shown = context;
    struct tp_successor out;
    bool stepped = tp_domain_puzzle.step(shown->search, NULL, state, move, &out);
    if (!stepped || out.state != shown->into || cost != TP_COST_UNIT)
        ck_abort_msg("move %u of state %u does not lead to %u", move, state, shown->into);
    shown->count++;
    return true;
}

START_TEST(test_space)
{
    enum { STATES = 20000 };
    struct tp_test_rng rng = tp_test_rng("space");
    struct board *boards = calloc(STATES, sizeof *boards);
    ck_assert_ptr_nonnull(boards);
    boards[0] = board_shuffled(&rng, 61); /* odd: not the goal */
    boards[1] = goal_board;
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build_puzzle(&map, boards[0].tiles), 0);
    struct tp_pool pool;
    struct tp_belief belief;
    struct tp_search search;
    uint64_t bytes = 0;
    tp_pool_init(&pool, NULL);
    tp_belief_init(&belief, map, true, NULL, &pool, &bytes, UINT64_MAX);
    tp_search_init(&search, &tp_domain_puzzle, &belief, NULL, TP_HEURISTIC_DEFAULT, TP_CORNERS_BOTH_FREE, 1,
                   1, false, &pool, UINT32_MAX, &bytes, UINT64_MAX);
    ck_assert(tp_search_open_space(&search));
    uint32_t known = 2;
    uint64_t steps = tp_test_steps(20000, 1000000);
    for (uint64_t i = 0; i < steps && known < STATES - 4; i++) {
        tp_state state = tp_test_percent(&rng, 50) ? known - 1 : tp_test_below(&rng, known);
        struct tp_successor out[TP_MOVES_MAX], step;
        uint32_t count = tp_domain_puzzle.successors(&search, state, out), at = 0;
        for (uint32_t move = 0; move < 4; move++) {
            struct board board = boards[state];
            bool legal = board_move(&board, move);
            if (tp_domain_puzzle.step(&search, map, state, (uint8_t)move, &step) != legal)
                ck_abort_msg("move %u of state %u", move, state);
            if (!legal)
                continue;
            tp_state to = out[at].state;
            if (at >= count || out[at].move != move || step.state != to || out[at].cost != TP_COST_UNIT ||
                to > known)
                ck_abort_msg("successor %u of state %u", at, state);
            if (to == known)
                boards[known++] = board;
            if (!board_same(&boards[to], &board))
                ck_abort_msg("state %u is two arrangements", to);
            if (tp_domain_puzzle.move_between(&search, state, to) != move)
                ck_abort_msg("the move from %u to %u", state, to);
            if (tp_search_h(&search, to, 1) != (tp_cost)board_manhattan(&board, &goal_board) * TP_COST_UNIT)
                ck_abort_msg("h of state %u", to);
            at++;
        }
        if (at != count)
            ck_abort_msg("%u successors, not %u", count, at);
        tp_state other = tp_test_below(&rng, known);
        if (tp_search_h(&search, state, other) !=
            (tp_cost)board_manhattan(&boards[state], &boards[other]) * TP_COST_UNIT)
            ck_abort_msg("h from %u to %u", state, other);
        struct shown shown = {&search, state, 0};
        tp_domain_puzzle.predecessors(&search, state, visit, &shown);
        if (shown.count != count)
            ck_abort_msg("%u moves lead into state %u, not %u", shown.count, state, count);
    }
    ck_assert_uint_gt(known, 1000);
    tp_search_fini(&search);
    tp_belief_fini(&belief);
    ck_assert_uint_eq(bytes, 0);
    tp_pool_fini(&pool);
    tp_map_unref(map);
    free(boards);
}
END_TEST

/* ---- Sessions ---- */

static struct tp_session_params puzzle_params(const char *algorithm, uint32_t w_milli, uint64_t k)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(algorithm);
    params.start = 0;
    params.goal = 1;
    params.w_milli = w_milli;
    params.budget = tp_budget_k(k);
    return params;
}

struct solution {
    bool solved, capped;
    uint64_t moves, expansions;
};

/* Plays a session to its end. */
static struct solution solve(const struct board *board, const struct tp_session_params *params,
                             uint64_t ticks_max)
{
    struct tp_map *map;
    struct tp_pool pool;
    struct tp_session *session;
    struct tp_refusal refusal;
    ck_assert_int_eq(tp_map_build_puzzle(&map, board->tiles), 0);
    tp_pool_init(&pool, NULL);
    int rc = tp_session_open(&session, params, map, &pool, &refusal);
    ck_assert_msg(rc == 0, "%s: %s", refusal.field, refusal.reason);
    struct solution solution = {0};
    struct tp_tick_reply reply = {.status = TP_STATUS_SEARCHING};
    for (uint64_t tick = 0; tick < ticks_max && reply.status != TP_STATUS_ARRIVED; tick++) {
        tp_session_tick(session, map, NULL, &reply);
        ck_assert_int_ne(reply.status, TP_STATUS_UNREACHABLE);
        solution.capped |= (reply.flags & TP_FLAG_NODE_CAP) != 0;
    }
    struct tp_session_stats stats;
    tp_session_stats(session, &stats);
    solution.solved = reply.status == TP_STATUS_ARRIVED && reply.to == 1;
    solution.moves = stats.moves;
    solution.expansions = stats.expansions;
    ck_assert_uint_eq(stats.cost, stats.moves * TP_COST_UNIT);
    tp_session_close(session);
    ck_assert_uint_eq(pool.used_bytes, 0);
    tp_pool_fini(&pool);
    tp_map_unref(map);
    return solution;
}

/* Least moves to the goal, by deepening depth-first search. */
static bool within(struct board *board, uint32_t depth, uint32_t last)
{
    uint32_t h = board_manhattan(board, &goal_board);
    if (h == 0 || h > depth)
        return h == 0;
    for (uint32_t move = 0; move < 4; move++) {
        struct board next = *board;
        if (move != (last ^ 1) && board_move(&next, move) && within(&next, depth - 1, move))
            return true;
    }
    return false;
}

static uint32_t least_moves(struct board board)
{
    uint32_t depth = board_manhattan(&board, &goal_board);
    while (!within(&board, depth, 9))
        depth++;
    return depth;
}

START_TEST(test_shuffled)
{
    struct tp_test_rng rng = tp_test_rng("shuffled");
    uint64_t rounds = tp_test_steps(25, 500);
    for (uint64_t i = 0; i < rounds; i++) {
        struct board board = board_shuffled(&rng, 1 + 2 * tp_test_below(&rng, 15));
        struct tp_session_params params = puzzle_params("astar", 1000, 1000000);
        struct solution best = solve(&board, &params, 200);
        ck_assert(best.solved);
        ck_assert_uint_eq(best.moves, least_moves(board));
        params = puzzle_params("tbwa", 1000 + 500 * tp_test_below(&rng, 9), tp_test_between(&rng, 1, 100));
        struct solution walked = solve(&board, &params, 100000);
        ck_assert(walked.solved);
        ck_assert_uint_ge(walked.moves, best.moves);
    }
}
END_TEST

/* Every row that takes the puzzle solves easy ones. */
START_TEST(test_every_algorithm)
{
    struct tp_test_rng rng = tp_test_rng("every");
    for (size_t row = 0; tp_algorithm_at(row); row++) {
        const struct tp_algorithm *algorithm = tp_algorithm_at(row);
        for (int i = 0; i < 3; i++) {
            struct board board = board_shuffled(&rng, 9 + 2 * tp_test_below(&rng, 6));
            struct tp_session_params params = puzzle_params(algorithm->name, 1000, 50);
            struct solution solution = solve(&board, &params, 20000);
            ck_assert_msg(solution.solved, "%s did not solve it", algorithm->name);
        }
    }
}
END_TEST

/* At its cap a session says so, and never that the goal can't be reached; its bytes stay below the cap. */
START_TEST(test_cap)
{
    struct tp_test_rng rng = tp_test_rng("cap");
    struct board board = board_shuffled(&rng, 1001);
    for (uint64_t cap = 4096; cap < 6000000; cap = cap * 5 / 3) {
        struct tp_session_params params = puzzle_params("tbwa", 1000, 5000);
        params.node_bytes_max = cap;
        struct tp_map *map;
        struct tp_pool pool;
        struct tp_session *session;
        struct tp_refusal refusal;
        ck_assert_int_eq(tp_map_build_puzzle(&map, board.tiles), 0);
        tp_pool_init(&pool, NULL);
        int rc = tp_session_open(&session, &params, map, &pool, &refusal);
        ck_assert(rc == 0 || rc == TP_ERR_NO_MEMORY);
        for (int tick = 0; rc == 0 && tick < 50; tick++) {
            struct tp_tick_reply reply;
            struct tp_session_stats stats;
            tp_session_tick(session, map, NULL, &reply);
            tp_session_stats(session, &stats);
            ck_assert_uint_le(stats.bytes_peak, cap);
            ck_assert_int_ne(reply.status, TP_STATUS_UNREACHABLE);
            bool searches = reply.status != TP_STATUS_ARRIVED && !(reply.flags & TP_FLAG_PATH_COMPLETE); /* or walks a long way that it found */
            if (tick == 49 && searches && stats.expansions < 50 * 5000)
                ck_assert(reply.flags & TP_FLAG_NODE_CAP);
        }
        if (rc == 0)
            tp_session_close(session);
        tp_pool_fini(&pool);
        tp_map_unref(map);
    }
}
END_TEST

/* ---- Korf's instances ---- */

struct instance {
    unsigned id, length, manhattan;
    struct board board;
};

enum { INSTANCES = 100 };

static size_t instances_load(const char *maps, struct instance *instances)
{
    size_t size, count = 0;
    char *text = tp_test_read_file(tp_test_path(maps, "puzzle/korf100", ".txt"), &size);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        struct instance *instance = &instances[count];
        int read;
        if (*line == '#')
            continue;
        ck_assert_uint_lt(count, INSTANCES);
        ck_assert_int_eq(sscanf(line, "%u%n", &instance->id, &read), 1);
        for (int i = 0; i < 16; i++) {
            unsigned tile;
            int more;
            ck_assert_int_eq(sscanf(line + read, "%u%n", &tile, &more), 1);
            instance->board.tiles[i] = (uint8_t)tile;
            read += more;
        }
        ck_assert_int_eq(sscanf(line + read, "%u%u", &instance->length, &instance->manhattan), 2);
        if (instance->id == 16)
            instance->length = 42; /* printed as 44; a deepening search finds 42 too (test_korf_lengths) */
        ck_assert_uint_eq(board_manhattan(&instance->board, &goal_board), instance->manhattan);
        count++;
    }
    free(text);
    return count;
}

/* tbwa solves them for every w and k of the paper: three of them here, all in the long form. */
START_TEST(test_korf_solved)
{
    const char *maps = tp_test_maps_or_skip();
    if (!maps)
        return;
    struct instance instances[INSTANCES];
    ck_assert_uint_eq(instances_load(maps, instances), INSTANCES);
    struct tp_test_rng rng = tp_test_rng("korf");
    for (size_t i = 0; i < (tp_test_long() ? INSTANCES : 3); i++) {
        const struct instance *instance = &instances[tp_test_long() ? i : tp_test_below(&rng, INSTANCES)];
        for (uint32_t w = 2; w <= 5; w++)
            for (uint64_t k = 16; k <= 512; k *= 2) {
                struct tp_session_params params = puzzle_params("tbwa", 1000 * w, k);
                struct solution solution = solve(&instance->board, &params, 1000000);
                ck_assert_msg(solution.solved && !solution.capped, "instance %u, w %u, k %u", instance->id, w,
                              (unsigned)k);
                ck_assert_uint_ge(solution.moves, instance->length);
            }
    }
}
END_TEST

static int by_effort(const void *a, const void *b)
{
    const struct instance *x = a, *y = b;
    return x->length != y->length ? (int)x->length - (int)y->length : (int)y->manhattan - (int)x->manhattan;
}

/* A* walks the printed length: on the shortest of them, and on the 20 shortest in the long form. */
START_TEST(test_korf_lengths)
{
    const char *maps = tp_test_maps_or_skip();
    if (!maps)
        return;
    struct instance instances[INSTANCES];
    ck_assert_uint_eq(instances_load(maps, instances), INSTANCES);
    qsort(instances, INSTANCES, sizeof *instances, by_effort);
    for (size_t i = 0; i < (tp_test_long() ? 20 : 1); i++) {
        struct tp_session_params params = puzzle_params("astar", 1000, 100000000);
        struct solution solution = solve(&instances[i].board, &params, 1000);
        ck_assert_msg(solution.solved && solution.moves == instances[i].length,
                      "instance %u: %u moves, not %u", instances[i].id, (unsigned)solution.moves,
                      instances[i].length);
    }
}
END_TEST

static Suite *puzzle_suite(void)
{
    Suite *suite = suite_create("puzzle");
    TCase *space = tcase_create("space");
    tcase_add_test(space, test_maps);
    tcase_add_test(space, test_space);
    suite_add_tcase(suite, space);
    TCase *sessions = tcase_create("sessions");
    tcase_add_test(sessions, test_shuffled);
    tcase_add_test(sessions, test_every_algorithm);
    tcase_add_test(sessions, test_cap);
    suite_add_tcase(suite, sessions);
    TCase *korf = tcase_create("korf");
    tcase_add_test(korf, test_korf_solved);
    tcase_add_test(korf, test_korf_lengths);
    suite_add_tcase(suite, korf);
    return suite;
}

int main(void)
{
    return tp_test_main("test_puzzle", puzzle_suite);
}
