/* The MovingAI parsers: what they take, and, for every kind of refusal, its exact line and column. */
#include "map/movingai.h"

#include "base/limits.h"
#include "tests/lib/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Helpers ---- */

/* Parses a copy that ends exactly where its memory ends, so that ASan sees any reading past the end. */
static int parse_map(struct tp_movingai_map *map, const char *text, size_t size, struct tp_place *place,
                     const char **reason)
{
    char *copy = malloc(size ? size : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, size);
    int rc = tp_movingai_map_parse(map, copy, size, place, reason);
    free(copy);
    return rc;
}

static int parse_scen(struct tp_movingai_scen *scen, const char *text, size_t size, struct tp_place *place,
                      const char **reason)
{
    char *copy = malloc(size ? size : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, size);
    int rc = tp_movingai_scen_parse(scen, copy, size, place, reason);
    free(copy);
    return rc;
}

static void expect_map(const char *text, uint32_t width, uint32_t height, const char *cells)
{
    struct tp_movingai_map map;
    struct tp_place place;
    const char *reason;
    int rc = parse_map(&map, text, strlen(text), &place, &reason);
    ck_assert_msg(rc == 0, "%u:%u: %s in:\n%s", place.line, place.column, reason, text);
    ck_assert_uint_eq(map.width, width);
    ck_assert_uint_eq(map.height, height);
    ck_assert_mem_eq(map.cells, cells, (size_t)width * height);
    ck_assert_uint_eq(place.line, 0);
    ck_assert_ptr_null(reason);
    tp_movingai_map_fini(&map);
    ck_assert_ptr_null(map.cells);
}

struct refused {
    const char *text;
    unsigned line, column;
    const char *word; /* that the reason must hold */
};

static void expect_place(const struct refused *want, int rc, struct tp_place place, const char *reason)
{
    ck_assert_msg(rc == TP_ERR_PARSE, "%s instead of a parse error in:\n%s", tp_error_name(rc), want->text);
    ck_assert_msg(place.line == want->line && place.column == want->column, "%u:%u (%s), not %u:%u in:\n%s",
                  place.line, place.column, reason, want->line, want->column, want->text);
    ck_assert_msg(strstr(reason, want->word), "the reason `%s` does not say `%s` in:\n%s", reason, want->word,
                  want->text);
}

static void expect_map_refused(const struct refused *want)
{
    struct tp_movingai_map map = {1, 1, (uint8_t *)1};
    struct tp_place place;
    const char *reason;
    int rc = parse_map(&map, want->text, strlen(want->text), &place, &reason);
    expect_place(want, rc, place, reason);
    ck_assert_ptr_null(map.cells);
    ck_assert_uint_eq(map.width, 0);
}

static void expect_scen_refused(const struct refused *want)
{
    struct tp_movingai_scen scen = {1, (struct tp_movingai_row *)1};
    struct tp_place place;
    const char *reason;
    int rc = parse_scen(&scen, want->text, strlen(want->text), &place, &reason);
    expect_place(want, rc, place, reason);
    ck_assert_ptr_null(scen.rows);
    ck_assert_uint_eq(scen.count, 0);
}

/* ---- Maps ---- */

#define HEADER "type octile\nheight 2\nwidth 3\nmap\n"

