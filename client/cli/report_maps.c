/* The maps of the report's generated form: the same folders as a benchmark collection has, kinds alike, with scenarios.
 * What is there already is left alone, so that the folder may be kept. */
#include "client/cli/files.h"
#include "client/cli/generate.h"
#include "client/cli/random.h"
#include "client/cli/report.h"
#include "search/session.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SCEN_ROWS = 200, SCEN_ROWS_QUICK = 30, BLOCKED_PERCENT = 15, PATH_BYTES = 1024 };

static const struct made {
    const char *folder, *name;
    enum tp_generate_kind kind;
    uint32_t side, side_quick;
    struct tp_generate_options options;
    bool partial; /* also as the true map of an agent that knows only this one */
} list[] = {
    {"bg512", "caves-a", TP_GENERATE_CAVES, 512, 160, {0}, false},
    {"bg512", "caves-b", TP_GENERATE_CAVES, 512, 160, {0}, false},
    {"wc3", "caves-c", TP_GENERATE_CAVES, 512, 192, {.density_percent = 44}, false},
    {"wc3", "caves-d", TP_GENERATE_CAVES, 512, 192, {.density_percent = 44}, false},
    {"room", "rooms-8", TP_GENERATE_ROOMS, 512, 160, {.room = 8}, false},
    {"room", "rooms-16", TP_GENERATE_ROOMS, 512, 160, {.room = 16}, false},
    {"dao", "orz-caves", TP_GENERATE_CAVES, 480, 160, {.density_percent = 47}, true},
    {"sc1", "city", TP_GENERATE_CITY, 768, 192, {0}, true},
    {"random", "random-10", TP_GENERATE_RANDOM, 500, 128, {.density_percent = 10}, false},
    {"bg", "caves-track", TP_GENERATE_CAVES, 212, 64, {0}, false},
    {"maze", "maze-8", TP_GENERATE_MAZE, 512, 80, {.corridor = 8}, false},
    {"street", "town", TP_GENERATE_CITY, 512, 128, {0}, false},
};

/* Opens a file for writing in folder/sub/, made where missing; NULL after saying why. */
static FILE *open_in(const struct tp_report *report, const char *folder, const char *sub, const char *name,
                     char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s", folder, sub);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        tp_cli_fail(report->usage, "%s: %s", path, strerror(errno));
        return NULL;
    }
    snprintf(path, PATH_BYTES, "%s/%s/%s", folder, sub, name);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        tp_cli_fail(report->usage, "%s: %s", path, strerror(errno));
    return file;
}

static int close_file(const struct tp_report *report, FILE *file, const char *path)
{
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        return tp_cli_fail(report->usage, "%s: %s", path, strerror(errno));
    return TP_CLI_OK;
}

static int write_map(const struct tp_report *report, const char *folder, const char *sub, const char *name,
                     uint32_t side, const uint8_t *cells)
{
    char path[PATH_BYTES];
    FILE *file = open_in(report, folder, sub, name, path);
    if (file == NULL)
        return TP_CLI_FAILED;
    fprintf(file, "type octile\nheight %u\nwidth %u\nmap\n", side, side);
    for (uint32_t y = 0; y < side; y++)
        fprintf(file, "%.*s\n", (int)side, (const char *)cells + (size_t)y * side);
    return close_file(report, file, path);
}

/* The optimal cost from one cell to another, in unit steps; negative when out of reach. */
static double optimal(const struct tp_map *map, struct tp_pool *pool, uint32_t start, uint32_t goal)
{
    struct tp_session_params params;
    struct tp_refusal refusal;
    struct tp_session *session;
    struct tp_tick_reply reply = {.status = TP_STATUS_SEARCHING};
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find("astar");
    params.start = start;
    params.goal = goal;
    params.budget = tp_budget_k(TP_BUDGET_UNLIMITED);
    if (tp_session_open(&session, &params, map, pool, &refusal) != 0)
        return -1;
    while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE)
        tp_session_tick(session, map, NULL, &reply);
    tp_session_close(session);
    return reply.status == TP_STATUS_ARRIVED ? (double)reply.cost / TP_COST_UNIT : -1;
}

/* Writes problems between free cells drawn at random, both ends connected. */
static int write_scen(const struct tp_report *report, const char *folder, const struct made *made,
                      uint32_t side, const uint8_t *cells, struct tp_cli_random *random)
{
    char name[64], path[PATH_BYTES];
    struct tp_profile profile;
    struct tp_map *map;
    snprintf(name, sizeof name, "%s.scen", made->name);
    tp_profile_init_movingai(&profile);
    if (tp_map_build(&map, side, side, cells, &profile, 1) != 0)
        return tp_cli_fail(report->usage, "out of memory");
    FILE *file = open_in(report, folder, made->folder, name, path);
    if (file == NULL) {
        tp_map_unref(map);
        return TP_CLI_FAILED;
    }
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    fprintf(file, "version 1\n");
    uint32_t rows = report->quick ? SCEN_ROWS_QUICK : SCEN_ROWS, cells_count = side * side;
    for (uint32_t row = 0, tries = 0; row < rows && tries < 1000 * rows; tries++) {
        uint32_t start = tp_cli_random_below(random, cells_count),
                 goal = tp_cli_random_below(random, cells_count);
        if (start == goal || !tp_map_passable(map, start % side, start / side) ||
            !tp_map_passable(map, goal % side, goal / side))
            continue;
        double length = optimal(map, &pool, start, goal);
        if (length < side / 4.0)
            continue;
        fprintf(file, "%u\t%s.map\t%u\t%u\t%u\t%u\t%u\t%u\t%.8f\n", (uint32_t)(length / 4), made->name, side,
                side, start % side, start / side, goal % side, goal / side, length);
        row++;
    }
    tp_pool_fini(&pool);
    tp_map_unref(map);
    return close_file(report, file, path);
}

