/* Parser for graphs as comma-separated values, from memory buffers: one text of edges and, for coordinates, one of nodes.
 *
 *     from,to,cost                 id,x,y
 *     0,1,250                      0,10.5,-3
 *     1,2,90,both                  1,12,-3.25
 *
 * Nodes are numbered 0, 1, 2, ...; with a text of nodes each of them stands there once, in any order, and their number is
 * that of its lines; without, it is one more than the largest that an edge names. `both` in a fourth field makes a second
 * edge, back at the same cost, right behind the first. The line of names at the top is optional (`from,to,cost` or
 * `from,to,cost,both`; `id,x,y`). Blanks around a field, blank lines, and all from a '#' to the line's end are skipped; LF
 * or CRLF line ends; the last line may lack its own. It refuses everything else, with the line and column (from 1) where it
 * went wrong: no quotes, no other separators. No I/O.
 */
#ifndef TP_MAP_GRAPH_CSV_H
#define TP_MAP_GRAPH_CSV_H

#include "map/graph_text.h"

/* Parses a graph, with coordinates unless nodes is NULL; gives a reference in *out. TP_ERR_PARSE with *refusal: a field missing
 * or left over, not a number, a cost outside 1..2^32 - 1, a fourth field other than `both`, a node that is not in the text of
 * nodes, twice in it or missing from it, no node at all, without that text a number larger than twice the edges + TP_GRAPH_ISOLATED_MAX;
 * TP_ERR_RESOURCE_EXHAUSTED with *refusal: more than TP_GRAPH_DEGREE_MAX edges out of one node, or too many nodes or edges;
 * TP_ERR_NO_MEMORY. On error *out is NULL. Cost: O(size). */
int tp_graph_csv_parse(const struct tp_graph **out, const char *edges, size_t edges_size, const char *nodes,
                       size_t nodes_size, struct tp_graph_refusal *refusal) TP_MUST_CHECK;

#endif
