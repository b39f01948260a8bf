/* The store in a folder, from outside: what was acknowledged is there after a restart, what is damaged is
 * said. Between the steps of a fold: test_daemon_folds.c; a full disk: test_daemon_disk.c. */
#include "tests/lib/stored.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything that can change, in one batch and in several; killed without a word, then ended properly. */
START_TEST(test_restart)
{
    stored_start();
    wire_put_free_map(&stored_wire, "town/north", STORED_WIDTH, STORED_HEIGHT);
    wire_put_free_map(&stored_wire, "plain", 5, 5);
    uint64_t epoch = stored_epoch_of("town/north"), plain = stored_epoch_of("plain");
    stored_block("town/north", 10, 19);
    uint32_t cells[2] = {100, 101}, terrain = 'T';
    uint8_t bits[] = {0x05, 0x01}; /* 3 of 9 cells */
    Tickpath__Rectangle rectangle = TICKPATH__RECTANGLE__INIT, *rectangles[] = {&rectangle};
    rectangle.has_x = rectangle.has_y = rectangle.has_width = rectangle.has_height = rectangle.has_terrain =
        1;
    rectangle.x = 5;
    rectangle.y = 10;
    rectangle.width = 4;
    rectangle.height = 2;
    rectangle.terrain = '@';
    Tickpath__Bitmap bitmap = TICKPATH__BITMAP__INIT, *bitmaps[] = {&bitmap};
    bitmap.has_x = bitmap.has_y = bitmap.has_width = bitmap.has_height = bitmap.has_terrain =
        bitmap.has_bits = 1;
    bitmap.x = bitmap.y = 20;
    bitmap.width = bitmap.height = 3;
    bitmap.terrain = 'W';
    bitmap.bits.data = bits;
    bitmap.bits.len = sizeof bits;
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "town/north";
    change.cell = cells;
    change.n_cell = 2;
    change.cell_terrain = &terrain;
    change.n_cell_terrain = 1;
    change.rectangle = rectangles;
    change.bitmap = bitmaps;
    change.n_rectangle = change.n_bitmap = 1;
    wire_reply_free(
        wire_ask(&stored_wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED));
    uint64_t passable = STORED_CELLS - 10 - 2 - 8 - 3;
    stored_expect_map("town/north", epoch, 12, passable);
    stored_die();
    for (int i = 0; i < 3; i++) { /* reading the folder changes nothing */
        stored_start();
        stored_expect_map("town/north", epoch, 12, passable);
        stored_expect_map("plain", plain, 1, 25);
        if (i % 2)
            stored_die();
        else
            stored_stop();
    }
    stored_start(); /* and it goes on from there */
    ck_assert_uint_eq(wire_set_cell(&stored_wire, "town/north", 0, '@'), 13);
    ck_assert_uint_eq(wire_set_cell(&stored_wire, "plain", 0, '@'), 2);
    stored_die();
    stored_start();
    stored_expect_map("town/north", epoch, 13, passable - 1);
    stored_expect_map("plain", plain, 2, 24);
    Tickpath__List list = TICKPATH__LIST__INIT;
    list.has_maps = list.maps = 1;
    Tickpath__Reply *listing =
        wire_ask(&stored_wire, TICKPATH__REQUEST__BODY_LIST, &list, TICKPATH__REPLY__BODY_LISTING);
    ck_assert_uint_eq(listing->listing->n_map, 2);
    wire_reply_free(listing);
    stored_stop();
}
END_TEST

/* A session may be opened on a stored map at once, without asking for the map first. */
START_TEST(test_session_on_stored_map)
{
    stored_start();
    wire_put_free_map(&stored_wire, "m", STORED_WIDTH, STORED_HEIGHT);
    stored_stop();
    for (int i = 0; i < 10; i++) {
        stored_start();
        uint64_t session = wire_open_session(&stored_wire, "m", 0, STORED_CELLS - 1, NULL, 10);
        wire_reply_free(wire_tick(&stored_wire, session));
        stored_stop();
    }
}
END_TEST

START_TEST(test_welcome_says_volatile)
{
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    for (int with_data = 0; with_data < 2; with_data++) {
        if (with_data)
            wire_daemon_start(&stored_daemon, "--data", stored_folder, NULL);
        else
            wire_daemon_start(&stored_daemon, NULL);
        wire_open(&stored_wire, stored_daemon.port);
        Tickpath__Reply *reply =
            wire_ask(&stored_wire, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__REPLY__BODY_WELCOME);
        ck_assert(reply->welcome->has_volatile_store);
        ck_assert_int_eq(reply->welcome->volatile_store, !with_data);
        ck_assert_ptr_null(reply->welcome->degraded);
        wire_reply_free(reply);
        stored_stop();
    }
}
END_TEST

