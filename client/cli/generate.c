/* The kinds of map but the city, and the joining of areas. */
#include "client/cli/generate.h"

#include "client/cli/generate_internal.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE_MIN = 8, SIDE_MAX = 8192 };

/* ---- Random numbers and noise ---- */

uint64_t tp__mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* The lattice's value at a point, 0..65535. */
static uint32_t lattice(uint64_t seed, uint32_t x, uint32_t y)
{
    return (uint32_t)(tp__mix(tp__mix(seed + x * UINT64_C(0x9e3779b97f4a7c15)) +
                              y * UINT64_C(0xd1b54a32d192ed03)) >>
                      48);
}

/* 3t^2 - 2t^3 for t in 0..65535 standing for 0..1 */
static uint32_t ease(uint32_t t)
{
    uint64_t square = (uint64_t)t * t >> 16;
    return (uint32_t)((square * (3 * 65536 - 2 * (uint64_t)t)) >> 16);
}

static uint32_t blend(uint32_t from, uint32_t to, uint32_t t)
{
    return (uint32_t)(((uint64_t)from * (65536 - t) + (uint64_t)to * t) >> 16);
}

uint32_t tp__noise(uint64_t seed, uint32_t x, uint32_t y, uint32_t period)
{
    uint32_t column = x / period, row = y / period;
    uint32_t tx = ease((uint32_t)((uint64_t)(x % period) * 65536 / period));
    uint32_t ty = ease((uint32_t)((uint64_t)(y % period) * 65536 / period));
    uint32_t above = blend(lattice(seed, column, row), lattice(seed, column + 1, row), tx);
    uint32_t below = blend(lattice(seed, column, row + 1), lattice(seed, column + 1, row + 1), tx);
    return blend(above, below, ty);
}

uint32_t tp__noise_rough(uint64_t seed, uint32_t x, uint32_t y, uint32_t period)
{
    uint32_t half = period / 2 ? period / 2 : 1, quarter = period / 4 ? period / 4 : 1;
    return (4 * tp__noise(seed, x, y, period) + 2 * tp__noise(seed + 1, x, y, half) +
            tp__noise(seed + 2, x, y, quarter)) /
           7;
}

/* ---- Joining areas ---- */

static const int8_t step_x[4] = {1, 0, -1, 0}, step_y[4] = {0, 1, 0, -1};
enum { NO_STEP = 4, UNSEEN = 5 };

struct area {
    uint32_t size;   /* cells */
    uint8_t filling; /* a blocked class that stands beside it */
    bool joined;
};

/* Scratch of one joining. Areas are numbered from 1. */
struct joiner {
    const struct tp__grid *grid;
    uint32_t *area_of; /* per cell, 0 for blocked cells */
    uint32_t *queue;   /* per cell */
    uint8_t *steps;    /* per cell: the step that reached it */
    struct area *areas;
    uint32_t count; /* of areas */
    uint32_t largest;
};

/* The neighbour of a cell in direction d, or UINT32_MAX beyond the edge. */
static uint32_t neighbour(const struct tp__grid *grid, uint32_t cell, int d)
{
    uint32_t x = cell % grid->width + (uint32_t)step_x[d], y = cell / grid->width + (uint32_t)step_y[d];
    return x < grid->width && y < grid->height ? y * grid->width + x : UINT32_MAX;
}

/* Numbers one area from a cell of it and returns its size; its cells stand in the queue. */
static uint32_t flood(struct joiner *j, uint32_t from, uint32_t area)
{
    uint32_t head = 0, tail = 0;
    j->area_of[from] = area;
    j->queue[tail++] = from;
    while (head < tail) {
        uint32_t cell = j->queue[head++];
        for (int d = 0; d < 4; d++) {
            uint32_t next = neighbour(j->grid, cell, d);
            if (next == UINT32_MAX || j->area_of[next] || !tp__is_free(j->grid->cells[next]))
                continue;
            j->area_of[next] = area;
            j->queue[tail++] = next;
        }
    }
    return tail;
}

