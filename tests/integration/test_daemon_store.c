/* The store in a folder, from outside: what was acknowledged is there after a restart, what is damaged is
 * said, a full disk refuses and heals. */
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 40, HEIGHT = 30, CELLS = WIDTH * HEIGHT };

static struct wire_daemon daemon_;
static struct wire wire_;
static char data_[128];

static void begin(void)
{
    wire_daemon_init(&daemon_);
    snprintf(data_, sizeof data_, "%s/data", daemon_.folder);
}

static void end(void)
{
    wire_daemon_fini(&daemon_);
}

static void start(void)
{
    wire_daemon_start(&daemon_, "--data", data_, "--fold-batches", "1000", NULL);
    wire_open_greeted(&wire_, daemon_.port);
}

static void stop(void)
{
    wire_close(&wire_);
    wire_daemon_stop(&daemon_);
}

static void die(void)
{
    wire_daemon_kill(&daemon_);
    wire_close(&wire_);
}

static Tickpath__Reply *open_map(const char *name)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)name;
    return wire_ask(&wire_, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
}

static void expect_map(const char *name, uint64_t epoch, uint64_t version, uint64_t passable)
{
    Tickpath__Reply *reply = open_map(name);
    ck_assert_uint_eq(reply->map_info->epoch, epoch);
    ck_assert_uint_eq(reply->map_info->version, version);
    ck_assert_uint_eq(reply->map_info->passable_cells, passable);
    wire_reply_free(reply);
}

static uint64_t epoch_of(const char *name)
{
    Tickpath__Reply *reply = open_map(name);
    uint64_t epoch = reply->map_info->epoch;
    wire_reply_free(reply);
    return epoch;
}

/* The one file that ends so, in static memory. */
static const char *only_file(const char *end)
{
    static char path[256];
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*%s", data_, end);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 1);
    snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}

static off_t size_of(const char *path)
{
    struct stat facts;
    ck_assert_int_eq(stat(path, &facts), 0);
    return facts.st_size;
}

/* Flips one bit of a file; a place below 0 counts from its end. */
static void damage(const char *path, off_t at)
{
    int fd = open(path, O_RDWR);
    uint8_t byte;
    if (at < 0)
        at += size_of(path);
    ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* Blocks cells first..last, one batch each. */
static void block(const char *map, uint32_t first, uint32_t last)
{
    for (uint32_t cell = first; cell <= last; cell++)
        wire_set_cell(&wire_, map, cell, '@');
}

static void expect_in_log(const char *words)
{
    char path[128];
    snprintf(path, sizeof path, "%s/log", daemon_.folder);
    size_t size;
    char *text = tp_test_read_file(path, &size);
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in the daemon's log:\n%s", words, text);
    free(text);
}

/* Everything that can change, in one batch and in several; killed without a word, then ended properly. */
START_TEST(test_restart)
{
    start();
    wire_put_free_map(&wire_, "town/north", WIDTH, HEIGHT);
    wire_put_free_map(&wire_, "plain", 5, 5);
    uint64_t epoch = epoch_of("town/north"), plain = epoch_of("plain");
    block("town/north", 10, 19);
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
        wire_ask(&wire_, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED));
    uint64_t passable = CELLS - 10 - 2 - 8 - 3;
    expect_map("town/north", epoch, 12, passable);
    die();
    for (int i = 0; i < 3; i++) { /* reading the folder changes nothing */
        start();
        expect_map("town/north", epoch, 12, passable);
        expect_map("plain", plain, 1, 25);
        if (i % 2)
            die();
        else
            stop();
    }
    start(); /* and it goes on from there */
    ck_assert_uint_eq(wire_set_cell(&wire_, "town/north", 0, '@'), 13);
    ck_assert_uint_eq(wire_set_cell(&wire_, "plain", 0, '@'), 2);
    die();
    start();
    expect_map("town/north", epoch, 13, passable - 1);
    expect_map("plain", plain, 2, 24);
    Tickpath__List list = TICKPATH__LIST__INIT;
    list.has_maps = list.maps = 1;
    Tickpath__Reply *listing =
        wire_ask(&wire_, TICKPATH__REQUEST__BODY_LIST, &list, TICKPATH__REPLY__BODY_LISTING);
    ck_assert_uint_eq(listing->listing->n_map, 2);
    wire_reply_free(listing);
    stop();
}
END_TEST

