/* The text of a racetrack: what is read, and what is refused where. */
#include "map/track.h"
#include "tests/lib/harness.h"

#include <stdlib.h>
#include <string.h>

/* Parses a copy that ends exactly where its memory ends, so that ASan sees any reading past the end. */
static int parse(struct tp_track *track, const char *text, struct tp_place *place, const char **reason)
{
    size_t size = strlen(text);
    char *copy = malloc(size ? size : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, size);
    int rc = tp_track_parse(track, copy, size, place, reason);
    free(copy);
    return rc;
}

static const char *const track_forms[] = {
    "4\n2\n#_@*\n*@_#\n",
    "4\n2\n#_@*\n*@_#",
    "4\r\n2\r\n#_@*\r\n*@_#\r\n\r\n",
    "4 \n2\t\n#_@*\n*@_#\n\n",
};

START_TEST(test_track_forms)
{
    struct tp_track track;
    struct tp_place place;
    const char *reason;
    int rc = parse(&track, track_forms[_i], &place, &reason);
    ck_assert_msg(rc == 0, "%u:%u: %s", place.line, place.column, reason);
    ck_assert(track.width == 4 && track.height == 2 && track.start_count == 2 && track.finish_count == 2);
    ck_assert_mem_eq(track.cells, "@......@", 8);
    ck_assert(track.starts[0] == 2 && track.starts[1] == 5 && track.finishes[0] == 3 &&
              track.finishes[1] == 4);
    ck_assert(place.line == 0 && !reason);
    tp_track_fini(&track);
    ck_assert_ptr_null(track.cells);
}
END_TEST

static const struct refused_track {
    const char *text;
    unsigned line, column;
    const char *word; /* that the reason must hold */
} track_refusals[] = {
    {"", 1, 1, "width is missing"},
    {"\n3\n", 1, 1, "width is missing"},
    {"w\n", 1, 1, "digit"},
    {" 4\n2\n", 1, 1, "number is missing"},
    {"0\n2\n", 1, 1, "at least 1"},
    {"67108865\n", 1, 1, "more cells"},
    {"4294967296\n", 1, 1, "too large"},
    {"4 2\n", 1, 3, "after"},
    {"4\n", 2, 1, "height is missing"},
    {"4\n\n____\n", 2, 1, "height is missing"},
    {"4\n____\n", 2, 1, "digit"},
    {"8193\n8192\n", 2, 1, "more cells"},
    {"4\n2", 3, 1, "rows are missing"},
    {"4\n2\n____\n", 4, 1, "rows are missing"},
    {"4\n2\n___\n____\n", 3, 4, "too short"},
    {"4\n2\n____\n_____\n", 4, 5, "too long"},
    {"4\n2\n__._\n____\n", 3, 3, "unknown"},
    {"2\n4\n____\n____\n", 3, 3, "too long"},
    {"4\n2\n____\n____\n____\n", 5, 1, "after the last row"},
    {"4\n2\n____\n____\n\n \n", 6, 1, "after the last row"},
};

START_TEST(test_track_refused)
{
    const struct refused_track *want = &track_refusals[_i];
    struct tp_track track = {.width = 1, .cells = (uint8_t *)1};
    struct tp_place place;
    const char *reason;
    ck_assert_int_eq(parse(&track, want->text, &place, &reason), TP_ERR_PARSE);
    ck_assert_msg(place.line == want->line && place.column == want->column && strstr(reason, want->word),
                  "%u:%u (%s), not %u:%u in:\n%s", place.line, place.column, reason, want->line, want->column,
                  want->text);
    ck_assert(!track.cells && !track.starts && !track.finishes && !track.width);
}
END_TEST

static Suite *track_suite(void)
{
    Suite *suite = suite_create("track");
    TCase *texts = tcase_create("texts");
    tcase_add_loop_test(texts, test_track_forms, 0, sizeof track_forms / sizeof *track_forms);
    tcase_add_loop_test(texts, test_track_refused, 0, sizeof track_refusals / sizeof *track_refusals);
    suite_add_tcase(suite, texts);
    return suite;
}

int main(void)
{
    return tp_test_main("test_track", track_suite);
}
