/* A map on its way in, chunk by chunk, on one connection: a grid's cells, or a graph's edges and coordinates.
 *
 * What it is: a name, a size and what has come so far. Sizes are checked before anything is allocated, and all
 * uploads of the daemon share a quota. What it refuses: chunks out of order, more than the size said, a second
 * map in between. Whether edges make a graph is the world's to judge. Who calls it: the put_map and put_graph commands, on
 * the connection's loop.
 */
#ifndef TP_DAEMON_UPLOAD_H
#define TP_DAEMON_UPLOAD_H

#include "base/error.h"
#include "daemon/store/store.h"
#include "map/graph.h"
#include "map/profile.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A graph may have this many nodes besides two for each of its edges: nodes cost memory, and hardly a byte to ask for. */
enum { TP_UPLOAD_LONE_NODES_MAX = 65536 };

struct tp_upload_quota {
    _Atomic uint64_t bytes; /* of all uploads under way */
    _Atomic uint64_t bytes_max; /* may be changed at any time */
};

/* A graph as it was asked for; its arrays are malloc'd. */
struct tp_upload_graph {
    uint32_t nodes, edge_count;
    struct tp_graph_edge *edges;
    double *x, *y; /* of all nodes, or NULL */
};

struct tp_upload {
    bool is_open, is_graph, replace;
    char name[TP_WORLD_NAME_MAX + 1];
    /* a grid */
    uint32_t width, height;
    uint64_t received; /* cells */
    uint8_t *cells;    /* width * height */
    struct tp_profile profile;
    /* a graph */
    struct tp_upload_graph graph;
    uint32_t edges_received, nodes_received; /* nodes whose coordinates are here */

    uint64_t quota_bytes; /* taken of the quota */
    struct tp_upload_quota *quota;
};

/* Begins the upload of a grid; `upload` must not be open. TP_ERR_INVALID_ARGUMENT (a size of 0, too many cells),
 * TP_ERR_RESOURCE_EXHAUSTED (the quota), TP_ERR_NO_MEMORY, with *refusal filled. */
int tp_upload_begin(struct tp_upload *upload, struct tp_upload_quota *quota, const char *name, uint32_t width,
                    uint32_t height, struct tp_refusal *refusal) TP_MUST_CHECK;

/* Adds a chunk of cells. TP_ERR_INVALID_ARGUMENT (offset), TP_ERR_OUT_OF_RANGE (beyond the size), with *refusal
 * filled; the upload stays as it was. */
int tp_upload_add(struct tp_upload *upload, uint64_t offset, const void *cells, size_t count,
                  struct tp_refusal *refusal) TP_MUST_CHECK;

/* Begins the upload of a graph; errors as above, and TP_ERR_INVALID_ARGUMENT for many more nodes than the edges can join. */
int tp_upload_begin_graph(struct tp_upload *upload, struct tp_upload_quota *quota, const char *name, uint32_t nodes,
                          uint32_t edges, struct tp_refusal *refusal) TP_MUST_CHECK;

/* Adds edges `offset` and on, and the coordinates of nodes `offset` and on. Errors as above, with
 * TP_ERR_RESOURCE_EXHAUSTED (the quota) and TP_ERR_NO_MEMORY for the first coordinates. */
int tp_upload_add_edges(struct tp_upload *upload, uint32_t offset, const uint32_t *from, const uint32_t *to,
                        const uint32_t *cost, size_t count, struct tp_refusal *refusal) TP_MUST_CHECK;
int tp_upload_add_nodes(struct tp_upload *upload, uint32_t offset, const double *x, const double *y, size_t count,
                        struct tp_refusal *refusal) TP_MUST_CHECK;

/* Whether all is here. TP_ERR_INVALID_ARGUMENT with *refusal filled. */
int tp_upload_check_complete(const struct tp_upload *upload, struct tp_refusal *refusal) TP_MUST_CHECK;

/* Gives the cells, or the graph, away (malloc'd) and closes the upload. */
uint8_t *tp_upload_take_cells(struct tp_upload *upload);
struct tp_upload_graph tp_upload_take_graph(struct tp_upload *upload);
void tp_upload_graph_fini(struct tp_upload_graph *graph);

/* Forgets the upload, if one is open. */
void tp_upload_drop(struct tp_upload *upload);

#endif