/* A session may be opened on a stored map at once, without asking for the map first. */
START_TEST(test_session_on_stored_map)
{
    start();
    wire_put_free_map(&wire_, "m", WIDTH, HEIGHT);
    stop();
    for (int i = 0; i < 10; i++) {
        start();
        uint64_t session = wire_open_session(&wire_, "m", 0, CELLS - 1, NULL, 10);
        wire_reply_free(wire_tick(&wire_, session));
        stop();
    }
}
END_TEST

START_TEST(test_welcome_says_volatile)
{
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    for (int with_data = 0; with_data < 2; with_data++) {
        if (with_data)
            wire_daemon_start(&daemon_, "--data", data_, NULL);
        else
            wire_daemon_start(&daemon_, NULL);
        wire_open(&wire_, daemon_.port);
        Tickpath__Reply *reply =
            wire_ask(&wire_, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__REPLY__BODY_WELCOME);
        ck_assert(reply->welcome->has_volatile_store);
        ck_assert_int_eq(reply->welcome->volatile_store, !with_data);
        ck_assert_ptr_null(reply->welcome->degraded);
        wire_reply_free(reply);
        stop();
    }
}
END_TEST

/* However much of the last record is missing or wrong, what stands before it is kept. */
START_TEST(test_torn_tail)
{
    start();
    wire_put_free_map(&wire_, "m", WIDTH, HEIGHT);
    uint64_t epoch = epoch_of("m");
    block("m", 0, 9);
    off_t before = size_of(only_file(".log"));
    block("m", 10, 10);
    off_t after = size_of(only_file(".log"));
    die();
    char original[256];
    size_t size;
    snprintf(original, sizeof original, "%s", only_file(".log"));
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
            damage(original, -1);
        }
        start();
        expect_map("m", epoch, 11, CELLS - 10);
        ck_assert_uint_eq(wire_set_cell(&wire_, "m", 20, '@'), 12); /* and the log can be written on */
        die();
        expect_in_log("torn end of a log is dropped");
        start();
        expect_map("m", epoch, 12, CELLS - 11);
        die();
    }
    free(bytes);
}
END_TEST

static void expect_corrupt(const char *map)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)map;
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__CORRUPT, "map");
    uint32_t cell = 0, terrain = '.';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)map;
    change.cell = &cell;
    change.cell_terrain = &terrain;
    change.n_cell = change.n_cell_terrain = 1;
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__ERROR_CODE__CORRUPT,
                   "map");
    Tickpath__OpenSession session = TICKPATH__OPEN_SESSION__INIT;
    session.map = (char *)map;
    session.has_start = session.has_goal = 1;
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_OPEN_SESSION, &session, TICKPATH__ERROR_CODE__CORRUPT,
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
        start();
        wire_put_free_map(&wire_, "m", WIDTH, HEIGHT);
        block("m", 0, 9);
        die();
        damage(only_file(places[i].file), places[i].at);
        start();
        wire_put_free_map(&wire_, "other", 6, 6);
        wire_reply_free(wire_tick(&wire_, wire_open_session(&wire_, "other", 0, 35, NULL, 10)));
        expect_corrupt("m");
        expect_in_log("a stored map is corrupt");
        uint8_t cells[4] = "....";
        Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
        put.map = "m";
        put.has_width = put.has_height = put.has_cells = put.has_last = put.last = 1;
        put.width = put.height = 2;
        put.cells.data = cells;
        put.cells.len = 4;
        wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__ERROR_CODE__ALREADY_EXISTS,
                       "map");
        put.has_replace = put.replace = 1;
        wire_reply_free(
            wire_ask(&wire_, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
        uint64_t epoch = epoch_of("m");
        die();
        start();
        expect_map("m", epoch, 1, 4);
        die();
        tp_test_folder_remove(data_);
    }
}
END_TEST

