/* A data folder with a gap in it: the snapshot stands at version 100, and the log that is there begins at 150. What was
 * acknowledged between them is gone. Neither is the log replayed over the gap, nor does the map come back at an older version as
 * if nothing had happened, nor does the daemon try for ever: the map goes on from its snapshot in a new epoch, so that every
 * client reads it anew, or is refused with a line that says why. */
#include "daemon/store/maplog.h"
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 20, HEIGHT = 20, CELLS = WIDTH * HEIGHT, BEFORE = 100, AFTER = 150, LAST = 155 };

static struct wire_daemon daemon_;
static struct wire wire_;
static char data_[128];
static uint64_t epoch_;

struct file {
    char path[256];
    char *bytes;
    size_t size;
};
static struct file snap_before, log_before, snap_after, log_after;

static void start(const char *fold_batches)
{
    wire_daemon_start(&daemon_, "--data", data_, "--fold-batches", fold_batches, NULL);
    wire_open_greeted(&wire_, daemon_.port);
}

static void stop(void)
{
    wire_close(&wire_);
    wire_daemon_stop(&daemon_);
}

static Tickpath__Reply *open_map(void)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    return wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
}

/* Each batch closes one more cell, so that the version tells how many are left. */
static uint64_t expect_version(uint64_t version)
{
    Tickpath__Reply *reply = open_map();
    uint64_t epoch = reply->map_info->epoch;
    ck_assert_uint_eq(reply->map_info->version, version);
    ck_assert_uint_eq(reply->map_info->passable_cells, CELLS - (version - 1));
    wire_reply_free(reply);
    return epoch;
}

static void block_up_to(uint64_t from, uint64_t version)
{
    for (uint64_t at = from; at < version; at++)
        ck_assert_uint_eq(wire_set_cell(&wire_, "m", (uint32_t)at, '@'), at + 1);
}

static struct file keep_file(const char *end)
{
    struct file file;
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*%s", data_, end);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 1);
    snprintf(file.path, sizeof file.path, "%s", found.gl_pathv[0]);
    globfree(&found);
    file.bytes = tp_test_read_file(file.path, &file.size);
    return file;
}

static void write_file(const struct file *file)
{
    FILE *out = fopen(file->path, "wb");
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(file->bytes, 1, file->size, out), file->size);
    fclose(out);
}

static bool is_there(const struct file *file)
{
    FILE *in = fopen(file->path, "rb");
    if (in != NULL)
        fclose(in);
    return in != NULL;
}

/* Times that a line of the daemon's log says so. */
static int said(const char *words)
{
    char path[128];
    size_t size;
    int count = 0;
    snprintf(path, sizeof path, "%s/log", daemon_.folder);
    char *text = tp_test_read_file(path, &size);
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        count++;
    free(text);
    return count;
}

/* The map's files at version 100, and at 150 with five batches behind. */
static void begin(void)
{
    wire_daemon_init(&daemon_);
    snprintf(data_, sizeof data_, "%s/data", daemon_.folder);
    start("99");
    wire_put_free_map(&wire_, "m", WIDTH, HEIGHT);
    epoch_ = expect_version(1);
    block_up_to(1, BEFORE);
    stop();
    snap_before = keep_file(".snap");
    log_before = keep_file(".log");
    start("50");
    block_up_to(BEFORE, LAST);
    ck_assert_uint_eq(expect_version(LAST), epoch_);
    stop();
    snap_after = keep_file(".snap");
    log_after = keep_file(".log");
    char name[64];
    snprintf(name, sizeof name, "-%016x.log", AFTER);
    ck_assert_ptr_nonnull(strstr(log_after.path, name));
    snprintf(name, sizeof name, "-%016x.log", BEFORE);
    ck_assert_ptr_nonnull(strstr(log_before.path, name));
    char command[300];
    snprintf(command, sizeof command, "rm -f '%s'/*", data_);
    ck_assert_int_eq(system(command), 0);
}

static void end(void)
{
    free(snap_before.bytes);
    free(log_before.bytes);
    free(snap_after.bytes);
    free(log_after.bytes);
    wire_daemon_fini(&daemon_);
}

