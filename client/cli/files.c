#include "client/cli/files.h"

#include "map/dimacs.h"
#include "map/graph_csv.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)1 << 29)

int tp_cli_file_check(const struct tp_cli_usage *usage, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return tp_cli_fail(usage, "%s: %s", path, strerror(errno));
    fclose(file);
    return TP_CLI_OK;
}

int tp_cli_file_read(const struct tp_cli_usage *usage, const char *path, char **text, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return tp_cli_fail(usage, "%s: %s", path, strerror(errno));
    size_t used = 0, room = 1 << 16;
    char *data = malloc(room);
    while (data != NULL && used < FILE_BYTES_MAX) {
        size_t got = fread(data + used, 1, room - used, file);
        used += got;
        if (got == 0)
            break;
        if (used == room) {
            char *more = realloc(data, room *= 2);
            if (more == NULL)
                free(data);
            data = more;
        }
    }
    int error = ferror(file) ? errno : data == NULL ? ENOMEM : used >= FILE_BYTES_MAX ? EFBIG : 0;
    fclose(file);
    if (error != 0) {
        free(data);
        return tp_cli_fail(usage, "%s: %s", path, strerror(error));
    }
    data[used] = '\0'; /* room is left: the last read filled none, or not all */
    *text = data;
    *size = used;
    return TP_CLI_OK;
}

/* Whether a reason speaks of the character at the place. */
static bool is_about_a_character(const char *reason)
{
    return strstr(reason, "unknown character") != NULL || strstr(reason, "a digit is expected") != NULL;
}

static int fail_parse(const struct tp_cli_usage *usage, const char *path, int error, const char *text,
                      size_t size, const struct tp_place *place, const char *reason)
{
    if (error != TP_ERR_PARSE)
        return tp_cli_fail(usage, "%s: %s", path, tp_error_text(error));
    char shown[16] = "";
    const char *at = text, *end = text + size;
    for (uint32_t line = 1; at != NULL && line < place->line; line++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at != NULL ? at + 1 : NULL;
    }
    if (at != NULL && is_about_a_character(reason) && place->column <= (size_t)(end - at)) {
        unsigned char c = (unsigned char)at[place->column - 1];
        snprintf(shown, sizeof shown, c >= 0x20 && c < 0x7f ? ": '%c'" : ": \\x%02X", c);
    }
    return tp_cli_fail(usage, "%s:%u:%u: %s%s", path, place->line, place->column, reason, shown);
}

/* Makes the map of a grid that was read; frees the grid on error. */
static int build_grid(const struct tp_cli_usage *usage, const char *path, const struct tp_profile *profile,
                      struct tp_cli_map *map)
{
    struct tp_profile benchmarks;
    tp_profile_init_movingai(&benchmarks);
    int error = tp_map_build(&map->map, map->grid.width, map->grid.height, map->grid.cells,
                             profile != NULL ? profile : &benchmarks, 1);
    if (error != 0) {
        tp_movingai_map_fini(&map->grid);
        return tp_cli_fail(usage, "%s: %s", path, tp_error_text(error));
    }
    return TP_CLI_OK;
}

int tp_cli_map_load(const struct tp_cli_usage *usage, const char *path, const struct tp_profile *profile,
                    struct tp_cli_map *map)
{
    memset(map, 0, sizeof *map);
    char *text = NULL;
    size_t size = 0;
    int result = tp_cli_file_read(usage, path, &text, &size);
    if (result != TP_CLI_OK)
        return result;
    struct tp_place place = {0, 0};
    const char *reason = NULL;
    int error = tp_movingai_map_parse(&map->grid, text, size, &place, &reason);
    if (error != 0)
        result = fail_parse(usage, path, error, text, size, &place, reason);
    free(text);
    if (error != 0)
        return result;
    return build_grid(usage, path, profile, map);
}

