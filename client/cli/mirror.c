#include "client/cli/mirror.h"

#include "map/graph.h"

#include <stdlib.h>
#include <string.h>

int tp_cli_mirror_init(struct tp_cli_mirror *mirror, const struct tp_map *map, const struct tp_layer_kind *kind,
                       uint64_t version, const struct tp_cli_search *search)
{
    size_t cells = (size_t)map->width * map->height;
    bool drives = search->motion == TP_MOTION_INERTIA;
    *mirror = (struct tp_cli_mirror){
        .newest = version,
        .drives = drives,
        .neighbours = drives ? TP_NEIGHBOURS_8 : (enum tp_neighbours)search->neighbours,
        .corners = drives ? TP_CORNERS_ALWAYS : (enum tp_corners)search->corners,
    };
    mirror->labels = calloc(cells, sizeof *mirror->labels);
    mirror->stack = calloc(cells, sizeof *mirror->stack);
    if (mirror->labels == NULL || mirror->stack == NULL) {
        free(mirror->labels);
        free(mirror->stack);
        return TP_ERR_NO_MEMORY;
    }
    if (kind == NULL) {
        mirror->versions[0] = tp_map_ref(map);
        return 0;
    }
    struct tp_map *layer;
    int error = tp_layer_build(&layer, map, kind);
    mirror->versions[0] = layer;
    if (error != 0) {
        tp_cli_mirror_fini(mirror);
        return error;
    }
    mirror->kind = *kind;
    mirror->bases[0] = tp_map_ref(map);
    return 0;
}

void tp_cli_mirror_fini(struct tp_cli_mirror *mirror)
{
    for (int i = 0; i < TP_CLI_MIRROR_VERSIONS; i++) {
        tp_map_unref(mirror->versions[i]);
        tp_map_unref(mirror->bases[i]);
    }
    free(mirror->labels);
    free(mirror->stack);
    memset(mirror, 0, sizeof *mirror);
}

/* Puts a version before the others, the last of which ends. */
static void push(const struct tp_map **versions, const struct tp_map *newest)
{
    tp_map_unref(versions[TP_CLI_MIRROR_VERSIONS - 1]);
    for (int i = TP_CLI_MIRROR_VERSIONS - 1; i > 0; i--)
        versions[i] = versions[i - 1];
    versions[0] = newest;
}

int tp_cli_mirror_apply(struct tp_cli_mirror *mirror, const struct tp_change *changes, size_t count,
                        uint64_t version)
{
    if (version != mirror->newest + 1)
        return TP_ERR_VERSION_MISMATCH;
    bool is_layered = mirror->bases[0] != NULL;
    struct tp_map *next, *layer = NULL;
    size_t bad;
    uint32_t bad_x, bad_y;
    int error = tp_map_apply(&next, is_layered ? mirror->bases[0] : mirror->versions[0], changes, count, &bad,
                             &bad_x, &bad_y);
    if (error != 0)
        return error;
    if (is_layered) {
        error = tp_layer_follow(&layer, mirror->versions[0], mirror->bases[0], next, &mirror->kind);
        if (error != 0) {
            tp_map_unref(next);
            return error;
        }
        push(mirror->bases, next);
        next = layer;
    }
    push(mirror->versions, next);
    mirror->newest = version;
    return 0;
}

void tp_cli_mirror_move(struct tp_cli_mirror *mirror, uint64_t version)
{
    for (int i = 1; i < TP_CLI_MIRROR_VERSIONS; i++) {
        tp_map_unref(mirror->versions[i]);
        tp_map_unref(mirror->bases[i]);
        mirror->versions[i] = mirror->bases[i] = NULL;
    }
    mirror->labelled = mirror->labelled == mirror->newest ? version : 0;
    mirror->newest = version;
}

const struct tp_map *tp_cli_mirror_base(const struct tp_cli_mirror *mirror)
{
    return mirror->bases[0] != NULL ? mirror->bases[0] : mirror->versions[0];
}