/* However much of the last record is missing or wrong, what stands before it is kept. */
START_TEST(test_torn_tail)
{
    stored_start();
    wire_put_free_map(&stored_wire, "m", STORED_WIDTH, STORED_HEIGHT);
    uint64_t epoch = stored_epoch_of("m");
    stored_block("m", 0, 9);
    off_t before = stored_size_of(stored_only_file(".log"));
    stored_block("m", 10, 10);
    off_t after = stored_size_of(stored_only_file(".log"));
    stored_die();
    char original[256];
    size_t size;
    snprintf(original, sizeof original, "%s", stored_only_file(".log"));
    char *bytes = tp_test_read_file(original, &size);
    ck_assert_int_eq((off_t)size, after);
    struct tp_test_rng rng = tp_test_rng("torn");
    for (int i = 0; i < 8; i++) {
        off_t cut = i == 0   ? before + 1
                    : i == 1 ? after - 1
                             : before + 1 + (off_t)tp_test_below(&rng, (uint32_t)(after - before - 1));
        int fd = open(original, O_WRONLY | O_TRUNC);
        ck_assert_int_eq(write(fd, bytes, (size_t)cut), cut);
        if (i ==
            2) /* what a file system may leave after a crash: the length grown, the bytes never written */
            ck_assert_int_eq(ftruncate(fd, after + 5000), 0);
        close(fd);
        if (i == 3) {
            fd = open(original, O_WRONLY | O_TRUNC);
            ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
            close(fd);
            stored_damage(original, -1);
        }
        stored_start();
        stored_expect_map("m", epoch, 11, STORED_CELLS - 10);
        ck_assert_uint_eq(wire_set_cell(&stored_wire, "m", 20, '@'), 12); /* and the log can be written on */
        stored_die();
        stored_expect_in_log("torn end of a log is dropped");
        stored_start();
        stored_expect_map("m", epoch, 12, STORED_CELLS - 11);
        stored_die();
    }
    free(bytes);
}
END_TEST

static void expect_corrupt(const char *map)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)map;
    wire_ask_error(&stored_wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__CORRUPT, "map");
    uint32_t cell = 0, terrain = '.';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)map;
    change.cell = &cell;
    change.cell_terrain = &terrain;
    change.n_cell = change.n_cell_terrain = 1;
    wire_ask_error(&stored_wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__ERROR_CODE__CORRUPT,
                   "map");
    Tickpath__OpenSession session = TICKPATH__OPEN_SESSION__INIT;
    session.map = (char *)map;
    session.has_start = session.has_goal = 1;
    wire_ask_error(&stored_wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &session, TICKPATH__ERROR_CODE__CORRUPT,
                   "map");
}

/* A bit flipped anywhere but at the end: the map is refused with CORRUPT, other maps are served, a put with
 * `replace` makes it anew. */
START_TEST(test_corrupt)
{
    const struct {
        const char *file;
        off_t at;
    } places[] = {{".snap", 9}, {".snap", -1}, {".snap", 100}, {".log", 40},
                  {".log", 32}, {".log", 75},  {".log", 10}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        stored_start();
        wire_put_free_map(&stored_wire, "m", STORED_WIDTH, STORED_HEIGHT);
        stored_block("m", 0, 9);
        stored_die();
        stored_damage(stored_only_file(places[i].file), places[i].at);
        stored_start();
        wire_put_free_map(&stored_wire, "other", 6, 6);
        wire_reply_free(wire_tick(&stored_wire, wire_open_session(&stored_wire, "other", 0, 35, NULL, 10)));
        expect_corrupt("m");
        stored_expect_in_log("a stored map is corrupt");
        uint8_t cells[4] = "....";
        Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
        put.map = "m";
        put.has_width = put.has_height = put.has_cells = put.has_last = put.last = 1;
        put.width = put.height = 2;
        put.cells.data = cells;
        put.cells.len = 4;
        wire_ask_error(&stored_wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__ERROR_CODE__ALREADY_EXISTS,
                       "map");
        put.has_replace = put.replace = 1;
        wire_reply_free(
            wire_ask(&stored_wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
        uint64_t epoch = stored_epoch_of("m");
        stored_die();
        stored_start();
        stored_expect_map("m", epoch, 1, 4);
        stored_die();
        tp_test_folder_remove(stored_folder);
    }
}
END_TEST

/* After three batches the log becomes a snapshot; versions go on; old files go away. */
START_TEST(test_fold)
{
    wire_daemon_start(&stored_daemon, "--data", stored_folder, "--fold-batches", "3", NULL);
    wire_open_greeted(&stored_wire, stored_daemon.port);
    wire_put_free_map(&stored_wire, "m", STORED_WIDTH, STORED_HEIGHT);
    uint64_t epoch = stored_epoch_of("m");
    for (uint32_t i = 0; i < 11; i++) {
        ck_assert_uint_eq(wire_set_cell(&stored_wire, "m", i, '@'), i + 2);
        if (i % 4 == 3) {
            stored_die();
            wire_daemon_start(&stored_daemon, "--data", stored_folder, "--fold-batches", "3", NULL);
            wire_open_greeted(&stored_wire, stored_daemon.port);
            stored_expect_map("m", epoch, i + 2, STORED_CELLS - 1 - i);
        }
    }
    stored_stop(); /* what is queued behind the last acknowledgement is done by then */
    stored_only_file(".snap");
    ck_assert_int_lt(stored_size_of(stored_only_file(".log")), 32 + 3 * 64);
    stored_start();
    stored_expect_map("m", epoch, 12, STORED_CELLS - 11);
    stored_stop();
}
END_TEST

START_TEST(test_folder_in_use)
{
    char said[4096];
    stored_start();
    ck_assert_int_eq(wire_daemon_run(said, sizeof said, "--listen", "127.0.0.1:0", "--data", stored_folder, NULL), 11);
    ck_assert_msg(strstr(said, "another daemon uses it") != NULL, "%s", said);
    stored_stop();
}
END_TEST

static Suite *store_suite(void)
{
    Suite *suite = suite_create("daemon_store");
    TCase *cases = tcase_create("store");
    tcase_add_checked_fixture(cases, stored_begin, stored_end);
    tcase_add_test(cases, test_restart);
    tcase_add_test(cases, test_session_on_stored_map);
    tcase_add_test(cases, test_welcome_says_volatile);
    tcase_add_test(cases, test_torn_tail);
    tcase_add_test(cases, test_corrupt);
    tcase_add_test(cases, test_fold);
    tcase_add_test(cases, test_folder_in_use);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_store", store_suite);
}