START_TEST(test_map_forms)
{
    const char *cells = ".@TGSW";
    expect_map(HEADER ".@T\nGSW\n", 3, 2, cells);
    expect_map(HEADER ".@T\nGSW", 3, 2, cells); /* no last newline */
    expect_map("type octile\r\nheight 2\r\nwidth 3\r\nmap\r\n.@T\r\nGSW\r\n", 3, 2, cells);
    expect_map("type octile\r\nheight 2\r\nwidth 3\r\nmap\r\n.@T\r\nGSW", 3, 2, cells);
    expect_map("type octile\r\nheight 2\nwidth 3\r\nmap\n.@T\nGSW\r", 3, 2, cells);
    expect_map("type octile\nwidth 3\nheight 2\nmap\n.@T\nGSW\n", 3, 2, cells);
    expect_map(HEADER ".@T\nGSW\n\n\r\n", 3, 2, cells); /* empty lines at the end are no text */
    expect_map("type octile\nheight 1\nwidth 1\nmap\n.", 1, 1, ".");
    expect_map("type octile\nheight 001\nwidth 26\nmap\nABCDEFGHIJKLMNOPQRSTUVWXYZ\n", 26, 1,
               "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}
END_TEST

static const struct refused map_refusals[] = {
    {"", 1, 1, "type octile"},
    {"\n", 1, 1, "type octile"},
    {"octile\n", 1, 1, "type octile"},
    {" type octile\n", 1, 1, "type octile"},
    {"typeoctile\n", 1, 1, "type octile"},
    {"type\n", 1, 5, "octile"},
    {"type tile\nheight 1\n", 1, 6, "octile"},
    {"type octiles\n", 1, 6, "octile"},
    {"type octile x\n", 1, 12, "after"},
    {"type octile", 2, 1, "size line is missing"},
    {"type octile\n", 2, 1, "size line is missing"},
    {"type octile\n\n", 2, 1, "size line is expected"},
    {"type octile\ndepth 3\n", 2, 1, "size line is expected"},
    {"type octile\nheight\n", 2, 7, "number is missing"},
    {"type octile\nheight \n", 2, 8, "number is missing"},
    {"type octile\nheight -3\n", 2, 8, "digit"},
    {"type octile\nheight 3x\n", 2, 9, "digit"},
    {"type octile\nheight 3.0\n", 2, 9, "digit"},
    {"type octile\nheight 3 4\n", 2, 9, "after"},
    {"type octile\nheight 0\n", 2, 8, "at least 1"},
    {"type octile\nheight 99999999999999999999\n", 2, 8, "too large"},
    {"type octile\nheight 4294967296\n", 2, 8, "too large"},
    {"type octile\nheight 4294967295\n", 2, 8, "more cells"},
    {"type octile\nheight 67108865\n", 2, 8, "more cells"},
    {"type octile\nheight 8192\nwidth 8193\nmap\n", 3, 7, "more cells"},
    {"type octile\nheight 65536\nwidth 65536\nmap\n", 3, 7, "more cells"},
    {"type octile\nheight 2\nheight 2\n", 3, 1, "twice"},
    {"type octile\nwidth 2\nwidth 3\n", 3, 1, "twice"},
    {"type octile\nheight 2\n", 3, 1, "size line is missing"},
    {"type octile\nheight 2\nwidth 0\n", 3, 7, "at least 1"},
    {"type octile\nheight 2\nwidth 3\n", 4, 1, "`map`"},
    {"type octile\nheight 2\nwidth 3\nmaps\n", 4, 1, "`map`"},
    {"type octile\nheight 2\nwidth 3\n...\n", 4, 1, "`map`"},
    {"type octile\nheight 2\nwidth 3\nmap \n", 4, 4, "after"},
    {"type octile\nheight 2\nwidth 3\nmap", 5, 1, "rows are missing"},
    {HEADER, 5, 1, "rows are missing"},
    {HEADER "...", 6, 1, "rows are missing"},
    {HEADER "...\n", 6, 1, "rows are missing"},
    {HEADER "..\n...\n", 5, 3, "too short"},
    {HEADER "\n...\n", 5, 1, "too short"},
    {HEADER "...\n..", 6, 3, "too short"},
    {HEADER "...\r\n..\r\n", 6, 3, "too short"},
    {HEADER "....\n...\n", 5, 4, "too long"},
    {HEADER "...\n....", 6, 4, "too long"},
    {HEADER "... \n...\n", 5, 4, "too long"},
    {HEADER ".a.\n...\n", 5, 2, "unknown character"},
    {HEADER "...\n..#\n", 6, 3, "unknown character"},
    {HEADER ".\r.\n...\n", 5, 2, "unknown character"},
    {HEADER ".\t\n", 5, 2, "unknown character"},
    {HEADER "...\r\r\n...\n", 5, 4, "too long"},
    {HEADER "...\n..\xc3\xa9\n", 6, 3, "unknown character"},
    {HEADER "...\n...\n...\n", 7, 1, "after the last row"},
    {HEADER "...\n...\n\n x", 8, 1, "after the last row"},
};

START_TEST(test_map_refusals)
{
    expect_map_refused(&map_refusals[_i]);
}
END_TEST

/* A 0 byte is a character like another. */
START_TEST(test_map_nul)
{
    static const char text[] = HEADER "..\0\n...\n";
    struct tp_movingai_map map;
    struct tp_place place;
    const char *reason;
    ck_assert_int_eq(parse_map(&map, text, sizeof text - 1, &place, &reason), TP_ERR_PARSE);
    ck_assert_uint_eq(place.line, 5);
    ck_assert_uint_eq(place.column, 3);
}
END_TEST

/* Every text cut short is refused, at a place inside the text or just past it. */
START_TEST(test_map_cut)
{
    static const char text[] = HEADER ".@T\r\nGSW\n";
    size_t whole = sizeof text - 1 - 1; /* the last newline may be missing */
    for (size_t size = 0; size < whole; size++) {
        struct tp_movingai_map map;
        struct tp_place place;
        const char *reason;
        ck_assert_int_eq(parse_map(&map, text, size, &place, &reason), TP_ERR_PARSE);
        ck_assert_uint_ge(place.line, 1);
        ck_assert_uint_le(place.line, 6);
        ck_assert_uint_ge(place.column, 1);
        ck_assert_ptr_null(map.cells);
    }
    ck_assert_int_eq(tp_movingai_map_parse(&(struct tp_movingai_map){0}, NULL, 0, &(struct tp_place){0},
                                           &(const char *){NULL}),
                     TP_ERR_PARSE);
}
END_TEST

/* The largest map allowed passes, in both of its longest shapes. */
START_TEST(test_map_largest)
{
    static const struct {
        uint32_t width, height;
    } shapes[] = {{TP_MAP_CELLS_MAX, 1}, {8192, 8192}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        size_t line = (size_t)shapes[i].width + 1;
        char header[80];
        int header_size = snprintf(header, sizeof header, "type octile\nheight %u\nwidth %u\nmap\n",
                                   shapes[i].height, shapes[i].width);
        size_t size = (size_t)header_size + line * shapes[i].height;
        char *text = malloc(size);
        ck_assert_ptr_nonnull(text);
        memcpy(text, header, (size_t)header_size);
        memset(text + header_size, '.', size - (size_t)header_size);
        for (uint32_t y = 0; y < shapes[i].height; y++)
            text[(size_t)header_size + line * (y + 1) - 1] = '\n';
        struct tp_movingai_map map;
        struct tp_place place;
        const char *reason;
        ck_assert_int_eq(tp_movingai_map_parse(&map, text, size, &place, &reason), 0);
        ck_assert_uint_eq(map.width, shapes[i].width);
        tp_movingai_map_fini(&map);
        text[size - 2] = '?';
        ck_assert_int_eq(tp_movingai_map_parse(&map, text, size, &place, &reason), TP_ERR_PARSE);
        ck_assert_uint_eq(place.line, 4 + shapes[i].height);
        ck_assert_uint_eq(place.column, shapes[i].width);
        free(text);
    }
}
END_TEST

/* ---- Scenarios ---- */

START_TEST(test_scen_forms)
{
    static const char *forms[] = {
        "version 1\n0\ta.map\t30\t20\t1\t2\t29\t19\t33.79898987\n7\ta.map\t30\t20\t0\t0\t0\t0\t0\n",
        "version 1\n0\ta.map\t30\t20\t1\t2\t29\t19\t33.79898987\n7\ta.map\t30\t20\t0\t0\t0\t0\t0",
        "version 1.0\r\n0 a.map 30 20 1 2 29 19 33.79898987\r\n\r\n7 a.map 30 20 0 0 0 0 0.0\r\n",
        "version 1 \n\n \t\n  0\tdir/b.map  30 20 1 2 29 19 33.798989870 \n7 a 30 20 0 0 0 0 .0\n\n",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tp_movingai_scen scen;
        struct tp_place place;
        const char *reason;
        int rc = parse_scen(&scen, forms[i], strlen(forms[i]), &place, &reason);
        ck_assert_msg(rc == 0, "%u:%u: %s in:\n%s", place.line, place.column, reason, forms[i]);
        ck_assert_uint_eq(scen.count, 2);
        const struct tp_movingai_row *row = &scen.rows[0];
        ck_assert_uint_eq(row->bucket, 0);
        ck_assert_uint_eq(row->map_width, 30);
        ck_assert_uint_eq(row->map_height, 20);
        ck_assert_uint_eq(row->start_x, 1);
        ck_assert_uint_eq(row->start_y, 2);
        ck_assert_uint_eq(row->goal_x, 29);
        ck_assert_uint_eq(row->goal_y, 19);
        ck_assert(row->optimal == 33.79898987);
        ck_assert_uint_eq(scen.rows[1].bucket, 7);
        ck_assert(scen.rows[1].optimal == 0);
        tp_movingai_scen_fini(&scen);
        ck_assert_ptr_null(scen.rows);
    }
}
END_TEST

START_TEST(test_scen_empty)
{
    struct tp_movingai_scen scen;
    struct tp_place place;
    const char *reason;
    ck_assert_int_eq(parse_scen(&scen, "version 1", 9, &place, &reason), 0);
    ck_assert_uint_eq(scen.count, 0);
    tp_movingai_scen_fini(&scen);
}
END_TEST

#define ROW "0\tm\t30\t20\t1\t2\t3\t4\t"

static const struct refused scen_refusals[] = {
    {"", 1, 1, "version 1"},
    {"version1\n", 1, 1, "version 1"},
    {"0\tm\t30\t20\t1\t2\t3\t4\t5\n", 1, 1, "version 1"},
    {"version 2\n", 1, 9, "known is 1"},
    {"version 1.05\n", 1, 9, "known is 1"},
    {"version\n", 1, 8, "known is 1"},
    {"version 1 x\n", 1, 11, "after the version"},
    {"version 1\nx\tm\t30\t20\t1\t2\t3\t4\t5\n", 2, 1, "digit"},
    {"version 1\n0\n", 2, 2, "fewer than 9"},
    {"version 1\n0\tm\n", 2, 4, "fewer than 9"},
    {"version 1\n0\tm\t30\t20\t1\t2\t3\t4\n", 2, 18, "fewer than 9"},
    {"version 1\n" ROW "\n", 2, 19, "fewer than 9"},
    {"version 1\n" ROW "5\t6\n", 2, 21, "more than 9"},
    {"version 1\n" ROW "5\n" ROW "5\n" ROW "x\n", 4, 19, "number is missing"},
    {"version 1\n\n\n" ROW "-5\n", 4, 19, "number is missing"},
    {"version 1\r\n" ROW "5\r\n" ROW "5x\r\n", 3, 20, "digit"},
    {"version 1\n" ROW ".\n", 2, 19, "number is missing"},
    {"version 1\n" ROW "1.2.3\n", 2, 22, "digit"},
    {"version 1\n" ROW "1,5\n", 2, 20, "digit"},
    {"version 1\n" ROW "1e\n", 2, 21, "digit"},
    {"version 1\n" ROW "1e+\n", 2, 22, "digit"},
    {"version 1\n" ROW "1e19\n", 2, 19, "too large"},
    {"version 1\n" ROW "1e99999999999999999999\n", 2, 19, "too large"},
    {"version 1\n" ROW "99999999999999999999999999\n", 2, 19, "too large"},
    {"version 1\n" ROW "inf\n", 2, 19, "number is missing"},
    {"version 1\n" ROW "nan\n", 2, 19, "number is missing"},
    {"version 1\n0\tm\t0\t20\t1\t2\t3\t4\t5\n", 2, 5, "at least 1"},
    {"version 1\n0\tm\t30\t0\t1\t2\t3\t4\t5\n", 2, 8, "at least 1"},
    {"version 1\n0\tm\t67108865\t1\t1\t2\t3\t4\t5\n", 2, 5, "more cells"},
    {"version 1\n0\tm\t65536\t65536\t1\t2\t3\t4\t5\n", 2, 11, "more cells"},
    {"version 1\n0\tm\t5000000000\t1\t1\t2\t3\t4\t5\n", 2, 5, "too large"},
    {"version 1\n0\tm\t30\t20\t30\t2\t3\t4\t5\n", 2, 11, "start lies outside"},
    {"version 1\n0\tm\t30\t20\t1\t20\t3\t4\t5\n", 2, 13, "start lies outside"},
    {"version 1\n0\tm\t30\t20\t1\t2\t30\t4\t5\n", 2, 15, "goal lies outside"},
    {"version 1\n0\tm\t30\t20\t1\t2\t3\t20\t5\n", 2, 17, "goal lies outside"},
    {"version 1\n0\tm\t30\t20\t-1\t2\t3\t4\t5\n", 2, 11, "digit"},
};

START_TEST(test_scen_refusals)
{
    expect_scen_refused(&scen_refusals[_i]);
}
END_TEST

static double parse_length(const char *length)
{
    char text[256];
    snprintf(text, sizeof text, "version 1\n" ROW "%s\n", length);
    struct tp_movingai_scen scen;
    struct tp_place place;
    const char *reason;
    int rc = parse_scen(&scen, text, strlen(text), &place, &reason);
    ck_assert_msg(rc == 0, "%u:%u: %s in:\n%s", place.line, place.column, reason, text);
    double value = scen.rows[0].optimal;
    tp_movingai_scen_fini(&scen);
    return value;
}

/* Lengths come out as the C library reads them, to the last bit where they have at most 15 digits. */
START_TEST(test_scen_lengths)
{
    struct tp_test_rng rng = tp_test_rng("lengths");
    char text[64];
    for (int i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "%u.%08u", tp_test_below(&rng, 1u << tp_test_below(&rng, 24)),
                 tp_test_below(&rng, 100000000));
        ck_assert_msg(parse_length(text) == strtod(text, NULL), "%s", text);
    }
    static const char *close[] = {"0.1234567890123456789",
                                  "123456789.12345678901234567890",
                                  "1.5e3",
                                  "15e-1",
                                  "1E2",
                                  "1e+2",
                                  "0.00000000000000000000000000000000000000001",
                                  "123456789012345678",
                                  "999999999999999999",
                                  "1e18",
                                  "1e-300",
                                  "000000000000000000000000000000000000012.5"};
    for (size_t i = 0; i < sizeof close / sizeof *close; i++) {
        double want = strtod(close[i], NULL), got = parse_length(close[i]);
        ck_assert_msg(got >= want * (1 - 1e-14) && got <= want * (1 + 1e-14), "%s gave %.17g", close[i], got);
    }
    ck_assert(parse_length("0e999999") == 0);
    ck_assert(parse_length("1e-99999") == 0);
}
END_TEST

/* ---- The benchmark folder ---- */

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

/* Parses every map and scenario of one folder and adds to the counts. */
static void parse_folder(const char *maps, const char *folder, unsigned *map_count, unsigned *scen_count)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", maps, folder);
    DIR *dir = opendir(path);
    if (!dir)
        return; /* a file among the folders */
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        bool is_map = has_suffix(entry->d_name, ".map"), is_scen = has_suffix(entry->d_name, ".scen");
        if (!is_map && !is_scen)
            continue;
        char file[2048];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        size_t size;
        char *text = tp_test_read_file(file, &size);
        struct tp_place place;
        const char *reason;
        if (is_map) {
            struct tp_movingai_map map;
            int rc = parse_map(&map, text, size, &place, &reason);
            ck_assert_msg(rc == 0, "%s:%u:%u: %s", file, place.line, place.column, reason);
            ++*map_count;
            tp_movingai_map_fini(&map);
        } else {
            struct tp_movingai_scen scen;
            int rc = parse_scen(&scen, text, size, &place, &reason);
            ck_assert_msg(rc == 0, "%s:%u:%u: %s", file, place.line, place.column, reason);
            ck_assert_uint_gt(scen.count, 0);
            ++*scen_count;
            tp_movingai_scen_fini(&scen);
        }
        free(text);
    }
    closedir(dir);
}