/* A client that was told version 155 comes back and finds what it has to read anew. */
static void expect_resync(void)
{
    start("1000");
    uint64_t anew = expect_version(BEFORE);
    ck_assert_uint_gt(anew, epoch_);
    ck_assert_int_eq(said("the map begins a new epoch"), 1);
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    open.has_min_version = 1;
    open.min_version = LAST;
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__MAP_NOT_READY,
                   NULL);
    Tickpath__Subscribe subscribe = TICKPATH__SUBSCRIBE__INIT;
    subscribe.map = "m";
    subscribe.has_want_cells = subscribe.want_cells = 1;
    Tickpath__Reply *reply =
        wire_ask(&wire_, TICKPATH__REQUEST__BODY_SUBSCRIBE, &subscribe, TICKPATH__REPLY__BODY_SUBSCRIBED);
    ck_assert_uint_eq(reply->subscribed->epoch, anew);
    ck_assert_uint_eq(reply->subscribed->version, BEFORE);
    wire_reply_free(reply);
    uint64_t session = wire_open_session(&wire_, "m", CELLS - WIDTH, CELLS - 1, NULL, 100);
    reply = wire_tick(&wire_, session);
    ck_assert_uint_eq(reply->ticked->version[0], BEFORE);
    wire_reply_free(reply);
    stop();
    ck_assert(!is_there(&log_after)); /* it is of no use to anybody */
    start("1000");
    ck_assert_uint_eq(expect_version(BEFORE), anew); /* once, not at each start */
    ck_assert_int_eq(said("the map begins a new epoch"), 1);
    block_up_to(BEFORE, BEFORE + 3);
    wire_daemon_kill(&daemon_);
    wire_close(&wire_);
    start("1000");
    ck_assert_uint_eq(expect_version(BEFORE + 3), anew);
    stop();
}

/* The log of 150 under its own name: the snapshot's own log is gone. */
START_TEST(test_log_begins_later)
{
    write_file(&snap_before);
    write_file(&log_after);
    expect_resync();
}
END_TEST

/* The snapshot and its log as they once were, beside the log of 150: the map has been at 150, and what led there is gone. */
START_TEST(test_older_log_beside_a_later_one)
{
    write_file(&snap_before);
    write_file(&log_before);
    write_file(&log_after);
    expect_resync();
}
END_TEST

/* Nothing is missing: a fold that was ended between the log's coming and the snapshot's. */
START_TEST(test_no_gap)
{
    write_file(&snap_after);
    write_file(&log_after);
    write_file(&log_before);
    start("1000");
    ck_assert_uint_eq(expect_version(LAST), epoch_);
    stop();
    ck_assert(!is_there(&log_before));
}
END_TEST

static void expect_refused(const char *words)
{
    for (int i = 0; i < 2; i++) { /* nothing is mended in silence */
        start("1000");
        Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
        open.map = "m";
        wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__CORRUPT, "map");
        ck_assert_int_ge(said(words), 1);
        int before = said("a stored map is corrupt");
        wire_put_free_map(&wire_, "other", 4, 4); /* the daemon serves, and is not busy with it */
        ck_assert_int_eq(said("a stored map is corrupt"), before);
        Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
        drop.map = "other";
        wire_reply_free(
            wire_ask(&wire_, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__REPLY__BODY_MAP_DROPPED));
        stop();
    }
    start("1000"); /* a client that has the map puts it anew */
    uint8_t cells[CELLS];
    memset(cells, '.', sizeof cells);
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = "m";
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = put.has_replace = put.replace =
        1;
    put.width = WIDTH;
    put.height = HEIGHT;
    put.cells = (ProtobufCBinaryData){.data = cells, .len = CELLS};
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    ck_assert_uint_gt(expect_version(1), epoch_);
    stop();
    start("1000");
    ck_assert_uint_gt(expect_version(1), epoch_);
    stop();
}

/* The log of 150 in the place of the snapshot's own. */
START_TEST(test_log_of_another_snapshot)
{
    struct file moved = log_after;
    memcpy(moved.path, log_before.path, sizeof moved.path);
    write_file(&snap_before);
    write_file(&moved);
    expect_refused("the log's header does not fit the snapshot");
}
END_TEST

/* The snapshot's own log, cut off at its beginning: its first batch makes version 151. */
START_TEST(test_log_trimmed_at_its_beginning)
{
    struct file trimmed = log_after;
    memcpy(trimmed.path, log_before.path, sizeof trimmed.path);
    tp_maplog_header((uint8_t *)trimmed.bytes, epoch_, BEFORE);
    write_file(&snap_before);
    write_file(&trimmed);
    expect_refused("the log's versions do not follow each other");
}
END_TEST

static Suite *store_gap_suite(void)
{
    Suite *suite = suite_create("store_gap");
    TCase *tcase = tcase_create("gap");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, test_log_begins_later);
    tcase_add_test(tcase, test_older_log_beside_a_later_one);
    tcase_add_test(tcase, test_no_gap);
    tcase_add_test(tcase, test_log_of_another_snapshot);
    tcase_add_test(tcase, test_log_trimmed_at_its_beginning);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_store_gap", store_gap_suite);
}
