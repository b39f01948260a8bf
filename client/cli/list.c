/* `tickpath list`: a daemon's maps, and with --status the sessions on them that had that status in their last tick, of its stats port.
 *
 * The happy path: /stats has the maps (daemon/stats/stats.schema.json); of each with sessions the live view's stream is opened, and left once it has told all
 * sessions. One stream at a time; a view that has too many asks for patience (503), and is asked again for some seconds. A loop too busy to tell in half a
 * second is left out, and at first those for which the view has not made room yet: it is asked a few times, then what is missing is counted and said. */
#include "client/cli/clock.h"
#include "client/cli/commands.h"
#include "client/cli/http_get.h"
#include "client/cli/list_sessions.h"
#include "client/cli/options.h"
#include "search/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ANSWER_MS = 10000, BUSY_MS = 5000, AGAIN_MS = 100, TRIES = 3, NAME_BYTES = 129, FRESH = 0, ANY = 100, NOT_GIVEN = -1 };

struct settings {
    struct tp_cli_host_port stats;
    const char *token, *map;
    int status;
    uint64_t limit;
    bool json;
};

#define AT(field) offsetof(struct settings, field)

static const struct tp_cli_choice statuses[] = {
    {"FRESH", FRESH},
    {"MOVING", TP_STATUS_MOVING},
    {"SEARCHING", TP_STATUS_SEARCHING},
    {"BLOCKED", TP_STATUS_BLOCKED},
    {"ARRIVED", TP_STATUS_ARRIVED},
    {"UNREACHABLE", TP_STATUS_UNREACHABLE},
    {"ANY", ANY},
    {NULL, 0},
};

static const struct tp_cli_option list_options[] = {
    {"stats", TP_CLI_HOST_PORT, AT(stats), "HOST:PORT", "the daemon's --stats (TICKPATHD_STATS of the environment, else 127.0.0.1:7879)", 0, 0, NULL, false},
    {"token", TP_CLI_STRING, AT(token), "TOKEN", "the token that the port asks for (TICKPATHD_STATS_TOKEN of the environment)", 0, 0, NULL, false},
    {"map", TP_CLI_STRING, AT(map), "NAME", "of this map alone", 0, 0, NULL, false},
    {"status", TP_CLI_CHOICE, AT(status), "STATUS", "list sessions, of this status in their last tick (FRESH: not ticked yet)", 0, 0, statuses, false},
    {"limit", TP_CLI_UINT, AT(limit), "N", "list so many sessions at most (100)", 1, 1000000, NULL, false},
    {"json", TP_CLI_FLAG, AT(json), NULL, "print one JSON object", 0, 0, NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "list",
    .summary = "Lists a daemon's maps, or with --status the sessions on them.",
    .notes = "`tickpath inspect --stats HOST:PORT --session ID` looks into one. More sessions than --limit are counted, not listed.",
};

struct map {
    char name[NAME_BYTES], kind[8];
    uint64_t width, height, epoch, version, sessions;
};

struct listing {
    const struct settings *settings;
    const struct map *map;
    uint64_t told;     /* on this map */
    uint64_t matching; /* of the status wanted, on all maps */
    uint64_t untold;   /* that the daemon left out */
};

static bool is_graph(const struct map *map)
{
    return strcmp(map->kind, "graph") == 0;
}

/* ---- What is asked ---- */

static int refuse_status(const struct settings *settings, int status)
{
    if (status == 401 || status == 403)
        return tp_cli_refuse(&usage, "token", "the daemon's stats port wants %s", settings->token != NULL ? "another" : "one");
    return tp_cli_fail(&usage, "%s:%u answers with the status %d", settings->stats.host, settings->stats.port, status);
}

/* /stats, to be freed. */
static int ask_stats(const struct settings *settings, char **body)
{
    int status;
    const char *words;
    if (!tp_cli_http_get(&settings->stats, "/stats", settings->token, ANSWER_MS, &status, body, &words))
        return tp_cli_fail(&usage, "%s:%u: %s", settings->stats.host, settings->stats.port, words);
    if (status == 200)
        return TP_CLI_OK;
    free(*body);
    return refuse_status(settings, status);
}

/* The data of the event with all sessions of a map, to be freed. */
static int ask_once(const struct settings *settings, const struct map *map, char **data)
{
    char path[NAME_BYTES + 64];
    snprintf(path, sizeof path, "/view/stream?map=%s&fps=4", map->name); /* a map's name has nothing to be coded */
    for (int64_t until_ms = tp_cli_now_ms() + BUSY_MS;;) {
        int status;
        const char *words;
        if (!tp_cli_http_get_event(&settings->stats, path, settings->token, "key", ANSWER_MS, &status, data, &words))
            return tp_cli_fail(&usage, "%s:%u: %s", settings->stats.host, settings->stats.port, words);
        if (status == 200)
            return TP_CLI_OK;
        free(*data);
        if (status != 503 || tp_cli_now_ms() >= until_ms)
            return refuse_status(settings, status);
        const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000L};
        nanosleep(&pause, NULL);
    }
}

