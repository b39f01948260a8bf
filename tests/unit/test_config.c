/* The file of --config: its form against a model of it, arbitrary bytes, and that a renewal is all or nothing whatever the file holds. */
#include "daemon/config.h"
#include "daemon/config_file.h"

#include "tests/lib/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The form ---- */

enum { SETTINGS_MAX = 64, TEXT_BYTES = 8192 };

struct setting {
    unsigned line;
    char name[32], value[64];
};

struct seen {
    const struct setting *expected; /* NULL: anything that keeps to the form */
    int count, expected_count;
    unsigned last_line;
    const char *fault;
};

static bool is_trimmed(const char *text)
{
    size_t size = strlen(text);
    return size == 0 || (strchr(" \t\r", text[0]) == NULL && strchr(" \t\r", text[size - 1]) == NULL);
}

static int see_cb(const char *name, const char *value, unsigned line, void *context)
{
    struct seen *seen = context;
    if (name[0] == '\0' || name[0] == '#' || strchr(name, '=') != NULL || !is_trimmed(name) || !is_trimmed(value) || strpbrk(name, "\n\x01\x7f") != NULL ||
        strpbrk(value, "\n\x01\x7f") != NULL || line <= seen->last_line)
        seen->fault = "a setting that is none";
    if (seen->expected != NULL) {
        const struct setting *want = &seen->expected[seen->count];
        if (seen->count >= seen->expected_count || strcmp(name, want->name) != 0 || strcmp(value, want->value) != 0 || line != want->line)
            seen->fault = "another setting than was written";
    }
    seen->last_line = line;
    seen->count++;
    return seen->fault != NULL ? -1 : 0;
}

static const char *blanks(struct tp_test_rng *rng)
{
    static const char *const all[] = {"", "", " ", "\t", "  \t ", "\r"};
    return all[tp_test_below(rng, sizeof all / sizeof *all)];
}

static void random_word(struct tp_test_rng *rng, char *out, uint32_t most, const char *letters)
{
    uint32_t size = tp_test_below(rng, most);
    for (uint32_t i = 0; i < size; i++)
        out[i] = letters[tp_test_below(rng, (uint32_t)strlen(letters))];
    out[size] = '\0';
}

START_TEST(test_form)
{
    struct tp_test_rng rng = tp_test_rng("config form");
    uint64_t steps = tp_test_steps(2000, 200000);
    for (uint64_t step = 0; step < steps; step++) {
        struct setting settings[SETTINGS_MAX];
        char text[TEXT_BYTES];
        int count = 0, lines = (int)tp_test_below(&rng, SETTINGS_MAX);
        size_t used = 0;
        for (int line = 1; line <= lines; line++) {
            const char *end = line == lines && tp_test_percent(&rng, 50) ? "" : tp_test_percent(&rng, 20) ? "\r\n" : "\n";
            struct setting *next = &settings[count];
            uint32_t kind = tp_test_below(&rng, 4);
            char noise[40];
            random_word(&rng, noise, 40, "abc =#\t\"\\\xc3\xa4");
            if (kind == 0) {
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", blanks(&rng), end);
            } else if (kind == 1) {
                used += (size_t)snprintf(text + used, sizeof text - used, "%s#%s%s", blanks(&rng), noise, end);
            } else {
                next->line = (unsigned)line;
                snprintf(next->name, sizeof next->name, "n");
                random_word(&rng, next->name + 1, 20, "abc-_. #\"1");
                strcat(next->name, "e");
                snprintf(next->value, sizeof next->value, "%s", tp_test_percent(&rng, 20) ? "" : "v");
                if (next->value[0] != '\0')
                    random_word(&rng, next->value + 1, 40, "abc=:/ \"'1");
                for (size_t size = strlen(next->value); size > 0 && next->value[size - 1] == ' '; size--)
                    next->value[size - 1] = '\0';
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s=%s%s%s%s", blanks(&rng), next->name, blanks(&rng), blanks(&rng),
                                         next->value, blanks(&rng), end);
                count++;
            }
        }
        char *exact = malloc(used + 1); /* so that a byte too far is seen */
        memcpy(exact, text, used);
        struct seen seen = {.expected = settings, .expected_count = count};
        unsigned line;
        const char *words = NULL;
        int error = tp_config_lines_read(exact, used, see_cb, &seen, &line, &words);
        free(exact);
        if (error != 0 || seen.fault != NULL || seen.count != count)
            ck_abort_msg("step %llu: %s, line %u: %s\n%.*s", (unsigned long long)step, seen.fault ? seen.fault : words, line,
                         seen.count < count ? settings[seen.count].name : "", (int)used, text);
    }
}
END_TEST

static size_t random_bytes(struct tp_test_rng *rng, char *out, size_t room)
{
    static const char *const pieces[] = {"threads", "log-level", " = ", "=", "\n", "\n", "#", "debug", "4", "99999999999999999999", " ", "\t", "\r\n", "stats-token", "x",
                                         "drain-ms", "sessions-max", "slow-tick-us", "=1\n", "=20\n", "=300\n", "listen", "127.0.0.1:1", "config", "\x01", "\xff", "-"};
    size_t used = 0, most = tp_test_below(rng, tp_test_percent(rng, 3) ? (uint32_t)room : 200);
    while (used < most) {
        const char *piece = pieces[tp_test_below(rng, sizeof pieces / sizeof *pieces)];
        if (tp_test_percent(rng, 3))
            out[used++] = (char)tp_test_next(rng);
        else
            for (; *piece != '\0' && used < most; piece++)
                out[used++] = *piece;
    }
    return used;
}

