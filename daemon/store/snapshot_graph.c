/* All numbers little-endian:
 *
 *     offset  bytes
 *          0      8  magic "tpsnap\0\2"
 *          8      1  kind of the map: 2, a graph
 *          9      1  1 with coordinates, plus 2 with closed nodes
 *         10      2  0
 *         12      4  nodes
 *         16      8  epoch
 *         24      8  version
 *         32      4  edges
 *         36      4  0
 *         40      8  bytes of the compressed contents, n
 *         48      n  contents, one zstd frame
 *       48+n      8  XXH3-64 of everything before
 *
 * Contents: the edges in the order they were put, u32 from of each, then u32 to of each, then u32 cost of each; then, with
 * coordinates, x of each node and y of each node as 64-bit IEEE 754 numbers; then, with closed nodes, a bit a node, the first in
 * the least of the first byte. A closed edge costs 0; one at a closed node has its own cost. (Like beside like packs better.)
 */
#include "daemon/store/snapshot_graph.h"

#include "daemon/bytes.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum { HEADER_BYTES = TP__SNAPSHOT_GRAPH_BYTES, CHECKSUM_BYTES = 8, ZSTD_LEVEL = 3, KIND_GRAPH = 2, EDGE_BYTES = 12, PLACE_BYTES = 16, PLACED = 1, CLOSES = 2 };
static const char magic[7] = {'t', 'p', 's', 'n', 'a', 'p', 0};

static size_t contents_bytes(size_t nodes, size_t edges, uint8_t flags)
{
    return edges * EDGE_BYTES + (flags & PLACED ? nodes * PLACE_BYTES : 0) + (flags & CLOSES ? (nodes + 7) / 8 : 0);
}

static void put_double(uint8_t *p, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tp_put_u64(p, bits);
}