START_TEST(test_benchmark_files)
{
    const char *maps = tp_test_maps_or_skip();
    if (!maps)
        return;
    DIR *dir = opendir(maps);
    ck_assert_ptr_nonnull(dir);
    unsigned map_count = 0, scen_count = 0;
    struct dirent *entry;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            parse_folder(maps, entry->d_name, &map_count, &scen_count);
    closedir(dir);
    ck_assert_uint_gt(map_count, 0);
    ck_assert_uint_gt(scen_count, 0);
}
END_TEST

static Suite *movingai_suite(void)
{
    Suite *suite = suite_create("movingai");
    TCase *map = tcase_create("map");
    tcase_add_test(map, test_map_forms);
    tcase_add_loop_test(map, test_map_refusals, 0, sizeof map_refusals / sizeof *map_refusals);
    tcase_add_test(map, test_map_nul);
    tcase_add_test(map, test_map_cut);
    tcase_add_test(map, test_map_largest);
    suite_add_tcase(suite, map);
    TCase *scen = tcase_create("scen");
    tcase_add_test(scen, test_scen_forms);
    tcase_add_test(scen, test_scen_empty);
    tcase_add_loop_test(scen, test_scen_refusals, 0, sizeof scen_refusals / sizeof *scen_refusals);
    tcase_add_test(scen, test_scen_lengths);
    suite_add_tcase(suite, scen);
    TCase *benchmark = tcase_create("benchmark");
    tcase_add_test(benchmark, test_benchmark_files);
    suite_add_tcase(suite, benchmark);
    return suite;
}

int main(void)
{
    return tp_test_main("test_movingai", movingai_suite);
}
