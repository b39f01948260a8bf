#include "client/cli/files.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)1 << 29)

/* Reads a whole file into memory to be freed. */
static int read_file(const struct tp_cli_usage *usage, const char *path, char **text, size_t *size)
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
    *text = data;
    *size = used;
    return TP_CLI_OK;
}

static int fail_parse(const struct tp_cli_usage *usage, const char *path, int error,
                      const struct tp_place *place, const char *reason)
{
    if (error == TP_ERR_PARSE)
        return tp_cli_fail(usage, "%s:%u:%u: %s", path, place->line, place->column, reason);
    return tp_cli_fail(usage, "%s: %s", path, tp_error_text(error));
}

int tp_cli_map_load(const struct tp_cli_usage *usage, const char *path, struct tp_cli_map *map)
{
    memset(map, 0, sizeof *map);
    char *text = NULL;
    size_t size = 0;
    int result = read_file(usage, path, &text, &size);
    if (result != TP_CLI_OK)
        return result;
    struct tp_place place = {0, 0};
    const char *reason = NULL;
    int error = tp_movingai_map_parse(&map->grid, text, size, &place, &reason);
    free(text);
    if (error != 0)
        return fail_parse(usage, path, error, &place, reason);
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    error = tp_map_build(&map->map, map->grid.width, map->grid.height, map->grid.cells, &profile, 1);
    if (error != 0) {
        tp_movingai_map_fini(&map->grid);
        return tp_cli_fail(usage, "%s: %s", path, tp_error_text(error));
    }
    return TP_CLI_OK;
}

void tp_cli_map_fini(struct tp_cli_map *map)
{
    tp_map_unref(map->map);
    tp_movingai_map_fini(&map->grid);
    memset(map, 0, sizeof *map);
}

int tp_cli_scen_load(const struct tp_cli_usage *usage, const char *path, uint32_t width, uint32_t height,
                     struct tp_movingai_scen *scen)
{
    char *text = NULL;
    size_t size = 0;
    int result = read_file(usage, path, &text, &size);
    if (result != TP_CLI_OK)
        return result;
    struct tp_place place = {0, 0};
    const char *reason = NULL;
    int error = tp_movingai_scen_parse(scen, text, size, &place, &reason);
    free(text);
    if (error != 0)
        return fail_parse(usage, path, error, &place, reason);
    for (size_t i = 0; i < scen->count; i++) {
        const struct tp_movingai_row *row = &scen->rows[i];
        if (row->start_x >= width || row->goal_x >= width || row->start_y >= height ||
            row->goal_y >= height) {
            tp_movingai_scen_fini(scen);
            return tp_cli_fail(usage, "%s: row %zu: start or goal lies outside the map of %ux%u cells", path,
                               i, width, height);
        }
    }
    return TP_CLI_OK;
}

void tp_cli_map_name(const char *path, char name[64])
{
    const char *slash = strrchr(path, '/');
    const char *from = slash != NULL ? slash + 1 : path;
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
