#include "node/belief.h"

#include <string.h>

void tp_belief_init(struct tp_belief *belief, const struct tp_map *truth, bool full, const struct tp_map *assumed,
                    struct tp_pool *pool, uint64_t *bytes, uint64_t bytes_max)
{
    *belief = (struct tp_belief){.assumed = assumed, .full = full};
    tp_tiles_init(&belief->sights, pool, truth->width, truth->height, sizeof(struct tp_belief_tile), UINT32_MAX, bytes,
                  bytes_max);
    tp_belief_set_truth(belief, truth);
    tp_belief_forget(belief);
}

void tp_belief_fini(struct tp_belief *belief)
{
    tp_tiles_empty(&belief->sights);
}

void tp_belief_forget(struct tp_belief *belief)
{
    tp_tiles_begin(&belief->sights);
    belief->since_version = belief->truth->version;
    if (belief->news) {
        memset(belief->news->tiles, 0, tp_belief_news_words(belief->truth) * sizeof belief->news->tiles[0]);
        belief->news->count = 0;
        belief->news->forgot = true;
    }
    if (!belief->full) {
        belief->stamp++;
        belief->falls++; /* what was seen blocked or dear is taken for what was assumed again */
    }
}

void tp_belief_set_truth(struct tp_belief *belief, const struct tp_map *truth)
{
    belief->truth = truth;
    if (belief->full)
        belief->stamp = (uint32_t)truth->version;
}

static const struct tp_belief_tile *sight_at(const struct tp_belief *belief, uint32_t x, uint32_t y)
{
    return (const struct tp_belief_tile *)tp_tiles_find(&belief->sights, x, y);
}

uint16_t tp_belief_weight(const struct tp_belief *belief, uint32_t x, uint32_t y)
{
    if (belief->full)
        return tp_map_weight(belief->truth, x, y);
    const struct tp_belief_tile *sight = sight_at(belief, x, y);
    uint32_t slot = tp_tile_slot(x, y);
    if (sight && sight->seen >> slot & 1)
        return belief->truth->profile.weight[sight->class_of[slot]];
    if (belief->assumed)
        return belief->truth->profile.weight[tp_map_class(belief->assumed, x, y)];
    return tp_profile_least_weight(&belief->truth->profile);
}

/* The cell is believed otherwise. */
static void take_note(struct tp_belief *belief, uint32_t x, uint32_t y)
{
    struct tp_belief_news *news = belief->news;
    uint32_t tile = y / TP_MAP_TILE * belief->truth->tiles_x + x / TP_MAP_TILE;
    if (!news || news->tiles[tile / 64] >> tile % 64 & 1)
        return;
    news->tiles[tile / 64] |= UINT64_C(1) << tile % 64;
    news->count++;
}

uint32_t tp_belief_observe(struct tp_belief *belief, uint32_t x, uint32_t y, uint32_t radius,
                           struct tp_belief_change *changes)
{
    uint32_t count = 0;
    if (belief->full)
        return 0;
    uint32_t x0 = x > radius ? x - radius : 0, y0 = y > radius ? y - radius : 0;
    for (uint32_t cy = y0; cy <= y + radius && cy < belief->truth->height; cy++)
        for (uint32_t cx = x0; cx <= x + radius && cx < belief->truth->width; cx++) {
            uint16_t before = tp_belief_weight(belief, cx, cy);
            bool fresh;
            uint32_t stamp;
            struct tp_belief_tile *sight = (struct tp_belief_tile *)tp_tiles_touch(&belief->sights, cx, cy, &fresh, &stamp);
            if (!sight)
                continue; /* not remembered; it will be seen again from here */
            if (fresh)
                sight->seen = sight->passable = 0;
            uint32_t slot = tp_tile_slot(cx, cy);
            uint16_t now = tp_map_weight(belief->truth, cx, cy);
            sight->seen |= 1ull << slot;
            sight->passable = (sight->passable & ~(1ull << slot)) | (uint64_t)(now != 0) << slot;
            sight->class_of[slot] = tp_map_class(belief->truth, cx, cy);
            if (now == before)
                continue;
            bool rose = !now || (before && now > before);
            belief->falls += !rose;
            take_note(belief, cx, cy);
            changes[count++] = (struct tp_belief_change){cx, cy, rose};
        }
    if (count)
        belief->stamp++;
    return count;
}

/* The rows of an all-free map's block: bits inside the map. */
static void inside_block(const struct tp_map *map, int64_t x, int64_t y, uint32_t side, uint32_t *rows)
{
    for (uint32_t i = 0; i < side; i++) {
        rows[i] = 0;
        if (y + i < 0 || y + i >= map->height)
            continue;
        for (uint32_t j = 0; j < side; j++)
            rows[i] |= (uint32_t)(x + j >= 0 && x + j < map->width) << j;
    }
}

