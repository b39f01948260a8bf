/* `tickpath inspect` as people use it: what it writes of sessions played here is what the library says of them, as JSON in the form that the README has, and as
 * a picture whose cells have the colours of its legend; what it can't do is refused. With --stats it asks a running daemon. */
#include "base/error.h"
#include "client/cli/inspect_draw.h"
#include "client/tickpath_client.h"
#include "tests/lib/harness.h"
#include "tests/lib/tool.h"
#include "tests/lib/wire.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A wall with one way round, below. */
static const char map_text[] = "type octile\nheight 8\nwidth 12\nmap\n"
                               "......@.....\n......@.....\n......@.....\n......@.....\n......@.....\n......@.....\n......@.....\n............\n";
enum { WIDTH = 12, HEIGHT = 8, START = 2 * WIDTH + 2, GOAL = 2 * WIDTH + 9 };

static char folder[256];
static char *map_file;

static void folder_begin(void)
{
    strcpy(folder, tp_test_folder_make());
    map_file = tool_write_file(folder, "m.map", map_text);
}

static void folder_end(void)
{
    free(map_file);
    tp_test_folder_remove(folder);
}

static const char *value_of(const char *json, const char *key)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(json, quoted);
    ck_assert_msg(at != NULL, "no key %s in %s", key, json);
    return at + strlen(quoted);
}

static uint64_t number_of(const char *json, const char *key)
{
    return strtoull(value_of(json, key), NULL, 10);
}

/* In static memory. */
static const char *word_of(const char *json, const char *key)
{
    static char word[64];
    ck_assert_int_eq(sscanf(value_of(json, key), "\"%63[^\"]\"", word), 1);
    return word;
}

/* Whether the list of that name holds a number. */
static bool list_holds(const char *json, const char *key, uint32_t number)
{
    const char *at = value_of(json, key) + 1;
    for (const char *end = strchr(at, ']'); at < end;) {
        char *after;
        if (strtoul(at, &after, 10) == number)
            return true;
        at = after + 1;
    }
    return false;
}

/* An A* of few expansions a tick: it waits, for its budget is spent; what it has closed surrounds its start. */
START_TEST(json_tells_what_is_searched)
{
    char *json = tool_ok("inspect --map %s --from %d --to %d --alg astar --k 5 --ticks 3", map_file, START, GOAL);
    ck_assert_str_eq(word_of(json, "status"), "SEARCHING");
    ck_assert_str_eq(word_of(json, "why"), "BUDGET_SPENT");
    ck_assert_str_eq(word_of(json, "algorithm"), "astar");
    ck_assert_uint_eq(number_of(json, "ticks"), 3);
    ck_assert_uint_eq(number_of(json, "expansions"), 15);
    ck_assert_uint_eq(number_of(json, "cell"), START);
    ck_assert_uint_eq(number_of(json, "root"), START);
    ck_assert(list_holds(json, "closed", START) && !list_holds(json, "open", START));
    ck_assert(list_holds(json, "goals", GOAL) && !list_holds(json, "closed", GOAL));
    free(json);
    json = tool_ok("inspect --map %s --from %d --to %d --alg astar --k 1000", map_file, START, GOAL);
    ck_assert_str_eq(word_of(json, "why"), "NOT_HELD");
    ck_assert(list_holds(json, "path", GOAL) && list_holds(json, "path", 7 * WIDTH + 6));
    free(json);
    json = tool_ok("inspect --map %s --from %d --to %d --alg lss --k 4 --ticks 9", map_file, START, GOAL);
    ck_assert_ptr_null(strstr(json, "\"raised\":[]"));
    free(json);
    json = tool_ok("inspect --map %s --from %d --to %d --ticks 1000", map_file, START, GOAL);
    ck_assert_str_eq(word_of(json, "status"), "ARRIVED");
    ck_assert_str_eq(word_of(json, "why"), "AT_GOAL");
    free(json);
}
END_TEST

