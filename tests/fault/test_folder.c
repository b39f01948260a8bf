/* The data folder's store on a disk that fails: a sync, a cut or a rename that the test says. What was refused is not there, but where
 * the store said that it doesn't know; what was acknowledged is; the store mends itself. The calls of the system are
 * wrapped by the linker (tests/tests.mk), and do what they do unless told to fail. */
#include "tests/lib/maps.h"
#include "tests/lib/stores.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 70, WAIT_MS = 20000, FOLDER = 1 /* the row */ };

/* ---- The disk ---- */

enum wrapped { DATASYNC, SYNC, TRUNCATE, RENAME, KINDS };

static struct {
    _Atomic int pass[KINDS]; /* so many calls go well ... */
    _Atomic int fail[KINDS]; /* ... then so many fail */
    _Atomic unsigned percent; /* else this many in a hundred fail */
    _Atomic bool is_held;    /* a sync of data waits ... */
    _Atomic bool is_waiting; /* ... and does so now */
} disk_;
static struct tp_test_rng disk_rng_; /* the store's thread's */

static bool fails(enum wrapped kind)
{
    if (disk_.pass[kind] > 0)
        disk_.pass[kind]--;
    else if (disk_.fail[kind] > 0 && disk_.fail[kind]-- > 0)
        return true;
    return disk_.percent > 0 && tp_test_percent(&disk_rng_, disk_.percent);
}

static int say_eio(void)
{
    errno = EIO;
    return -1;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    while (disk_.is_held) {
        disk_.is_waiting = true;
        pause_ms(1);
    }
    disk_.is_waiting = false;
    return fails(DATASYNC) ? say_eio() : __real_fdatasync(fd);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fails(SYNC) ? say_eio() : __real_fsync(fd);
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size)
{
    return fails(TRUNCATE) ? say_eio() : __real_ftruncate(fd, size);
}

int __real_renameat(int old_fd, const char *old, int new_fd, const char *new);
int __wrap_renameat(int old_fd, const char *old, int new_fd, const char *new);
int __wrap_renameat(int old_fd, const char *old, int new_fd, const char *new)
{
    return fails(RENAME) ? say_eio() : __real_renameat(old_fd, old, new_fd, new);
}

/* ---- The store ---- */

static struct stores stores_;

static void begin(void)
{
    ck_assert_str_eq(stores_rows[FOLDER].name, "folder");
    stores_begin(&stores_, FOLDER);
}

static void put_grid(const char *name, uint64_t epoch)
{
    struct tp_map *map = stores_grid(SIDE, SIDE, epoch);
    stores_expect_at(&stores_, stores_put(&stores_, name, map, false), TP_STORE_BEGUN, epoch, 1);
    tp_map_unref(map);
}

static struct stores_call *submit_cell(const char *name, uint32_t x, uint64_t key)
{
    struct tp_batch batch = stores_cell(x, 1, '@', key);
    return stores_submit(&stores_, name, &batch);
}

static void reopen(void)
{
    stores_close(&stores_);
    stores_open(&stores_);
}

static void wait_mended(void)
{
    struct tp_store_status status;
    for (int waited_ms = 0;; waited_ms += 5) {
        stores_.store->ops->status(stores_.store, &status);
        if (status.state == TP_STORE_OK)
            return;
        ck_assert_msg(waited_ms < WAIT_MS, "it never works again: %s", status.reason);
        pause_ms(5);
    }
}

static void expect_degraded(void)
{
    struct tp_store_status status;
    stores_.store->ops->status(stores_.store, &status);
    ck_assert_int_eq(status.state, TP_STORE_DEGRADED);
    ck_assert(status.reason[0] != '\0');
}

/* What was refused, and whether it may have been done. */
static void expect_lost(struct stores_call *call, bool is_unknown)
{
    stores_expect(&stores_, call, TP_STORE_REFUSED, TP_ERR_UNAVAILABLE);
    ck_assert_int_eq(call->event.is_unknown, is_unknown);
}

