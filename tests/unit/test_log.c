/* The daemon's log: what a line looks like in both formats whatever it holds, where it is cut, which lines are left out, and that none goes
 * untold. Lines go to a file or a pipe in standard error's place. */
#include "daemon/log.h"

#include "tests/lib/harness.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[256];
static int kept_fd;

/* From here on standard error is a file. */
static void begin(void)
{
    snprintf(path, sizeof path, "%s/log-XXXXXX", getenv("TMPDIR"));
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    kept_fd = dup(STDERR_FILENO);
    ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    close(fd);
}

static void end(void)
{
    dup2(kept_fd, STDERR_FILENO);
    close(kept_fd);
    unlink(path);
}

/* What was logged since begin, or since the last call. The caller frees it. */
static char *logged(void)
{
    size_t size;
    char *text = tp_test_read_file(path, &size);
    ck_assert_int_eq(ftruncate(STDERR_FILENO, 0), 0);
    lseek(STDERR_FILENO, 0, SEEK_SET);
    return text;
}

/* One line, its time made to be zeros. */
static void check_line(const char *expected)
{
    char *text = logged();
    bool is_json = text[0] == '{';
    size_t time_at = strlen(is_json ? "{\"time\":\"" : "time=");
    ck_assert_msg(strlen(text) > time_at + 24, "logged: %s", text);
    for (char *c = text + time_at; c < text + time_at + 24; c++)
        if (*c >= '0' && *c <= '9')
            *c = '0';
    ck_assert_str_eq(text, expected);
    free(text);
}

static void log_kinds(void)
{
    tp_log(TP_LOG_WARN, "all \"kinds\"", "map=\"%s\" bare=%s empty=%s at=%s:%d u=%u d=%d z=%zu l=%" PRIu64 " n=%" PRId64 " x=%x three=\"%.3s %c\"",
           "a \"b\"", "word", "", "file.c", 7, 4000000000u, -5, (size_t)9, UINT64_MAX, INT64_MIN, 255u, "abcdef", '!');
}

START_TEST(test_formats)
{
    log_kinds();
    check_line("time=0000-00-00T00:00:00.000Z level=warn thread=main msg=\"all \\\"kinds\\\"\" map=\"a \\\"b\\\"\" bare=word empty=\"\" "
               "at=file.c:7 u=4000000000 d=-5 z=9 l=18446744073709551615 n=-9223372036854775808 x=ff three=\"abc !\"\n");
    tp_log_words(TP_LOG_INFO, "words alone");
    check_line("time=0000-00-00T00:00:00.000Z level=info thread=main msg=\"words alone\"\n");
    tp_log(TP_LOG_INFO, "bare, and not", "a=%s b=%s c=%s d=%s", "x y", "x=y", "\n", "plain-1.2:3/4");
    check_line("time=0000-00-00T00:00:00.000Z level=info thread=main msg=\"bare, and not\" a=\"x y\" b=\"x=y\" c=\"\\x0a\" d=plain-1.2:3/4\n");

    tp_log_format = TP_LOG_JSON;
    log_kinds();
    check_line("{\"time\":\"0000-00-00T00:00:00.000Z\",\"level\":\"warn\",\"thread\":\"main\",\"msg\":\"all \\\"kinds\\\"\",\"map\":\"a \\\"b\\\"\","
               "\"bare\":\"word\",\"empty\":\"\",\"at\":\"file.c:7\",\"u\":4000000000,\"d\":-5,\"z\":9,\"l\":18446744073709551615,"
               "\"n\":-9223372036854775808,\"x\":\"ff\",\"three\":\"abc !\"}\n");
    tp_log_words(TP_LOG_INFO, "words alone");
    check_line("{\"time\":\"0000-00-00T00:00:00.000Z\",\"level\":\"info\",\"thread\":\"main\",\"msg\":\"words alone\"}\n");
    tp_log(TP_LOG_ERROR, "bytes", "name=\"%s\"", "\x01\t\x7f\xc3\xa4\xff\xed\xa0\x80\xf0\x9f\x98\x80\xe2\x82");
    check_line("{\"time\":\"0000-00-00T00:00:00.000Z\",\"level\":\"error\",\"thread\":\"main\",\"msg\":\"bytes\",\"name\":\""
               "\\u0001\\u0009\\u007f\xc3\xa4\\ufffd\\ufffd\\ufffd\\ufffd\xf0\x9f\x98\x80\\ufffd\\ufffd\"}\n");
    tp_log_last_words("gives up");
    char *text = logged();
    ck_assert_str_eq(text, "{\"level\":\"error\",\"msg\":\"gives up\"}\n");
    free(text);
    tp_log_format = TP_LOG_PAIRS;
    tp_log_last_words("gives up");
    text = logged();
    ck_assert_str_eq(text, "level=error msg=\"gives up\"\n");
    free(text);
}
END_TEST

