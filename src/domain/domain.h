/* State spaces: what a space gives to the search, one table each.
 *
 * The kernels (run) are compiled for their space; all else of the search is the same for every space. Wide kernels are for weighted maps and for maps so large that a path's cost may exceed 32 bits.
 */
#ifndef TP_DOMAIN_DOMAIN_H
#define TP_DOMAIN_DOMAIN_H

#include "map/cost.h"
#include "map/walk.h"

struct tp_search;
struct tp_run;

struct tp_domain {
    /* by [wide][learns]: whether g has 64 bits, whether h may have been raised by learning */
    void (*run[2][2])(struct tp_search *search, struct tp_run *run);
    /* the distance from (dx, dy) away, over weight 1 */
    tp_cost (*distance)(uint32_t dx, uint32_t dy);
    uint32_t step_max; /* the longest single step over weight 1 */
};

/* The grid with this neighbourhood. */
const struct tp_domain *tp_domain_grid(enum tp_neighbours neighbours);

#endif