/* Numbers and measures all areas. */
static int number_areas(struct joiner *j)
{
    uint32_t count = j->grid->width * j->grid->height, room = 0;
    for (uint32_t cell = 0; cell < count; cell++) {
        if (j->area_of[cell] || !tp__is_free(j->grid->cells[cell]))
            continue;
        if (j->count + 2 > room) {
            room = room ? 2 * room : 256;
            struct area *areas = realloc(j->areas, room * sizeof *areas);
            if (!areas)
                return TP_ERR_NO_MEMORY;
            j->areas = areas;
        }
        uint32_t area = ++j->count;
        uint32_t size = flood(j, cell, area);
        /* an area's first cell in reading order has a blocked cell, or the map's edge, to its left */
        uint8_t filling = cell % j->grid->width ? j->grid->cells[cell - 1] : '@';
        j->areas[area] = (struct area){.size = size, .filling = filling};
        if (!j->largest || size > j->areas[j->largest].size)
            j->largest = area;
    }
    return TP_OK;
}

static void fill_small(const struct joiner *j, uint32_t kept_min)
{
    uint32_t count = j->grid->width * j->grid->height;
    for (uint32_t cell = 0; cell < count; cell++) {
        uint32_t area = j->area_of[cell];
        if (!area || area == j->largest || j->areas[area].size >= kept_min)
            continue;
        j->grid->cells[cell] = j->areas[area].filling;
        j->area_of[cell] = 0;
    }
}

static bool outermost(const struct tp__grid *grid, uint32_t cell)
{
    uint32_t x = cell % grid->width, y = cell / grid->width;
    return x == 0 || y == 0 || x + 1 == grid->width || y + 1 == grid->height;
}

/* Frees a cell of a tunnel and a square around it, a little aside so that the sides are ragged; never the
 * map's outermost cells. */
static void dig(const struct joiner *j, uint64_t seed, uint32_t cell, uint32_t tunnel)
{
    uint32_t width = j->grid->width, x0 = cell % width, y0 = cell / width;
    uint64_t aside = tp__mix(seed ^ cell);
    uint32_t left = x0 - tunnel / 2 + (aside & 1), top = y0 - tunnel / 2 + (aside >> 1 & 1);
    for (uint32_t y = top; y != top + tunnel; y++)
        for (uint32_t x = left; x != left + tunnel; x++) {
            uint8_t *near = &j->grid->cells[(size_t)y * width + x];
            if (x - 1 < width - 2 && y - 1 < j->grid->height - 2 && !tp__is_free(*near))
                *near = *near == 'T' ? 'G' : '.';
        }
    if (!tp__is_free(j->grid->cells[cell]))
        j->grid->cells[cell] = '.';
}

/* Digs from the first cell met of an area back the way the spreading came, up to an area that is joined. */
static void dig_back(const struct joiner *j, uint64_t seed, uint32_t cell, uint32_t tunnel)
{
    uint32_t area = j->area_of[cell];
    do {
        dig(j, seed, cell, tunnel);
        cell = neighbour(j->grid, cell, (j->steps[cell] + 2) % 4);
    } while (j->area_of[cell] == area || !j->areas[j->area_of[cell]].joined);
}

/* Spreads from the largest area over all cells, and joins every other area where it first meets it. */
static void spread(struct joiner *j, uint64_t seed, uint32_t tunnel)
{
    uint32_t count = j->grid->width * j->grid->height, head = 0, tail = 0;
    memset(j->steps, UNSEEN, count);
    j->areas[0] = (struct area){.joined = false}; /* of blocked cells */
    j->areas[j->largest].joined = true;
    for (uint32_t cell = 0; cell < count; cell++)
        if (j->area_of[cell] == j->largest) {
            j->steps[cell] = NO_STEP;
            j->queue[tail++] = cell;
        }
    while (head < tail) {
        uint32_t cell = j->queue[head++];
        struct area *area = &j->areas[j->area_of[cell]];
        if (j->area_of[cell] && !area->joined) {
            dig_back(j, seed, cell, tunnel);
            area->joined = true;
        }
        /* an order that depends on the place makes the tunnels wind */
        int turn = (int)(tp__mix(seed + cell) & 3);
        for (int i = 0; i < 4; i++) {
            int d = (i + turn) % 4;
            uint32_t next = neighbour(j->grid, cell, d);
            if (next == UINT32_MAX || j->steps[next] != UNSEEN ||
                (outermost(j->grid, next) && !j->area_of[next]))
                continue;
            j->steps[next] = (uint8_t)d;
            j->queue[tail++] = next;
        }
    }
}