/* More states than a piece may have come as one dump. */
START_TEST(pieces_are_put_together)
{
    enum { SIDE = 100 };
    static char text[64 + SIDE * (SIDE + 1)];
    size_t size = (size_t)snprintf(text, 64, "type octile\nheight %d\nwidth %d\nmap\n", SIDE, SIDE);
    for (int y = 0; y < SIDE; y++, size += SIDE + 1) {
        memset(text + size, '.', SIDE);
        text[size + SIDE] = '\n';
    }
    char *path = tool_write_file(folder, "free.map", text);
    char *json = tool_ok("inspect --map %s --from 0 --to 9999 --alg wastar --w 1 --heuristic zero --k 6000", path);
    size_t closed = 0;
    const char *at = strstr(json, "\"closed\":["), *end = strstr(json, "\"closed_g\":[");
    ck_assert(at != NULL && end != NULL);
    for (; at < end; at++)
        closed += *at == ',';
    ck_assert_uint_eq(closed, 6000); /* commas between, and one behind the list */
    ck_assert_ptr_nonnull(strstr(json, "\"torn\":false,\"cut\":false,\"next\":null}"));
    free(json);
    free(path);
}
END_TEST

static void check_pixel(const png_image *image, const uint8_t *rgb, uint32_t cell, uint32_t scale, enum tp_look_kind kind, bool exactly)
{
    const uint8_t *pixel = rgb + 3 * ((size_t)(cell / WIDTH * scale + scale / 2) * image->width + cell % WIDTH * scale + scale / 2);
    const struct tp_look_colour *colour = &tp_look_colours[kind];
    int off = abs(pixel[0] - colour->red) + abs(pixel[1] - colour->green) + abs(pixel[2] - colour->blue);
    ck_assert_msg(off <= (exactly ? 0 : 120), "cell %u is %d,%d,%d, which is not %s", cell, pixel[0], pixel[1], pixel[2], colour->name);
}

START_TEST(the_picture_has_the_colours_of_its_legend)
{
    enum { SCALE = 8 };
    char path[300];
    snprintf(path, sizeof path, "%s/look.png", folder);
    char *json = tool_ok("inspect --map %s --from %d --to %d --alg tbwa --k 6 --ticks 4 --scale %d --png %s --json -", map_file, START, GOAL, SCALE, path);
    png_image image = {.version = PNG_IMAGE_VERSION};
    ck_assert(png_image_begin_read_from_file(&image, path) != 0);
    image.format = PNG_FORMAT_RGB;
    ck_assert_uint_ge(image.width, WIDTH * SCALE);
    ck_assert_uint_gt(image.height, HEIGHT * SCALE + 20);
    uint8_t *rgb = malloc(PNG_IMAGE_SIZE(image));
    ck_assert_ptr_nonnull(rgb);
    ck_assert(png_image_finish_read(&image, NULL, rgb, 0, NULL) != 0);
    uint32_t agent = (uint32_t)number_of(json, "cell"), seen_open = 0, seen_closed = 0, seen_path = 0;
    check_pixel(&image, rgb, agent, SCALE, TP_LOOK_IS_AGENT, true);
    check_pixel(&image, rgb, GOAL, SCALE, TP_LOOK_IS_GOAL, true);
    for (uint32_t cell = 0; cell < WIDTH * HEIGHT; cell++) {
        bool is_path = list_holds(json, "path", cell);
        if (cell == agent || cell == GOAL)
            continue;
        if (is_path)
            check_pixel(&image, rgb, cell, SCALE, TP_LOOK_IS_PATH, false);
        else if (list_holds(json, "open", cell))
            check_pixel(&image, rgb, cell, SCALE, TP_LOOK_IS_OPEN, false);
        else if (list_holds(json, "closed", cell))
            check_pixel(&image, rgb, cell, SCALE, TP_LOOK_IS_CLOSED, false);
        seen_path += is_path;
        seen_open += list_holds(json, "open", cell);
        seen_closed += list_holds(json, "closed", cell);
    }
    ck_assert(seen_open > 0 && seen_closed > 0 && seen_path > 0);
    free(rgb);
    free(json);
}
END_TEST