static void expect_repeated(struct stores_call *call, uint64_t version)
{
    stores_expect(&stores_, call, TP_STORE_REPEATED, 0);
    ck_assert_uint_eq(call->event.version, version);
}

/* Batches that stand together, behind one that is held until all are queued; the sync of their record fails, and `more` of the steps behind
 * it. What was decided on the lost version alone is taken back. */
static void lose_record(int cuts_that_fail, bool is_unknown)
{
    begin();
    put_grid("a", 5);
    disk_.is_held = true;
    struct stores_call *first = submit_cell("a", 0, 1);
    for (int waited_ms = 0; !disk_.is_waiting; waited_ms++) {
        ck_assert_int_lt(waited_ms, WAIT_MS);
        pause_ms(1);
    }
    struct stores_call *accepted = submit_cell("a", 1, 2), *again = submit_cell("a", 1, 2), *known = submit_cell("a", 1, 1);
    struct tp_batch based = stores_cell(3, 3, '@', 0), bad = stores_cell(SIDE, 3, '@', 0), elsewhere = stores_cell(3, 3, '@', 0);
    based.has_base_version = elsewhere.has_epoch = true;
    based.base_version = 2;
    elsewhere.epoch = 4;
    struct stores_call *base = stores_submit(&stores_, "a", &based), *range = stores_submit(&stores_, "a", &bad),
                       *epoch = stores_submit(&stores_, "a", &elsewhere);
    disk_.pass[DATASYNC] = 1;
    disk_.fail[DATASYNC] = 1;
    disk_.fail[TRUNCATE] = cuts_that_fail;
    disk_.fail[RENAME] = 1000000; /* nothing mends it meanwhile */
    disk_.is_held = false;
    stores_expect_at(&stores_, first, TP_STORE_VERSION, 5, 2);
    expect_lost(accepted, is_unknown);
    expect_lost(again, is_unknown);
    expect_repeated(known, 2);
    expect_lost(base, false);
    stores_expect(&stores_, range, TP_STORE_REFUSED, TP_ERR_OUT_OF_RANGE);
    stores_expect(&stores_, epoch, TP_STORE_REFUSED, TP_ERR_VERSION_MISMATCH);
    struct stores_call *const all[] = {accepted, again, known, base, range, epoch};
    for (int i = 0; i < 6; i++)
        ck_assert_uint_eq(all[i]->event.map->version, 2);
    expect_degraded();
}

START_TEST(test_record)
{
    lose_record(0, false);
    disk_.fail[RENAME] = 0;
    stores_expect_at(&stores_, submit_cell("a", 5, 2), TP_STORE_VERSION, 5, 3); /* its key was not used up; mends */
    wait_mended();
    stores_expect_at(&stores_, submit_cell("a", 6, 0), TP_STORE_VERSION, 5, 4);
    reopen();
    struct stores_call *load = stores_load(&stores_, "a");
    stores_expect_at(&stores_, load, TP_STORE_LOADED, 5, 4);
    ck_assert(!tp_map_passable(load->event.map, 5, 1) && tp_map_passable(load->event.map, 1, 1));
    expect_repeated(submit_cell("a", 1, 1), 2);
    expect_repeated(submit_cell("a", 1, 2), 3);
    stores_end(&stores_);
}
END_TEST

/* Closed before it is mended: a record that was cut back is not there, */
START_TEST(test_record_cut)
{
    lose_record(0, false);
    reopen();
    disk_.fail[RENAME] = 0;
    stores_expect_at(&stores_, stores_load(&stores_, "a"), TP_STORE_LOADED, 5, 2);
    stores_expect_at(&stores_, submit_cell("a", 1, 2), TP_STORE_VERSION, 5, 3);
    stores_end(&stores_);
}
END_TEST

