/* `tickpath draw`: a map, and the way of a trace on it, as a PNG file or as colour blocks on the terminal. */
#include "client/cli/draw.h"

#include "client/cli/files.h"
#include "client/cli/options.h"
#include "client/cli/png.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct settings {
    const char *map, *trace, *out;
    bool terminal;
    uint64_t scale, columns; /* 0: what suits */
};

static const struct tp_cli_option options[] = {
    {"map", TP_CLI_STRING, offsetof(struct settings, map), "FILE", "the map, a MovingAI .map file", 0, 0,
     NULL, true},
    {"trace", TP_CLI_STRING, offsetof(struct settings, trace), "FILE",
     "a way to draw: what `tickpath trace` printed; - for standard input", 0, 0, NULL, false},
    {"out", TP_CLI_STRING, offsetof(struct settings, out), "FILE", "the PNG file to write", 0, 0, NULL,
     false},
    {"terminal", TP_CLI_FLAG, offsetof(struct settings, terminal), NULL,
     "draw on the terminal, in 24-bit colours", 0, 0, NULL, false},
    {"scale", TP_CLI_UINT, offsetof(struct settings, scale), "PIXELS",
     "pixels on a cell's side (the longer side comes out near 1536)", 1, 64, NULL, false},
    {"columns", TP_CLI_UINT, offsetof(struct settings, columns), "N", "width on the terminal (all of it)", 1,
     4096, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "draw",
    .summary = "Draws a map and a trace. Needs --out or --terminal, or both.",
    .notes = NULL,
};

/* ---- Traces ---- */

struct trace {
    uint32_t *cells;
    size_t count, room;
    bool arrived;
};

/* What follows `"key":` in a line of JSON, blanks skipped; NULL if the key is not there. */
static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = strchr(line, '"'); at; at = strchr(at + 1, '"')) {
        if (strncmp(at + 1, key, length) != 0 || at[1 + length] != '"')
            continue;
        const char *value = at + length + 2;
        while (isspace((unsigned char)*value))
            value++;
        if (*value != ':')
            continue;
        value++;
        while (isspace((unsigned char)*value))
            value++;
        return value;
    }
    return NULL;
}

/* Reads a coordinate below `side`. */
static bool coordinate(const char *line, const char *key, uint32_t side, uint32_t *coordinate)
{
    const char *value = value_of(line, key);
    if (!value || !isdigit((unsigned char)*value))
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (errno || number >= side || (*end != ',' && *end != '}' && !isspace((unsigned char)*end)))
        return false;
    *coordinate = (uint32_t)number;
    return true;
}

static bool push(struct trace *trace, uint32_t cell)
{
    if (trace->count == trace->room) {
        size_t room = trace->room ? 2 * trace->room : 1024;
        uint32_t *cells = realloc(trace->cells, room * sizeof *cells);
        if (!cells)
            return false;
        trace->cells = cells;
        trace->room = room;
    }
    trace->cells[trace->count++] = cell;
    return true;
}

static int read_lines(FILE *file, const char *path, const struct tp_movingai_map *grid, struct trace *trace)
{
    char *line = NULL;
    size_t size = 0;
    unsigned number = 0;
    int result = TP_CLI_OK;
    while (result == TP_CLI_OK && getline(&line, &size, file) >= 0) {
        number++;
        uint32_t x, y;
        if (line[strspn(line, " \t\r\n")] == 0)
            continue;
        if (!coordinate(line, "x", grid->width, &x) || !coordinate(line, "y", grid->height, &y))
            result = tp_cli_fail(&usage, "%s:%u: not a line of a trace on this map (keys x and y are needed)",
                                 path, number);
        else if (!push(trace, y * grid->width + x))
            result = tp_cli_fail(&usage, "%s", tp_error_text(TP_ERR_NO_MEMORY));
        else {
            const char *status = value_of(line, "status");
            trace->arrived = status && strncmp(status, "\"ARRIVED\"", 9) == 0;
        }
    }
    if (result == TP_CLI_OK && ferror(file))
        result = tp_cli_fail(&usage, "%s: %s", path, strerror(errno));
    free(line);
    return result;
}

static int read_trace(const char *path, const struct tp_movingai_map *grid, struct trace *trace)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file)
        return tp_cli_fail(&usage, "%s: %s", path, strerror(errno));
    int result = read_lines(file, standard ? "standard input" : path, grid, trace);
    if (!standard)
        fclose(file);
    return result;
}

/* ---- Drawing ---- */

static uint32_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    unsigned long number = columns ? strtoul(columns, NULL, 10) : 0;
    return number > 0 && number <= 4096 ? (uint32_t)number : 80;
}

/* Renders and hands the image to `--out` or the terminal. */
static int show(const struct settings *settings, struct tp_draw *draw, bool terminal)
{
    uint32_t columns = settings->columns ? (uint32_t)settings->columns : terminal_columns();
    draw->scale = (uint32_t)settings->scale;
    draw->line = 0;
    if (terminal) { /* a pixel for half a character; what is reduced needs thicker lines */
        draw->scale = columns / draw->width ? columns / draw->width : 1;
        draw->line = draw->width > columns ? 1.3 * draw->width / columns : 0;
    }
    struct tp_image image;
    int rc = tp_draw_render(&image, draw);
    if (rc == TP_ERR_INVALID_ARGUMENT)
        return tp_cli_refuse(&usage, "scale", "the picture would be larger than 32768 pixels on a side");
    if (rc)
        return tp_cli_fail(&usage, "%s", tp_error_text(rc));
    int result = TP_CLI_OK;
    const char *reason;
    if (terminal) {
        if (tp_draw_terminal(stdout, &image, columns))
            result = tp_cli_fail(&usage, "cannot write to the terminal");
    } else if (tp_png_write(settings->out, &image, &reason)) {
        result = tp_cli_fail(&usage, "%s: %s", settings->out, reason);
    }
    tp_image_fini(&image);
    return result;
}

static int draw_map(const struct settings *settings, const struct tp_cli_map *map)
{
    struct trace trace = {0};
    int result = settings->trace ? read_trace(settings->trace, &map->grid, &trace) : TP_CLI_OK;
    if (result == TP_CLI_OK) {
        struct tp_draw_agent agent = {.cells = trace.cells,
                                      .count = trace.count,
                                      .start = trace.count ? trace.cells[0] : TP_DRAW_NO_CELL,
                                      .goal = trace.arrived ? trace.cells[trace.count - 1] : TP_DRAW_NO_CELL,
                                      .arrived = trace.arrived};
        struct tp_draw draw = {.width = map->grid.width,
                               .height = map->grid.height,
                               .cells = map->grid.cells,
                               .profile = &map->map->profile,
                               .agents = &agent,
                               .agent_count = trace.count ? 1 : 0};
        if (settings->out)
            result = show(settings, &draw, false);
        if (result == TP_CLI_OK && settings->terminal)
            result = show(settings, &draw, true);
    }
    free(trace.cells);
    return result;
}

int tp_cli_draw(int argc, char **argv)
{
    struct settings settings = {0};
    const struct tp_cli_group groups[] = {{options, &settings}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result != TP_CLI_GO_ON)
        return result;
    if (!settings.out && !settings.terminal)
        return tp_cli_refuse(&usage, "out", "nothing to draw to: give --out FILE or --terminal");
    struct tp_cli_map map;
    result = tp_cli_map_load(&usage, settings.map, NULL, &map);
    if (result != TP_CLI_OK)
        return result;
    result = draw_map(&settings, &map);
    tp_cli_map_fini(&map);
    return result;
}
