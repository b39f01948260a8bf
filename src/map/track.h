/* Parser for racetracks, from memory buffers: `.track`.
 *
 *     WIDTH
 *     HEIGHT
 *     HEIGHT rows of WIDTH characters: '#' wall, '_' free, '@' free and a start cell, '*' free and a finish cell
 *
 * LF or CRLF line ends; the last line may lack its own; blank lines at the end. It refuses everything else, with the line and column (from 1) where
 * it went wrong. No I/O.
 */
#ifndef TP_MAP_TRACK_H
#define TP_MAP_TRACK_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct tp_track {
    uint32_t width, height; /* cells */
    uint8_t *cells; /* row-major, in the classes of the benchmark grids: '.' free, '@' wall; freed by _fini */
    uint32_t *starts, *finishes; /* cells y * width + x, in row-major order; both freed by _fini */
    size_t start_count, finish_count;
};

/* Parses a track. TP_ERR_PARSE with *place and a static sentence in *reason: a side missing, 0 or not a number, more than
 * TP_MAP_CELLS_MAX cells, a row too short or too long, rows missing, text after the last row, an unknown character;
 * TP_ERR_NO_MEMORY. On error the track is left empty and needs no _fini. A track may have no start or no finish cell. Cost: O(size). */
int tp_track_parse(struct tp_track *track, const char *text, size_t size, struct tp_place *place,
                   const char **reason) TP_MUST_CHECK;
void tp_track_fini(struct tp_track *track);

#endif