START_TEST(test_bytes)
{
    struct tp_test_rng rng = tp_test_rng("config bytes");
    uint64_t steps = tp_test_steps(20000, 5000000), taken = 0;
    for (uint64_t step = 0; step < steps; step++) {
        char text[TEXT_BYTES];
        size_t size = random_bytes(&rng, text, sizeof text);
        char *exact = malloc(size + 1);
        memcpy(exact, text, size);
        struct seen seen = {0};
        unsigned line, lines = 1;
        const char *words = NULL;
        int error = tp_config_lines_read(exact, size, see_cb, &seen, &line, &words);
        free(exact);
        for (size_t i = 0; i < size; i++)
            lines += text[i] == '\n';
        if (seen.fault != NULL || line > lines || (error != 0) != (words != NULL) || (error != 0 && line == 0))
            ck_abort_msg("step %llu: %d at line %u of %u: %s", (unsigned long long)step, error, line, lines, seen.fault ? seen.fault : words);
        taken += error == 0;
    }
    ck_assert(steps < 1000 || (taken > steps / 50 && taken < steps)); /* both sides of the line are reached */
}
END_TEST

/* ---- A renewal ---- */

/* Some settings, few of them wrong. */
static size_t random_file(struct tp_test_rng *rng, char *out, size_t room)
{
    static const char *const options[][3] = {{"sessions-max", "5", "77"},  {"drain-ms", "0", "9"},     {"slow-tick-us", "0", "1"},
                                             {"log-level", "warn", "info"}, {"log-format", "json", "pairs"}, {"stats-token", "0123456789abcdef", "0123456789abcdeg"},
                                             {"threads", "1", "2"},        {"listen", "127.0.0.1:1", "[::1]:2"}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *value = tp_test_percent(rng, 4) ? "bad" : options[i][1 + tp_test_below(rng, 2)];
        if (tp_test_percent(rng, 40))
            used += (size_t)snprintf(out + used, room - used, "%s = %s\n", options[i][0], value);
        if (tp_test_percent(rng, 2))
            used += (size_t)snprintf(out + used, room - used, "%s = %s\n", options[i][0], value);
    }
    return used;
}

/* Any file: it is refused, with words, and nothing has changed; or it is what the daemon would have begun with, but for what waits for a restart. */
START_TEST(test_renewal_is_all_or_nothing)
{
    struct tp_test_rng rng = tp_test_rng("config renewal");
    uint64_t steps = tp_test_steps(3000, 100000), taken = 0, changed = 0, waiting = 0;
    char path[256], reason[TP_CONFIG_REASON_BYTES];
    snprintf(path, sizeof path, "%s/config", getenv("TMPDIR"));
    char *argv[] = {"tickpathd", "--config", path, NULL}, *none = NULL;
    static struct tp_config config, before, fresh;
    fclose(fopen(path, "w"));
    ck_assert_int_eq(tp_config_read(&config, 3, argv, &none, reason), 0);
    for (uint64_t step = 0; step < steps; step++) {
        char text[TEXT_BYTES];
        size_t size = tp_test_percent(&rng, 70) ? random_file(&rng, text, sizeof text) : random_bytes(&rng, text, sizeof text);
        FILE *file = fopen(path, "w");
        if (fwrite(text, 1, size, file) != size || fclose(file) != 0)
            ck_abort_msg("can't write");
        memcpy((void *)&before, &config, sizeof config);
        memset(reason, 0, sizeof reason);
        struct tp_config_changes changes;
        int error = tp_config_renew(&config, &changes, reason);
        int fresh_error = tp_config_read(&fresh, 3, argv, &none, reason);
        if (error != fresh_error)
            ck_abort_msg("step %llu: %d, at a start %d", (unsigned long long)step, error, fresh_error);
        if (error != 0 && (memcmp(&before, &config, sizeof config) != 0 || strncmp(reason, path, strlen(path)) != 0))
            ck_abort_msg("step %llu: refused (%s), and something changed or its place is not told", (unsigned long long)step, reason);
        if (error != 0)
            continue;
        taken++;
        changed += changes.changed > 0;
        waiting += changes.waiting > 0;
        bool is_live_same = config.sessions_max == fresh.sessions_max && config.drain_ms == fresh.drain_ms && config.slow_tick_us == fresh.slow_tick_us &&
                            config.log_level == fresh.log_level && strcmp(config.stats_token, fresh.stats_token) == 0;
        bool is_start_kept = config.threads == before.threads && config.listen.port == before.listen.port;
        bool is_waiting = fresh.threads != config.threads || fresh.listen.port != config.listen.port;
        if (!is_live_same || !is_start_kept || is_waiting != (changes.waiting > 0) || (changes.changed > 0) != (changes.changed_names[0] != '\0') ||
            (changes.changed > 0) != (memcmp(&before, &config, sizeof config) != 0))
            ck_abort_msg("step %llu: changed %s, waiting %s", (unsigned long long)step, changes.changed_names, changes.waiting_names);
    }
    unlink(path);
    if (steps >= 3000)
        ck_assert_msg(taken > steps / 50 && taken < steps && changed > 10 && waiting > 0, "%llu taken, %llu changed, %llu waiting", (unsigned long long)taken,
                      (unsigned long long)changed, (unsigned long long)waiting);
}
END_TEST

static Suite *config_suite(void)
{
    Suite *suite = suite_create("config");
    TCase *cases = tcase_create("config");
    tcase_add_test(cases, test_form);
    tcase_add_test(cases, test_bytes);
    tcase_add_test(cases, test_renewal_is_all_or_nothing);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_config", config_suite);
}