int tp__generate_join(const struct tp__grid *grid, uint64_t seed, uint32_t kept_min, uint32_t tunnel)
{
    uint32_t count = grid->width * grid->height;
    struct joiner j = {.grid = grid};
    j.area_of = calloc(count, sizeof *j.area_of);
    j.queue = malloc(count * sizeof *j.queue);
    j.steps = malloc(count);
    int rc = j.area_of && j.queue && j.steps ? number_areas(&j) : TP_ERR_NO_MEMORY;
    if (!rc && !j.count)
        grid->cells[(grid->height / 2) * grid->width + grid->width / 2] = '.';
    if (!rc && j.count > 1) {
        fill_small(&j, kept_min);
        spread(&j, seed, tunnel);
    }
    free(j.area_of);
    free(j.queue);
    free(j.steps);
    free(j.areas);
    return rc;
}

/* ---- Random ---- */

static void generate_random(const struct tp__grid *grid, struct tp__rng *rng, uint32_t density_percent)
{
    for (size_t i = 0; i < (size_t)grid->width * grid->height; i++)
        grid->cells[i] = tp__rng_percent(rng, density_percent) ? '@' : '.';
}

/* ---- Maze ---- */

static void free_rect(const struct tp__grid *grid, uint32_t x, uint32_t y, uint32_t width, uint32_t height)
{
    for (uint32_t row = y; row < y + height; row++)
        memset(grid->cells + (size_t)row * grid->width + x, '.', width);
}

/* A depth-first maze: from the newest room with an unvisited neighbour, break through to one of them. */
static int generate_maze(const struct tp__grid *grid, struct tp__rng *rng, uint32_t corridor)
{
    uint32_t pitch = corridor + 1;
    uint32_t columns = (grid->width - 1) / pitch, rows = (grid->height - 1) / pitch;
    memset(grid->cells, '@', (size_t)grid->width * grid->height);
    uint32_t *stack = malloc((size_t)columns * rows * sizeof *stack);
    if (!stack)
        return TP_ERR_NO_MEMORY;
    uint32_t depth = 0;
    stack[depth++] = tp__rng_below(rng, columns * rows);
    free_rect(grid, stack[0] % columns * pitch + 1, stack[0] / columns * pitch + 1, corridor, corridor);
    while (depth) {
        uint32_t x = stack[depth - 1] % columns, y = stack[depth - 1] / columns;
        int open[4], count = 0;
        for (int d = 0; d < 4; d++) {
            uint32_t next_x = x + (uint32_t)step_x[d], next_y = y + (uint32_t)step_y[d];
            if (next_x < columns && next_y < rows &&
                grid->cells[(size_t)(next_y * pitch + 1) * grid->width + next_x * pitch + 1] == '@')
                open[count++] = d;
        }
        if (!count) {
            depth--;
            continue;
        }
        int d = open[tp__rng_below(rng, (uint32_t)count)];
        uint32_t next_x = x + (uint32_t)step_x[d], next_y = y + (uint32_t)step_y[d];
        uint32_t left = next_x < x ? next_x : x, top = next_y < y ? next_y : y;
        free_rect(grid, left * pitch + 1, top * pitch + 1, step_x[d] ? corridor + pitch : corridor,
                  step_y[d] ? corridor + pitch : corridor);
        stack[depth++] = next_y * columns + next_x;
    }
    free(stack);
    return TP_OK;
}

/* ---- Rooms ---- */

/* Places walls across a side: at 0, every room * (3/4 .. 5/4) cells, and at the side's last cell. Gives their
 * places (as many as fit in side / 3 + 2) and returns how many there are. */
static uint32_t place_walls(struct tp__rng *rng, uint32_t side, uint32_t room, uint32_t *walls)
{
    uint32_t least = room * 3 / 4 > 3 ? room * 3 / 4 : 3, most = room * 5 / 4 > least ? room * 5 / 4 : least;
    uint32_t count = 0, at = 0;
    while (at + 2 * least < side) {
        walls[count++] = at;
        at += tp__rng_between(rng, least, most);
    }
    if (!count)
        walls[count++] = 0;
    walls[count++] = side - 1;
    return count;
}

static uint32_t root_of(uint32_t *parent, uint32_t room)
{
    while (parent[room] != room)
        room = parent[room] = parent[parent[room]];
    return room;
}

/* Opens a doorway in the wall between two rooms: in the cells first..last along it. Now and then the wall
 * falls. */
static void open_wall(const struct tp__grid *grid, struct tp__rng *rng, bool upright, uint32_t wall,
                      uint32_t first, uint32_t last)
{
    uint32_t length = last - first + 1;
    uint32_t width = tp__rng_percent(rng, 6) ? length
                                             : tp__rng_between(rng, 1,
                                                               length >= 12  ? 3
                                                               : length >= 5 ? 2
                                                                             : 1);
    uint32_t at = first + tp__rng_below(rng, length - width + 1);
    free_rect(grid, upright ? wall : at, upright ? at : wall, upright ? 1 : width, upright ? width : 1);
}