int tp_cli_map_make(const struct tp_cli_usage *usage, enum tp_generate_kind kind, const uint32_t size[2], uint64_t seed,
                    const struct tp_profile *profile, struct tp_cli_map *map)
{
    *map = (struct tp_cli_map){.grid = {.width = size[0], .height = size[1]}};
    map->grid.cells = malloc((size_t)size[0] * size[1]);
    int error = map->grid.cells != NULL
                    ? tp_generate_map(kind, size[0], size[1], seed, NULL, map->grid.cells)
                    : TP_ERR_NO_MEMORY;
    if (error == 0)
        return build_grid(usage, tp_generate_kind_name(kind), profile, map);
    tp_movingai_map_fini(&map->grid);
    return tp_cli_fail(usage, "%s: %s", tp_generate_kind_name(kind), tp_error_text(error));
}

int tp_cli_track_load(const struct tp_cli_usage *usage, const char *path, const struct tp_profile *profile,
                      struct tp_cli_map *map, struct tp_track *track)
{
    memset(map, 0, sizeof *map);
    char *text = NULL;
    size_t size = 0;
    int result = tp_cli_file_read(usage, path, &text, &size);
    if (result != TP_CLI_OK)
        return result;
    struct tp_place place = {0, 0};
    const char *reason = NULL;
    int error = tp_track_parse(track, text, size, &place, &reason);
    if (error != 0)
        result = fail_parse(usage, path, error, text, size, &place, reason);
    free(text);
    if (error != 0)
        return result;
    map->grid = (struct tp_movingai_map){.width = track->width, .height = track->height};
    map->grid.cells = malloc((size_t)track->width * track->height);
    if (map->grid.cells == NULL) {
        tp_track_fini(track);
        return tp_cli_fail(usage, "out of memory");
    }
    memcpy(map->grid.cells, track->cells, (size_t)track->width * track->height);
    result = build_grid(usage, path, profile, map);
    if (result != TP_CLI_OK)
        tp_track_fini(track);
    return result;
}

bool tp_cli_is_dimacs(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gr") == 0;
}

