/* Reading map and scenario files for the tool's commands.
 *
 * What it is: the one place where the tool reads files; the parsers (map/) get memory. Every
 * failure is said on stderr: `tickpath COMMAND: FILE:LINE:COLUMN: REASON` for a text that is not of its
 * format, the system's words for a file that can't be read.
 */
#ifndef TP_CLI_FILES_H
#define TP_CLI_FILES_H

#include "client/cli/generate.h"
#include "client/cli/options.h"
#include "map/map.h"
#include "map/movingai.h"
#include "map/track.h"

struct tp_cli_map {
    struct tp_movingai_map grid; /* width, height, class bytes; nothing for a graph */
    struct tp_map *map;          /* version 1 of it */
};

/* Whether a file can be opened for reading: TP_CLI_FAILED after saying why not. */
int tp_cli_file_check(const struct tp_cli_usage *usage, const char *path);

/* Reads a whole file into memory to be freed, with a 0 behind it. TP_CLI_FAILED after saying why. */
int tp_cli_file_read(const struct tp_cli_usage *usage, const char *path, char **text, size_t *size);

/* Loads a .map file under a profile, NULL for the benchmarks'. TP_CLI_FAILED after saying why; *map then needs
 * no fini. */
int tp_cli_map_load(const struct tp_cli_usage *usage, const char *path, const struct tp_profile *profile,
                    struct tp_cli_map *map);
void tp_cli_map_fini(struct tp_cli_map *map);

/* Makes a map instead, of `size` cells by the kind's own options. TP_CLI_FAILED after saying why; *map then needs no fini. */
int tp_cli_map_make(const struct tp_cli_usage *usage, enum tp_generate_kind kind, const uint32_t size[2], uint64_t seed,
                    const struct tp_profile *profile, struct tp_cli_map *map);

/* Whether a graph's file is DIMACS by its name, .gr; its text counts nodes from 1. */
bool tp_cli_is_dimacs(const char *path);

/* Loads a graph: FILE.gr, with coordinates from FILE.co, or CSV of edges (any other suffix), with coordinates from CSV of nodes;
 * `coordinates` NULL: without. TP_CLI_FAILED after saying why; *map then needs no fini. */
int tp_cli_graph_load(const struct tp_cli_usage *usage, const char *path, const char *coordinates,
                      struct tp_cli_map *map);

/* Loads a racetrack, with its start and finish cells in *track. TP_CLI_FAILED after saying why; neither then needs a
 * fini. */
int tp_cli_track_load(const struct tp_cli_usage *usage, const char *path, const struct tp_profile *profile,
                      struct tp_cli_map *map, struct tp_track *track);

struct tp_cli_scen {
    const char *path; /* borrowed */
    size_t count;
    struct tp_movingai_row *rows;
    struct tp_cli_scen_place {
        uint32_t line;   /* of the file, from 1 */
        const char *map; /* the map's name in the row */
    } * places;          /* one a row */
    char *text;          /* the file, which the names point into */
};

/* Loads a .scen file. TP_CLI_FAILED after saying why; *scen then needs no fini. */
int tp_cli_scen_load(const struct tp_cli_usage *usage, const char *path, struct tp_cli_scen *scen);
void tp_cli_scen_fini(struct tp_cli_scen *scen);

/* Whether the rows chosen are for this map: TP_CLI_FAILED after naming the line of a row that states another
 * size. Another name is a warning on stderr, one for all rows. */
int tp_cli_scen_check(const struct tp_cli_usage *usage, const struct tp_cli_scen *scen, const size_t *chosen,
                      size_t count, const struct tp_cli_map *map, const char *map_path);

/* A name for a map on a server, from its file's name: the last part, without suffix, allowed characters only.
 */
void tp_cli_map_name(const char *path, char name[64]);

#endif
