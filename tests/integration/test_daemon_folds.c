/* The store in a folder, its snapshots and logs: what is left after a death between two steps of a fold, and what was taken away. */
#include "tests/lib/stored.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct file {
    char path[256];
    char *bytes;
    size_t size;
};

static struct file keep_file(const char *end)
{
    struct file file;
    snprintf(file.path, sizeof file.path, "%s", stored_only_file(end));
    file.bytes = tp_test_read_file(file.path, &file.size);
    return file;
}

static void write_file(const struct file *file, size_t size)
{
    int fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, file->bytes, size), (ssize_t)size);
    close(fd);
}

static void empty_folder(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -f '%s'/*", stored_folder);
    ck_assert_int_eq(system(command), 0);
}

static size_t count_logs(void)
{
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.log*", stored_folder);
    int error = glob(pattern, 0, NULL, &found);
    size_t count = error == GLOB_NOMATCH ? 0 : found.gl_pathc;
    globfree(&found);
    return count;
}

static void start_folding(void)
{
    wire_daemon_start(&stored_daemon, "--data", stored_folder, "--fold-batches", "3", NULL);
    wire_open_greeted(&stored_wire, stored_daemon.port);
}

/* The files of one map before a fold (put, three batches: version 4) and after it. */
static uint64_t make_folded(struct file *snap_before, struct file *log_before, struct file *snap_after,
                            struct file *log_after)
{
    start_folding();
    wire_put_free_map(&stored_wire, "m", STORED_WIDTH, STORED_HEIGHT);
    uint64_t epoch = stored_epoch_of("m");
    stored_block("m", 0, 1);
    stored_die();
    *snap_before = keep_file(".snap");
    struct file short_log = keep_file(".log");
    stored_start();
    stored_block("m", 2, 2);
    stored_die();
    *log_before = keep_file(".log");
    write_file(&short_log, short_log.size);
    free(short_log.bytes);
    start_folding();
    stored_block("m", 2, 2);
    stored_stop();
    *snap_after = keep_file(".snap");
    *log_after = keep_file(".log");
    ck_assert_str_ne(log_before->path, log_after->path);
    return epoch;
}

/* A snapshot is never without its log, not even before the first batch. */
START_TEST(test_snapshot_has_log)
{
    stored_start();
    wire_put_free_map(&stored_wire, "m", STORED_WIDTH, STORED_HEIGHT);
    stored_only_file(".snap");
    ck_assert_int_eq(stored_size_of(stored_only_file(".log")), 32);
    stored_die();
    ck_assert_uint_eq(count_logs(), 1);
}
END_TEST

/* Killed between any two steps of a fold: what was acknowledged is there, in the same epoch, and what is left of
 * the other snapshot goes away. */
START_TEST(test_fold_orders)
{
    struct file snap_before, log_before, snap_after, log_after;
    uint64_t epoch = make_folded(&snap_before, &log_before, &snap_after, &log_after);
    for (int step = 0; step < 6; step++) {
        bool is_after = step >= 4;
        empty_folder();
        write_file(is_after ? &snap_after : &snap_before, is_after ? snap_after.size : snap_before.size);
        if (step < 5)
            write_file(&log_before, log_before.size);
        if (step == 0 || step == 1) { /* half a draft of the snapshot, or all of it */
            struct file draft = snap_after;
            strcat(draft.path, "~");
            write_file(&draft, step == 0 ? draft.size / 2 : draft.size);
        }
        if (step == 2) { /* half a draft of the log */
            struct file draft = log_after;
            snprintf(draft.path, sizeof draft.path, "%s/m.log~", stored_folder);
            write_file(&draft, draft.size / 2);
        }
        if (step >= 3)
            write_file(&log_after, log_after.size);
        stored_start();
        stored_expect_map("m", epoch, 4, STORED_CELLS - 3);
        ck_assert_uint_eq(wire_set_cell(&stored_wire, "m", 20, '@'), 5);
        stored_die();
        stored_only_file(".log");
        stored_start();
        stored_expect_map("m", epoch, 5, STORED_CELLS - 4);
        stored_stop();
    }
    free(snap_before.bytes);
    free(log_before.bytes);
    free(snap_after.bytes);
    free(log_after.bytes);
}
END_TEST

/* The log was taken away, or is no whole header: changes that were acknowledged may be lost, so their versions
 * must not come again in the epoch they were told in. The new epoch lasts. */
START_TEST(test_log_lost)
{
    struct file snap_before, log_before, snap_after, log_after;
    uint64_t epoch = make_folded(&snap_before, &log_before, &snap_after, &log_after);
    for (int i = 0; i < 4; i++) {
        bool is_after = i == 3;
        empty_folder();
        write_file(is_after ? &snap_after : &snap_before, is_after ? snap_after.size : snap_before.size);
        if (i == 1)
            write_file(&log_before, 0);
        if (i == 2)
            write_file(&log_before, 20);
        if (i == 3) /* that of the other snapshot does not make up for it */
            write_file(&log_before, log_before.size);
        stored_start();
        uint64_t version = is_after ? 4 : 1, passable = is_after ? STORED_CELLS - 3 : STORED_CELLS, anew = stored_epoch_of("m");
        ck_assert_uint_gt(anew, epoch);
        stored_expect_map("m", anew, version, passable);
        stored_expect_in_log("the log of a map is missing, or not all of it is there; the map begins a new epoch");
        stored_die();
        stored_start();
        stored_expect_map("m", anew, version, passable);
        ck_assert_uint_eq(wire_set_cell(&stored_wire, "m", 20, '@'), version + 1);
        stored_die();
        stored_start();
        stored_expect_map("m", anew, version + 1, passable - 1);
        ck_assert_uint_eq(count_logs(), 1);
        stored_stop();
    }
    free(snap_before.bytes);
    free(log_before.bytes);
    free(snap_after.bytes);
    free(log_after.bytes);
}
END_TEST

static Suite *folds_suite(void)
{
    Suite *suite = suite_create("daemon_folds");
    TCase *cases = tcase_create("store");
    tcase_add_checked_fixture(cases, stored_begin, stored_end);
    tcase_add_test(cases, test_snapshot_has_log);
    tcase_add_test(cases, test_fold_orders);
    tcase_add_test(cases, test_log_lost);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_folds", folds_suite);
}
