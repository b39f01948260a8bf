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

/* Allocates room for what was counted; false when there is no memory. `tp__graph_draft_fini` after either. */
bool tp__graph_draft_allocate(struct tp_graph_draft *draft, bool placed);
void tp__graph_draft_fini(struct tp_graph_draft *draft);

#endif
