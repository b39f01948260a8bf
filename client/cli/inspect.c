/* `tickpath inspect`: looks into a session's search, one played here or one of a running daemon, and writes what it sees as JSON and as a picture. */
#include "client/cli/commands.h"
#include "client/cli/http_get.h"
#include "client/cli/inspect_draw.h"
#include "client/cli/play.h"
#include "client/cli/png.h"
#include "client/cli/rows.h"
#include "search/dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    const char *json, *png, *session, *token;
    uint64_t ticks, scale;
    struct tp_cli_host_port stats;
};

static const struct tp_cli_option inspect_options[] = {
    {"ticks", TP_CLI_UINT, offsetof(struct settings, ticks), "N", "look after so many ticks, or at the end if that comes before (1)", 1, TP_CLI_TICKS_MAX,
     NULL, false},
    {"stats", TP_CLI_HOST_PORT, offsetof(struct settings, stats), "HOST:PORT", "instead of playing: a running daemon's stats port", 0, 0, NULL, false},
    {"session", TP_CLI_STRING, offsetof(struct settings, session), "ID", "with --stats: the session to look into; the live view (http://HOST:PORT/) shows the ids", 0, 0, NULL, false},
    {"token", TP_CLI_STRING, offsetof(struct settings, token), "TOKEN", "with --stats: the token that the daemon's view asks for", 0, 0, NULL, false},
    {"json", TP_CLI_STRING, offsetof(struct settings, json), "FILE", "write JSON here, - for standard output (where no --png is given)", 0, 0, NULL, false},
    {"png", TP_CLI_STRING, offsetof(struct settings, png), "FILE", "write a picture here", 0, 0, NULL, false},
    {"scale", TP_CLI_UINT, offsetof(struct settings, scale), "PIXELS", "of the picture: pixels on a cell's side (the longer side comes out near 1024)", 1, 64,
     NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "inspect",
    .summary = "Shows what a session's search holds: open and closed states, paths, raised h, and why the agent did not move.",
    .notes = "Plays the first problem of a map for some ticks, or asks a running daemon (--stats, --session; --map then only gives the picture its\n"
             "ground). The JSON's keys: deploy/OPERATING.md, \"Looking into a search\". Pictures are of grids.\n"
             "Exit status 0: it was written; 1: a file can't be read or written, or the daemon does not answer or has no such session; 2: the\n"
             "command line is wrong.",
};

enum { PIECES_MAX = 20000, ANSWER_MS = 10000, TORN_MAX = 3 };

/* ---- Of a session played here ---- */

struct looker {
    struct tp_look *look;
    const char *trouble; /* NULL: none */
};

/* One piece of a session's dump, from scan->cursor on, which it sets anew. */
static bool take_piece(struct looker *looker, struct tp_dump *dump, const struct tp_session *session, struct tp_inspect_scan *scan)
{
    size_t size;
    tp_dump_session(dump, session, scan, TP_DUMP_STATES_MAX);
    *scan = dump->scan;
    char *piece = tp_dump_json(dump, &size);
    looker->trouble = "out of memory";
    bool is_taken = piece != NULL && tp_look_add(looker->look, piece, &looker->trouble);
    free(piece);
    return is_taken;
}

static void look_into(const struct tp_session *session, void *context)
{
    struct looker *looker = context;
    const struct tp_map *map = tp_session_map(session);
    struct tp_inspect_scan scan = {.width = map->width, .height = map->height};
    struct tp_dump *dump = malloc(sizeof *dump);
    looker->trouble = "out of memory";
    bool goes_on = dump != NULL;
    while (goes_on && !scan.done)
        goes_on = take_piece(looker, dump, session, &scan);
    if (goes_on)
        looker->trouble = NULL;
    free(dump);
}

static int play(const struct settings *settings, const struct tp_cli_search *search, const struct tp_cli_space *space, const struct tp_cli_map *known,
                struct tp_look *look)
{
    struct looker looker = {.look = look};
    struct tp_cli_problem problem = {.start = space->pairs[0].start, .goal = space->pairs[0].goal};
    struct tp_cli_play play = {
        .usage = &usage,
        .search = search,
        .map = &space->map,
        .known = known,
        .map_path = space->path,
        .ticks_max = settings->ticks,
        .over_cb = look_into,
        .context = &looker,
    };
    int result = tp_cli_play(&play, &problem, 1);
    if (result == TP_CLI_OK && looker.trouble != NULL)
        result = tp_cli_fail(&usage, "%s", looker.trouble);
    return result;
}

/* ---- Of a daemon's session ---- */

static int refuse_status(const struct settings *settings, int status)
{
    if (status == 404)
        return tp_cli_fail(&usage, "%s:%u has no session %s", settings->stats.host, settings->stats.port, settings->session);
    if (status == 401 || status == 403)
        return tp_cli_refuse(&usage, "token", "the daemon's stats port wants %s", settings->token != NULL ? "another" : "one");
    return tp_cli_fail(&usage, "%s:%u answers with the status %d", settings->stats.host, settings->stats.port, status);
}

/* Asks for all pieces, one after the other. */
static int ask_pieces(const struct settings *settings, struct tp_look *look)
{
    for (int pieces = 0; pieces < PIECES_MAX; pieces++) {
        char path[128], *piece;
        const char *words;
        int status;
        snprintf(path, sizeof path, "/view/session?id=%s&cursor=%llu", settings->session, (unsigned long long)look->next);
        if (!tp_cli_http_get(&settings->stats, path, settings->token, ANSWER_MS, &status, &piece, &words))
            return tp_cli_fail(&usage, "%s:%u: %s", settings->stats.host, settings->stats.port, words);
        bool is_good = status == 200 && tp_look_add(look, piece, &words);
        free(piece);
        if (status != 200)
            return refuse_status(settings, status);
        if (!is_good)
            return tp_cli_fail(&usage, "%s:%u: %s", settings->stats.host, settings->stats.port, words);
        if (!look->has_next)
            return TP_CLI_OK;
    }
    return tp_cli_fail(&usage, "the dump does not end");
}

/* The agent may be ticked while the pieces come: some tries are made for a dump of one moment. */
static int ask(const struct settings *settings, struct tp_look *look)
{
    int result = ask_pieces(settings, look);
    for (int tries = 1; result == TP_CLI_OK && look->torn && tries < TORN_MAX; tries++) {
        tp_look_fini(look);
        result = ask_pieces(settings, look);
    }
    if (result == TP_CLI_OK && look->torn)
        tp_cli_warn(&usage, "the agent was ticked meanwhile: the parts are of different ticks");
    return result;
}

/* ---- What is written ---- */

static int write_json(const struct settings *settings, const struct tp_look *look)
{
    bool is_standard = settings->json == NULL || strcmp(settings->json, "-") == 0;
    FILE *file = is_standard ? stdout : fopen(settings->json, "wb");
    if (file == NULL)
        return tp_cli_fail(&usage, "%s: %s", settings->json, strerror(errno));
    bool is_written = tp_look_write(look, file);
    if (!is_standard)
        is_written &= fclose(file) == 0;
    return is_written ? TP_CLI_OK : tp_cli_fail(&usage, "cannot write %s", is_standard ? "to standard output" : settings->json);
}

/* `map` NULL: no ground. */
static int write_picture(const struct settings *settings, const struct tp_look *look, const struct tp_cli_map *map)
{
    const char *reason;
    struct tp_image image;
    if (map != NULL && !look->is_graph && (map->grid.width != look->width || map->grid.height != look->height))
        return tp_cli_refuse(&usage, "map", "is %ux%u; the session's is %ux%u", map->grid.width, map->grid.height, look->width, look->height);
    int error = tp_look_draw(&image, look, map != NULL ? map->grid.cells : NULL, map != NULL ? &map->map->profile : NULL, (uint32_t)settings->scale);
    if (error == TP_ERR_UNSUPPORTED)
        return tp_cli_refuse(&usage, "png", "pictures are of grids, and this is a graph");
    if (error == TP_ERR_INVALID_ARGUMENT)
        return tp_cli_refuse(&usage, "scale", "the picture would be larger than 32768 pixels on a side");
    if (error != 0)
        return tp_cli_fail(&usage, "%s", tp_error_text(error));
    int result = tp_png_write(settings->png, &image, &reason) == 0 ? TP_CLI_OK : tp_cli_fail(&usage, "%s: %s", settings->png, reason);
    tp_image_fini(&image);
    return result;
}

static int write_all(const struct settings *settings, const struct tp_look *look, const struct tp_cli_map *map)
{
    int result = settings->json != NULL || settings->png == NULL ? write_json(settings, look) : TP_CLI_OK;
    if (result == TP_CLI_OK && settings->png != NULL)
        result = write_picture(settings, look, map);
    return result;
}

/* ---- The command ---- */

static int check(const struct settings *settings, const struct tp_cli_rows *rows)
{
    bool asks = settings->stats.host[0] != '\0';
    if (asks != (settings->session != NULL))
        return tp_cli_refuse(&usage, asks ? "session" : "stats", "must be given: --stats and --session go together; the live view (http://HOST:PORT/) shows the ids");
    if (settings->token != NULL && !asks)
        return tp_cli_refuse(&usage, "token", "goes with --stats only");
    if (settings->token != NULL && settings->token[strcspn(settings->token, "\r\n")] != '\0')
        return tp_cli_refuse(&usage, "token", "holds the end of a line");
    if (asks && (settings->session[0] == '\0' || strlen(settings->session) > 20 || settings->session[strspn(settings->session, "0123456789")] != '\0'))
        return tp_cli_refuse(&usage, "session", "\"%s\" is no session's number", settings->session);
    if (settings->scale != 0 && settings->png == NULL)
        return tp_cli_refuse(&usage, "scale", "goes with --png only");
    if (rows->puzzle_path != NULL)
        return tp_cli_refuse(&usage, "puzzle", "its search is not to be looked into");
    return TP_CLI_GO_ON;
}

static int inspect_played(const struct settings *settings, const struct tp_cli_search *search, struct tp_cli_rows *rows)
{
    struct tp_cli_space space;
    struct tp_cli_map known = {.map = NULL};
    struct tp_look look = {0};
    rows->count = 1;
    int result = tp_cli_space_load(&usage, rows, search, &space);
    if (result != TP_CLI_OK)
        return result;
    if (search->known != NULL)
        result = tp_cli_map_load(&usage, search->known, tp_cli_search_profile(search), &known);
    if (result == TP_CLI_OK)
        result = play(settings, search, &space, search->known != NULL ? &known : NULL, &look);
    if (result == TP_CLI_OK)
        result = write_all(settings, &look, &space.map);
    tp_look_fini(&look);
    if (known.map != NULL)
        tp_cli_map_fini(&known);
    tp_cli_space_fini(&space);
    return result;
}

static int inspect_asked(const struct settings *settings, const struct tp_cli_search *search, const struct tp_cli_rows *rows)
{
    struct tp_cli_map map = {.map = NULL};
    struct tp_look look = {0};
    int result = rows->map_path != NULL ? tp_cli_map_load(&usage, rows->map_path, tp_cli_search_profile(search), &map) : TP_CLI_OK;
    if (result == TP_CLI_OK)
        result = ask(settings, &look);
    if (result == TP_CLI_OK)
        result = write_all(settings, &look, map.map != NULL ? &map : NULL);
    tp_look_fini(&look);
    if (map.map != NULL)
        tp_cli_map_fini(&map);
    return result;
}

int tp_cli_inspect(int argc, char **argv)
{
    struct tp_cli_search search;
    struct tp_cli_rows rows;
    struct settings settings = {.ticks = 1};
    const struct tp_cli_host_port here = {.port = 0};
    tp_cli_search_init(&search);
    tp_cli_rows_init(&rows);
    const struct tp_cli_group groups[] = {
        {tp_cli_map_options, &rows}, {tp_cli_rows_options, &rows}, {tp_cli_search_options, &search}, {inspect_options, &settings}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result == TP_CLI_GO_ON)
        result = check(&settings, &rows);
    if (result == TP_CLI_GO_ON && settings.session == NULL)
        result = tp_cli_search_check(&usage, &search);
    if (result == TP_CLI_GO_ON && settings.session == NULL)
        result = tp_cli_rows_check(&usage, &rows, &here);
    if (result != TP_CLI_GO_ON)
        return result;
    return settings.session != NULL ? inspect_asked(&settings, &search, &rows) : inspect_played(&settings, &search, &rows);
}