int tp_cli_graph_load(const struct tp_cli_usage *usage, const char *path, const char *coordinates,
                      struct tp_cli_map *map)
{
    memset(map, 0, sizeof *map);
    char *text[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    int result = tp_cli_file_read(usage, path, &text[0], &size[0]);
    if (result == TP_CLI_OK && coordinates != NULL)
        result = tp_cli_file_read(usage, coordinates, &text[1], &size[1]);
    if (result == TP_CLI_OK) {
        struct tp_graph_refusal refusal = {.reason = NULL};
        const struct tp_graph *graph = NULL;
        bool dimacs = tp_cli_is_dimacs(path);
        int error = dimacs
                        ? tp_dimacs_parse(&graph, text[0], size[0], text[1], size[1], &refusal)
                        : tp_graph_csv_parse(&graph, text[0], size[0], text[1], size[1], &refusal);
        bool in_nodes = refusal.text == TP_GRAPH_TEXT_NODES;
        if (error != 0 && refusal.reason != NULL)
            result = tp_cli_fail(usage, "%s:%u:%u: %s%s", in_nodes ? coordinates : path, refusal.place.line,
                                 refusal.place.column, refusal.reason,
                                 !in_nodes ? ""
                                 : dimacs  ? " (coordinates of a .gr are DIMACS .co; of other graphs CSV of id,x,y)"
                                           : " (coordinates of a CSV graph are CSV of id,x,y; of a .gr DIMACS .co)");
        else if (error != 0 || (error = tp_map_build_graph(&map->map, graph, 1, 1)) != 0)
            result = tp_cli_fail(usage, "%s: %s", path, tp_error_text(error));
        tp_graph_unref(graph);
    }
    free(text[0]);
    free(text[1]);
    return result;
}

void tp_cli_map_fini(struct tp_cli_map *map)
{
    tp_map_unref(map->map);
    tp_movingai_map_fini(&map->grid);
    memset(map, 0, sizeof *map);
}

/* Finds the line and the map's name of each row: the rows are the lines behind the first that are not blank. The
 * names get their 0 in the text. */
static void place_rows(struct tp_cli_scen *scen, size_t size)
{
    size_t n = 0;
    char *next = memchr(scen->text, '\n', size), *end = scen->text + size;
    for (uint32_t line = 2; next != NULL && n < scen->count; line++) {
        char *at = next + 1;
        next = memchr(at, '\n', (size_t)(end - at));
        char *stop = next != NULL ? next : end;
        while (at < stop && isspace((unsigned char)*at))
            at++;
        if (at == stop)
            continue;
        while (at < stop && !isspace((unsigned char)*at)) /* the bucket */
            at++;
        while (at < stop && isspace((unsigned char)*at))
            at++;
        scen->places[n++] = (struct tp_cli_scen_place){.line = line, .map = at};
        while (at < stop && !isspace((unsigned char)*at))
            at++;
        *at = '\0'; /* a blank: more fields follow */
    }
}

int tp_cli_scen_load(const struct tp_cli_usage *usage, const char *path, struct tp_cli_scen *scen)
{
    *scen = (struct tp_cli_scen){.path = path};
    size_t size = 0;
    int result = tp_cli_file_read(usage, path, &scen->text, &size);
    if (result != TP_CLI_OK)
        return result;
    struct tp_place place = {0, 0};
    const char *reason = NULL;
    struct tp_movingai_scen parsed;
    int error = tp_movingai_scen_parse(&parsed, scen->text, size, &place, &reason);
    if (error != 0) {
        result = fail_parse(usage, path, error, scen->text, size, &place, reason);
        free(scen->text);
        return result;
    }
    scen->count = parsed.count;
    scen->rows = parsed.rows;
    scen->places = calloc(scen->count + 1, sizeof *scen->places);
    if (scen->places == NULL) {
        tp_cli_scen_fini(scen);
        return tp_cli_fail(usage, "out of memory");
    }
    place_rows(scen, size);
    return TP_CLI_OK;
}

void tp_cli_scen_fini(struct tp_cli_scen *scen)
{
    struct tp_movingai_scen parsed = {.count = scen->count, .rows = scen->rows};
    tp_movingai_scen_fini(&parsed);
    free(scen->places);
    free(scen->text);
    memset(scen, 0, sizeof *scen);
}

/* The last part of a path. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

int tp_cli_scen_check(const struct tp_cli_usage *usage, const struct tp_cli_scen *scen, const size_t *chosen,
                      size_t count, const struct tp_cli_map *map, const char *map_path)
{
    const struct tp_cli_scen_place *other = NULL; /* the first row that names another map */
    for (size_t i = 0; i < count; i++) {
        const struct tp_movingai_row *row = &scen->rows[chosen[i]];
        const struct tp_cli_scen_place *place = &scen->places[chosen[i]];
        if (row->map_width != map->grid.width || row->map_height != map->grid.height)
            return tp_cli_fail(usage, "%s:%u: the row is for a map of %ux%u cells, and %s has %ux%u",
                               scen->path, place->line, row->map_width, row->map_height, map_path,
                               map->grid.width, map->grid.height);
        if (other == NULL && strcmp(last_part(place->map), last_part(map_path)) != 0)
            other = place;
    }
    if (other != NULL)
        tp_cli_warn(usage, "%s:%u: the row is for the map %s, not %s", scen->path, other->line, other->map,
                    last_part(map_path));
    return TP_CLI_OK;
}

void tp_cli_map_name(const char *path, char name[64])
{
    const char *from = last_part(path);
    size_t length = strlen(from), used = 0;
    if (length > 4 && strcmp(from + length - 4, ".map") == 0)
        length -= 4;
    for (size_t i = 0; i < length && used < 63; i++) {
        unsigned char c = (unsigned char)from[i];
        bool allowed = isalnum(c) || c == '_' || c == '-' || (c == '.' && used > 0 && name[used - 1] != '.');
        name[used++] = allowed ? (char)c : '_';
    }
    if (used == 0)
        name[used++] = '_';
    name[used] = '\0';
}
