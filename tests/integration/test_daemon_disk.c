/* The store in a folder that can't be written to: a full disk refuses and heals, a folder that is gone is told. */
#include "tests/lib/stored.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the welcome of a new connection says is wrong with the store; malloc'd, NULL: nothing. */
static char *degraded(void)
{
    struct wire wire;
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    wire_open(&wire, stored_daemon.port);
    Tickpath__Reply *reply =
        wire_ask(&wire, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__REPLY__BODY_WELCOME);
    char *words = reply->welcome->degraded != NULL ? strdup(reply->welcome->degraded) : NULL;
    wire_reply_free(reply);
    wire_close(&wire);
    return words;
}

/* No file may grow any more (a full disk, but harmless to others): changes are refused and not applied, and
 * the welcome says why; with room again the daemon finds that out by itself; nothing acknowledged is lost,
 * nothing refused is kept. */
START_TEST(test_full_disk)
{
    wire_daemon_start(&stored_daemon, "--data", stored_folder, NULL);
    wire_open_greeted(&stored_wire, stored_daemon.port);
    wire_put_free_map(&stored_wire, "m", STORED_WIDTH, STORED_HEIGHT);
    uint64_t epoch = stored_epoch_of("m");
    uint64_t session = wire_open_session(&stored_wire, "m", 0, STORED_CELLS - 1, NULL, 10);
    stored_block("m", 100, 104);
    struct rlimit before, none;
    ck_assert_int_eq(prlimit(stored_daemon.pid, RLIMIT_FSIZE, NULL, &before), 0);
    none = before;
    none.rlim_cur = 0;
    ck_assert_int_eq(prlimit(stored_daemon.pid, RLIMIT_FSIZE, &none, NULL), 0);
    enum { REFUSED = 5 };
    for (uint32_t i = 0; i < REFUSED;
         i++) { /* pipelined: what was built on the refused one is refused as well */
        uint32_t cell = 200 + i, terrain = '@';
        Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
        change.map = "m";
        change.cell = &cell;
        change.cell_terrain = &terrain;
        change.n_cell = change.n_cell_terrain = 1;
        wire_send(&stored_wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
    }
    for (uint32_t i = 0; i < REFUSED; i++) {
        Tickpath__Reply *reply = wire_recv(&stored_wire);
        ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_ERROR);
        ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__UNAVAILABLE);
        ck_assert(reply->error->has_retry_after_ms);
        wire_reply_free(reply);
    }
    uint8_t cells[1] = ".";
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = "new";
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = 1;
    put.width = put.height = 1;
    put.cells.data = cells;
    put.cells.len = 1;
    wire_ask_error(&stored_wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__ERROR_CODE__UNAVAILABLE, NULL);
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "new";
    wire_ask_error(&stored_wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__NOT_FOUND, "map");
    stored_expect_map("m", epoch, 6, STORED_CELLS - 5);
    Tickpath__Reply *ticked = wire_tick(&stored_wire, session); /* searching needs no disk */
    ck_assert_uint_eq(ticked->ticked->version[0], 6);
    wire_reply_free(ticked);
    char *words = degraded();
    ck_assert_ptr_nonnull(words);
    ck_assert_msg(strstr(words, "data folder") != NULL, "%s", words);
    free(words);

    ck_assert_int_eq(prlimit(stored_daemon.pid, RLIMIT_FSIZE, &before, NULL), 0);
    for (uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS; (words = degraded()) != NULL;) {
        free(words);
        ck_assert_uint_lt(wire_now_ms(), until);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    ck_assert_uint_eq(wire_set_cell(&stored_wire, "m", 300, '@'), 7);
    wire_reply_free(wire_ask(&stored_wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    stored_die();
    stored_start();
    stored_expect_map("m", epoch, 7, STORED_CELLS - 6);
    stored_expect_map("new", stored_epoch_of("new"), 1, 1);
    stored_stop();
}
END_TEST

/* The folder is removed under the daemon: nothing more is acknowledged, ticks go on. */
START_TEST(test_folder_removed)
{
    wire_daemon_start(&stored_daemon, "--data", stored_folder, NULL);
    wire_open_greeted(&stored_wire, stored_daemon.port);
    wire_put_free_map(&stored_wire, "m", STORED_WIDTH, STORED_HEIGHT);
    uint64_t session = wire_open_session(&stored_wire, "m", 0, STORED_CELLS - 1, NULL, 10);
    stored_block("m", 100, 104);
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", stored_folder);
    ck_assert_int_eq(system(command), 0);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t cell = 200 + i, terrain = '@';
        Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
        change.map = "m";
        change.cell = &cell;
        change.cell_terrain = &terrain;
        change.n_cell = change.n_cell_terrain = 1;
        wire_ask_error(&stored_wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change,
                       TICKPATH__ERROR_CODE__UNAVAILABLE, NULL);
    }
    char *words = degraded();
    ck_assert_ptr_nonnull(words);
    free(words);
    wire_reply_free(wire_tick(&stored_wire, session));
    stored_stop();
}
END_TEST

/* The same with one refused change and no retry of ours in between: the next change must itself be enough. */
START_TEST(test_full_disk_then_change)
{
    stored_start();
    wire_put_free_map(&stored_wire, "m", STORED_WIDTH, STORED_HEIGHT);
    uint64_t epoch = stored_epoch_of("m"), version = 1, passable = STORED_CELLS;
    struct rlimit before, some;
    ck_assert_int_eq(prlimit(stored_daemon.pid, RLIMIT_FSIZE, NULL, &before), 0);
    struct tp_test_rng rng = tp_test_rng("full disk");
    for (uint32_t i = 0; i < 20; i++) {
        some = before; /* from nothing to a part of a record or of a snapshot */
        some.rlim_cur = tp_test_below(&rng, 700);
        ck_assert_int_eq(prlimit(stored_daemon.pid, RLIMIT_FSIZE, &some, NULL), 0);
        uint32_t cell = 100 + i, terrain = '@';
        Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
        change.map = "m";
        change.cell = &cell;
        change.cell_terrain = &terrain;
        change.n_cell = change.n_cell_terrain = 1;
        wire_send(&stored_wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
        Tickpath__Reply *reply = wire_recv(&stored_wire);
        bool is_applied = reply->body_case == TICKPATH__REPLY__BODY_CHANGED;
        if (!is_applied)
            ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__UNAVAILABLE);
        version += is_applied;
        passable -= is_applied;
        wire_reply_free(reply);
        ck_assert_int_eq(prlimit(stored_daemon.pid, RLIMIT_FSIZE, &before, NULL), 0);
        if (i % 3 == 0) {
            ck_assert_uint_eq(wire_set_cell(&stored_wire, "m", 500 + i, '@'), ++version);
            passable--;
        }
        if (i % 5 == 4) {
            stored_die();
            stored_start();
        }
        stored_expect_map("m", epoch, version, passable);
    }
    stored_stop();
}
END_TEST

/* One map's log fails while another's changes go on coming, more often than the store looks after what is broken:
 * it is mended all the same, and the welcome stops saying degraded. */
START_TEST(test_mended_while_others_change)
{
    stored_start();
    wire_put_free_map(&stored_wire, "busy", STORED_WIDTH, STORED_HEIGHT);
    wire_put_free_map(&stored_wire, "hurt", STORED_WIDTH, STORED_HEIGHT);
    stored_block("hurt", 0, 59); /* its log is the longer one, so that a bound on files stops it alone */
    uint64_t epoch = stored_epoch_of("hurt");
    struct rlimit before, some;
    ck_assert_int_eq(prlimit(stored_daemon.pid, RLIMIT_FSIZE, NULL, &before), 0);
    char pattern[256], path[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/hurt*.log", stored_folder);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    some = before;
    some.rlim_cur = (rlim_t)stored_size_of(path);
    ck_assert_int_eq(prlimit(stored_daemon.pid, RLIMIT_FSIZE, &some, NULL), 0);
    uint32_t cell = 100, terrain = '@';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "hurt";
    change.cell = &cell;
    change.cell_terrain = &terrain;
    change.n_cell = change.n_cell_terrain = 1;
    wire_ask_error(&stored_wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__ERROR_CODE__UNAVAILABLE,
                   NULL);
    ck_assert_int_eq(prlimit(stored_daemon.pid, RLIMIT_FSIZE, &before, NULL), 0);
    char *words;
    uint64_t version = 1;
    for (uint64_t until = wire_now_ms() + 8000; (words = degraded()) != NULL;) {
        ck_assert_msg(wire_now_ms() < until, "still degraded: %s", words);
        free(words);
        ck_assert_uint_eq(wire_set_cell(&stored_wire, "busy", (uint32_t)(version % STORED_CELLS), '@'), version + 1);
        version++;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    stored_die();
    stored_start();
    stored_expect_map("hurt", epoch, 61, STORED_CELLS - 60);
    stored_expect_map("busy", stored_epoch_of("busy"), version, STORED_CELLS - (version - 1));
    stored_stop();
}
END_TEST

/* Whether the daemon catches SIGALRM: it does once the time runs that its end may take. */
static bool is_ending(void)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)stored_daemon.pid);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "SigCgt: %llx", &caught) == 1)
            break;
    fclose(file);
    return (caught >> (SIGALRM - 1) & 1) != 0;
}