/* A picture of a large map is of the part that is known, and bounded. */
START_TEST(pictures_are_bounded)
{
    struct tp_look look = {.width = 60000, .height = 3000, .cell = 60000 * 1500 + 30000};
    uint64_t far[] = {0, 59999, 60000ull * 2999};
    look.lists[TP_LOOK_CLOSED] = (struct tp_look_numbers){far, 3, 3};
    struct tp_look_window window = tp_look_window(&look);
    ck_assert_uint_le(window.width, TP_LOOK_PART_SIDE);
    ck_assert_uint_le(window.height, TP_LOOK_PART_SIDE);
    ck_assert(window.x <= 30000 && 30000 < window.x + window.width && window.y <= 1500 && 1500 < window.y + window.height);
    look.lists[TP_LOOK_CLOSED].count = 0;
    window = tp_look_window(&look);
    ck_assert_uint_le(window.width, 40);
    look.is_graph = true;
    struct tp_image image;
    ck_assert_int_eq(tp_look_draw(&image, &look, NULL, NULL, 0), TP_ERR_UNSUPPORTED);
}
END_TEST

static const struct {
    const char *options, *words;
    int exit_code;
} refused[] = {
    {"--session 5", "--stats", 2},
    {"--stats 127.0.0.1:1", "--session", 2},
    {"--stats 127.0.0.1:1 --session five", "\"five\"", 2},
    {"--stats 127.0.0.1:1 --session 5", "127.0.0.1:1", 1},
    {"--token abc", "--stats", 2},
    {"--scale 4", "--png", 2},
    {"--from 1", "--to", 2},
    {"--from 6 --to 99999 --json -", "99999", 1},
    {"--from 1 --to 2 --json /nowhere/x.json", "/nowhere/x.json", 1},
    {"--from 1 --to 2 --png /nowhere/x.png", "/nowhere/x.png", 1},
    {"--ticks 0", "--ticks", 2},
};

START_TEST(what_can_not_be_done_is_refused)
{
    struct tool_run run;
    tool_run(&run, "inspect --map %s %s", map_file, refused[_i].options);
    ck_assert_msg(run.exit_code == refused[_i].exit_code, "%s: exit code %d: %s", refused[_i].options, run.exit_code, run.err);
    ck_assert_msg(strstr(run.err, refused[_i].words) != NULL, "%s: %s", refused[_i].options, run.err);
    tool_run_fini(&run);
}
END_TEST

/* A daemon's session, through its stats port: what the tool writes is what the daemon's reply to DumpSession says. With a token, and without it, and with
 * a session that is not there. */
