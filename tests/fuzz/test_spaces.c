/* Seeded mutations of valid graphs and tracks against the promises of spaces_property.h. */
#include "tests/fuzz/spaces_property.h"
#include "tests/fuzz/text.h"
#include "tests/lib/harness.h"

enum { TEXT_MAX = 600 };

static const char *const starts[] = {
    "c roads\np sp 3 4\na 1 2 5\na 2 3 3\na 2 3 4\na 3 3 1\n",
    "p sp 2 1\r\na 1 2 7\r\n\xff"
    "c\np aux sp co 2\nv 2 -73530767 41085396\nv 1 0.5 -1e3\n",
    "from,to,cost,both\n0,1,5\n1,2,3,both # two ways\n\n2,2,1\n",
    "0,1,5\n1,2,3,both\n2,2,1\xff"
    "id,x,y\n2,1,-2\n0,0,0.5\n1,-1.5,1e2\n",
    "4\n2\n#_@*\n*@_#\n",
    "1\r\n3\r\n@\r\n_\r\n*",
    "",
};

static const char *const words[] = {
    "p sp ",
    "p aux sp co ",
    "a ",
    "v ",
    "c ",
    "both",
    "from,to,cost",
    "id,x,y",
    ",",
    "#",
    "\n",
    "\r\n",
    " ",
    "\t",
    "0",
    "1",
    "3",
    "-",
    "1e15",
    "1e-300",
    "-1e15",
    "65536",
    "65539",
    "67108864",
    "67108865",
    "4294967295",
    "4294967296",
    "@",
    "*",
    "_",
    "\xff",
};

static void mutate(struct text *text, struct tp_test_rng *rng)
{
    size_t at = tp_test_below(rng, (uint32_t)text->size + 1), left = text->size - at;
    size_t some = left ? tp_test_below(rng, left < 12 ? (uint32_t)left + 1 : 12) : 0;
    char byte = (char)tp_test_next(rng);
    const char *word = words[tp_test_below(rng, sizeof words / sizeof *words)];
    switch (tp_test_below(rng, 7)) {
    case 0:
        if (left)
            text->bytes[at] = byte;
        break;
    case 1:
        splice(text, at, some, "", 0);
        break;
    case 2: /* twice the same */
        splice(text, at, 0, text->bytes + at, some);
        break;
    case 3:
        text->size = at;
        break;
    case 4:
        splice(text, at, 0, word, strlen(word));
        break;
    case 5: /* a word in place of a number or a word */
        some = 0;
        while (some < left && text->bytes[at + some] > ',')
            some++;
        splice(text, at, some, word, strlen(word));
        break;
    default: /* a digit */
        if (left && text->bytes[at] >= '0' && text->bytes[at] <= '9')
            text->bytes[at] = (char)('0' + tp_test_below(rng, 10));
    }
}

START_TEST(test_mutations)
{
    struct tp_test_rng rng = tp_test_rng("mutations");
    uint64_t steps = tp_test_steps(300000, 10000000), taken = 0;
    for (uint64_t i = 0; i < steps; i++) {
        struct text text;
        text.size_max = TEXT_MAX;
        const char *start = starts[tp_test_below(&rng, sizeof starts / sizeof *starts)];
        text.size = strlen(start);
        memcpy(text.bytes, start, text.size);
        for (uint32_t changes = tp_test_below(&rng, 5); changes; changes--)
            mutate(&text, &rng);
        taken += spaces_check(text.bytes, text.size);
    }
    /* neither all refused nor all taken: the mutations reach both sides of the line */
    ck_assert(steps < 1000 || (taken > steps / 50 && taken < steps * 3 / 4));
}
END_TEST

START_TEST(test_noise)
{
    struct tp_test_rng rng = tp_test_rng("noise");
    uint64_t steps = tp_test_steps(200000, 5000000);
    for (uint64_t i = 0; i < steps; i++) {
        struct text text;
        text.size_max = TEXT_MAX;
        text.size = tp_test_below(&rng, 60);
        for (size_t n = 0; n < text.size; n++)
            text.bytes[n] =
                i % 2 ? (char)tp_test_next(&rng) : "012345,,,\n\n #_@*avpc"[tp_test_below(&rng, 20)];
        spaces_check(text.bytes, text.size);
    }
}
END_TEST

static Suite *spaces_suite(void)
{
    Suite *suite = suite_create("spaces");
    TCase *texts = tcase_create("texts");
    tcase_add_test(texts, test_mutations);
    tcase_add_test(texts, test_noise);
    suite_add_tcase(suite, texts);
    return suite;
}

int main(void)
{
    return tp_test_main("test_spaces", spaces_suite);
}