/* A disk that never answers (a pipe that nobody reads stands where a draft is to be written), and a map on its way there whose client is gone: the
 * daemon can't end in good order. It gives up when the time for that is over, and says so; the next one finds what was acknowledged. The bounded
 * form does not wait for that time: it sends its signal. */
START_TEST(test_hanging_disk)
{
    enum { STOP_MS = 30000 };
    wire_daemon_start(&stored_daemon, "--data", stored_folder, "--drain-ms", "200", NULL);
    wire_open_greeted(&stored_wire, stored_daemon.port);
    wire_put_free_map(&stored_wire, "kept", STORED_WIDTH, STORED_HEIGHT);
    uint64_t epoch = stored_epoch_of("kept");
    stored_block("kept", 0, 2);
    char path[256];
    snprintf(path, sizeof path, "%s/m.snap~", stored_folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    uint8_t cells[4] = "....";
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = "m";
    put.has_width = put.has_height = put.has_cells = put.has_last = 1;
    put.width = put.height = 2;
    put.last = 1;
    put.cells = (ProtobufCBinaryData){.data = cells, .len = sizeof cells};
    wire_send(&stored_wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put);
    wire_close(&stored_wire);
    ck_assert_int_eq(kill(stored_daemon.pid, SIGTERM), 0);
    uint64_t began_ms = wire_now_ms();
    while (!is_ending()) {
        ck_assert_uint_lt(wire_now_ms() - began_ms, WIRE_TIMEOUT_MS);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    int status;
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    ck_assert_msg(waitpid(stored_daemon.pid, &status, WNOHANG) == 0, "it ended, whatever the disk does");
    if (!tp_test_long())
        ck_assert_int_eq(kill(stored_daemon.pid, SIGALRM), 0);
    ck_assert_int_eq(waitpid(stored_daemon.pid, &status, 0), stored_daemon.pid);
    stored_daemon.pid = 0;
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 14, "the daemon ended with status %#x", (unsigned)status);
    if (tp_test_long())
        ck_assert_uint_ge(wire_now_ms() - began_ms, STOP_MS - 500);
    stored_expect_in_log("the end takes too long: giving up");
    ck_assert_int_eq(unlink(path), 0);
    stored_start();
    stored_expect_map("kept", epoch, 4, STORED_CELLS - 3);
    stored_stop();
}
END_TEST

static Suite *disk_suite(void)
{
    Suite *suite = suite_create("daemon_disk");
    TCase *cases = tcase_create("store");
    tcase_add_checked_fixture(cases, stored_begin, stored_end);
    tcase_add_test(cases, test_full_disk);
    tcase_add_test(cases, test_folder_removed);
    tcase_add_test(cases, test_full_disk_then_change);
    tcase_add_test(cases, test_mended_while_others_change);
    tcase_add_test(cases, test_hanging_disk);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_disk", disk_suite);
}
