/* The tool's command line: what is wrong is refused with exit code 2 and words that name it; what can't be
 * done ends with 1 and says why; help and version are there. */
#include "base/version.h"
#include "search/algorithm.h"
#include "search/session.h"
#include "tests/lib/harness.h"
#include "tests/lib/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[256];
static char *good_map, *good_scen;
static const char good_known[] = "the map itself";

static const char map_text[] = "type octile\nheight 3\nwidth 4\nmap\n....\n.@@.\n....\n";
static const char scen_text[] = "version 1\n0\tm.map\t4\t3\t0\t0\t3\t2\t5\n0\tm.map\t4\t3\t0\t0\t0\t2\t2\n";

static void folder_begin(void)
{
    strcpy(folder, tp_test_folder_make());
    good_map = tool_write_file(folder, "m.map", map_text);
    good_scen = tool_write_file(folder, "m.scen", scen_text);
}

static void folder_end(void)
{
    free(good_map);
    free(good_scen);
    tp_test_folder_remove(folder);
}

/* Options put behind a proper bench; the words that stderr must hold. */
static const struct {
    const char *options, *words;
} refused[] = {
    {"--bogus", "--bogus"},
    {"--bogus=3", "--bogus"},
    {"stray", "\"stray\""},
    {"--", "\"--\""},
    {"--k", "--k"},
    {"--k 0", "--k: \"0\""},
    {"--k -1", "--k"},
    {"--k 1.5", "--k"},
    {"--k 1000000000001", "--k"},
    {"--k 99999999999999999999999", "--k"},
    {"--R 0", "--R"},
    {"--R many", "--R"},
    {"--R 10 --r 1.5", "--r"},
    {"--R 10 --r 0.1234", "--r"},
    {"--R 10 --r 0", "--r"},
    {"--R 10 --r 0.05 --alg tba", "--r"}, /* N_E = 0 */
    {"--R 10 --r 1 --alg tba", "--r"},    /* N_T = 0 */
    {"--R 1 --alg tba", "--r"},
    {"--R 10 --c 0", "--c"},
    {"--k 10 --r 0.5", "--r"},
    {"--k 10 --c 3", "--c"},
    {"--k 10 --R 10", "--k"},
    {"--k 10 --deadline-us 100", "--deadline-us"},
    {"--deadline-us 0", "--deadline-us"},
    {"--w nan", "--w"},
    {"--w inf", "--w"},
    {"--w 0.999", "--w"},
    {"--w 1.2345", "--w"},
    {"--w 1000001", "--w"},
    {"--w ", "--w"},
    {"--w 1e2", "--w"},
    {"--alg nosuch", "--alg"},
    {"--neighbours 5", "--neighbours"},
    {"--corners some", "--corners"},
    {"--open exact", "--open"},
    {"--unknown=yes", "--unknown"},
    {"--alg tbwa --unknown", "--unknown"},
    {"--goal-policy near", "--goal-policy"},
    {"--goal-policy within", "--goal-radius"},
    {"--goal-radius 2", "--goal-radius"},
    {"--goal-policy within --goal-radius -1", "--goal-radius"},
    {"--alg tbwa --restart lazy", "--restart"},
    {"--stride 0", "--stride"},
    {"--count 0", "--count"},
    {"--first x", "--first"},
    {"--min-optimal nan", "--min-optimal"},
    {"--max-optimal -1", "--max-optimal"},
    {"--via 127.0.0.1", "--via"},
    {"--via 127.0.0.1", "127.0.0.1:7878"}, /* the daemon's own port is the example */
    {"--via 127.0.0.1:0", "--via"},
    {"--via 127.0.0.1:99999", "--via"},
    {"--via :80", "--via"},
    {"--seed -3", "--seed"},
    {"--terrain T", "--terrain"},
    {"--terrain T=", "--terrain"},
    {"--terrain T=65536", "--terrain"},
    {"--terrain T=-1", "--terrain"},
    {"--terrain T=1,", "--terrain"},
    {"--terrain .=0,G=0,S=0", "--terrain"},
    {"--terrain T=1W=2", "--terrain"},
    {"--terrain TW=2", "--terrain"},
    {"--switch-margin 10.001", "--switch-margin"},
    {"--switch-margin -1", "--switch-margin"},
    {"--alg astar --switch-margin 0.1", "--switch-margin"},
    {"--alg guided --guide-units 1000001", "--guide-units"},
    {"--alg guided --guide-units -1", "--guide-units"},
    {"--alg tbwa --guide-units 100", "--guide-units"},
    {"--alg tbgbfs --unknown", "--unknown"},
    {"--alg lss --pause-on-backtrack", "--pause-on-backtrack"},
    {"--pause-on-backtrack=yes", "--pause-on-backtrack"},
    {"--no-pause-on-backtrack=1", "--no-pause-on-backtrack"},
    {"--alg tbwa --shortcut", "--shortcut"},
};