/* Lays the sights of one tile over a block. */
static void lay_sight(const struct tp_belief_tile *sight, int64_t tile_x, int64_t tile_y, int64_t x, int64_t y,
                      uint32_t side, uint32_t *rows)
{
    uint32_t wanted = (1u << side) - 1;
    for (int64_t row = 0; row < TP_TILE_SIDE; row++) {
        int64_t i = tile_y + row - y, shift = tile_x - x;
        if (i < 0 || i >= side)
            continue;
        uint32_t seen = (uint32_t)(sight->seen >> (row * TP_TILE_SIDE)) & 0xff;
        uint32_t passable = (uint32_t)(sight->passable >> (row * TP_TILE_SIDE)) & 0xff;
        seen = (shift >= 0 ? seen << shift : seen >> -shift) & wanted;
        passable = (shift >= 0 ? passable << shift : passable >> -shift) & wanted;
        rows[i] = (rows[i] & ~seen) | passable;
    }
}

void tp_belief_passable_block(const struct tp_belief *belief, int64_t x, int64_t y, uint32_t side, uint32_t *rows)
{
    if (belief->full || belief->assumed)
        tp_map_passable_block(belief->full ? belief->truth : belief->assumed, x, y, side, rows);
    else
        inside_block(belief->truth, x, y, side, rows);
    if (belief->full)
        return;
    for (int64_t ty = (y < 0 ? 0 : y) & ~7ll; ty < y + side && ty < belief->truth->height; ty += TP_TILE_SIDE)
        for (int64_t tx = (x < 0 ? 0 : x) & ~7ll; tx < x + side && tx < belief->truth->width; tx += TP_TILE_SIDE) {
            const struct tp_belief_tile *sight = sight_at(belief, (uint32_t)tx, (uint32_t)ty);
            if (sight)
                lay_sight(sight, tx, ty, x, y, side, rows);
        }
}

/* Writes a sight over its cells of the map's tile. */
static void write_sight(const struct tp_belief_tile *sight, struct tp_map_tile *tile, uint32_t x, uint32_t y)
{
    uint8_t *classes = tp_map_tile_classes(tile);
    for (uint32_t row = 0; row < TP_TILE_SIDE && y + row < tile->rows; row++) {
        uint64_t seen = sight->seen >> (row * TP_TILE_SIDE) & 0xff, passable = sight->passable >> (row * TP_TILE_SIDE) & seen;
        tile->passable[y + row] = (tile->passable[y + row] & ~(seen << x)) | passable << x;
        for (; seen; seen &= seen - 1) {
            uint32_t column = (uint32_t)__builtin_ctzll(seen);
            classes[(y + row) * tile->columns + x + column] = sight->class_of[row * TP_TILE_SIDE + column];
        }
    }
}

void tp_belief_read_tile(const struct tp_belief *belief, uint32_t number, struct tp_map_tile *tile)
{
    uint32_t x0 = number % belief->truth->tiles_x * TP_MAP_TILE, y0 = number / belief->truth->tiles_x * TP_MAP_TILE;
    size_t cells = (size_t)tile->rows * tile->columns;
    if (belief->assumed) {
        const struct tp_map_tile *told = belief->assumed->tiles[number];
        memcpy(tile->passable, told->passable, tile->rows * sizeof tile->passable[0]);
        memcpy(tp_map_tile_classes(tile), tp_map_tile_classes(told), cells);
    } else {
        for (uint32_t row = 0; row < tile->rows; row++)
            tile->passable[row] = ~UINT64_C(0) >> (TP_MAP_TILE - tile->columns);
        memset(tp_map_tile_classes(tile), tp_profile_least_class(&belief->truth->profile), cells);
    }
    for (uint32_t y = 0; y < tile->rows; y += TP_TILE_SIDE)
        for (uint32_t x = 0; x < tile->columns; x += TP_TILE_SIDE) {
            const struct tp_belief_tile *sight = sight_at(belief, x0 + x, y0 + y);
            if (sight)
                write_sight(sight, tile, x, y);
        }
}

bool tp_belief_legal(const struct tp_belief *belief, uint32_t x, uint32_t y, uint8_t direction,
                     enum tp_neighbours neighbours, enum tp_corners corners)
{
    struct tp_window window;
    tp_belief_passable_block(belief, (int64_t)x - 2, (int64_t)y - 2, 5, window.row);
    return tp_walk_moves(&window, neighbours, corners) >> direction & 1;
}

tp_cost tp_belief_cost(const struct tp_belief *belief, uint32_t from_x, uint32_t from_y, uint32_t to_x, uint32_t to_y,
                       uint8_t direction)
{
    if (belief->full)
        return tp_walk_cost(belief->truth, from_x, from_y, to_x, to_y, direction);
    uint64_t from = tp_belief_weight(belief, from_x, from_y), to = tp_belief_weight(belief, to_x, to_y);
    return tp_direction_length[direction] * ((from ? from : 1) + (to ? to : 1)) / 2;
}
