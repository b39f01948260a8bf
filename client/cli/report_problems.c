/* The maps and problems of a cell.
 *
 * The problems of a map are the same for every cell of an experiment: rows of its scenario, evenly spaced over those in
 * the experiment's window whose ends are free and connected. The optimal cost and moves are an A* search's over the
 * true map at the start, with the cell's neighbours and corner rule. Vehicles: pairs of free, connected cells drawn at
 * random, more than half the map's width apart as |dx| + |dy|; their optimal is that of an agent that walks. 15-puzzles:
 * each is a map of its own; their optimal is the list's.
 */
#include "client/cli/report_play.h"

#include "client/cli/random.h"
#include "map/track.h"

#include <stdlib.h>
#include <string.h>

static char *with_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path);
    const char *dot = strrchr(path, '.');
    if (dot != NULL && strchr(dot, '/') == NULL)
        length = (size_t)(dot - path);
    char *made = malloc(length + strlen(suffix) + 1);
    if (made != NULL) {
        memcpy(made, path, length);
        strcpy(made + length, suffix);
    }
    return made;
}

/* Chooses up to `rows` of the scenario's rows, evenly spaced over those that will do. */
static int choose_rows(struct tp_report_player *player, const struct tp_report_cell *cell,
                       const char *scen_path)
{
    struct tp_cli_scen scen;
    int result = tp_cli_scen_load(player->usage, scen_path, &scen);
    if (result != TP_CLI_OK)
        return result;
    const struct tp_map *map = player->map.map;
    const double *window = cell->experiment->window;
    double side = map->width > map->height ? map->width : map->height;
    struct tp_report_problem *all = calloc(scen.count + 1, sizeof *all);
    size_t count = 0;
    for (size_t i = 0; all != NULL && i < scen.count; i++) {
        const struct tp_movingai_row *row = &scen.rows[i];
        if (row->map_width != map->width || row->map_height != map->height ||
            !tp_map_passable(map, row->start_x, row->start_y) ||
            !tp_map_passable(map, row->goal_x, row->goal_y))
            continue;
        if (window[1] > 0 && (row->optimal < window[0] * side || row->optimal > window[1] * side))
            continue;
        all[count].start = row->start_y * map->width + row->start_x;
        all[count].goal = row->goal_y * map->width + row->goal_x;
        count += all[count].start != all[count].goal;
    }
    tp_cli_scen_fini(&scen);
    player->problems = calloc(cell->rows, sizeof *player->problems);
    if (all == NULL || player->problems == NULL) {
        free(all);
        return tp_cli_fail(player->usage, "out of memory");
    }
    size_t wanted = cell->rows < count ? cell->rows : count;
    for (size_t i = 0; i < wanted; i++) {
        struct tp_report_problem *problem = &player->problems[player->count];
        *problem = all[(2 * i + 1) * count / (2 * wanted)];
        player->count += tp_report_solve(player, problem);
    }
    free(all);
    return TP_CLI_OK;
}

/* Draws pairs of cells for vehicles. */
static int draw_pairs(struct tp_report_player *player, const struct tp_report_cell *cell)
{
    const struct tp_map *map = player->map.map;
    struct tp_cli_random random = {.state = 2016};
    uint32_t cells = map->width * map->height;
    player->problems = calloc(cell->rows, sizeof *player->problems);
    if (player->problems == NULL)
        return tp_cli_fail(player->usage, "out of memory");
    for (uint32_t tries = 0; player->count < cell->rows && tries < 1000000; tries++) {
        uint32_t start = tp_cli_random_below(&random, cells), goal = tp_cli_random_below(&random, cells);
        int64_t dx = (int64_t)(start % map->width) - goal % map->width;
        int64_t dy = (int64_t)(start / map->width) - goal / map->width;
        if (llabs(dx) + llabs(dy) <= map->width / 2 ||
            !tp_map_passable(map, start % map->width, start / map->width) ||
            !tp_map_passable(map, goal % map->width, goal / map->width))
            continue;
        player->problems[player->count] = (struct tp_report_problem){.start = start, .goal = goal};
        player->count += tp_report_solve(player, &player->problems[player->count]);
    }
    return TP_CLI_OK;
}

static int load_track(struct tp_report_player *player, const char *path)
{
    char *text;
    size_t size;
    int result = tp_cli_file_read(player->usage, path, &text, &size);
    if (result != TP_CLI_OK)
        return result;
    struct tp_place place = {0, 0};
    const char *reason = "";
    struct tp_track track;
    int error = tp_track_parse(&track, text, size, &place, &reason);
    free(text);
    if (error != 0)
        return tp_cli_fail(player->usage, "%s:%u:%u: %s", path, place.line, place.column,
                           error == TP_ERR_PARSE ? reason : tp_error_text(error));
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    error = tp_map_build(&player->map.map, track.width, track.height, track.cells, &profile, 1);
    tp_track_fini(&track);
    return error == 0 ? TP_CLI_OK : tp_cli_fail(player->usage, "%s: %s", path, tp_error_text(error));
}