START_TEST(option_is_refused)
{
    struct tool_run run;
    tool_run(&run, "bench --map %s --scen %s %s", good_map, good_scen, refused[_i].options);
    ck_assert_msg(run.exit_code == 2, "%s: exit code %d\n%s%s", refused[_i].options, run.exit_code, run.out,
                  run.err);
    ck_assert_msg(strstr(run.err, refused[_i].words) != NULL, "%s: %s", refused[_i].options, run.err);
    ck_assert_str_eq(run.out, "");
    ck_assert_ptr_nonnull(strchr(run.err, '\n'));
    ck_assert_msg(strchr(run.err, '\n')[1] == '\0', "more than a line: %s", run.err);
    tool_run_fini(&run);
}
END_TEST

START_TEST(known_map_is_refused)
{
    struct tool_run run;
    tool_run(&run, "bench --map %s --scen %s --alg tbwa --known %s", good_map, good_scen, good_map);
    ck_assert_int_eq(run.exit_code, 2);
    ck_assert_ptr_nonnull(strstr(run.err, "--known"));
    tool_run_fini(&run);
}
END_TEST

START_TEST(needed_options)
{
    static const char *const lines[][2] = {{"bench", "--map"},
                                           {"bench", "--track"},
                                           {"trace --scen x", "--map"},
                                           {"run --map x", "--via"},
                                           {"run --via 127.0.0.1:1", "--map"}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct tool_run run;
        tool_run(&run, "%s", lines[i][0]);
        ck_assert_int_eq(run.exit_code, 2);
        ck_assert_msg(strstr(run.err, lines[i][1]) != NULL, "%s", run.err);
        tool_run_fini(&run);
    }
    struct tool_run run;
    tool_run(&run, "bench --map %s", good_map);
    ck_assert_int_eq(run.exit_code, 2);
    ck_assert_msg(strstr(run.err, "--scen: must be given") != NULL, "%s", run.err);
    tool_run_fini(&run);
    static const char *const missing[] = {"bench --map", "trace --map", "bench --graph"};
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) { /* rather than that --scen is */
        tool_run(&run, "%s %s/none", missing[i], folder);
        ck_assert_int_eq(run.exit_code, 1);
        ck_assert_msg(strstr(run.err, "/none: No such file") != NULL, "%s", run.err);
        ck_assert_ptr_null(strstr(run.err, "--scen"));
        tool_run_fini(&run);
    }
}
END_TEST

START_TEST(help_and_version)
{
    char *out;
    static const char *const asked[] = {"--version", "version"};
    for (size_t i = 0; i < 2; i++) {
        out = tool_ok("%s", asked[i]);
        ck_assert_str_eq(out, "tickpath " TP_VERSION "\n");
        free(out);
    }
    static const char *const commands[] = {"bench", "trace", "run", "watch", "inspect", "health", "map generate", "draw", "algorithms"};
    char *help = tool_ok("--help");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        ck_assert_msg(strstr(help, commands[i]) != NULL, "%s", help);
        out = tool_ok("%s --help", commands[i]);
        ck_assert_msg(strncmp(out, "usage: tickpath ", 16) == 0 && strstr(out, commands[i]) == out + 16, "%s",
                      out);
        ck_assert_ptr_nonnull(strstr(out, "--help"));
        char *turned = tool_ok("help %s", commands[i]);
        ck_assert_str_eq(turned, out);
        free(turned);
        free(out);
    }
    free(help);
    struct tool_run run;
    static const char *const wrong[] = {"", "nosuch", "--nosuch"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tool_run(&run, "%s", wrong[i]);
        ck_assert_int_eq(run.exit_code, 2);
        ck_assert_ptr_nonnull(strstr(run.err, "usage: tickpath COMMAND"));
        tool_run_fini(&run);
    }
    /* a first word that needs a second lists those there are */
    out = tool_ok("map --help");
    ck_assert_ptr_nonnull(strstr(out, "usage: tickpath map COMMAND"));
    ck_assert_ptr_nonnull(strstr(out, "map generate"));
    ck_assert_ptr_null(strstr(out, "bench"));
    static const char *const half[] = {"map", "map nosuch"};
    for (size_t i = 0; i < 2; i++) {
        tool_run(&run, "%s", half[i]);
        ck_assert_int_eq(run.exit_code, 2);
        ck_assert_str_eq(run.out, "");
        const char *list = strstr(run.err, "usage: ");
        ck_assert(list != NULL && strcmp(list, out) == 0);
        ck_assert(i == 0 ? list == run.err : strstr(run.err, "\"map nosuch\"") != NULL);
        tool_run_fini(&run);
    }
    free(out);
}
END_TEST

