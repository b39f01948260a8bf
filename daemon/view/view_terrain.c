#include "daemon/view/view_terrain.h"

#include <string.h>

/* ---- A part of a version ---- */

struct runs {
    struct tp_text *out;
    uint64_t length;
    uint8_t of;
};

static void put_run(struct runs *runs)
{
    if (runs->length == 0)
        return;
    tp_view_put_varint(runs->out, runs->length);
    tp_view_put_byte(runs->out, runs->of);
}

static void add_cell(struct runs *runs, uint8_t class)
{
    if (class != runs->of) {
        put_run(runs);
        runs->of = class;
        runs->length = 0;
    }
    runs->length++;
}

/* The class that stands for a square of cells. */
static uint8_t class_of_square(const struct tp_map *map, uint32_t x, uint32_t y, uint32_t side)
{
    uint16_t seen[256];
    memset(seen, 0, sizeof seen);
    uint32_t right = x + side < map->width ? x + side : map->width;
    uint32_t end = y + side < map->height ? y + side : map->height;
    uint32_t closed = 0, most_closed = 0, most_open = 0;
    uint8_t class_closed = 0, class_open = 0;
    for (uint32_t cy = y; cy < end; cy++)
        for (uint32_t cx = x; cx < right; cx++) {
            uint8_t class = tp_map_class(map, cx, cy);
            bool is_closed = map->profile.weight[class] == 0;
            uint32_t count = ++seen[class];
            closed += is_closed;
            if (is_closed && count > most_closed) {
                most_closed = count;
                class_closed = class;
            } else if (!is_closed && count > most_open) {
                most_open = count;
                class_open = class;
            }
        }
    return closed * 2 >= (right - x) * (end - y) ? class_closed : class_open;
}

/* The part with its size filled in. TP_ERR_*. */
static int fit(struct tp_view_part *part, const struct tp_map *map)
{
    if (map->graph != NULL || map->puzzle != 0)
        return TP_ERR_UNSUPPORTED;
    if (part->x >= map->width || part->y >= map->height || part->shrink < 1 || part->shrink > TP_VIEW_SHRINK_MAX)
        return TP_ERR_OUT_OF_RANGE;
    if (part->width == 0)
        part->width = map->width - part->x;
    if (part->height == 0)
        part->height = map->height - part->y;
    if (part->width > map->width - part->x || part->height > map->height - part->y)
        return TP_ERR_OUT_OF_RANGE;
    if ((uint64_t)part->width * part->height > TP_VIEW_TERRAIN_CELLS_MAX)
        return TP_ERR_RESOURCE_EXHAUSTED;
    return 0;
}

int tp_view_terrain_begin(struct tp_view_terrain *terrain, const struct tp_map *map, const struct tp_view_part *wanted,
                          struct tp_text *out)
{
    struct tp_view_part part = *wanted;
    int error = fit(&part, map);
    if (error != 0)
        return error;
    *terrain = (struct tp_view_terrain){.map = map, .part = part, .x = part.x, .y = part.y};
    tp_text_add(out, "TPT2");
    const uint64_t head[] = {map->width,  map->height, part.x,     part.y,      part.width,
                             part.height, part.shrink, map->epoch, map->version};
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        tp_view_put_varint(out, head[i]);
    return 0;
}

static void put_classes(const struct tp_view_terrain *terrain, struct tp_text *out)
{
    unsigned count = 0;
    for (unsigned class = 0; class < 256; class++)
        count += terrain->classes[class];
    tp_view_put_varint(out, count);
    for (unsigned class = 0; class < 256; class++)
        if (terrain->classes[class]) {
            tp_view_put_byte(out, (uint8_t)class);
            tp_view_put_varint(out, terrain->map->profile.weight[class]);
        }
}

bool tp_view_terrain_more(struct tp_view_terrain *terrain, struct tp_text *out)
{
    const struct tp_view_part *part = &terrain->part;
    const struct tp_map *map = terrain->map;
    const uint32_t cells_of_place = part->shrink * part->shrink;
    struct runs runs = {.out = out};
    for (uint32_t cells = 0; cells < TP_VIEW_TERRAIN_SLICE && terrain->y < part->y + part->height; cells += cells_of_place) {
        uint8_t class = part->shrink == 1 ? tp_map_class(map, terrain->x, terrain->y)
                                          : class_of_square(map, terrain->x, terrain->y, part->shrink);
        terrain->classes[class] = true;
        add_cell(&runs, class);
        terrain->x += part->shrink;
        if (terrain->x >= part->x + part->width) {
            terrain->x = part->x;
            terrain->y += part->shrink;
        }
    }
    put_run(&runs);
    if (terrain->y < part->y + part->height)
        return true;
    put_classes(terrain, out);
    return false;
}

/* ---- What changed ---- */

struct changes {
    struct tp_text cells;
    uint32_t count, last;
};

static bool add_change(void *context, uint32_t cell, uint8_t class_now)
{
    struct changes *changes = context;
    if (changes->count == TP_VIEW_CHANGES_MAX)
        return false;
    changes->count++;
    int64_t gap = (int64_t)cell - (int64_t)changes->last;
    tp_view_put_varint(&changes->cells, gap < 0 ? (uint64_t)-gap * 2 - 1 : (uint64_t)gap * 2);
    tp_view_put_byte(&changes->cells, class_now);
    changes->last = cell;
    return true;
}

void tp_view_terrain_put_changes(struct tp_text *out, const struct tp_map *before, const struct tp_map *now)
{
    struct changes changes = {0};
    bool is_whole = tp_map_compare_classes(before, now, add_change, &changes);
    tp_view_put_varint(out, now->epoch);
    tp_view_put_varint(out, before->version);
    tp_view_put_varint(out, now->version);
    tp_view_put_byte(out, !is_whole);
    if (is_whole)
        tp_text_put(out, changes.cells.bytes, changes.cells.size);
    out->failed |= changes.cells.failed;
    tp_text_fini(&changes.cells);
}
