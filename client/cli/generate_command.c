/* `tickpath map generate`: writes a made map in the MovingAI format. */
#include "client/cli/generate.h"
#include "client/cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct settings {
    int kind;
    uint32_t size[2]; /* width, height */
    uint64_t seed;
    const char *out;
    uint64_t density, room, corridor; /* 0: the kind's default */
};

const struct tp_cli_choice tp_cli_generate_kinds[] = {
    {"rooms", TP_GENERATE_ROOMS},   {"caves", TP_GENERATE_CAVES}, {"maze", TP_GENERATE_MAZE},
    {"random", TP_GENERATE_RANDOM}, {"city", TP_GENERATE_CITY},   {NULL, 0},
};

static const struct tp_cli_option options[] = {
    {"kind", TP_CLI_CHOICE, offsetof(struct settings, kind), "KIND", "what it looks like", 0, 0,
     tp_cli_generate_kinds, true},
    {"size", TP_CLI_SIZE, offsetof(struct settings, size), "WxH", "cells on each side, 8..8192 (512x512)", 8,
     8192, NULL, false},
    {"seed", TP_CLI_UINT, offsetof(struct settings, seed), "N", "same seed, same map, on every machine (1)",
     0, UINT64_MAX, NULL, false},
    {"out", TP_CLI_STRING, offsetof(struct settings, out), "FILE", "the file to write (standard output)", 0,
     0, NULL, false},
    {"density", TP_CLI_UINT, offsetof(struct settings, density), "PERCENT",
     "caves: rock before smoothing (46); random: blocked cells (25)", 1, 90, NULL, false},
    {"room", TP_CLI_UINT, offsetof(struct settings, room), "CELLS",
     "rooms: side of a room (16); city: side of a block (32)", 4, 1024, NULL, false},
    {"corridor", TP_CLI_UINT, offsetof(struct settings, corridor), "CELLS",
     "maze: width of a corridor (1); city: width of a street (4)", 1, 64, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "map generate",
    .summary = "Makes a map. Every kind but random is one connected area.",
    .notes = "The map is written as MovingAI text: '.' and 'G' free, '@' walls, 'T' trees, 'W' water.",
};

/* Writes the map's text; false if the stream refused some of it. */
static bool write_map(FILE *file, uint32_t width, uint32_t height, const uint8_t *cells)
{
    fprintf(file, "type octile\nheight %u\nwidth %u\nmap\n", height, width);
    for (uint32_t y = 0; y < height; y++) {
        fwrite(cells + (size_t)y * width, 1, width, file);
        putc('\n', file);
    }
    return fflush(file) == 0 && !ferror(file);
}

static int write_out(const struct settings *settings, const uint8_t *cells)
{
    if (!settings->out || strcmp(settings->out, "-") == 0) {
        if (!write_map(stdout, settings->size[0], settings->size[1], cells))
            return tp_cli_fail(&usage, "cannot write the map: %s", strerror(errno));
        return TP_CLI_OK;
    }
    FILE *file = fopen(settings->out, "wb");
    if (!file)
        return tp_cli_fail(&usage, "%s: %s", settings->out, strerror(errno));
    bool written = write_map(file, settings->size[0], settings->size[1], cells);
    int error = errno;
    if (fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (!written) {
        struct stat status;
        if (lstat(settings->out, &status) == 0 && S_ISREG(status.st_mode))
            remove(settings->out); /* half a map helps nobody; a device stays */
        return tp_cli_fail(&usage, "%s: %s", settings->out, strerror(error));
    }
    return TP_CLI_OK;
}

int tp_cli_generate(int argc, char **argv)
{
    struct settings settings = {.size = {512, 512}, .seed = 1};
    const struct tp_cli_group groups[] = {{options, &settings}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result != TP_CLI_GO_ON)
        return result;
    enum tp_generate_kind kind = (enum tp_generate_kind)settings.kind;
    if (settings.density && kind != TP_GENERATE_CAVES && kind != TP_GENERATE_RANDOM)
        return tp_cli_refuse(&usage, "density", "only caves and random take it");
    if (settings.room && kind != TP_GENERATE_ROOMS && kind != TP_GENERATE_CITY)
        return tp_cli_refuse(&usage, "room", "only rooms and city take it");
    if (settings.corridor && kind != TP_GENERATE_MAZE && kind != TP_GENERATE_CITY)
        return tp_cli_refuse(&usage, "corridor", "only maze and city take it");
    uint8_t *cells = malloc((size_t)settings.size[0] * settings.size[1]);
    if (!cells)
        return tp_cli_fail(&usage, "%s", tp_error_text(TP_ERR_NO_MEMORY));
    const struct tp_generate_options generate = {.density_percent = (uint32_t)settings.density,
                                                 .room = (uint32_t)settings.room,
                                                 .corridor = (uint32_t)settings.corridor};
    int rc = tp_generate_map(kind, settings.size[0], settings.size[1], settings.seed, &generate, cells);
    if (rc == TP_ERR_INVALID_ARGUMENT)
        result = tp_cli_refuse(&usage, "corridor", "a corridor with its walls does not fit into the size");
    else if (rc)
        result = tp_cli_fail(&usage, "%s", tp_error_text(rc));
    else
        result = write_out(&settings, cells);
    free(cells);
    return result;
}