/* The same, once more where the daemon left some out. */
static int ask_sessions(const struct settings *settings, const struct map *map, char **data)
{
    uint64_t left_out;
    int result = ask_once(settings, map, data);
    for (int tries = 1; result == TP_CLI_OK && tries < TRIES && tp_listed_read(*data, &left_out, NULL, NULL) && left_out > 0; tries++) {
        free(*data);
        result = ask_once(settings, map, data);
    }
    return result;
}

/* ---- Maps ---- */

/* What follows "key": in an object that holds no other; NULL: it is not there. */
static const char *value_of(const char *object, const char *key)
{
    char quoted[32];
    int size = snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(object, quoted);
    return at != NULL ? at + size : NULL;
}

static bool read_number(const char *object, const char *key, uint64_t *number)
{
    const char *at = value_of(object, key);
    return at != NULL && sscanf(at, "%" SCNu64, number) == 1;
}

static bool read_map(const char *object, struct map *map)
{
    const char *name = value_of(object, "name"), *kind = value_of(object, "kind");
    return name != NULL && kind != NULL && sscanf(name, "\"%128[A-Za-z0-9._/-]\"", map->name) == 1 && sscanf(kind, "\"%7[a-z]\"", map->kind) == 1 &&
           read_number(object, "width", &map->width) && map->width > 0 && read_number(object, "height", &map->height) &&
           read_number(object, "epoch", &map->epoch) && read_number(object, "version", &map->version) && read_number(object, "sessions", &map->sessions);
}

/* The next map of the list that *at is in, cut out of the text. False: there is none, or (*is_good) it is not of the form. */
static bool next_map(char **at, struct map *map, bool *is_good)
{
    if (**at == ',')
        ++*at;
    if (**at == ']')
        return false;
    char *end = strchr(*at, '}');
    *is_good = **at == '{' && end != NULL;
    if (*is_good) {
        *end = '\0';
        *is_good = read_map(*at, map);
        *at = end + 1;
    }
    return *is_good;
}

/* ---- What is printed ---- */

static void print_map(const struct map *map, bool json, bool is_first)
{
    if (json) {
        printf("%s{\"name\": \"%s\", \"kind\": \"%s\", \"width\": %" PRIu64 ", \"height\": %" PRIu64 ", \"version\": %" PRIu64 ", \"epoch\": %" PRIu64
               ", \"sessions\": %" PRIu64 "}",
               is_first ? "" : ", ", map->name, map->kind, map->width, map->height, map->version, map->epoch, map->sessions);
        return;
    }
    char size[48];
    if (is_graph(map))
        snprintf(size, sizeof size, "%" PRIu64 " nodes", map->width);
    else
        snprintf(size, sizeof size, "%" PRIu64 "x%" PRIu64, map->width, map->height);
    printf("%-24s  %-5s  %-13s  %8" PRIu64 "  %20" PRIu64 "  %8" PRIu64 "\n", map->name, map->kind, size, map->version, map->epoch, map->sessions);
}

/* A place as x,y; of a graph its node. */
static const char *place(const struct map *map, uint64_t cell, char out[48])
{
    if (is_graph(map))
        snprintf(out, 48, "%" PRIu64, cell);
    else
        snprintf(out, 48, "%" PRIu64 ",%" PRIu64, cell % map->width, cell / map->width);
    return out;
}

static void print_session(const struct tp_listed *session, void *context)
{
    struct listing *listing = context;
    const struct settings *settings = listing->settings;
    const char *status = session->status != FRESH ? tp_status_name(session->status) : "FRESH";
    char at[48], goal[48];
    listing->told++;
    if (settings->status != ANY && (uint32_t)settings->status != session->status)
        return;
    if (listing->matching++ >= settings->limit)
        return;
    if (settings->json)
        printf("%s{\"session\": %" PRIu64 ", \"map\": \"%s\", \"status\": \"%s\", \"cell\": %" PRIu64 ", \"goal\": %" PRIu64 "}",
               listing->matching > 1 ? ", " : "", session->id, listing->map->name, status, session->cell, session->goal);
    else
        printf("%20" PRIu64 "  %-11s  %-12s  %-12s  %s\n", session->id, status, place(listing->map, session->cell, at),
               place(listing->map, session->goal, goal), listing->map->name);
}

