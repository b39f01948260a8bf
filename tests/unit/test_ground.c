/* The ground of a node (search/ground.h) against plain relaxation over all its cells and the neighbour's, and what it does for an agent that
 * expands little. */
#include "search/ground.h"
#include "map/layer.h"
#include "tests/lib/harness.h"
#include "tests/lib/maps.h"
#include "tests/lib/play.h"

enum { SIDE = 3 * TP_BLOCK_SIDE, TOP = TP_BLOCK_SIDE };

/* Points of a step between two cells. */
static uint64_t step_points(const struct tp_map *map, uint32_t a, uint32_t b)
{
    uint32_t weights = tp_map_weight(map, a % SIDE, a / SIDE) + tp_map_weight(map, b % SIDE, b / SIDE);
    bool diagonal = a % SIDE != b % SIDE && a / SIDE != b / SIDE;
    return (diagonal ? 23u : 16u) * (uint64_t)weights / 2;
}

static bool beside(uint32_t a, uint32_t b, bool diagonals)
{
    int dx = (int)(a % SIDE) - (int)(b % SIDE), dy = (int)(a / SIDE) - (int)(b / SIDE);
    return a != b && dx >= -1 && dx <= 1 && dy >= -1 && dy <= 1 && (diagonals || dx == 0 || dy == 0);
}

static uint64_t cells_of(const struct tp_map *map, uint32_t x, uint32_t y)
{
    uint64_t cells = 0;
    for (uint32_t bit = 0; bit < TP_BLOCK_CELLS; bit++)
        if (tp_map_passable(map, x + bit % TP_BLOCK_SIDE, y + bit / TP_BLOCK_SIDE))
            cells |= UINT64_C(1) << bit;
    return cells;
}

START_TEST(ways_inside_a_node_are_the_cheapest)
{
    struct tp_test_rng rng = tp_test_rng("ways_inside_a_node");
    for (int round = 0; round < 300; round++) {
        struct tp_map *map = tp_test_map_random_weighted(&rng, SIDE, SIDE, tp_test_below(&rng, 50), 1 + tp_test_below(&rng, 1000));
        struct tp_belief belief;
        uint64_t bytes = 0;
        tp_belief_init(&belief, map, true, NULL, NULL, &bytes, 0);
        enum tp_field_metric metric = tp_test_percent(&rng, 30) ? TP_FIELD_MANHATTAN : TP_FIELD_OCTILE;
        bool diagonals = metric != TP_FIELD_MANHATTAN;
        uint32_t x = TP_BLOCK_SIDE * tp_test_below(&rng, 3), y = TP_BLOCK_SIDE * tp_test_below(&rng, 3), left[TP_BLOCK_CELLS];
        struct tp_blocks_node neighbour = {.cells = cells_of(map, x, y), .weight = tp_test_between(&rng, 1, 50)};
        struct tp_blocks_place entry = tp_blocks_cell_place(x + tp_test_below(&rng, 8), y + tp_test_below(&rng, 8));
        struct tp_ground ground;
        tp__ground_begin(&ground, &belief, metric, TOP, TOP, cells_of(map, TOP, TOP), left);
        bool aside = x == TOP && y == TOP;
        if (!aside)
            tp__ground_enter(&ground, &neighbour, x, y, entry, 1000);
        tp__ground_settle(&ground);

        uint64_t plain[SIDE * SIDE];
        for (uint32_t cell = 0; cell < SIDE * SIDE; cell++) {
            bool is_in = !aside && cell % SIDE - x < TP_BLOCK_SIDE && cell / SIDE - y < TP_BLOCK_SIDE && tp_map_passable(map, cell % SIDE, cell / SIDE);
            struct tp_blocks_place at = tp_blocks_cell_place(cell % SIDE, cell / SIDE);
            plain[cell] = is_in ? 1000 + tp_field_weigh(tp_field_distance(metric, at, entry), 2 * neighbour.weight) : TP_FIELD_UNSEEN;
        }
        for (bool fell = true; fell;) {
            fell = false;
            for (uint32_t bit = 0; bit < TP_BLOCK_CELLS; bit++) {
                uint32_t cell = (TOP + bit / TP_BLOCK_SIDE) * SIDE + TOP + bit % TP_BLOCK_SIDE;
                for (uint32_t to = 0; to < SIDE * SIDE && tp_map_passable(map, cell % SIDE, cell / SIDE); to++)
                    if (beside(cell, to, diagonals) && plain[to] != TP_FIELD_UNSEEN && plain[to] + step_points(map, cell, to) < plain[cell]) {
                        plain[cell] = plain[to] + step_points(map, cell, to);
                        fell = true;
                    }
            }
        }
        for (uint32_t bit = 0; bit < TP_BLOCK_CELLS; bit++)
            ck_assert_uint_eq(left[bit], plain[(TOP + bit / TP_BLOCK_SIDE) * SIDE + TOP + bit % TP_BLOCK_SIDE]);
        tp_belief_fini(&belief);
        tp_map_unref(map);
    }
}
END_TEST

/* What a session's walk costs; its row, and expansions a tick. */
static tp_cost cost_of(struct tp_map *map, const char *row, uint64_t k, uint32_t start, uint32_t goal)
{
    struct tp_session_params params;
    struct play play;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(row);
    params.w_milli = TP_W_UNSET;
    params.budget = tp_budget_k(k);
    params.start = start;
    params.goal = goal;
    play_open(&play, &params, map);
    struct tp_tick_reply reply = play_until_settled(&play, NULL, 20000);
    PLAY_SAY(&play, reply.status == TP_STATUS_ARRIVED, "status %d", (int)reply.status);
    play_close(&play);
    return reply.cost;
}

/* Where the cells' weights differ inside every node, an agent with few expansions finds the cheap ones. */
START_TEST(an_agent_finds_the_cheap_cells)
{
    enum { WIDTH = 200 };
    struct tp_test_rng rng = tp_test_rng("an_agent_finds_the_cheap_cells");
    struct tp_profile profile = {{0}};
    for (uint32_t class = 0; class < 3; class++)
        profile.weight['a' + class] = (uint16_t)(class + 1);
    static uint8_t cells[WIDTH * WIDTH];
    tp_cost sum = 0, least = 0;
    for (int round = 0; round < 10; round++) {
        struct tp_map *map;
        for (uint32_t i = 0; i < WIDTH * WIDTH; i++)
            cells[i] = (uint8_t)('a' + tp_test_below(&rng, 3));
        ck_assert_int_eq(tp_map_build(&map, WIDTH, WIDTH, cells, &profile, 1), 0);
        uint32_t start = WIDTH * tp_test_below(&rng, WIDTH), goal = WIDTH * tp_test_below(&rng, WIDTH) + WIDTH - 1;
        sum += cost_of(map, "guided", 4, start, goal);
        least += cost_of(map, "astar", TP_BUDGET_UNLIMITED, start, goal);
        tp_map_unref(map);
    }
    if (sum * 100 > least * 128)
        ck_abort_msg("cost %.3f of optimal", (double)sum / (double)least);
}
END_TEST

static Suite *ground_suite(void)
{
    Suite *suite = suite_create("ground");
    TCase *tests = tcase_create("ground");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, ways_inside_a_node_are_the_cheapest);
    tcase_add_test(tests, an_agent_finds_the_cheap_cells);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_ground", ground_suite);
}
