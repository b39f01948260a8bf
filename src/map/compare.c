/* Which cells differ between two versions of a grid, by weight or by class, and at which nodes two versions of a graph differ.
 * Versions share their equal tiles, or pages. */
#include "map/map.h"

#include <string.h>

/* The classes of a tile's row in both versions; false where they are alike. */
static bool row_differs(const struct tp_map_tile *before, const struct tp_map_tile *now, uint32_t row, const uint8_t **was,
                        const uint8_t **is)
{
    *was = tp_map_tile_classes(before) + (size_t)row * now->columns;
    *is = tp_map_tile_classes(now) + (size_t)row * now->columns;
    return memcmp(*was, *is, now->columns) != 0;
}

/* A cursor counts cells tile by tile, as if every tile were whole. */
enum { TILE_CELLS = TP_MAP_TILE * TP_MAP_TILE };

bool tp_map_compare(const struct tp_map *before, const struct tp_map *now, uint64_t *cursor,
                    tp_map_cell_changed_cb changed, void *context)
{
    uint64_t tiles = (uint64_t)now->tiles_x * now->tiles_y;
    uint64_t tile = *cursor / TILE_CELLS;
    while (tile < tiles && before->tiles[tile] == now->tiles[tile])
        tile++;
    if (tile >= tiles) {
        *cursor = TP_MAP_COMPARED;
        return true;
    }
    uint32_t x0 = (uint32_t)(tile % now->tiles_x) * TP_MAP_TILE, y0 = (uint32_t)(tile / now->tiles_x) * TP_MAP_TILE;
    const uint8_t *was, *is;
    for (uint32_t row = 0; row < now->tiles[tile]->rows; row++) {
        if (!row_differs(before->tiles[tile], now->tiles[tile], row, &was, &is))
            continue;
        for (uint32_t column = 0; column < now->tiles[tile]->columns; column++) {
            uint64_t here = tile * TILE_CELLS + (uint64_t)row * TP_MAP_TILE + column;
            uint16_t weight_was = now->profile.weight[was[column]], weight_is = now->profile.weight[is[column]];
            if (weight_was == weight_is || here < *cursor)
                continue;
            if (!changed(context, x0 + column, y0 + row, weight_was, weight_is)) {
                *cursor = here;
                return false;
            }
        }
    }
    *cursor = (tile + 1) * TILE_CELLS;
    return true;
}

bool tp_map_compare_classes(const struct tp_map *before, const struct tp_map *now,
                            tp_map_class_changed_cb changed, void *context)
{
    size_t tiles = (size_t)now->tiles_x * now->tiles_y;
    for (size_t tile = 0; tile < tiles; tile++) {
        if (before->tiles[tile] == now->tiles[tile])
            continue;
        uint32_t x0 = (uint32_t)(tile % now->tiles_x) * TP_MAP_TILE, y0 = (uint32_t)(tile / now->tiles_x) * TP_MAP_TILE;
        const uint8_t *was, *is;
        for (uint32_t row = 0; row < now->tiles[tile]->rows; row++) {
            if (!row_differs(before->tiles[tile], now->tiles[tile], row, &was, &is))
                continue;
            for (uint32_t column = 0; column < now->tiles[tile]->columns; column++)
                if (was[column] != is[column] &&
                    !changed(context, (y0 + row) * now->width + x0 + column, is[column]))
                    return false;
        }
    }
    return true;
}

bool tp_map_compare_nodes(const struct tp_map *before, const struct tp_map *now, uint64_t *cursor, uint32_t pages_max,
                          tp_map_node_changed_cb changed, void *context)
{
    const struct tp_graph *was = before->graph, *is = now->graph;
    uint64_t at = *cursor, end = is->nodes, passed = 0;
    while (at < end && was->pages[at / TP_GRAPH_PAGE] == is->pages[at / TP_GRAPH_PAGE] && passed++ < pages_max)
        at = (at / TP_GRAPH_PAGE + 1) * TP_GRAPH_PAGE;
    *cursor = at < end ? at : TP_MAP_COMPARED;
    if (at >= end || was->pages[at / TP_GRAPH_PAGE] == is->pages[at / TP_GRAPH_PAGE])
        return true;
    uint64_t stop = (at / TP_MAP_COMPARED_NODES + 1) * TP_MAP_COMPARED_NODES;
    for (; at < stop && at < end; at++) {
        uint32_t node = (uint32_t)at, edges = is->out_first[node + 1] - is->out_first[node];
        bool differs = memcmp(tp_graph_out(was, node), tp_graph_out(is, node), edges * sizeof(struct tp_graph_out)) != 0;
        if (differs && !changed(context, node)) {
            *cursor = at;
            return false;
        }
    }
    *cursor = at < end ? at : TP_MAP_COMPARED;
    return true;
}
