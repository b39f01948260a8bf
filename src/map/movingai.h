/* Parsers for the MovingAI benchmark formats, from memory buffers: `.map` grids and `.scen` problem lists.
 *
 * They take LF or CRLF line ends and a missing last newline, and refuse everything else that is not the format,
 * with the line and column (from 1) where it went wrong. They allocate only what they give. No I/O.
 */
#ifndef TP_MAP_MOVINGAI_H
#define TP_MAP_MOVINGAI_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct tp_movingai_map {
    uint32_t width, height; /* cells */
    uint8_t *cells;         /* class bytes (the characters), row-major; freed by _fini */
};

/* Parses `type octile / height N / width N / map / rows`. The two size lines may come in either order. Characters
 * allowed: '.', 'G', 'S', 'W', 'T', '@', 'O' and the letters 'A'..'Z' of weighted maps.
 * TP_ERR_PARSE with *place and a static sentence in *reason: a header line missing or wrong, a size of 0, more than
 * TP_MAP_CELLS_MAX cells, a row too short or too long, rows missing, text after the last row, an unknown character;
 * TP_ERR_NO_MEMORY. On error `map` is left empty and needs no _fini. Cost: O(size), sizes checked before
 * allocation. */
int tp_movingai_map_parse(struct tp_movingai_map *map, const char *text, size_t size, struct tp_place *place,
                          const char **reason) TP_MUST_CHECK;
void tp_movingai_map_fini(struct tp_movingai_map *map);

struct tp_movingai_row {
    uint32_t bucket;
    uint32_t map_width, map_height; /* as the row states them */
    uint32_t start_x, start_y, goal_x, goal_y;
    double optimal; /* unit steps: octile, no corner cutting */
};

struct tp_movingai_scen {
    size_t count;
    struct tp_movingai_row *rows; /* freed by _fini; row 0 is the first after the version line */
};

/* Parses `version 1` (or 1.0) and tab- or blank-separated rows of 9 fields; blank lines are skipped. A start or goal outside the row's
 * stated size is TP_ERR_PARSE. Errors as tp_movingai_map_parse. */
int tp_movingai_scen_parse(struct tp_movingai_scen *scen, const char *text, size_t size, struct tp_place *place,
                           const char **reason) TP_MUST_CHECK;
void tp_movingai_scen_fini(struct tp_movingai_scen *scen);

#endif