/* What no algorithm serves is marked in the help, and nothing else is. */
START_TEST(help_marks_what_is_not_served)
{
    static const struct {
        const char *option, *value;
    } all[] = {
        {"--unknown", ""},
        {"--known", good_known},
        {"--goal-policy", "exact"},
        {"--goal-policy", "within --goal-radius 1"},
        {"--goal-policy", "nearest"},
        {"--restart", "default"},
        {"--restart", "never"},
        {"--restart", "eager"},
        {"--restart", "lazy"},
        {"--restart", "on-rise"},
        {"--shortcut", ""},
        {"--path-switch", ""},
        {"--longest-path-rule", ""},
        {"--corners", "always"},
        {"--node-bytes-max", "99999"},
        {"--terrain", "T=2"},
        {"--neighbours", "16"},
        {"--w", "2"},
    };
    char *help = tool_ok("bench --help");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        bool served = false;
        for (size_t a = 0; tp_algorithm_at(a) != NULL && !served; a++) {
            struct tool_run run;
            tool_run(&run, "bench --map %s --scen %s --alg %s %s %s", good_map, good_scen, tp_algorithm_at(a)->name,
                     all[i].option, strcmp(all[i].value, good_known) == 0 ? good_map : all[i].value);
            served = run.exit_code == 0;
            ck_assert(served || run.exit_code == 2);
            tool_run_fini(&run);
        }
        char lead[40], line[256] = "";
        snprintf(lead, sizeof lead, "\n  %s ", all[i].option);
        const char *at = strstr(help, lead);
        ck_assert_msg(at != NULL, "%s", all[i].option);
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
        bool has_default = strstr(line, "exact") != NULL || strstr(line, "default") != NULL;
        bool named = strcmp(all[i].value, "exact") == 0 || strcmp(all[i].value, "default") == 0 ||
                     strcmp(all[i].value, "never") == 0 || strcmp(all[i].value, "eager") == 0;
        bool marked = strstr(line, "not in this version") != NULL && !(has_default && named);
        ck_assert_msg(marked == !served, "%s %s is %s: %s", all[i].option, all[i].value,
                      served ? "served" : "not served", line);
    }
    free(help);
}
END_TEST

START_TEST(algorithms_are_listed)
{
    char *out = tool_ok("algorithms");
    /* every row: name, title, engine and citation, each column beginning at one place; below it the summary and the restart rule */
    size_t columns[4] = {0};
    char *line = out;
    for (size_t i = 0; tp_algorithm_at(i) != NULL; i++) {
        const struct tp_algorithm *row = tp_algorithm_at(i);
        const char *words[4] = {row->name, row->title, tp_engine_name(row->engine), row->citation};
        const char *at = line;
        size_t length = strcspn(line, "\n");
        ck_assert(line[length] == '\n');
        line[length] = '\0';
        for (int c = 0; c < 4; c++) {
            at = c == 0 ? at : at + strlen(words[c - 1]);
            ck_assert_msg(c == 0 || strncmp(at, "  ", 2) == 0, "%s", line);
            at += strspn(at, " ");
            ck_assert_msg(strncmp(at, words[c], strlen(words[c])) == 0, "%s: no %s", line, words[c]);
            if (i == 0)
                columns[c] = (size_t)(at - line);
            ck_assert_msg(columns[c] == (size_t)(at - line), "column %d is elsewhere: %s", c, line);
        }
        line += length + 1;
        length = strcspn(line, "\n");
        ck_assert(strspn(line, " ") == columns[1]);
        static const char *const rules[] = {
            [TP_RESTART_NEVER] = "never", [TP_RESTART_EAGER] = "eager", [TP_RESTART_LAZY] = "lazy", [TP_RESTART_ON_RISE] = "on-rise"};
        char wanted[256];
        snprintf(wanted, sizeof wanted, "%s; restart: %s, or %s%s\n", row->summary, rules[row->restart],
                 row->capabilities & TP_CAN_RESTART_BY_RULE ? "any rule" : "eager",
                 strcmp(row->name, "guided") == 0
                     ? "; w: 2; pauses on backtrack; where it is not led: as tbwa (the default)"
                     : "");
        ck_assert_msg(strncmp(line + columns[1], wanted, strlen(wanted)) == 0, "%s", wanted);
        line += length + 1;
    }
    ck_assert_str_eq(line, "");
    free(out);
}
END_TEST