/* and one that could not be is, whole, with its key. */
START_TEST(test_record_in_doubt)
{
    lose_record(1, true);
    reopen();
    disk_.fail[RENAME] = 0;
    struct stores_call *load = stores_load(&stores_, "a");
    stores_expect_at(&stores_, load, TP_STORE_LOADED, 5, 3);
    ck_assert(!tp_map_passable(load->event.map, 1, 1));
    expect_repeated(submit_cell("a", 1, 2), 3);
    stores_end(&stores_);
}
END_TEST

/* As many keys as are known: one that a lost batch brought has not taken the place of the oldest. */
START_TEST(test_keys_full)
{
    begin();
    put_grid("a", 5);
    for (uint64_t key = 1; key <= TP_KEYS_MAX; key++)
        submit_cell("a", (uint32_t)(key % SIDE), key);
    stores_settle(&stores_);
    expect_repeated(submit_cell("a", 0, 1), 2);
    disk_.fail[DATASYNC] = 1;
    expect_lost(submit_cell("a", 0, TP_KEYS_MAX + 1), false);
    expect_repeated(submit_cell("a", 0, 1), 2);
    stores_expect_at(&stores_, submit_cell("a", 0, TP_KEYS_MAX + 1), TP_STORE_VERSION, 5, TP_KEYS_MAX + 2);
    expect_repeated(submit_cell("a", 0, 2), 3);
    stores_expect_at(&stores_, submit_cell("a", 0, 1), TP_STORE_VERSION, 5, TP_KEYS_MAX + 3);
    stores_end(&stores_);
}
END_TEST

