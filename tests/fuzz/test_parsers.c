/* Seeded mutations of valid maps and scenarios against the promises of movingai_property.h. */
#include "tests/fuzz/movingai_property.h"
#include "tests/fuzz/text.h"
#include "tests/lib/harness.h"

enum { TEXT_MAX = 2000 };

static const char *const starts[] = {
    "type octile\nheight 3\nwidth 4\nmap\n.@.T\nGSWO\n....\n",
    "type octile\r\nheight 2\r\nwidth 2\r\nmap\r\nAB\r\nYZ",
    "type octile\nwidth 1\nheight 1\nmap\n.",
    "version 1\n0\ta.map\t40\t30\t1\t2\t39\t29\t45.14213562\n3\ta.map\t40\t30\t0\t0\t0\t0\t0.00000000\n",
    "version 1.0\r\n12 dir/b.map 100 1 99 0 0 0 99\r\n\r\n12 b 1 100 0 99 0 0 9.9e1",
    "",
};

static const char *const words[] = {
    "type octile",
    "height ",
    "width ",
    "map\n",
    "version 1\n",
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "0",
    "1",
    "-1",
    "67108864",
    "67108865",
    "4294967295",
    "4294967296",
    "65536",
    "999999999",
    "1e308",
    "1e-308",
    "1e999",
    "18446744073709551616",
    ".",
    "..",
    "@",
    "0.1234567890123456789",
    "inf",
    "nan",
    "0x10",
};

static void mutate(struct text *text, struct tp_test_rng *rng)
{
    size_t at = tp_test_below(rng, (uint32_t)text->size + 1), left = text->size - at;
    size_t some = left ? tp_test_below(rng, left < 20 ? (uint32_t)left + 1 : 20) : 0;
    char byte = (char)tp_test_next(rng);
    const char *word = words[tp_test_below(rng, sizeof words / sizeof *words)];
    switch (tp_test_below(rng, 9)) {
    case 0: /* a bit */
        if (left)
            text->bytes[at] ^= (char)(1 << tp_test_below(rng, 8));
        break;
    case 1: /* a byte */
        if (left)
            text->bytes[at] = byte;
        break;
    case 2:
        splice(text, at, 0, &byte, 1);
        break;
    case 3:
        splice(text, at, some, "", 0);
        break;
    case 4: /* twice the same */
        splice(text, at, 0, text->bytes + at, some);
        break;
    case 5:
        text->size = at;
        break;
    case 6:
        splice(text, at, 0, word, strlen(word));
        break;
    case 7: /* a word in place of a number or a word */
        some = 0;
        while (some < left && text->bytes[at + some] > ' ')
            some++;
        splice(text, at, some, word, strlen(word));
        break;
    case 8: { /* the end of another text */
        const char *other = starts[tp_test_below(rng, sizeof starts / sizeof *starts)];
        size_t from = tp_test_below(rng, (uint32_t)strlen(other) + 1);
        splice(text, at, left, other + from, strlen(other) - from);
        break;
    }
    }
}

START_TEST(test_mutations)
{
    struct tp_test_rng rng = tp_test_rng("mutations");
    uint64_t steps = tp_test_steps(300000, 20000000);
    uint64_t taken = 0;
    for (uint64_t i = 0; i < steps; i++) {
        struct text text;
        text.size_max = TEXT_MAX;
        const char *start = starts[tp_test_below(&rng, sizeof starts / sizeof *starts)];
        text.size = strlen(start);
        memcpy(text.bytes, start, text.size);
        uint32_t changes = tp_test_below(&rng, 6);
        for (uint32_t n = 0; n < changes; n++)
            mutate(&text, &rng);
        movingai_check(text.bytes, text.size);
        struct tp_movingai_map map;
        struct tp_place place;
        const char *reason;
        if (tp_movingai_map_parse(&map, text.bytes, text.size, &place, &reason) == 0) {
            taken++;
            tp_movingai_map_fini(&map);
        }
    }
    /* neither all refused nor all taken: the mutations reach both sides of the line */
    ck_assert(steps < 1000 || (taken > steps / 50 && taken < steps / 2));
}
END_TEST

START_TEST(test_noise)
{
    struct tp_test_rng rng = tp_test_rng("noise");
    uint64_t steps = tp_test_steps(100000, 5000000);
    for (uint64_t i = 0; i < steps; i++) {
        struct text text;
        text.size_max = TEXT_MAX;
        text.size = tp_test_below(&rng, 120);
        for (size_t n = 0; n < text.size; n++)
            text.bytes[n] = i % 2 ? (char)tp_test_next(&rng)
                                  : ".@0123456789 \t\n\rtypheigdwvrsonma"[tp_test_below(&rng, 32)];
        movingai_check(text.bytes, text.size);
    }
}
END_TEST

static Suite *parsers_suite(void)
{
    Suite *suite = suite_create("parsers");
    TCase *movingai = tcase_create("movingai");
    tcase_add_test(movingai, test_mutations);
    tcase_add_test(movingai, test_noise);
    suite_add_tcase(suite, movingai);
    return suite;
}

int main(void)
{
    return tp_test_main("test_parsers", parsers_suite);
}