START_TEST(test_levels)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (int most = TP_LOG_ERROR; most <= TP_LOG_DEBUG; most++) {
        ck_assert_int_eq(tp_log_level_find(names[most]), most);
        tp_log_level_max = most;
        for (int level = TP_LOG_ERROR; level <= TP_LOG_DEBUG; level++)
            tp_log((enum tp_log_level)level, "line", "of=%d", level);
        char *text = logged();
        int lines = 0;
        for (const char *at = text; (at = strstr(at, "level=")) != NULL; at++, lines++)
            ck_assert_int_eq(strncmp(at + 6, names[lines], strlen(names[lines])), 0);
        ck_assert_int_eq(lines, most + 1);
        free(text);
    }
    ck_assert_int_eq(tp_log_level_find("Info"), -1);
    ck_assert_int_eq(tp_log_level_find(""), -1);
    ck_assert_int_eq(tp_log_format_find("json"), TP_LOG_JSON);
    ck_assert_int_eq(tp_log_format_find("pairs"), TP_LOG_PAIRS);
    ck_assert_int_eq(tp_log_format_find("xml"), -1);
}
END_TEST

/* A reader of its own judges: Python's, for JSON and for what UTF-8 is. Both formats must give the value back, or the beginning of it where
 * the line says that it is cut. */
static const char judge[] =
    "import codecs, json, re, sys\n"
    "codecs.register_error('each', lambda e: ('\\ufffd' * (e.end - e.start), e.end))\n"
    "lines, cut, long = open(sys.argv[1], 'rb').read().split(b'\\n'), 0, 0\n"
    "assert lines.pop() == b''\n"
    "wanted = [bytes.fromhex(h) for h in open(sys.argv[2]).read().split('\\n')[:-1]]\n"
    "assert len(lines) == 2 * len(wanted), len(lines)\n"
    "def no_double(pairs):\n"
    "    assert len(dict(pairs)) == len(pairs), pairs\n"
    "    return dict(pairs)\n"
    "for i, value in enumerate(wanted):\n"
    "    pairs, told = lines[2 * i], json.loads(lines[2 * i + 1].decode('utf-8'), object_pairs_hook=no_double)\n"
    "    assert max(len(l) for l in lines[2 * i:2 * i + 2]) < 1024, lines[2 * i:2 * i + 2]\n"
    "    assert all(0x20 <= c < 0x7f for c in pairs), pairs\n"
    "    found = re.fullmatch(rb'time=\\S+ level=info thread=main msg=\"random\" n=(\\d+) name=\"((?:[^\"\\\\]|\\\\[\"\\\\]|\\\\x[0-9a-f]{2})*)\"( last=1)?( cut=true)?', pairs)\n"
    "    assert found, pairs\n"
    "    raw = re.sub(rb'\\\\(x..|.)', lambda m: bytes([int(m[1][1:], 16)]) if m[1][:1] == b'x' and len(m[1]) == 3 else m[1], found[2])\n"
    "    assert value.startswith(raw) and (raw == value or found[4]) and bool(found[3]) == (not found[4]), pairs\n"
    "    text = value.decode('utf-8', 'each')\n"
    "    assert list(told)[:6] == ['time', 'level', 'thread', 'msg', 'n', 'name'], told\n"
    "    assert int(found[1]) == told['n'] == i and text.startswith(told['name']), (told, text)\n"
    "    assert (told['name'] == text or told['cut'] is True) and ('last' in told) == ('cut' not in told), told\n"
    "    cut, long = cut + bool(found[4]), long + ('cut' in told)\n"
    "assert 0 < long < len(wanted) and 0 < cut < len(wanted), (long, cut)\n";

