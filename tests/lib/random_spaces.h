/* Random state spaces for tests: grids, explicit directed graphs, grids that vehicles with inertia drive on.
 *
 * Every function fails the running test if it cannot do what it says. Who calls it: tests of one thread.
 */
#ifndef TESTS_LIB_RANDOM_SPACES_H
#define TESTS_LIB_RANDOM_SPACES_H

#include "tests/lib/maps.h"
#include "tests/lib/play.h"

enum space_kind { SPACE_GRID, SPACE_GRAPH, SPACE_VEHICLE, SPACE_KINDS };
extern const char *const space_names[SPACE_KINDS];

struct space {
    enum space_kind kind;
    struct tp_map *map;       /* a reference */
    struct plain_graph graph; /* of a graph */
    double *x, *y;            /* its coordinates; NULL without */
};

/* How large: cells on a side of a grid, of a track, nodes of a graph; and the dearest edge, against 1 for the cheapest. */
struct space_size {
    uint32_t grid_side, track_side, nodes, cost_max;
};

/* A grid is up to a third as often without obstacles as with; a graph is one of: a ring with chords (strongly connected),
 * anything (dead ends, parts that no way leads to), all edges both ways, a lattice with ledges, a river that runs one way.
 * Each may have parallel edges and loops, and coordinates. */
void space_random(struct space *space, struct tp_test_rng *rng, enum space_kind kind, struct space_size size);
void space_fini(struct space *space);

/* A graph map's next version with the same costs: the same graph, or one built again from the plain one. Gives a reference. */
struct tp_map *space_graph_version(const struct space *space, const struct tp_map *map, bool built_again);

/* A batch of at most SPACE_BATCH_MAX edges and nodes, costs up to cost_max; the plain graph takes it up. Returns how many. */
enum { SPACE_BATCH_MAX = 12 };
size_t space_graph_batch(struct tp_test_rng *rng, struct plain_graph *plain, uint32_t cost_max, struct tp_change *changes);

/* A cell or node, passable if one is found near; one at most two away. */
uint32_t space_cell(struct tp_test_rng *rng, const struct tp_map *map, bool passable);
uint32_t space_cell_near(struct tp_test_rng *rng, const struct tp_map *map, uint32_t cell);

#endif
