/* Makes maps: `tickpath map generate`, and the same as a function.
 *
 * What it is: integer arithmetic and splitmix64 only, so that a kind, a size, a seed and options give the
 * same map on every machine. Cells come out as benchmark classes: '.' free, '@' wall, 'T' trees and the like
 * (impassable). What it promises: every kind but `random` has one connected passable area under 4 neighbours,
 * so that any two free cells can reach each other whatever the neighbourhood and the corner rule.
 */
#ifndef TP_CLI_GENERATE_H
#define TP_CLI_GENERATE_H

#include "base/error.h"
#include "client/cli/options.h"

#include <stdint.h>

enum tp_generate_kind {
    TP_GENERATE_ROOMS,  /* a grid of rooms of uneven size with doorways, as the benchmark's room maps */
    TP_GENERATE_CAVES,  /* caverns smoothed by a cellular automaton, the parts joined by tunnels */
    TP_GENERATE_MAZE,   /* a perfect maze, corridors of one width */
    TP_GENERATE_RANDOM, /* cells blocked at random; need not be connected */
    TP_GENERATE_CITY,   /* blocks of buildings, streets of several widths, alleys, courts, plazas, a wall with
                           gates */
    TP_GENERATE_KINDS,
};

/* 0 in any field stands for the kind's default. */
struct tp_generate_options {
    uint32_t density_percent; /* caves: rock before smoothing (46); random: blocked cells (25); 1..90 */
    uint32_t room;            /* rooms: side of a room in cells (16); city: side of a block (32) */
    uint32_t corridor;        /* maze: width of a corridor (1); city: width of a common street (4) */
};

/* The kind's name as the command line spells it. */
const char *tp_generate_kind_name(enum tp_generate_kind kind);

/* Fills width * height cells. TP_ERR_INVALID_ARGUMENT: a side below 8 or above 8192, or an option out of its
 * range; TP_ERR_NO_MEMORY. Cost: O(cells). */
int tp_generate_map(enum tp_generate_kind kind, uint32_t width, uint32_t height, uint64_t seed,
                    const struct tp_generate_options *options, uint8_t *cells) TP_MUST_CHECK;

/* The kinds as an option's choices. */
extern const struct tp_cli_choice tp_cli_generate_kinds[];

/* The command `tickpath map generate`. */
int tp_cli_generate(int argc, char **argv);

#endif