static void judge_lines(const char *values)
{
    char *command;
    const char *python = getenv("TICKPATH_PYTHON");
    ck_assert_int_gt(asprintf(&command, "%s - %s %s", python != NULL ? python : "python3", path, values), 0);
    dup2(kept_fd, STDERR_FILENO); /* the judge's own words are no lines */
    FILE *pipe = popen(command, "w");
    ck_assert_ptr_nonnull(pipe);
    fputs(judge, pipe);
    ck_assert_int_eq(pclose(pipe), 0);
    free(command);
}

START_TEST(test_random_values)
{
    enum { VALUES = 3000, BYTES_MAX = 1200 };
    static const char *const pieces[] = {"\"", "\\", "\n", "\xc3\xa4", "\xf0\x9f\x98\x80", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\\x41", "%s", "\x7f"};
    struct tp_test_rng rng = tp_test_rng("log values");
    char values[sizeof path + 8];
    snprintf(values, sizeof values, "%s.hex", path);
    FILE *hex = fopen(values, "w");
    ck_assert_ptr_nonnull(hex);
    tp_log_lines_max = 2 * VALUES;
    for (int i = 0; i < VALUES; i++) {
        char value[BYTES_MAX + 8];
        size_t size = 0, most = i < BYTES_MAX ? (size_t)i : tp_test_below(&rng, 60);
        bool is_plain = tp_test_percent(&rng, 30);
        while (size < most) {
            const char *piece = pieces[tp_test_below(&rng, sizeof pieces / sizeof *pieces)];
            if (is_plain || tp_test_percent(&rng, 50))
                value[size++] = (char)(is_plain ? 'a' : 1 + tp_test_below(&rng, 255));
            else
                for (; *piece != '\0'; piece++)
                    value[size++] = *piece;
        }
        value[size] = '\0';
        for (size_t j = 0; j < size; j++)
            fprintf(hex, "%02x", (unsigned char)value[j]);
        fputc('\n', hex);
        for (int format = TP_LOG_PAIRS; format <= TP_LOG_JSON; format++) {
            tp_log_format = format;
            tp_log(TP_LOG_INFO, "random", "n=%d name=\"%s\" last=%d", i, value, 1);
        }
    }
    ck_assert_int_eq(fclose(hex), 0);
    judge_lines(values);
    unlink(values);
}
END_TEST

/* ---- Rate ---- */

/* The lines of `text` with these words; what they, and what is told of places that say nothing any more, name as suppressed, is added up. */
static unsigned count_lines(char *text, const char *words, uint64_t *suppressed)
{
    unsigned lines = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *told = strstr(line, "suppressed=");
        told = told == NULL ? strstr(line, "suppressed\":") : told;
        if (told != NULL)
            *suppressed += strtoull(told + strcspn(told, "0123456789"), NULL, 10);
        lines += strstr(line, "lines suppressed") == NULL && strstr(line, words) != NULL;
    }
    return lines;
}

enum { STORM_THREADS = 4, STORM_LINES = 20000 };

static void *storm(void *unused)
{
    (void)unused;
    for (int i = 0; i < STORM_LINES; i++)
        tp_log(TP_LOG_WARN, "storm", "i=%d", i);
    return NULL;
}