/* After three batches the log becomes a snapshot; versions go on; old files go away. */
START_TEST(test_fold)
{
    wire_daemon_start(&daemon_, "--data", data_, "--fold-batches", "3", NULL);
    wire_open_greeted(&wire_, daemon_.port);
    wire_put_free_map(&wire_, "m", WIDTH, HEIGHT);
    uint64_t epoch = epoch_of("m");
    for (uint32_t i = 0; i < 11; i++) {
        ck_assert_uint_eq(wire_set_cell(&wire_, "m", i, '@'), i + 2);
        if (i % 4 == 3) {
            die();
            wire_daemon_start(&daemon_, "--data", data_, "--fold-batches", "3", NULL);
            wire_open_greeted(&wire_, daemon_.port);
            expect_map("m", epoch, i + 2, CELLS - 1 - i);
        }
    }
    stop(); /* what is queued behind the last acknowledgement is done by then */
    only_file(".snap");
    ck_assert_int_lt(size_of(only_file(".log")), 32 + 3 * 64);
    start();
    expect_map("m", epoch, 12, CELLS - 11);
    stop();
}
END_TEST

/* ---- Snapshot and log are one: what is left after a death between two steps, and what was taken away ---- */

struct file {
    char path[256];
    char *bytes;
    size_t size;
};

static struct file keep_file(const char *end)
{
    struct file file;
    snprintf(file.path, sizeof file.path, "%s", only_file(end));
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
    snprintf(command, sizeof command, "rm -f '%s'/*", data_);
    ck_assert_int_eq(system(command), 0);
}

static size_t count_logs(void)
{
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.log*", data_);
    int error = glob(pattern, 0, NULL, &found);
    size_t count = error == GLOB_NOMATCH ? 0 : found.gl_pathc;
    globfree(&found);
    return count;
}

static void start_folding(void)
{
    wire_daemon_start(&daemon_, "--data", data_, "--fold-batches", "3", NULL);
    wire_open_greeted(&wire_, daemon_.port);
}

/* The files of one map before a fold (put, three batches: version 4) and after it. */
static uint64_t make_folded(struct file *snap_before, struct file *log_before, struct file *snap_after,
                            struct file *log_after)
{
    start_folding();
    wire_put_free_map(&wire_, "m", WIDTH, HEIGHT);
    uint64_t epoch = epoch_of("m");
    block("m", 0, 1);
    die();
    *snap_before = keep_file(".snap");
    struct file short_log = keep_file(".log");
    start();
    block("m", 2, 2);
    die();
    *log_before = keep_file(".log");
    write_file(&short_log, short_log.size);
    free(short_log.bytes);
    start_folding();
    block("m", 2, 2);
    stop();
    *snap_after = keep_file(".snap");
    *log_after = keep_file(".log");
    ck_assert_str_ne(log_before->path, log_after->path);
    return epoch;
}

/* A snapshot is never without its log, not even before the first batch. */
START_TEST(test_snapshot_has_log)
{
    start();
    wire_put_free_map(&wire_, "m", WIDTH, HEIGHT);
    only_file(".snap");
    ck_assert_int_eq(size_of(only_file(".log")), 32);
    die();
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
            snprintf(draft.path, sizeof draft.path, "%s/m.log~", data_);
            write_file(&draft, draft.size / 2);
        }
        if (step >= 3)
            write_file(&log_after, log_after.size);
        start();
        expect_map("m", epoch, 4, CELLS - 3);
        ck_assert_uint_eq(wire_set_cell(&wire_, "m", 20, '@'), 5);
        die();
        only_file(".log");
        start();
        expect_map("m", epoch, 5, CELLS - 4);
        stop();
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
        start();
        uint64_t version = is_after ? 4 : 1, passable = is_after ? CELLS - 3 : CELLS, anew = epoch_of("m");
        ck_assert_uint_gt(anew, epoch);
        expect_map("m", anew, version, passable);
        expect_in_log("the log of a map is missing, or not all of it is there; the map begins a new epoch");
        die();
        start();
        expect_map("m", anew, version, passable);
        ck_assert_uint_eq(wire_set_cell(&wire_, "m", 20, '@'), version + 1);
        die();
        start();
        expect_map("m", anew, version + 1, passable - 1);
        ck_assert_uint_eq(count_logs(), 1);
        stop();
    }
    free(snap_before.bytes);
    free(log_before.bytes);
    free(snap_after.bytes);
    free(log_after.bytes);
}
END_TEST