/* Reads 15-puzzles: a line a problem, its number, 16 tiles by place, the optimal length (0: unknown) and h; lines that
 * begin with '#' are skipped. Takes up to `rows`, evenly spaced. */
static int load_puzzles(struct tp_report_player *player, const char *path, uint32_t rows)
{
    enum { PROBLEMS_MAX = 1000 };
    char *text;
    size_t size;
    int result = tp_cli_file_read(player->usage, path, &text, &size);
    if (result != TP_CLI_OK)
        return result;
    const char *lines[PROBLEMS_MAX];
    uint32_t count = 0;
    for (char *line = strtok(text, "\n"); line != NULL && count < PROBLEMS_MAX; line = strtok(NULL, "\n"))
        if (*line != '#')
            lines[count++] = line;
    player->problems = calloc(rows, sizeof *player->problems);
    uint32_t wanted = rows < count ? rows : count;
    for (uint32_t i = 0; player->problems != NULL && i < wanted; i++) {
        const char *line = lines[(2 * i + 1) * count / (2 * wanted)];
        char word[16];
        uint8_t tiles[16];
        bool whole = tp_report_word(&line, word, sizeof word);
        for (int place = 0; place < 16; place++) {
            whole = tp_report_word(&line, word, sizeof word) && whole;
            tiles[place] = (uint8_t)strtoul(word, NULL, 10);
        }
        struct tp_map *map = NULL;
        int error = whole ? tp_map_build_puzzle(&map, tiles) : TP_ERR_PARSE;
        if (error != 0) {
            free(text);
            return tp_cli_fail(player->usage, "%s: problem %u: %s", path, i + 1, tp_error_text(error));
        }
        double optimal = tp_report_word(&line, word, sizeof word) ? strtod(word, NULL) : 0;
        player->problems[player->count++] = (struct tp_report_problem){
            .start = 0, .goal = 1, .optimal = optimal, .optimal_moves = (uint64_t)optimal, .map = map};
    }
    free(text);
    return player->problems != NULL ? TP_CLI_OK : tp_cli_fail(player->usage, "out of memory");
}

void tp_report_problems_free(struct tp_report_player *player)
{
    for (size_t i = 0; i < player->count; i++)
        tp_map_unref(player->problems[i].map);
    free(player->problems);
    tp_map_unref(player->told);
    player->told = NULL;
    player->problems = NULL;
    player->count = 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* The map as the cell's agents meet it. */
static int take_map(struct tp_report_player *player)
{
    const struct tp_map *map = player->map.map;
    struct tp_map *layer;
    player->has_layer = tp_cli_search_layer(&player->search, map, &player->kind);
    if (!player->has_layer) {
        player->met = tp_map_ref(map);
        return TP_CLI_OK;
    }
    int error = tp_layer_build(&layer, map, &player->kind);
    player->met = layer;
    return error == 0 ? TP_CLI_OK : tp_cli_fail(player->usage, "%s", tp_error_text(error));
}

int tp_report_problems_load(struct tp_report_player *player, const struct tp_report *report,
                            const struct tp_report_cell *cell)
{
    char *path = malloc(strlen(report->maps) + strlen(cell->map) + 2), *known = NULL, *scen = NULL;
    if (path == NULL)
        return tp_cli_fail(player->usage, "out of memory");
    sprintf(path, "%s/%s", report->maps, cell->map);
    if (ends_with(path, ".txt")) {
        int result = load_puzzles(player, path, cell->rows);
        free(path);
        return result;
    }
    int result = ends_with(path, ".track") ? load_track(player, path)
                                           : tp_cli_map_load(player->usage, path, NULL, &player->map);
    if (result == TP_CLI_OK)
        result = take_map(player);
    if (result == TP_CLI_OK && player->options.partial) {
        known = tp_report_maps_known(report->maps, cell->map);
        result = known == NULL ? tp_cli_fail(player->usage, "%s: the map it was made from is not there", path)
                               : tp_cli_map_load(player->usage, known, NULL, &player->known);
        if (result == TP_CLI_OK) {
            int error = tp_cli_search_tell(&player->search, player->map.map, player->known.map, &player->told);
            player->params.knowledge = TP_KNOWLEDGE_MAP;
            player->params.known = player->told;
            result = error == 0 ? TP_CLI_OK : tp_cli_fail(player->usage, "%s", tp_error_text(error));
        }
    }
    if (result == TP_CLI_OK && player->options.vehicle) {
        result = draw_pairs(player, cell);
    } else if (result == TP_CLI_OK) {
        scen = with_suffix(known != NULL ? known : path, ".scen");
        result = scen == NULL ? TP_CLI_FAILED : choose_rows(player, cell, scen);
    }
    free(path);
    free(known);
    free(scen);
    return result;
}
