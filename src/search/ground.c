/* Cheapest ways within a node by passes over its cells, to and fro, until nothing falls any more. */
#include "search/ground.h"

enum {
    ROUNDS_MAX = 16,
    STRAIGHT = TP_BLOCK_POINT,
    DIAGONAL = 23, /* points of a diagonal step */
    SIDE = TP_BLOCK_SIDE,
};

static uint32_t directions_of(const struct tp_ground *ground)
{
    return ground->metric == TP_FIELD_MANHATTAN ? 4 : 8;
}

void tp__ground_begin(struct tp_ground *ground, const struct tp_belief *belief, enum tp_field_metric metric, uint32_t x, uint32_t y,
                      uint64_t cells, uint32_t *left)
{
    *ground = (struct tp_ground){.belief = belief, .metric = metric, .x = x, .y = y, .left = left};
    for (uint32_t bit = 0; bit < TP_BLOCK_CELLS; bit++) {
        bool is_in = cells >> bit & 1;
        ground->weight[bit] = is_in ? tp_belief_weight(belief, x + bit % SIDE, y + bit / SIDE) : 0;
        left[bit] = TP_FIELD_UNSEEN;
    }
}

/* The cell of the node a step away from a cell at (x, y) of its block's grid; TP_BLOCK_CELLS: there is none. */
static uint32_t cell_beside(const struct tp_ground *ground, int64_t x, int64_t y, uint32_t direction)
{
    x += tp_direction_dx[direction];
    y += tp_direction_dy[direction];
    if (x < 0 || y < 0 || x >= SIDE || y >= SIDE)
        return TP_BLOCK_CELLS;
    uint32_t bit = (uint32_t)(y * SIDE + x);
    return ground->weight[bit] ? bit : TP_BLOCK_CELLS;
}

/* Lowers what is left from a cell, by a step to one of that weight from which so much is left; true if it fell. */
static bool lower(struct tp_ground *ground, uint32_t bit, uint32_t direction, uint32_t weight, uint64_t left)
{
    uint64_t through = left + (direction < 4 ? STRAIGHT : DIAGONAL) * ((uint64_t)ground->weight[bit] + weight) / 2;
    if (through >= ground->left[bit])
        return false;
    ground->left[bit] = (uint32_t)through;
    return true;
}

void tp__ground_enter(struct tp_ground *ground, const struct tp_blocks_node *neighbour, uint32_t x, uint32_t y, struct tp_blocks_place entry,
                      uint32_t left)
{
    for (uint64_t cells = neighbour->cells; cells; cells &= cells - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(cells), to_x = x + bit % SIDE, to_y = y + bit / SIDE;
        int64_t beside_x = (int64_t)to_x - ground->x, beside_y = (int64_t)to_y - ground->y;
        if (beside_x < -1 || beside_y < -1 || beside_x > SIDE || beside_y > SIDE)
            continue;
        uint32_t weight = tp_belief_weight(ground->belief, to_x, to_y);
        uint32_t on = tp_field_weigh(tp_field_distance(ground->metric, tp_blocks_cell_place(to_x, to_y), entry), 2 * neighbour->weight);
        for (uint32_t direction = 0; weight && direction < directions_of(ground); direction++) {
            uint32_t from = cell_beside(ground, beside_x, beside_y, direction);
            if (from != TP_BLOCK_CELLS)
                lower(ground, from, direction, weight, (uint64_t)left + on);
        }
    }
}

void tp__ground_settle(struct tp_ground *ground)
{
    bool fell = true;
    for (uint32_t round = 0; fell && round < ROUNDS_MAX; round++) {
        fell = false;
        for (uint32_t i = 0; i < TP_BLOCK_CELLS; i++) {
            uint32_t bit = round % 2 ? TP_BLOCK_CELLS - 1 - i : i;
            for (uint32_t direction = 0; ground->weight[bit] && direction < directions_of(ground); direction++) {
                uint32_t to = cell_beside(ground, bit % SIDE, bit / SIDE, direction);
                if (to != TP_BLOCK_CELLS && ground->left[to] != TP_FIELD_UNSEEN)
                    fell |= lower(ground, bit, direction, ground->weight[to], ground->left[to]);
            }
        }
    }
}