/* ---- The command ---- */

static int list_sessions_of(struct listing *listing, const struct map *map)
{
    char *data;
    uint64_t left_out = 0;
    listing->map = map;
    listing->told = 0;
    int result = ask_sessions(listing->settings, map, &data);
    if (result != TP_CLI_OK)
        return result;
    if (!tp_listed_read(data, &left_out, print_session, listing))
        result = tp_cli_fail(&usage, "%s:%u: that is no list of sessions", listing->settings->stats.host, listing->settings->stats.port);
    uint64_t missing = map->sessions > listing->told ? map->sessions - listing->told : 0;
    listing->untold += left_out > missing ? left_out : missing;
    free(data);
    return result;
}

static void print_begin(const struct settings *settings, bool sessions)
{
    if (settings->json)
        printf("{\"%s\": [", sessions ? "sessions" : "maps");
    else if (sessions)
        printf("%20s  %-11s  %-12s  %-12s  %s\n", "session", "status", "at", "goal", "map");
    else
        printf("%-24s  %-5s  %-13s  %8s  %20s  %8s\n", "map", "kind", "size", "version", "epoch", "sessions");
}

static void print_end(const struct listing *listing, bool sessions)
{
    const struct settings *settings = listing->settings;
    bool is_cut = listing->matching > settings->limit;
    if (settings->json && sessions)
        printf("], \"matching\": %" PRIu64 ", \"cut\": %s, \"untold\": %" PRIu64 "}\n", listing->matching, is_cut ? "true" : "false", listing->untold);
    else if (settings->json)
        printf("]}\n");
    if (settings->json)
        return;
    if (is_cut)
        printf("%" PRIu64 " of %" PRIu64 " listed: --limit N lists more\n", settings->limit, listing->matching);
    if (listing->untold > 0)
        printf("%" PRIu64 " more are not known: closed meanwhile, too many, or their loop is busy\n", listing->untold);
}

/* Takes the answer's list apart; each map is printed, or its sessions. */
static int list(const struct settings *settings, char *stats)
{
    struct listing listing = {.settings = settings};
    bool sessions = settings->status != NOT_GIVEN, is_good = true, is_found = settings->map == NULL, is_first = true;
    char *at = strstr(stats, "\"maps\":[");
    struct map map;
    int result = TP_CLI_OK;
    if (at == NULL)
        return tp_cli_fail(&usage, "%s:%u: that is no answer of a daemon", settings->stats.host, settings->stats.port);
    print_begin(settings, sessions);
    for (at += strlen("\"maps\":["); result == TP_CLI_OK && next_map(&at, &map, &is_good);) {
        if (settings->map != NULL && strcmp(settings->map, map.name) != 0)
            continue;
        is_found = true;
        if (!sessions)
            print_map(&map, settings->json, is_first);
        else if (map.sessions > 0)
            result = list_sessions_of(&listing, &map);
        is_first = false;
    }
    if (result != TP_CLI_OK)
        return result;
    print_end(&listing, sessions);
    if (!is_good)
        return tp_cli_fail(&usage, "%s:%u: its maps are not of the form that is known", settings->stats.host, settings->stats.port);
    return is_found ? TP_CLI_OK : tp_cli_fail(&usage, "%s:%u has no map %s", settings->stats.host, settings->stats.port, settings->map);
}

int tp_cli_list(int argc, char **argv)
{
    struct settings settings = {.status = NOT_GIVEN, .limit = 100};
    const struct tp_cli_group groups[] = {{list_options, &settings}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result != TP_CLI_GO_ON)
        return result;
    if (settings.stats.host[0] == '\0' && !tp_cli_stats_place(&settings.stats))
        return tp_cli_refuse(&usage, "stats", "TICKPATHD_STATS is no HOST:PORT; give one");
    if (settings.token == NULL)
        settings.token = getenv("TICKPATHD_STATS_TOKEN");
    if (settings.token != NULL && settings.token[strcspn(settings.token, "\r\n")] != '\0')
        return tp_cli_refuse(&usage, "token", "holds the end of a line");
    char *stats;
    result = ask_stats(&settings, &stats);
    if (result != TP_CLI_OK)
        return result;
    result = list(&settings, stats);
    free(stats);
    if (fflush(stdout) != 0 || ferror(stdout))
        return tp_cli_fail(&usage, "cannot write to standard output");
    return result;
}
