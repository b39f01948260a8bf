/* What the parsers of graphs share: where a refusal lies, and the edges and coordinates read so far.
 *
 * Both formats are gone over twice with the same code: first with nowhere to store, which finds every error and the sizes,
 * then, once the memory is there, to store. No number in a text can ask for more memory than the text itself justifies: nodes
 * that no edge and no coordinate names are allowed up to TP_GRAPH_ISOLATED_MAX.
 * What it refuses: nothing by itself but to go on without memory; the parsers refuse, in its words of where. Who calls it:
 * dimacs.c and graph_csv.c alone; struct tp_graph_refusal is their callers' too.
 */
#ifndef TP_MAP_GRAPH_TEXT_H
#define TP_MAP_GRAPH_TEXT_H

#include "map/graph.h"
#include "map/text.h"

enum { TP_GRAPH_ISOLATED_MAX = 1 << 16 };

/* Which of the two texts a refusal is about. */
enum tp_graph_text { TP_GRAPH_TEXT_EDGES, TP_GRAPH_TEXT_NODES };

/* A refusal of a graph's texts: all zero for none. */
struct tp_graph_refusal {
    enum tp_graph_text text;
    struct tp_place place;
    const char *reason; /* static memory */
};

/* The graph being read. x is NULL without coordinates; NAN marks a node not placed yet. */
struct tp_graph_draft {
    uint32_t nodes;
    size_t edge_count;
    struct tp_graph_edge *edges; /* NULL while the text is only checked */
    double *x, *y;
};

void tp__graph_draft_fini(struct tp_graph_draft *draft);

/* Reads a cost, and a coordinate, where one begins: TP_ERR_PARSE at its place for a cost that is no whole number of at least 1,
 * for no number, and for a coordinate beyond TP_GRAPH_COORDINATE_MAX. */
int tp__graph_read_cost(struct tp__text *t, uint32_t *cost) TP_MUST_CHECK;
int tp__graph_read_coordinate(struct tp__text *t, double *coordinate) TP_MUST_CHECK;

/* How a format reads edges until the text ends or `edges_max` are read, into the draft where it has room; and the whole text of
 * nodes, which it opens for the refusal. */
typedef int (*tp_graph_edges_cb)(struct tp__text *t, struct tp_graph_draft *draft, size_t edges_max,
                                 void *context);
typedef int (*tp_graph_nodes_cb)(const char *nodes, size_t nodes_size, struct tp_graph_draft *draft,
                                 struct tp_graph_refusal *refusal);

/* What is gone over a second time, once all is counted. */
struct tp_graph_reading {
    struct tp__text *edges; /* opened for the refusal */
    size_t edges_at;       /* where edges begin in it, and on which line */
    unsigned edges_line;
    tp_graph_edges_cb read_edges;
    void *context;     /* for read_edges */
    const char *nodes; /* NULL: no coordinates */
    size_t nodes_size;
    tp_graph_nodes_cb read_nodes;
    const char *too_many; /* the reason for an edge that its node has no room for */
};

/* Allocates room for what was counted, reads all again to store it, and builds the graph: a reference in *out. TP_ERR_NO_MEMORY;
 * what the callbacks give; TP_ERR_RESOURCE_EXHAUSTED with the edge named for which tp_graph_build has no room out of its node.
 * `tp__graph_draft_fini` after any. Cost: O(size). */
int tp__graph_read_again(const struct tp_graph_reading *reading, struct tp_graph_draft *draft,
                         struct tp_graph_refusal *refusal, const struct tp_graph **out) TP_MUST_CHECK;

#endif
