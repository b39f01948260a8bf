/* What the benches in C share: giving up with words, maps repeated side by side, sorted figures. */
#ifndef TP_TESTS_BENCH_H
#define TP_TESTS_BENCH_H

#include "client/cli/files.h"
#include "map/map.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((noreturn)) static inline void give_up(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(2);
}

static inline void must(int error, const char *what)
{
    if (error)
        give_up(what);
}

static inline void *take(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        give_up("out of memory");
    return memory;
}

/* A MovingAI map, with a side repeated up to side x side cells; 0: as it is. Gives a reference. */
static inline struct tp_map *load(const char *bench, const char *path, uint32_t side)
{
    const struct tp_cli_usage usage = {.command = bench};
    struct tp_cli_map file;
    struct tp_map *map;
    if (tp_cli_map_load(&usage, path, NULL, &file))
        exit(2);
    uint32_t width = side ? side : file.grid.width, height = side ? side : file.grid.height;
    uint8_t *cells = take(width, height);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            cells[(size_t)y * width + x] = tp_map_class(file.map, x % file.grid.width, y % file.grid.height);
    must(tp_map_build(&map, width, height, cells, &file.map->profile, 1), "can't build the map");
    free(cells);
    tp_cli_map_fini(&file);
    return map;
}

static inline int by_value(const void *a, const void *b)
{
    const double *one = a, *other = b;
    return *one < *other ? -1 : *one > *other;
}

static inline void sort(double *values, size_t count)
{
    qsort(values, count, sizeof values[0], by_value);
}

#endif