START_TEST(equals_sign_and_last_wins)
{
    char *out = tool_ok("bench --json --map=%s --scen=%s --k=7 --alg=nosuch --alg=astar --k=unlimited",
                        good_map, good_scen);
    ck_assert_str_eq(tool_json_word(out, "alg"), "astar");
    ck_assert_double_eq(tool_json_number(out, "solved"), 2);
    free(out);
}
END_TEST

/* A bad file is named with line and column, and the reason. */
START_TEST(bad_files)
{
    static const struct {
        const char *map, *scen, *words;
    } cases[] = {
        {"type octile\nheight 2\nwidth 2\nmap\n..\n.x\n", scen_text, "bad.map:6:2: unknown character: 'x'\n"},
        {"type octile\nheight 2\nwidth 2\nmap\n..\n.\r.\n", scen_text,
         "bad.map:6:2: unknown character: \\x0D\n"},
        {"type octile\nheight 2\nwidth 2\nmap\n.\xE9\n..\n", scen_text,
         "bad.map:5:2: unknown character: \\xE9\n"},
        {"type octile\nheight 2,\nwidth 2\nmap\n..\n..\n", scen_text,
         "bad.map:2:9: a digit is expected here: ','"},
        {"type octile\nheight 2\nwidth 2\nmap\n..\n", scen_text, "bad.map:6:1: "},
        {"type tile\n", scen_text, "bad.map:1:"},
        {"", scen_text, "bad.map:1:"},
        {map_text, "version 2\n", "bad.scen:1:"},
        {map_text, "version 1\n0\tm.map\t4\t3\t0\t0\t3\tx\t5\n", "bad.scen:2:"},
        {map_text, "version 1\n0\tm.map\t9\t9\t0\t0\t8\t8\t5\n",
         "bad.scen:2: the row is for a map of 9x9 cells, and "},
        {map_text, "version 1\r\n\r\n \n0 m.map 3 4 0 0 2 3 5",
         "bad.scen:4: the row is for a map of 3x4 cells"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *map = tool_write_file(folder, "bad.map", cases[i].map);
        char *scen = tool_write_file(folder, "bad.scen", cases[i].scen);
        static const char *const commands[] = {"bench", "trace", "run --via 127.0.0.1:1"};
        for (size_t c = 0; c < 3; c++) {
            struct tool_run run;
            if (c == 2 && cases[i].map == map_text)
                continue; /* needs a daemon before it reads the scenario */
            tool_run(&run, "%s --map %s --scen %s", commands[c], map, scen);
            ck_assert_msg(run.exit_code == 1, "case %zu: exit code %d", i, run.exit_code);
            ck_assert_msg(strstr(run.err, cases[i].words) != NULL, "case %zu: %s", i, run.err);
            tool_run_fini(&run);
        }
        free(map);
        free(scen);
    }
    struct tool_run run;
    tool_run(&run, "bench --map %s/none.map --scen %s", folder, good_scen);
    ck_assert_int_eq(run.exit_code, 1);
    ck_assert_ptr_nonnull(strstr(run.err, "none.map: No such file"));
    tool_run_fini(&run);
    tool_run(&run, "bench --map %s --scen %s", folder, good_scen);
    ck_assert_int_eq(run.exit_code, 1);
    tool_run_fini(&run);
    static const char *const empty[] = {"trace", "bench", "bench --json"};
    for (size_t i = 0; i < 3; i++) {
        tool_run(&run, "%s --map %s --scen %s --first 2", empty[i], good_map, good_scen);
        ck_assert_int_eq(run.exit_code, 1);
        ck_assert_str_eq(run.out, "");
        ck_assert_ptr_nonnull(strstr(run.err, "no row"));
        tool_run_fini(&run);
    }
}
END_TEST

/* Only the rows chosen must fit. Another name is a warning, once; so is a solution better than the scenario's best. */
START_TEST(doubtful_scenarios)
{
    static const struct {
        const char *scen, *options, *words; /* words: of stderr; NULL: nothing there */
    } cases[] = {
        {scen_text, "--alg astar --k unlimited", NULL},
        {"version 1\n0\tmaps/m.map\t4\t3\t0\t0\t0\t2\t2\n1\tm.map\t5\t5\t0\t0\t4\t4\t6\n", "--count 1", NULL},
        {"version 1\n0\ta.map\t4\t3\t0\t0\t0\t2\t2\n0\tb.map\t4\t3\t0\t0\t0\t2\t2\n", "",
         "d.scen:2: the row is for the map a.map, not m.map"},
        {"version 1\n0\tm.map\t4\t3\t0\t0\t0\t2\t2.001\n", "", "d.scen does not fit the map: 1 of 1 rows"},
        {"version 1\n0\tm.map\t4\t3\t0\t0\t0\t2\t2.00019\n", "", NULL},
        /* other moves or weights may be shorter than what the scenario has */
        {"version 1\n0\tm.map\t4\t3\t0\t0\t3\t2\t5\n", "--corners always", NULL},
        {"version 1\n0\tm.map\t4\t3\t0\t0\t3\t2\t5\n", "--terrain @=1", NULL},
        {"version 1\n0\tm.map\t4\t3\t1\t1\t0\t2\t2\n0\tm.map\t4\t3\t2\t1\t1\t1\t2\n"
         "0\tm.map\t4\t3\t0\t0\t1\t1\t2\n",
         "", "of 3 rows 2 have a blocked start, 1 a blocked goal, 0 are unreachable"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tool_run run;
        char *scen = tool_write_file(folder, "d.scen", cases[i].scen);
        tool_run(&run, "bench --map %s --scen %s %s", good_map, scen, cases[i].options);
        ck_assert_msg(run.exit_code == 0, "case %zu: exit code %d: %s", i, run.exit_code, run.err);
        if (cases[i].words == NULL) {
            ck_assert_msg(run.err[0] == '\0', "case %zu: %s", i, run.err);
        } else {
            ck_assert_msg(strstr(run.err, cases[i].words) != NULL, "case %zu: %s", i, run.err);
            ck_assert_msg(strchr(run.err, '\n')[1] == '\0', "case %zu: more than a line: %s", i, run.err);
        }
        tool_run_fini(&run);
        free(scen);
    }
}
END_TEST

START_TEST(nobody_serves)
{
    static const char *const commands[] = {"bench", "trace", "run"};
    for (size_t i = 0; i < 3; i++) {
        struct tool_run run;
        tool_run(&run, "%s --map %s --scen %s --via 127.0.0.1:1", commands[i], good_map, good_scen);
        ck_assert_int_eq(run.exit_code, 1);
        ck_assert_msg(strstr(run.err, "127.0.0.1") != NULL && strstr(run.err, "refused") != NULL, "%s",
                      run.err);
        tool_run_fini(&run);
    }
}
END_TEST

static Suite *tool_options_suite(void)
{
    Suite *suite = suite_create("tool_options");
    TCase *cases = tcase_create("command line");
    tcase_add_checked_fixture(cases, folder_begin, folder_end);
    tcase_add_loop_test(cases, option_is_refused, 0, (int)(sizeof refused / sizeof refused[0]));
    tcase_add_test(cases, known_map_is_refused);
    tcase_add_test(cases, needed_options);
    tcase_add_test(cases, help_and_version);
    tcase_add_test(cases, help_marks_what_is_not_served);
    tcase_add_test(cases, algorithms_are_listed);
    tcase_add_test(cases, equals_sign_and_last_wins);
    tcase_add_test(cases, bad_files);
    tcase_add_test(cases, doubtful_scenarios);
    tcase_add_test(cases, nobody_serves);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_tool_options", tool_options_suite);
}
