/* Reading map and scenario files for the tool's commands.
 *
 * What it is: the one place where the tool reads files; the parsers (map/movingai.h) get memory. Every
 * failure is said on stderr: `tickpath COMMAND: FILE:LINE:COLUMN: REASON` for a text that is not of its
 * format, the system's words for a file that can't be read.
 */
#ifndef TP_CLI_FILES_H
#define TP_CLI_FILES_H

#include "client/cli/options.h"
#include "map/map.h"
#include "map/movingai.h"

struct tp_cli_map {
    struct tp_movingai_map grid; /* width, height, class bytes */
    struct tp_map *map;          /* version 1 of it, under the benchmarks' profile */
};

/* Loads a .map file. TP_CLI_FAILED after saying why; *map then needs no fini. */
int tp_cli_map_load(const struct tp_cli_usage *usage, const char *path, struct tp_cli_map *map);
void tp_cli_map_fini(struct tp_cli_map *map);

/* Loads a .scen file; refuses rows whose start or goal lies outside a map of that size. */
int tp_cli_scen_load(const struct tp_cli_usage *usage, const char *path, uint32_t width, uint32_t height,
                     struct tp_movingai_scen *scen);

/* A name for a map on a server, from its file's name: the last part, without suffix, allowed characters only.
 */
void tp_cli_map_name(const char *path, char name[64]);

#endif
