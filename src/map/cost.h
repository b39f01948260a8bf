/* Integer costs. A straight step is 3194, a diagonal 4517, a knight's move 7142: these stand for
 * 1, sqrt(2) and sqrt(5) to 5 parts in 10^7, so that equal real costs compare equal and runs repeat everywhere.
 * Reports to people divide by TP_COST_UNIT. */
#ifndef TP_MAP_COST_H
#define TP_MAP_COST_H

#include <stdint.h>

#define TP_COST_UNIT 3194u
#define TP_COST_DIAGONAL 4517u
#define TP_COST_KNIGHT 7142u

/* A path's cost or a heuristic value, in 1/3194 of a straight step over weight 1. */
typedef uint64_t tp_cost;

#define TP_COST_INFINITE UINT64_MAX

#endif