const struct tp_map *tp_cli_mirror_at(const struct tp_cli_mirror *mirror, uint64_t version)
{
    if (version > mirror->newest || mirror->newest - version >= TP_CLI_MIRROR_VERSIONS)
        return NULL;
    return mirror->versions[mirror->newest - version];
}

/* Labels every cell that can be reached from `from`; all moves between passable cells can be walked both
 * ways. */
static uint32_t label_from(struct tp_cli_mirror *mirror, uint32_t from, uint32_t label)
{
    const struct tp_map *map = mirror->versions[0];
    uint32_t depth = 0, cells = 0;
    mirror->labels[from] = label;
    mirror->stack[depth++] = from;
    while (depth > 0) {
        uint32_t cell = mirror->stack[--depth], x = cell % map->width, y = cell / map->width;
        struct tp_window window = tp_walk_window(map, x, y);
        uint32_t moves = tp_walk_moves(&window, mirror->neighbours, mirror->corners);
        cells++;
        for (int d = 0; moves != 0; d++, moves >>= 1) {
            if ((moves & 1) == 0)
                continue;
            uint32_t next =
                (uint32_t)((int64_t)cell + (int64_t)tp_direction_dy[d] * map->width + tp_direction_dx[d]);
            if (mirror->labels[next] == 0) {
                mirror->labels[next] = label;
                mirror->stack[depth++] = next;
            }
        }
    }
    return cells;
}

/* Labels the newest version if that is not done; gives the largest component. */
static uint32_t label_all(struct tp_cli_mirror *mirror, uint32_t *cells)
{
    const struct tp_map *map = mirror->versions[0];
    uint32_t label = 0, largest = 0;
    *cells = 0;
    memset(mirror->labels, 0, (size_t)map->width * map->height * sizeof *mirror->labels);
    for (uint32_t y = 0; y < map->height; y++) {
        for (uint32_t x = 0; x < map->width; x++) {
            uint32_t cell = y * map->width + x;
            if (mirror->labels[cell] != 0 || !tp_map_passable(map, x, y))
                continue;
            uint32_t size = label_from(mirror, cell, ++label);
            if (size > *cells) {
                *cells = size;
                largest = label;
            }
        }
    }
    mirror->labelled = mirror->newest;
    return largest;
}

bool tp_cli_mirror_connected(struct tp_cli_mirror *mirror, uint32_t a, uint32_t b)
{
    uint32_t cells;
    const uint32_t *nodes;
    if (mirror->versions[0]->graph != NULL) {
        tp_cli_mirror_reach(mirror, a, &nodes);
        return mirror->labels[b] != 0;
    }
    if (mirror->labelled != mirror->newest)
        label_all(mirror, &cells);
    return mirror->labels[a] != 0 && mirror->labels[a] == mirror->labels[b];
}

uint32_t tp_cli_mirror_reach(struct tp_cli_mirror *mirror, uint32_t from, const uint32_t **nodes)
{
    const struct tp_graph *graph = mirror->versions[0]->graph;
    uint32_t count = 0;
    memset(mirror->labels, 0, graph->nodes * sizeof *mirror->labels);
    mirror->labels[from] = 1;
    mirror->stack[count++] = from;
    for (uint32_t head = 0; head < count; head++) {
        uint32_t node = mirror->stack[head];
        const struct tp_graph_out *out = tp_graph_out(graph, node);
        for (uint32_t i = 0; i < graph->out_first[node + 1] - graph->out_first[node]; i++) {
            uint32_t to = out[i].to;
            if (out[i].cost != 0 && mirror->labels[to] == 0) {
                mirror->labels[to] = 1;
                mirror->stack[count++] = to;
            }
        }
    }
    *nodes = mirror->stack;
    return count;
}

uint32_t tp_cli_mirror_largest(struct tp_cli_mirror *mirror, uint32_t *cells)
{
    return label_all(mirror, cells);
}