static double get_double(const uint8_t *p)
{
    uint64_t bits = tp_get_u64(p);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint8_t flags_of(const struct tp_graph *graph)
{
    return (uint8_t)((graph->x != NULL ? PLACED : 0) | (graph->closed_nodes > 0 ? CLOSES : 0));
}

/* The contents, malloc'd; NULL when out of memory. */
static uint8_t *write_contents(const struct tp_graph *graph)
{
    size_t edges = graph->edges, nodes = graph->nodes;
    uint8_t *out = calloc(1, contents_bytes(nodes, edges, flags_of(graph)) + 1);
    if (out == NULL)
        return NULL;
    for (uint32_t e = 0; e < graph->edges; e++) {
        struct tp_graph_edge edge = tp_graph_edge_set(graph, e);
        tp_put_u32(out + 4 * (size_t)e, edge.from);
        tp_put_u32(out + 4 * (edges + e), edge.to);
        tp_put_u32(out + 4 * (2 * edges + e), edge.cost);
    }
    uint8_t *places = out + edges * EDGE_BYTES;
    for (size_t i = 0; graph->x != NULL && i < nodes; i++) {
        put_double(places + 8 * i, graph->x[i]);
        put_double(places + 8 * (nodes + i), graph->y[i]);
    }
    uint8_t *closed = places + (graph->x != NULL ? nodes * PLACE_BYTES : 0);
    for (uint32_t i = 0; graph->closed_nodes > 0 && i < graph->nodes; i++)
        closed[i / 8] |= (uint8_t)(tp_graph_closed(graph, i) << (i % 8));
    return out;
}

int tp__snapshot_encode_graph(const struct tp_map *map, uint8_t layout, uint8_t **bytes, size_t *size)
{
    const struct tp_graph *graph = map->graph;
    size_t plain_bytes = contents_bytes(graph->nodes, graph->edges, flags_of(graph));
    size_t bound = ZSTD_compressBound(plain_bytes);
    uint8_t *plain = write_contents(graph);
    uint8_t *out = calloc(1, HEADER_BYTES + bound + CHECKSUM_BYTES);
    if (plain == NULL || out == NULL) {
        free(plain);
        free(out);
        return TP_ERR_NO_MEMORY;
    }
    size_t packed = ZSTD_compress(out + HEADER_BYTES, bound, plain, plain_bytes, ZSTD_LEVEL);
    free(plain);
    if (ZSTD_isError(packed)) { /* its only cause here: its own working memory */
        free(out);
        return TP_ERR_NO_MEMORY;
    }
    memcpy(out, magic, sizeof magic);
    out[sizeof magic] = layout;
    out[8] = KIND_GRAPH;
    out[9] = flags_of(graph);
    tp_put_u32(out + 12, graph->nodes);
    tp_put_u64(out + 16, map->epoch);
    tp_put_u64(out + 24, map->version);
    tp_put_u32(out + 32, graph->edges);
    tp_put_u64(out + 40, packed);
    tp_put_u64(out + HEADER_BYTES + packed, XXH3_64bits(out, HEADER_BYTES + packed));
    *bytes = out;
    *size = HEADER_BYTES + packed + CHECKSUM_BYTES;
    return 0;
}

static int corrupt(const char **reason, const char *words)
{
    *reason = words;
    return TP_ERR_CORRUPT;
}

/* Makes the graph of unpacked contents. */
static int read_contents(const struct tp_graph **graph, const uint8_t *plain, uint32_t nodes, size_t edges,
                         uint8_t flags)
{
    bool placed = flags & PLACED;
    const uint8_t *closed = plain + contents_bytes(nodes, edges, flags & PLACED);
    struct tp_graph_edge *edge = malloc((edges + 1) * sizeof *edge);
    double *places = placed ? malloc(2 * (size_t)nodes * sizeof *places) : NULL;
    int error = edge == NULL || (placed && places == NULL) ? TP_ERR_NO_MEMORY : 0;
    if (error == 0) {
        for (size_t e = 0; e < edges; e++)
            edge[e] = (struct tp_graph_edge){tp_get_u32(plain + 4 * e), tp_get_u32(plain + 4 * (edges + e)),
                                             tp_get_u32(plain + 4 * (2 * edges + e))};
        for (size_t i = 0; placed && i < 2 * (size_t)nodes; i++)
            places[i] = get_double(plain + edges * EDGE_BYTES + 8 * i);
        size_t bad;
        error = tp_graph_restore(graph, nodes, edge, edges, places, placed ? places + nodes : NULL,
                                 flags & CLOSES ? closed : NULL, &bad);
    }
    free(edge);
    free(places);
    return error;
}

int tp__snapshot_decode_graph(struct tp_map **out, const uint8_t *p, size_t size, const char **reason)
{
    if (p[8] != KIND_GRAPH || p[9] > (PLACED | CLOSES))
        return corrupt(reason, "the snapshot holds a map of a kind that this program does not know");
    uint8_t flags = p[9];
    uint32_t nodes = tp_get_u32(p + 12), edges = tp_get_u32(p + 32);
    uint64_t packed = tp_get_u64(p + 40);
    if (packed != size - HEADER_BYTES - CHECKSUM_BYTES)
        return corrupt(reason, "the snapshot's length does not fit its header");
    if (nodes == 0 || nodes > TP_GRAPH_NODES_MAX || edges > TP_GRAPH_EDGES_MAX)
        return corrupt(reason, "the snapshot's size of the graph is not allowed");
    size_t plain_bytes = contents_bytes(nodes, edges, flags);
    if (!tp__snapshot_can_unpack(p + HEADER_BYTES, packed, plain_bytes))
        return corrupt(reason, "the snapshot's contents do not fit its size");
    uint8_t *plain = malloc(plain_bytes + 1);
    if (plain == NULL)
        return TP_ERR_NO_MEMORY;
    const struct tp_graph *graph = NULL;
    int error = TP_ERR_CORRUPT;
    if (ZSTD_decompress(plain, plain_bytes, p + HEADER_BYTES, packed) == plain_bytes)
        error = read_contents(&graph, plain, nodes, edges, flags);
    free(plain);
    if (error == 0)
        error = tp_map_build_graph(out, graph, tp_get_u64(p + 16), tp_get_u64(p + 24));
    tp_graph_unref(graph);
    if (error != 0 && error != TP_ERR_NO_MEMORY)
        return corrupt(reason, "the snapshot's contents are no graph");
    return error;
}