static int make(const struct tp_report *report, const char *folder, const struct made *made, uint64_t seed)
{
    uint32_t side = report->quick ? made->side_quick : made->side;
    char name[64], path[PATH_BYTES];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s/%s.scen", folder, made->folder, made->name);
    if (stat(path, &status) == 0)
        return TP_CLI_OK;
    uint8_t *cells = malloc((size_t)side * side);
    if (cells == NULL)
        return tp_cli_fail(report->usage, "out of memory");
    struct tp_cli_random random = {.state = seed};
    int error = tp_generate_map(made->kind, side, side, seed, &made->options, cells);
    int result =
        error == 0 ? TP_CLI_OK : tp_cli_fail(report->usage, "%s: %s", made->name, tp_error_text(error));
    snprintf(name, sizeof name, "%s.map", made->name);
    if (result == TP_CLI_OK)
        result = write_map(report, folder, made->folder, name, side, cells);
    if (result == TP_CLI_OK) /* last: a folder that is half made is made again */
        result = write_scen(report, folder, made, side, cells, &random);
    for (size_t i = 0; i < (size_t)side * side && made->partial; i++)
        if (cells[i] == '.' && tp_cli_random_below(&random, 100) < BLOCKED_PERCENT)
            cells[i] = '@';
    snprintf(name, sizeof name, "%s.true.map", made->name);
    if (result == TP_CLI_OK && made->partial)
        result = write_map(report, folder, "partial", name, side, cells);
    free(cells);
    return result;
}

/* A racetrack of the Hansen track's size, with room to drive in. */
static int make_track(const struct tp_report *report, const char *folder)
{
    enum { WIDTH = 207, HEIGHT = 33 };
    char path[PATH_BYTES];
    static uint8_t cells[WIDTH * HEIGHT];
    const struct tp_generate_options options = {.density_percent = 40};
    int error = tp_generate_map(TP_GENERATE_CAVES, WIDTH, HEIGHT, 2016, &options, cells);
    if (error != 0)
        return tp_cli_fail(report->usage, "%s", tp_error_text(error));
    FILE *file = open_in(report, folder, "racetrack", "made.track", path);
    if (file == NULL)
        return TP_CLI_FAILED;
    fprintf(file, "%d\n%d\n", WIDTH, HEIGHT);
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++)
            putc(cells[y * WIDTH + x] == '.' ? '_' : '#', file);
        putc('\n', file);
    }
    return close_file(report, file, path);
}

/* 15-puzzles in the form of Korf's list: number, tiles by place (0 the blank; the goal has them in order), optimal
 * length and h, both 0 where unknown. Each is the goal after many random moves. */
static int make_puzzles(const struct tp_report *report, const char *folder)
{
    enum { COUNT = 100, MOVES = 400, MOVES_QUICK = 60 };
    char path[PATH_BYTES];
    struct tp_cli_random random = {.state = 15};
    FILE *file = open_in(report, folder, "puzzle", "made100.txt", path);
    if (file == NULL)
        return TP_CLI_FAILED;
    for (int number = 1; number <= COUNT; number++) {
        uint32_t tiles[16], blank = 0;
        for (uint32_t i = 0; i < 16; i++)
            tiles[i] = i;
        for (int move = 0; move < (report->quick ? MOVES_QUICK : MOVES);) {
            static const int steps[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
            const int *step = steps[tp_cli_random_below(&random, 4)];
            int x = (int)(blank % 4) + step[0], y = (int)(blank / 4) + step[1];
            if (x < 0 || x > 3 || y < 0 || y > 3)
                continue;
            uint32_t next = (uint32_t)(y * 4 + x);
            tiles[blank] = tiles[next];
            tiles[next] = 0;
            blank = next;
            move++;
        }
        fprintf(file, "%d\t", number);
        for (int i = 0; i < 16; i++)
            fprintf(file, "%s%u", i > 0 ? " " : "", tiles[i]);
        fprintf(file, "\t0\t0\n");
    }
    return close_file(report, file, path);
}

int tp_report_maps_make(const struct tp_report *report, const char *folder)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return tp_cli_fail(report->usage, "%s: %s", folder, strerror(errno));
    int result = TP_CLI_OK;
    for (size_t i = 0; i < sizeof list / sizeof list[0] && result == TP_CLI_OK; i++)
        result = make(report, folder, &list[i], i + 1);
    if (result == TP_CLI_OK)
        result = make_track(report, folder);
    return result == TP_CLI_OK ? make_puzzles(report, folder) : result;
}

char *tp_report_maps_known(const char *maps, const char *truth)
{
    const char *slash = strrchr(truth, '/'), *name = slash != NULL ? slash + 1 : truth;
    const char *suffix = strstr(name, ".true.map");
    if (suffix == NULL)
        return NULL;
    char pattern[PATH_BYTES], *path = NULL;
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*/%.*s.map", maps, (int)(suffix - name), name);
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    path = strdup(found.gl_pathv[0]);
    globfree(&found);
    return path;
}
