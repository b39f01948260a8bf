/* The commands `map generate` and `draw`, called as the tool calls them: files written, exit codes, refusals.
 */
#include "client/cli/draw.h"
#include "client/cli/generate.h"
#include "client/cli/options.h"
#include "map/movingai.h"
#include "tests/lib/harness.h"

#include <png.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[3000];

static void folder_make(void)
{
    snprintf(folder, sizeof folder, "%s", tp_test_folder_make());
}

static void folder_remove(void)
{
    tp_test_folder_remove(folder);
}

/* A path in the test's folder, in memory of its own. */
static const char *in_folder(const char *name)
{
    static char paths[16][4096];
    static int next;
    ck_assert_int_lt(++next, 16);
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

/* Calls a command with the words up to NULL; gives its exit code. */
static int call(int (*command)(int argc, char **argv), const char *name, ...)
{
    char *argv[20] = {(char *)name};
    int argc = 1;
    va_list words;
    va_start(words, name);
    for (const char *word; (word = va_arg(words, const char *)); argc++)
        argv[argc] = (char *)word;
    va_end(words);
    return command(argc, argv);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void expect_png(const char *path, uint32_t width, uint32_t height)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    ck_assert_msg(png_image_begin_read_from_file(&image, path), "%s: %s", path, image.message);
    ck_assert_uint_eq(image.width, width);
    ck_assert_uint_eq(image.height, height);
    png_image_free(&image);
}

/* ---- map generate ---- */

START_TEST(test_generate_file)
{
    static const char *const kinds[] = {"rooms", "caves", "maze", "random", "city"};
    for (int kind = 0; kind < TP_GENERATE_KINDS; kind++) {
        ck_assert_str_eq(kinds[kind], tp_generate_kind_name((enum tp_generate_kind)kind));
        const char *path = in_folder("a.map");
        ck_assert_int_eq(call(tp_cli_generate, "generate", "--kind", kinds[kind], "--size", "90x61", "--seed",
                              "5", "--out", path, NULL),
                         TP_CLI_OK);
        size_t size;
        char *text = tp_test_read_file(path, &size);
        struct tp_movingai_map map;
        struct tp_place place;
        const char *reason;
        int rc = tp_movingai_map_parse(&map, text, size, &place, &reason);
        ck_assert_msg(rc == 0, "%u:%u: %s", place.line, place.column, reason);
        ck_assert_uint_eq(map.width, 90);
        ck_assert_uint_eq(map.height, 61);
        uint8_t cells[90 * 61];
        ck_assert_int_eq(tp_generate_map((enum tp_generate_kind)kind, 90, 61, 5, NULL, cells), 0);
        ck_assert_mem_eq(cells, map.cells, sizeof cells);
        tp_movingai_map_fini(&map);
        free(text);
    }
}
END_TEST

START_TEST(test_generate_refusals)
{
    const char *out = in_folder("a.map");
    ck_assert_int_eq(call(tp_cli_generate, "generate", "--out", out, NULL), TP_CLI_USAGE); /* no kind */
    ck_assert_int_eq(call(tp_cli_generate, "generate", "--kind", "swamp", "--out", out, NULL), TP_CLI_USAGE);
    ck_assert_int_eq(call(tp_cli_generate, "generate", "--kind", "city", "--size", "7x9", "--out", out, NULL),
                     TP_CLI_USAGE);
    ck_assert_int_eq(
        call(tp_cli_generate, "generate", "--kind", "city", "--size", "9000x9", "--out", out, NULL),
        TP_CLI_USAGE);
    ck_assert_int_eq(
        call(tp_cli_generate, "generate", "--kind", "city", "--density", "40", "--out", out, NULL),
        TP_CLI_USAGE);
    ck_assert_int_eq(call(tp_cli_generate, "generate", "--kind", "maze", "--room", "9", "--out", out, NULL),
                     TP_CLI_USAGE);
    ck_assert_int_eq(
        call(tp_cli_generate, "generate", "--kind", "caves", "--corridor", "2", "--out", out, NULL),
        TP_CLI_USAGE);
    ck_assert_int_eq(
        call(tp_cli_generate, "generate", "--kind", "random", "--density", "91", "--out", out, NULL),
        TP_CLI_USAGE);
    ck_assert_int_eq(call(tp_cli_generate, "generate", "--kind", "maze", "--size", "9x9", "--corridor", "8",
                          "--out", out, NULL),
                     TP_CLI_USAGE);
    ck_assert_int_ne(access(out, F_OK), 0);
    ck_assert_int_eq(
        call(tp_cli_generate, "generate", "--kind", "maze", "--out", in_folder("none/a.map"), NULL),
        TP_CLI_FAILED);
    ck_assert_int_eq(call(tp_cli_generate, "generate", "--kind", "maze", "--out", in_folder("a.map"), NULL),
                     TP_CLI_OK);
    /* a device that is full; through a link, which is not removed for it */
    const char *link = in_folder("full");
    ck_assert_int_eq(symlink("/dev/full", link), 0);
    ck_assert_int_eq(call(tp_cli_generate, "generate", "--kind", "maze", "--out", link, NULL), TP_CLI_FAILED);
    ck_assert_int_eq(call(tp_cli_draw, "draw", "--map", in_folder("a.map"), "--out", link, NULL),
                     TP_CLI_FAILED);
    struct stat status;
    ck_assert_int_eq(lstat(link, &status), 0);
}
END_TEST

/* ---- draw ---- */

#define SMALL_MAP "type octile\nheight 3\nwidth 4\nmap\n....\n.@@.\n....\n"

START_TEST(test_draw_file)
{
    const char *map = in_folder("a.map"), *trace = in_folder("a.jsonl"), *out = in_folder("a.png");
    write_file(map, SMALL_MAP);
    ck_assert_int_eq(call(tp_cli_draw, "draw", "--map", map, "--out", out, "--scale", "7", NULL), TP_CLI_OK);
    expect_png(out, 28, 21);
    write_file(trace, "{\"tick\": 0, \"x\": 0, \"y\": 0, \"move\": \"wait\", \"status\": \"MOVING\"}\n"
                      "{\"y\":1,\"x\":0,\"tick\":1}\n"
                      "\n"
                      "{\"note\": \"x\", \"tick\": 2, \"x\" : 0, \"y\" : 2, \"status\": \"ARRIVED\"}");
    ck_assert_int_eq(
        call(tp_cli_draw, "draw", "--map", map, "--trace", trace, "--out", out, "--scale", "10", NULL),
        TP_CLI_OK);
    expect_png(out, 40, 30);
    ck_assert_int_ne(access(in_folder("a.png.part"), F_OK), 0);
    /* what is no regular file is written to, not replaced */
    const char *link = in_folder("link");
    ck_assert_int_eq(symlink("/dev/null", link), 0);
    ck_assert_int_eq(call(tp_cli_draw, "draw", "--map", map, "--out", link, NULL), TP_CLI_OK);
    struct stat status;
    ck_assert_int_eq(lstat(link, &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
}
END_TEST

START_TEST(test_draw_refusals)
{
    const char *map = in_folder("a.map"), *trace = in_folder("a.jsonl"), *out = in_folder("a.png");
    write_file(map, SMALL_MAP);
    ck_assert_int_eq(call(tp_cli_draw, "draw", "--map", map, NULL), TP_CLI_USAGE); /* nothing to draw to */
    ck_assert_int_eq(call(tp_cli_draw, "draw", "--out", out, NULL), TP_CLI_USAGE); /* no map */
    ck_assert_int_eq(call(tp_cli_draw, "draw", "--map", in_folder("none.map"), "--out", out, NULL),
                     TP_CLI_FAILED);
    ck_assert_int_eq(
        call(tp_cli_draw, "draw", "--map", map, "--trace", in_folder("none"), "--out", out, NULL),
        TP_CLI_FAILED);
    static const char *const bad[] = {
        "{\"x\": 4, \"y\": 0}",
        "{\"x\": 0, \"y\": 3}",
        "{\"x\": -1, \"y\": 0}",
        "{\"x\": 0}",
        "{\"x\": 1.5, \"y\": 0}",
        "{\"x\": \"1\", \"y\": 0}",
        "{\"x\": 99999999999999999999, \"y\": 0}",
        "hello",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(trace, bad[i]);
        ck_assert_msg(call(tp_cli_draw, "draw", "--map", map, "--trace", trace, "--out", out, NULL) ==
                          TP_CLI_FAILED,
                      "%s", bad[i]);
    }
    ck_assert_int_ne(access(out, F_OK), 0);
    ck_assert_int_eq(call(tp_cli_draw, "draw", "--map", map, "--out", in_folder("none/a.png"), NULL),
                     TP_CLI_FAILED);
    write_file(map, "type octile\nheight 3\nwidth 4\nmap\n....\n.@#.\n....\n");
    ck_assert_int_eq(call(tp_cli_draw, "draw", "--map", map, "--out", out, NULL), TP_CLI_FAILED);
}
END_TEST

static Suite *map_commands_suite(void)
{
    Suite *suite = suite_create("map_commands");
    TCase *commands = tcase_create("commands");
    tcase_add_checked_fixture(commands, folder_make, folder_remove);
    tcase_add_test(commands, test_generate_file);
    tcase_add_test(commands, test_generate_refusals);
    tcase_add_test(commands, test_draw_file);
    tcase_add_test(commands, test_draw_refusals);
    suite_add_tcase(suite, commands);
    return suite;
}

int main(void)
{
    return tp_test_main("test_map_commands", map_commands_suite);
}
