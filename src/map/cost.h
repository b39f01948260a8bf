/* Integer costs. A straight step is 3194, a diagonal 4517, a knight's move 7142: these stand for
 * 1, sqrt(2) and sqrt(5) to 5 parts in 10^7, so that equal real costs compare equal and runs repeat everywhere.
 * Reports to people divide by TP_COST_UNIT. */
#ifndef TP_MAP_COST_H
#define TP_MAP_COST_H

#include <stdbool.h>
#include <stdint.h>

#define TP_COST_UNIT 3194u
#define TP_COST_DIAGONAL 4517u
#define TP_COST_KNIGHT 7142u

/* A path's cost or a heuristic value, in 1/3194 of a straight step over weight 1. */
typedef uint64_t tp_cost;

#define TP_COST_INFINITE UINT64_MAX

/* Whether a x < b y; x, y < 2^31. A product may need more than 64 bits. */
static inline bool tp_product_less(tp_cost a, uint64_t x, tp_cost b, uint64_t y)
{
    uint64_t a_low = (a & UINT32_MAX) * x, b_low = (b & UINT32_MAX) * y;
    uint64_t a_high = (a >> 32) * x + (a_low >> 32), b_high = (b >> 32) * y + (b_low >> 32);
    return a_high != b_high ? a_high < b_high : (a_low & UINT32_MAX) < (b_low & UINT32_MAX);
}

#endif