/* Rooms between walls; the doorways of a random spanning tree join them all, and a third of the other walls
 * have one as well. */
static int generate_rooms(const struct tp__grid *grid, struct tp__rng *rng, uint32_t room)
{
    uint32_t *walls_x = malloc((grid->width / 3 + 2) * sizeof *walls_x);
    uint32_t *walls_y = malloc((grid->height / 3 + 2) * sizeof *walls_y);
    uint32_t *parent = NULL, *order = NULL;
    int rc = TP_ERR_NO_MEMORY;
    if (!walls_x || !walls_y)
        goto out;
    uint32_t columns = place_walls(rng, grid->width, room, walls_x) - 1;
    uint32_t rows = place_walls(rng, grid->height, room, walls_y) - 1;
    uint32_t rooms = columns * rows;
    parent = malloc(rooms * sizeof *parent);
    order = malloc(2 * rooms * sizeof *order);
    if (!parent || !order)
        goto out;
    memset(grid->cells, '@', (size_t)grid->width * grid->height);
    for (uint32_t i = 0; i < rooms; i++) {
        uint32_t x = walls_x[i % columns] + 1, y = walls_y[i / columns] + 1;
        free_rect(grid, x, y, walls_x[i % columns + 1] - x, walls_y[i / columns + 1] - y);
        parent[i] = i;
    }
    /* wall 2i is to the right of room i, wall 2i + 1 below it; taken in random order */
    for (uint32_t i = 0; i < 2 * rooms; i++) {
        uint32_t other = tp__rng_below(rng, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (uint32_t i = 0; i < 2 * rooms; i++) {
        bool upright = order[i] % 2 == 0;
        uint32_t from = order[i] / 2, column = from % columns, row = from / columns;
        if (upright ? column + 1 == columns : row + 1 == rows)
            continue;
        uint32_t to = upright ? from + 1 : from + columns;
        uint32_t from_root = root_of(parent, from), to_root = root_of(parent, to);
        if (from_root == to_root && !tp__rng_percent(rng, 33))
            continue;
        parent[from_root] = to_root;
        if (upright)
            open_wall(grid, rng, true, walls_x[column + 1], walls_y[row] + 1, walls_y[row + 1] - 1);
        else
            open_wall(grid, rng, false, walls_y[row + 1], walls_x[column] + 1, walls_x[column + 1] - 1);
    }
    rc = TP_OK;
out:
    free(walls_x);
    free(walls_y);
    free(parent);
    free(order);
    return rc;
}

/* ---- Caves ---- */

/* One round of the automaton: a cell is rock if five or more of the nine cells in and around it are; what
 * lies beyond the edge is rock. */
static void smooth(const struct tp__grid *grid, uint8_t *next)
{
    for (uint32_t y = 0; y < grid->height; y++)
        for (uint32_t x = 0; x < grid->width; x++) {
            int rock = 0;
            for (uint32_t row = y - 1; row != y + 2; row++)
                for (uint32_t column = x - 1; column != x + 2; column++)
                    rock += row >= grid->height || column >= grid->width ||
                            grid->cells[(size_t)row * grid->width + column] == '@';
            next[(size_t)y * grid->width + x] = rock >= 5 ? '@' : '.';
        }
    memcpy(grid->cells, next, (size_t)grid->width * grid->height);
}

/* Random rock, denser in some regions than in others, and closed at the edge. */
static void scatter_rock(const struct tp__grid *grid, struct tp__rng *rng, uint32_t density_percent)
{
    uint64_t regions = tp__rng_next(rng);
    uint32_t shorter = grid->width < grid->height ? grid->width : grid->height;
    uint32_t period = shorter / 5 > 8 ? shorter / 5 : 8;
    for (uint32_t y = 0; y < grid->height; y++)
        for (uint32_t x = 0; x < grid->width; x++) {
            /* 8 percent more or less by region, in 1/65536 */
            int64_t rock = (int64_t)density_percent * 65536 / 100 +
                           ((int64_t)tp__noise(regions, x, y, period) - 32768) * 16 / 100;
            bool edge = x == 0 || y == 0 || x + 1 == grid->width || y + 1 == grid->height;
            bool is_rock = edge || (int64_t)(tp__rng_next(rng) >> 48) < rock;
            grid->cells[(size_t)y * grid->width + x] = is_rock ? '@' : '.';
        }
}

/* Caverns grow on a coarse grid, are enlarged with ragged edges, and smoothed again; then lakes, and tunnels
 * between the caverns. */
static int generate_caves(const struct tp__grid *grid, struct tp__rng *rng, uint32_t density_percent)
{
    uint32_t shorter = grid->width < grid->height ? grid->width : grid->height;
    uint32_t factor = shorter >= 192 ? 3 : shorter >= 64 ? 2 : 1;
    struct tp__grid coarse = {(grid->width + factor - 1) / factor, (grid->height + factor - 1) / factor,
                              NULL};
    uint8_t *next = malloc((size_t)grid->width * grid->height);
    coarse.cells = malloc((size_t)coarse.width * coarse.height);
    if (!next || !coarse.cells) {
        free(next);
        free(coarse.cells);
        return TP_ERR_NO_MEMORY;
    }
    scatter_rock(&coarse, rng, density_percent);
    for (int round = 0; round < 5; round++)
        smooth(&coarse, next);
    for (uint32_t y = 0; y < grid->height; y++)
        for (uint32_t x = 0; x < grid->width; x++) {
            uint32_t column = (x + tp__rng_below(rng, factor)) / factor,
                     row = (y + tp__rng_below(rng, factor)) / factor;
            bool inner = column < coarse.width && row < coarse.height;
            grid->cells[(size_t)y * grid->width + x] =
                inner ? coarse.cells[(size_t)row * coarse.width + column] : '@';
        }
    for (int round = 0; round < 3 && factor > 1; round++)
        smooth(grid, next);
    free(next);
    free(coarse.cells);
    uint64_t lakes = tp__rng_next(rng);
    uint32_t period = shorter / 6 > 16 ? shorter / 6 : 16;
    for (uint32_t y = 0; y < grid->height; y++)
        for (uint32_t x = 0; x < grid->width; x++) {
            uint8_t *cell = grid->cells + (size_t)y * grid->width + x;
            if (*cell == '.' && tp__noise_rough(lakes, x, y, period) > 45500)
                *cell = 'W';
        }
    return tp__generate_join(grid, tp__rng_next(rng), 48, 3);
}

/* ---- All kinds ---- */

static const char *const kind_names[TP_GENERATE_KINDS] = {
    [TP_GENERATE_ROOMS] = "rooms",   [TP_GENERATE_CAVES] = "caves", [TP_GENERATE_MAZE] = "maze",
    [TP_GENERATE_RANDOM] = "random", [TP_GENERATE_CITY] = "city",
};

const char *tp_generate_kind_name(enum tp_generate_kind kind)
{
    return kind_names[kind];
}

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
    return value ? value : otherwise;
}

int tp_generate_map(enum tp_generate_kind kind, uint32_t width, uint32_t height, uint64_t seed,
                    const struct tp_generate_options *options, uint8_t *cells)
{
    static const struct tp_generate_options defaults;
    if (!options)
        options = &defaults;
    if (width < SIDE_MIN || height < SIDE_MIN || width > SIDE_MAX || height > SIDE_MAX)
        return TP_ERR_INVALID_ARGUMENT;
    if (options->density_percent > 90 || options->room > 1024 || options->corridor > 64 ||
        (options->room && options->room < 4))
        return TP_ERR_INVALID_ARGUMENT;
    struct tp__grid grid = {width, height, cells};
    struct tp__rng rng = {tp__mix(seed + (uint64_t)kind)};
    switch (kind) {
    case TP_GENERATE_ROOMS:
        return generate_rooms(&grid, &rng, or_default(options->room, 16));
    case TP_GENERATE_CAVES:
        return generate_caves(&grid, &rng, or_default(options->density_percent, 46));
    case TP_GENERATE_MAZE: {
        uint32_t shorter = width < height ? width : height, corridor = or_default(options->corridor, 1);
        return corridor + 2 > shorter ? TP_ERR_INVALID_ARGUMENT : generate_maze(&grid, &rng, corridor);
    }
    case TP_GENERATE_RANDOM:
        generate_random(&grid, &rng, or_default(options->density_percent, 25));
        return TP_OK;
    case TP_GENERATE_CITY:
        return tp__generate_city(&grid, tp__rng_next(&rng), or_default(options->room, 32),
                                 or_default(options->corridor, 4));
    case TP_GENERATE_KINDS:
        break;
    }
    return TP_ERR_INVALID_ARGUMENT;
}