START_TEST(test_folder_in_use)
{
    start();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char log[200];
        snprintf(log, sizeof log, "%s/log2", daemon_.folder);
        int fd = open(log, O_WRONLY | O_CREAT, 0600);
        dup2(fd, 2);
        execl(tp_test_program("tickpathd"), "tickpathd", "--listen", "127.0.0.1:0", "--data", data_, NULL);
        _exit(127);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    size_t size;
    char *text = tp_test_read_file(tp_test_path(daemon_.folder, "log2", ""), &size);
    ck_assert_msg(strstr(text, "another daemon uses it") != NULL, "%s", text);
    free(text);
    stop();
}
END_TEST

/* What the welcome of a new connection says is wrong with the store; malloc'd, NULL: nothing. */
static char *degraded(void)
{
    struct wire wire;
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    wire_open(&wire, daemon_.port);
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
    wire_daemon_start(&daemon_, "--data", data_, NULL);
    wire_open_greeted(&wire_, daemon_.port);
    wire_put_free_map(&wire_, "m", WIDTH, HEIGHT);
    uint64_t epoch = epoch_of("m");
    uint64_t session = wire_open_session(&wire_, "m", 0, CELLS - 1, NULL, 10);
    block("m", 100, 104);
    struct rlimit before, none;
    ck_assert_int_eq(prlimit(daemon_.pid, RLIMIT_FSIZE, NULL, &before), 0);
    none = before;
    none.rlim_cur = 0;
    ck_assert_int_eq(prlimit(daemon_.pid, RLIMIT_FSIZE, &none, NULL), 0);
    enum { REFUSED = 5 };
    for (uint32_t i = 0; i < REFUSED;
         i++) { /* pipelined: what was built on the refused one is refused as well */
        uint32_t cell = 200 + i, terrain = '@';
        Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
        change.map = "m";
        change.cell = &cell;
        change.cell_terrain = &terrain;
        change.n_cell = change.n_cell_terrain = 1;
        wire_send(&wire_, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
    }
    for (uint32_t i = 0; i < REFUSED; i++) {
        Tickpath__Reply *reply = wire_recv(&wire_);
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
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__ERROR_CODE__UNAVAILABLE, NULL);
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "new";
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__NOT_FOUND, "map");
    expect_map("m", epoch, 6, CELLS - 5);
    Tickpath__Reply *ticked = wire_tick(&wire_, session); /* searching needs no disk */
    ck_assert_uint_eq(ticked->ticked->version[0], 6);
    wire_reply_free(ticked);
    char *words = degraded();
    ck_assert_ptr_nonnull(words);
    ck_assert_msg(strstr(words, "data folder") != NULL, "%s", words);
    free(words);

    ck_assert_int_eq(prlimit(daemon_.pid, RLIMIT_FSIZE, &before, NULL), 0);
    for (uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS; (words = degraded()) != NULL;) {
        free(words);
        ck_assert_uint_lt(wire_now_ms(), until);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    ck_assert_uint_eq(wire_set_cell(&wire_, "m", 300, '@'), 7);
    wire_reply_free(wire_ask(&wire_, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    die();
    start();
    expect_map("m", epoch, 7, CELLS - 6);
    expect_map("new", epoch_of("new"), 1, 1);
    stop();
}
END_TEST

/* The folder is removed under the daemon: nothing more is acknowledged, ticks go on. */
START_TEST(test_folder_removed)
{
    wire_daemon_start(&daemon_, "--data", data_, NULL);
    wire_open_greeted(&wire_, daemon_.port);
    wire_put_free_map(&wire_, "m", WIDTH, HEIGHT);
    uint64_t session = wire_open_session(&wire_, "m", 0, CELLS - 1, NULL, 10);
    block("m", 100, 104);
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", data_);
    ck_assert_int_eq(system(command), 0);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t cell = 200 + i, terrain = '@';
        Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
        change.map = "m";
        change.cell = &cell;
        change.cell_terrain = &terrain;
        change.n_cell = change.n_cell_terrain = 1;
        wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change,
                       TICKPATH__ERROR_CODE__UNAVAILABLE, NULL);
    }
    char *words = degraded();
    ck_assert_ptr_nonnull(words);
    free(words);
    wire_reply_free(wire_tick(&wire_, session));
    stop();
}
END_TEST

/* The same with one refused change and no retry of ours in between: the next change must itself be enough. */
START_TEST(test_full_disk_then_change)
{
    start();
    wire_put_free_map(&wire_, "m", WIDTH, HEIGHT);
    uint64_t epoch = epoch_of("m"), version = 1, passable = CELLS;
    struct rlimit before, some;
    ck_assert_int_eq(prlimit(daemon_.pid, RLIMIT_FSIZE, NULL, &before), 0);
    struct tp_test_rng rng = tp_test_rng("full disk");
    for (uint32_t i = 0; i < 20; i++) {
        some = before; /* from nothing to a part of a record or of a snapshot */
        some.rlim_cur = tp_test_below(&rng, 700);
        ck_assert_int_eq(prlimit(daemon_.pid, RLIMIT_FSIZE, &some, NULL), 0);
        uint32_t cell = 100 + i, terrain = '@';
        Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
        change.map = "m";
        change.cell = &cell;
        change.cell_terrain = &terrain;
        change.n_cell = change.n_cell_terrain = 1;
        wire_send(&wire_, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
        Tickpath__Reply *reply = wire_recv(&wire_);
        bool is_applied = reply->body_case == TICKPATH__REPLY__BODY_CHANGED;
        if (!is_applied)
            ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__UNAVAILABLE);
        version += is_applied;
        passable -= is_applied;
        wire_reply_free(reply);
        ck_assert_int_eq(prlimit(daemon_.pid, RLIMIT_FSIZE, &before, NULL), 0);
        if (i % 3 == 0) {
            ck_assert_uint_eq(wire_set_cell(&wire_, "m", 500 + i, '@'), ++version);
            passable--;
        }
        if (i % 5 == 4) {
            die();
            start();
        }
        expect_map("m", epoch, version, passable);
    }
    stop();
}
END_TEST

/* One map's log fails while another's changes go on coming, more often than the store looks after what is broken:
 * it is mended all the same, and the welcome stops saying degraded. */
START_TEST(test_mended_while_others_change)
{
    start();
    wire_put_free_map(&wire_, "busy", WIDTH, HEIGHT);
    wire_put_free_map(&wire_, "hurt", WIDTH, HEIGHT);
    block("hurt", 0, 59); /* its log is the longer one, so that a bound on files stops it alone */
    uint64_t epoch = epoch_of("hurt");
    struct rlimit before, some;
    ck_assert_int_eq(prlimit(daemon_.pid, RLIMIT_FSIZE, NULL, &before), 0);
    char pattern[256], path[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/hurt*.log", data_);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    some = before;
    some.rlim_cur = (rlim_t)size_of(path);
    ck_assert_int_eq(prlimit(daemon_.pid, RLIMIT_FSIZE, &some, NULL), 0);
    uint32_t cell = 100, terrain = '@';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "hurt";
    change.cell = &cell;
    change.cell_terrain = &terrain;
    change.n_cell = change.n_cell_terrain = 1;
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__ERROR_CODE__UNAVAILABLE,
                   NULL);
    ck_assert_int_eq(prlimit(daemon_.pid, RLIMIT_FSIZE, &before, NULL), 0);
    char *words;
    uint64_t version = 1;
    for (uint64_t until = wire_now_ms() + 8000; (words = degraded()) != NULL;) {
        ck_assert_msg(wire_now_ms() < until, "still degraded: %s", words);
        free(words);
        ck_assert_uint_eq(wire_set_cell(&wire_, "busy", (uint32_t)(version % CELLS), '@'), version + 1);
        version++;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    die();
    start();
    expect_map("hurt", epoch, 61, CELLS - 60);
    expect_map("busy", epoch_of("busy"), version, CELLS - (version - 1));
    stop();
}
END_TEST

static Suite *store_suite(void)
{
    Suite *suite = suite_create("daemon_store");
    TCase *cases = tcase_create("store");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_restart);
    tcase_add_test(cases, test_session_on_stored_map);
    tcase_add_test(cases, test_welcome_says_volatile);
    tcase_add_test(cases, test_torn_tail);
    tcase_add_test(cases, test_corrupt);
    tcase_add_test(cases, test_fold);
    tcase_add_test(cases, test_snapshot_has_log);
    tcase_add_test(cases, test_fold_orders);
    tcase_add_test(cases, test_log_lost);
    tcase_add_test(cases, test_folder_in_use);
    tcase_add_test(cases, test_full_disk);
    tcase_add_test(cases, test_full_disk_then_change);
    tcase_add_test(cases, test_folder_removed);
    tcase_add_test(cases, test_mended_while_others_change);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_store", store_suite);
}
