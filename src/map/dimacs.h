/* Parser for the graphs of the 9th DIMACS challenge (shortest paths), from memory buffers: `.gr` arcs and `.co` coordinates.
 *
 *     c a comment                         c a comment
 *     p sp NODES ARCS                     p aux sp co NODES
 *     a FROM TO COST                      v NODE X Y
 *
 * Nodes are numbered from 1 in the texts, from 0 in the graph; arcs keep their order. Lines of blanks are skipped; LF or CRLF line
 * ends; the last line may lack its own. It refuses everything else, with the line and column (from 1) where it went
 * wrong. No I/O.
 */
#ifndef TP_MAP_DIMACS_H
#define TP_MAP_DIMACS_H

#include "map/graph_text.h"

/* Parses a graph, with coordinates unless co is NULL; gives a reference in *out. TP_ERR_PARSE with *refusal: the problem line
 * missing, twice or after the first arc, an unknown kind of line, a word missing or left over, a node outside 1..NODES,
 * a cost outside 1..2^32 - 1, more or fewer arcs than promised, a node placed twice or not at all, no node, or more than
 * TP_GRAPH_ISOLATED_MAX of them that no arc can reach, where no coordinates are given; TP_ERR_RESOURCE_EXHAUSTED with
 * *refusal: more than TP_GRAPH_DEGREE_MAX arcs out of one node, or too many nodes or arcs; TP_ERR_NO_MEMORY. On error *out
 * is NULL.
 * Cost: O(size). */
int tp_dimacs_parse(const struct tp_graph **out, const char *gr, size_t gr_size, const char *co,
                    size_t co_size, struct tp_graph_refusal *refusal) TP_MUST_CHECK;

#endif