START_TEST(a_running_daemon_is_asked)
{
    static const char token[] = "look-but-do-not-touch";
    struct wire_daemon daemon;
    struct tp_client *client;
    struct tp_client_error error;
    wire_daemon_init(&daemon);
    wire_daemon_start(&daemon, "--stats", "127.0.0.1:0", "--stats-token", token, NULL);
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", daemon.port, "test_tool_inspect", WIRE_TIMEOUT_MS, &error), 0);
    uint8_t cells[WIDTH * HEIGHT];
    const char *row = strstr(map_text, "map\n") + 4;
    for (int y = 0; y < HEIGHT; y++, row += WIDTH + 1)
        memcpy(cells + y * WIDTH, row, WIDTH);
    ck_assert_int_eq(tp_client_put_map(client, "m", WIDTH, HEIGHT, cells, NULL, 0, false, NULL, WIRE_TIMEOUT_MS), 0);
    const struct tp_client_session_params params = {
        .map = "m", .start = START, .goal = GOAL, .algorithm = "tbwa", .budget = {.kind = TP_CLIENT_BUDGET_K, .amount = 6}};
    struct tp_client_session session;
    ck_assert_int_eq(tp_client_open_session(client, &params, &session, WIRE_TIMEOUT_MS), 0);
    const struct tp_client_tick tick = {.all = true};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(tp_client_tick(client, &tick, NULL, WIRE_TIMEOUT_MS), 0);
    char *json = tool_ok("inspect --stats 127.0.0.1:%u --session %llu --token %s --map %s --json - --png %s/look.png", daemon.stats_port,
                         (unsigned long long)session.id, token, map_file, folder);
    char id[24];
    snprintf(id, sizeof id, "%llu", (unsigned long long)session.id);
    ck_assert_str_eq(word_of(json, "id"), id);
    ck_assert_str_eq(word_of(json, "map"), "m");
    ck_assert_str_eq(word_of(json, "algorithm"), "tbwa");
    struct tp_client_dump dump;
    ck_assert_int_eq(tp_client_dump_session(client, session.id, NULL, &dump, WIRE_TIMEOUT_MS), 0);
    ck_assert_uint_eq(number_of(json, "ticks"), dump.ticks);
    ck_assert_uint_eq(number_of(json, "cell"), dump.cell);
    ck_assert_uint_eq(number_of(json, "touched"), dump.touched);
    ck_assert_uint_gt(dump.state_count, 10);
    for (size_t i = 0; i < dump.state_count; i++)
        ck_assert(list_holds(json, dump.state_whats[i] & TP_CLIENT_STATE_OPEN ? "open" : "closed", dump.state_cells[i]));
    for (size_t i = 0; i < dump.path_count; i++)
        ck_assert(list_holds(json, "path", dump.path[i]));
    free(json);
    struct tool_run run;
    tool_run(&run, "inspect --stats 127.0.0.1:%u --session %s", daemon.stats_port, id);
    ck_assert_msg(run.exit_code == 2 && strstr(run.err, "--token") != NULL, "%d: %s", run.exit_code, run.err);
    tool_run_fini(&run);
    tool_run(&run, "inspect --stats 127.0.0.1:%u --session 12345 --token %s", daemon.stats_port, token);
    ck_assert_msg(run.exit_code == 1 && strstr(run.err, "no session 12345") != NULL, "%d: %s", run.exit_code, run.err);
    tool_run_fini(&run);
    tool_run(&run, "inspect --stats 127.0.0.1:%u --session %s --token %s", daemon.port, id, token); /* the port of the protocol */
    ck_assert_msg(run.exit_code == 1, "%d: %s", run.exit_code, run.err);
    tool_run_fini(&run);
    tp_client_close(client);
    wire_daemon_stop(&daemon);
    wire_daemon_fini(&daemon);
}
END_TEST

/* What is taken for a piece: the library's own text, and nothing else. */
START_TEST(only_dumps_are_pieces)
{
    static const char *const bad[] = {"", "{}", "not a dump", "{\"kind\":\"grid\",\"width\":3,\"height\":3,\"cell\":9,\"ticks\":0,\"path\":[]",
                                      "{\"kind\":\"grid\",\"width\":3,\"height\":3,\"cell\":0,\"ticks\":0,\"goals\":[1],\"path\":[1,x]}",
                                      "{\"kind\":\"grid\",\"width\":3,\"height\":3,\"cell\":0,\"ticks\":0,\"goals\":[1],\"path\":[1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tp_look look = {0};
        const char *words;
        ck_assert_msg(!tp_look_add(&look, bad[i], &words), "taken: %s", bad[i]);
        ck_assert_str_eq(words, "not a dump of a session");
        tp_look_fini(&look);
    }
}
END_TEST

static Suite *inspect_suite(void)
{
    Suite *suite = suite_create("tool_inspect");
    TCase *tests = tcase_create("inspect");
    tcase_add_checked_fixture(tests, folder_begin, folder_end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, json_tells_what_is_searched);
    tcase_add_test(tests, pieces_are_put_together);
    tcase_add_test(tests, the_picture_has_the_colours_of_its_legend);
    tcase_add_test(tests, pictures_are_bounded);
    tcase_add_loop_test(tests, what_can_not_be_done_is_refused, 0, (int)(sizeof refused / sizeof refused[0]));
    tcase_add_test(tests, only_dumps_are_pieces);
    tcase_add_test(tests, a_running_daemon_is_asked);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_inspect", inspect_suite);
}