/* The steps of a snapshot that a put writes: up to the rename nothing is in doubt. */
START_TEST(test_put)
{
    static const struct {
        enum wrapped kind;
        int pass; /* calls that go well before */
        bool is_unknown;
    } rows[] = {
        {DATASYNC, 0, false}, {DATASYNC, 1, false}, {RENAME, 0, false}, {SYNC, 0, false}, {RENAME, 1, true}, {SYNC, 1, true},
    };
    begin();
    put_grid("kept", 5);
    stores_expect_at(&stores_, submit_cell("kept", 0, 1), TP_STORE_VERSION, 5, 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_map *map = stores_grid(9, 9, 100 + i);
        for (int replaces = 0; replaces < 3; replaces++) { /* nothing; a map that is not held; one that is */
            const char *name = replaces > 0 ? "kept" : "new";
            if (replaces == 1)
                reopen();
            disk_.pass[rows[i].kind] = rows[i].pass;
            disk_.fail[rows[i].kind] = 1;
            expect_lost(stores_put(&stores_, name, map, replaces > 0), rows[i].is_unknown);
            ck_assert_int_eq(disk_.fail[rows[i].kind], 0);
            if (rows[i].is_unknown) /* else all is as it was at once */
                wait_mended();
            for (int again = 0; again < 2; again++) {
                if (replaces == 0)
                    stores_expect(&stores_, stores_load(&stores_, name), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
                stores_expect_at(&stores_, stores_load(&stores_, "kept"), TP_STORE_LOADED, 5, 2);
                expect_repeated(submit_cell("kept", 7, 1), 2);
                reopen();
            }
            stores_expect_at(&stores_, stores_load(&stores_, "kept"), TP_STORE_LOADED, 5, 2);
        }
        tp_map_unref(map);
    }
    stores_end(&stores_);
}
END_TEST

/* Of a map that is held a drop in doubt comes to nothing; of another it is told when it is done. */
START_TEST(test_drop)
{
    begin();
    put_grid("a", 5);
    stores_expect_at(&stores_, submit_cell("a", 0, 1), TP_STORE_VERSION, 5, 2);
    disk_.fail[SYNC] = 1;
    expect_lost(stores_drop(&stores_, "a"), true);
    stores_expect_at(&stores_, stores_load(&stores_, "a"), TP_STORE_LOADED, 5, 2);
    wait_mended();
    reopen();
    stores_expect_at(&stores_, stores_load(&stores_, "a"), TP_STORE_LOADED, 5, 2);
    expect_repeated(submit_cell("a", 7, 1), 2);
    reopen();
    disk_.fail[SYNC] = 1;
    expect_lost(stores_drop(&stores_, "a"), true);
    wait_mended();
    ck_assert_uint_eq(stores_.strange, 1);
    stores_expect(&stores_, stores_load(&stores_, "a"), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
    reopen();
    stores_expect(&stores_, stores_load(&stores_, "a"), TP_STORE_REFUSED, TP_ERR_NOT_FOUND);
    stores_end(&stores_);
}
END_TEST

/* Any call fails at any time: the versions told are the acknowledged ones alone, and a restart finds them, with at most what was in
 * doubt since the last one. Cell number v is blocked by version v + 1, whose key it is. */
START_TEST(test_random)
{
    struct tp_test_rng rng = tp_test_rng("folder faults");
    disk_rng_ = tp_test_rng("disk");
    begin();
    put_grid("a", 5);
    uint64_t version = 1, lost = 0, found = 0;
    for (uint64_t round = tp_test_steps(40, 1000); round > 0 && version < SIDE * SIDE - 300; round--) {
        uint64_t doubtful = 0; /* the last version in doubt */
        disk_.percent = tp_test_below(&rng, 30);
        for (int burst = 0; burst < 8; burst++) {
            struct stores_call *calls[6];
            uint32_t count = 1 + tp_test_below(&rng, 6);
            for (uint32_t i = 0; i < count; i++) {
                struct tp_batch batch = stores_cell((uint32_t)(version + i), 0, '@', version + i + 1);
                batch.is_placed = false;
                batch.has_base_version = true;
                batch.base_version = version + i;
                calls[i] = stores_submit(&stores_, "a", &batch);
            }
            stores_settle(&stores_);
            for (uint32_t i = 0; i < count; i++) {
                const struct tp_store_event *event = &calls[i]->event;
                if (event->kind == TP_STORE_VERSION) {
                    version++;
                    doubtful = 0;
                } else {
                    ck_assert(event->error == TP_ERR_UNAVAILABLE || event->error == TP_ERR_VERSION_MISMATCH);
                    ck_assert_uint_eq(event->map->version, version);
                    if (event->is_unknown && doubtful < version + count)
                        doubtful = version + count;
                    lost++;
                }
                if (event->kind != TP_STORE_VERSION) /* what comes behind was made for later versions */
                    for (uint32_t k = i + 1; k < count; k++)
                        if (calls[k]->event.kind == TP_STORE_VERSION)
                            ck_abort_msg("a batch is there without the one before it");
            }
        }
        stores_close(&stores_);
        disk_.percent = 0;
        stores_open(&stores_);
        struct stores_call *load = stores_load(&stores_, "a");
        stores_expect(&stores_, load, TP_STORE_LOADED, 0);
        uint64_t now = load->event.map->version;
        ck_assert_uint_eq(load->event.map->epoch, 5);
        ck_assert_msg(now >= version && (now == version || now <= doubtful), "version %llu of %llu, up to %llu in doubt",
                      (unsigned long long)now, (unsigned long long)version, (unsigned long long)doubtful);
        found += now > version;
        version = now;
        ck_assert_uint_eq(load->event.map->passable_cells, SIDE * SIDE - (version - 1));
        if (version > 1)
            expect_repeated(submit_cell("a", 0, version), version);
    }
    printf("%llu versions, %llu batches refused, %llu restarts that found what was in doubt\n", (unsigned long long)version,
           (unsigned long long)lost, (unsigned long long)found);
    ck_assert(version > 20 && lost > 20);
    stores_end(&stores_);
}
END_TEST

static Suite *folder_suite(void)
{
    Suite *suite = suite_create("folder");
    TCase *tcase = tcase_create("folder");
    tcase_add_test(tcase, test_record);
    tcase_add_test(tcase, test_record_cut);
    tcase_add_test(tcase, test_record_in_doubt);
    tcase_add_test(tcase, test_keys_full);
    tcase_add_test(tcase, test_put);
    tcase_add_test(tcase, test_drop);
    tcase_add_test(tcase, test_random);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_folder", folder_suite);
}
