/* Which format the metrics come in, for every kind of Accept header: what Prometheus sends, what browsers and curl send, q values, quotes,
 * nonsense. */
#include "daemon/stats/http_accept.h"
#include "tests/lib/harness.h"
#include "tests/lib/rng.h"


#include <stdlib.h>
#include <string.h>

#define OPEN "application/openmetrics-text"

static const struct {
    const char *accept;
    bool is_open;
} cases[] = {
    {NULL, false},
    {"", false},
    {"*/*", false},
    {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false},
    /* Prometheus 2.42, and 3 */
    {OPEN ";version=1.0.0," OPEN ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", true},
    {OPEN ";version=1.0.0;escaping=allow-utf-8;q=0.6," OPEN ";version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,"
          "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
     true},
    {"text/plain;version=0.0.4;q=1,*/*;q=0.1", false},
    {OPEN, true},
    {"APPLICATION/OpenMetrics-Text ; Version=1.0.0 ; Q=0.3", true},
    {OPEN ";version=\"1.0.0\"", true},
    {OPEN ";version=0.0.1", false},
    {OPEN ";version=2.0.0, text/plain;q=0.1", false},
    {OPEN ";q=0", false},
    {OPEN ";q=0.0, */*", false},
    {OPEN ";q=0.5, text/plain;q=0.6", false},
    {OPEN ";q=0.6, text/plain;q=0.5", true},
    {OPEN ";q=0.5, text/plain;q=0.5", true},
    {OPEN ";q=0.5, text/*;q=0.501", false},
    {OPEN ";q=0.5, */*", false},                      /* it would rather have anything else, and the text is that */
    {OPEN ";q=0.5, */*, text/plain;q=0.1", true},     /* but the text is named, and less wanted */
    {"text/plain;q=0.1, " OPEN ";q=0.5, */*", true},  /* in whatever order */
    {OPEN ";q=0.2;q=0.9, text/plain;q=0.5", true},    /* the last of two */
    {OPEN ";q=2, text/plain;q=0.5", false},           /* no q at all */
    {OPEN ";q=1.001", false},
    {OPEN ";q=0.1234", false},
    {OPEN ";q=, text/plain", false},
    {OPEN ";q=1.000", true},
    {OPEN "2", false},
    {"application/*", false}, /* Prometheus' text is what every scraper reads */
    {",,;;=,\"", false},
    {"text/plain;a=\"x," OPEN "\"", false},
    {"text/plain;q=0.1;a=\"\\\"," OPEN ";q=0.2\", " OPEN ";q=0.3", true},
};

START_TEST(test_every_kind)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg((tp_http_accept_format(cases[i].accept) == TP_STATS_OPENMETRICS) == cases[i].is_open, "%s",
                      cases[i].accept ? cases[i].accept : "no header");
}
END_TEST

/* Pieces put together anyhow are read to their end and no further (the sanitizers look on), and OpenMetrics never comes unnamed. */
START_TEST(test_nonsense)
{
    static const char *const pieces[] = {OPEN, "text/plain", "*/*", ";", "q", "=", "0.5", "1", "\"", "\\", ",", " ", "\t", "version", "1.0.0"};
    struct tp_test_rng rng = tp_test_rng("test_nonsense");
    size_t open = 0;
    enum { ROUNDS = 20000, PIECES_MAX = 12 };
    for (int round = 0; round < ROUNDS; round++) {
        char *accept = calloc(1, 1);
        bool is_named = false;
        for (uint64_t left = tp_test_below(&rng, PIECES_MAX), size = 0; left > 0; left--) {
            const char *piece = pieces[tp_test_below(&rng, sizeof pieces / sizeof *pieces)];
            is_named |= piece == pieces[0];
            accept = realloc(accept, size + strlen(piece) + 1);
            strcpy(accept + size, piece);
            size += strlen(piece);
        }
        bool is_open = tp_http_accept_format(accept) == TP_STATS_OPENMETRICS;
        open += is_open;
        if (is_open && !is_named)
            ck_abort_msg("not asked for: %s", accept);
        free(accept);
    }
    ck_assert_uint_gt(open, 0);
}
END_TEST

static Suite *http_accept_suite(void)
{
    Suite *suite = suite_create("http_accept");
    TCase *core = tcase_create("core");
    tcase_add_test(core, test_every_kind);
    tcase_add_test(core, test_nonsense);
    suite_add_tcase(suite, core);
    return suite;
}

int main(void)
{
    return tp_test_main("test_http_accept", http_accept_suite);
}