/* Every line of a storm was written or told of as suppressed, in either format; a place that falls silent is told of all the same. */
START_TEST(test_suppressed)
{
    tp_log_format = _i;
    tp_log_lines_max = 7;
    pthread_t threads[STORM_THREADS];
    for (int i = 0; i < STORM_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, storm, NULL), 0);
    for (int i = 0; i < STORM_THREADS; i++)
        pthread_join(threads[i], NULL);
    tp_log_words(TP_LOG_INFO, "another place is heard");
    uint64_t suppressed = 0;
    char *text = logged();
    ck_assert_ptr_nonnull(strstr(text, "another place is heard"));
    unsigned lines = count_lines(text, "storm", &suppressed);
    free(text);
    ck_assert_msg(lines >= 7 && lines <= STORM_THREADS * STORM_LINES / 10, "%u lines", lines);

    tp_log_tell_suppressed(true);
    text = logged();
    ck_assert_ptr_nonnull(strstr(text, _i == TP_LOG_JSON ? "\"msg\":\"lines suppressed\",\"suppressed\":" : "msg=\"lines suppressed\" suppressed="));
    ck_assert_ptr_nonnull(strstr(text, _i == TP_LOG_JSON ? "\"of\":\"storm\"" : "of=\"storm\""));
    count_lines(text, "storm", &suppressed);
    free(text);
    ck_assert_uint_eq(lines + suppressed, STORM_THREADS * STORM_LINES);

    tp_log_tell_suppressed(true);
    text = logged();
    ck_assert_str_eq(text, ""); /* told once */
    free(text);
}
END_TEST

/* With the next line of its place, in a later second; until then tp_log_tell_suppressed does so once the second is over. */
START_TEST(test_told_later)
{
    enum { LINES = 50 };
    tp_log_lines_max = 1;
    uint64_t suppressed = 0;
    unsigned lines = 0;
    for (int i = 0; i < LINES + 1; i++) {
        if (i == LINES && _i == 0)
            usleep(1100000);
        if (i == LINES && _i == 1) {
            usleep(1100000);
            tp_log_tell_suppressed(false);
            break;
        }
        tp_log(TP_LOG_INFO, "again and again", "i=%d", i);
    }
    char *text = logged();
    lines = count_lines(text, "again and again", &suppressed);
    free(text);
    ck_assert_uint_eq(lines + suppressed, LINES + (_i == 0));
    ck_assert_uint_ge(suppressed, LINES - 2); /* the clock's second may have turned once meanwhile */
}
END_TEST

/* A line that standard error does not take is counted, and told once it takes one again. */
START_TEST(test_lost)
{
    int ends[2];
    char sink[65536];
    ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
    memset(sink, '.', sizeof sink);
    while (write(ends[1], sink, sizeof sink) > 0) {
    }
    while (write(ends[1], sink, 1) > 0) {
    }
    int file = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    for (int i = 0; i < 3; i++)
        tp_log(TP_LOG_INFO, "nobody hears it", "i=%d", i);
    dup2(file, STDERR_FILENO);
    close(file);
    tp_log_words(TP_LOG_INFO, "heard");
    check_line("time=0000-00-00T00:00:00.000Z level=info thread=main msg=\"heard\" lost=3\n");
    tp_log_words(TP_LOG_INFO, "heard");
    check_line("time=0000-00-00T00:00:00.000Z level=info thread=main msg=\"heard\"\n");
    close(ends[0]);
    close(ends[1]);
}
END_TEST

static Suite *log_suite(void)
{
    Suite *suite = suite_create("log");
    TCase *cases = tcase_create("log");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_formats);
    tcase_add_test(cases, test_levels);
    tcase_add_test(cases, test_random_values);
    tcase_add_loop_test(cases, test_suppressed, TP_LOG_PAIRS, TP_LOG_JSON + 1);
    tcase_add_loop_test(cases, test_told_later, 0, 2);
    tcase_add_test(cases, test_lost);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_log", log_suite);
}
