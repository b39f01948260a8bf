/* What must hold of the MovingAI parsers for any bytes at all. Used by the seeded test (test_parsers.c) and
 * by the libFuzzer entry (fuzz_movingai.c); a broken promise prints the input and aborts. */
#ifndef TP_TESTS_FUZZ_MOVINGAI_PROPERTY_H
#define TP_TESTS_FUZZ_MOVINGAI_PROPERTY_H

#include "base/limits.h"
#include "map/movingai.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void movingai_broken(const char *promise, int line, const char *text, size_t size)
{
    fprintf(stderr, "movingai_property.h:%d: broken: %s\ninput (%zu bytes): \"", line, promise, size);
    for (size_t i = 0; i < size && i < 4096; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '\n')
            fputs("\\n", stderr);
        else if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
            fprintf(stderr, "\\x%02x", byte);
        else
            fputc(byte, stderr);
    }
    fputs("\"\n", stderr);
    abort();
}

#define MOVINGAI_PROMISE(condition)                                                                          \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            movingai_broken(#condition, __LINE__, text, size);                                               \
    } while (0)

/* A refusal names a place in the text or just past its end, and says why. */
static void movingai_check_refusal(const char *text, size_t size, int rc, struct tp_place place,
                                   const char *reason)
{
    MOVINGAI_PROMISE(rc == TP_ERR_PARSE || rc == TP_ERR_NO_MEMORY);
    if (rc != TP_ERR_PARSE)
        return;
    MOVINGAI_PROMISE(reason && *reason);
    MOVINGAI_PROMISE(place.line >= 1 && place.column >= 1);
    const char *line = text, *end = text + size;
    for (unsigned n = 1; n < place.line; n++) {
        const char *lf = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
        if (!lf) { /* the line after the last: only its beginning can be named */
            MOVINGAI_PROMISE(n + 1 == place.line && place.column == 1);
            return;
        }
        line = lf + 1;
    }
    const char *lf = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    MOVINGAI_PROMISE(place.column <= (size_t)((lf ? lf : end) - line) + 1);
}

/* A map that was taken has cells of the format only, and comes out the same when written and parsed again. */
static void movingai_check_map(const char *text, size_t size)
{
    struct tp_movingai_map map;
    struct tp_place place = {9, 9};
    const char *reason = "unset";
    int rc = tp_movingai_map_parse(&map, text, size, &place, &reason);
    if (rc) {
        MOVINGAI_PROMISE(!map.cells && !map.width && !map.height);
        movingai_check_refusal(text, size, rc, place, reason);
        return;
    }
    size_t count = (size_t)map.width * map.height;
    MOVINGAI_PROMISE(!reason && !place.line && !place.column);
    MOVINGAI_PROMISE(count >= 1 && count <= TP_MAP_CELLS_MAX && count <= size);
    for (size_t i = 0; i < count; i++)
        MOVINGAI_PROMISE(map.cells[i] == '.' || map.cells[i] == '@' ||
                         (map.cells[i] >= 'A' && map.cells[i] <= 'Z'));
    char *again = malloc(count + map.height + 100);
    if (again) {
        int at = sprintf(again, "type octile\nheight %u\nwidth %u\nmap\n", map.height, map.width);
        char *row = again + at;
        for (uint32_t y = 0; y < map.height; y++) {
            memcpy(row, map.cells + (size_t)y * map.width, map.width);
            row[map.width] = '\n';
            row += (size_t)map.width + 1;
        }
        struct tp_movingai_map second;
        MOVINGAI_PROMISE(tp_movingai_map_parse(&second, again, (size_t)(row - again), &place, &reason) == 0);
        MOVINGAI_PROMISE(second.width == map.width && second.height == map.height);
        MOVINGAI_PROMISE(memcmp(second.cells, map.cells, count) == 0);
        tp_movingai_map_fini(&second);
        free(again);
    }
    tp_movingai_map_fini(&map);
}

/* A scenario that was taken has rows inside their own sizes and finite lengths. */
static void movingai_check_scen(const char *text, size_t size)
{
    struct tp_movingai_scen scen;
    struct tp_place place = {9, 9};
    const char *reason = "unset";
    int rc = tp_movingai_scen_parse(&scen, text, size, &place, &reason);
    if (rc) {
        MOVINGAI_PROMISE(!scen.rows && !scen.count);
        movingai_check_refusal(text, size, rc, place, reason);
        return;
    }
    MOVINGAI_PROMISE(!reason && !place.line && !place.column);
    MOVINGAI_PROMISE(scen.count <= size / 17);
    for (size_t i = 0; i < scen.count; i++) {
        const struct tp_movingai_row *row = &scen.rows[i];
        MOVINGAI_PROMISE(row->map_width && row->map_height);
        MOVINGAI_PROMISE((uint64_t)row->map_width * row->map_height <= TP_MAP_CELLS_MAX);
        MOVINGAI_PROMISE(row->start_x < row->map_width && row->goal_x < row->map_width);
        MOVINGAI_PROMISE(row->start_y < row->map_height && row->goal_y < row->map_height);
        MOVINGAI_PROMISE(row->optimal >= 0 && row->optimal <= 1e18);
    }
    tp_movingai_scen_fini(&scen);
}

/* Both parsers on a copy that ends where its memory ends. */
static inline void movingai_check(const void *bytes, size_t size)
{
    char *text = malloc(size ? size : 1);
    if (!text)
        return;
    memcpy(text, bytes, size);
    movingai_check_map(text, size);
    movingai_check_scen(text, size);
    free(text);
}

#endif
