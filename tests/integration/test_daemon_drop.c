/* Maps that are dropped: refused while somebody stands on them, gone from memory and from the folder afterwards,
 * in a new epoch when they come again; and many connections at one name at a time. */
#include "tests/lib/harness.h"
#include "tests/lib/served.h"
#include "tests/lib/wire.h"

#include <glob.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Tickpath__DropMap drop_;

static void drop_init(const char *name)
{
    tickpath__drop_map__init(&drop_);
    drop_.map = (char *)name;
}

static void drop(struct wire *wire, const char *name)
{
    drop_init(name);
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop_, TICKPATH__REPLY__BODY_MAP_DROPPED);
    ck_assert_str_eq(reply->map_dropped->map, name);
    wire_reply_free(reply);
}

static void expect_refused(struct wire *wire, const char *name, Tickpath__ErrorCode code, const char *field)
{
    drop_init(name);
    wire_ask_error(wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop_, code, field);
}

static uint64_t epoch_of(struct wire *wire, const char *name)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)name;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    uint64_t epoch = reply->map_info->epoch;
    wire_reply_free(reply);
    return epoch;
}

/* Nothing that names the map finds it. */
static void expect_gone(struct wire *wire, const char *name)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)name;
    wire_ask_error(wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__NOT_FOUND, "map");
    Tickpath__OpenSession session = TICKPATH__OPEN_SESSION__INIT;
    session.map = (char *)name;
    session.has_start = session.has_goal = 1;
    wire_ask_error(wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &session, TICKPATH__ERROR_CODE__NOT_FOUND,
                   "map");
    uint32_t cell = 0, terrain = '@';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)name;
    change.cell = &cell;
    change.cell_terrain = &terrain;
    change.n_cell = change.n_cell_terrain = 1;
    wire_ask_error(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__ERROR_CODE__NOT_FOUND,
                   "map");
    expect_refused(wire, name, TICKPATH__ERROR_CODE__NOT_FOUND, "map");
    Tickpath__List list = TICKPATH__LIST__INIT;
    list.has_maps = list.maps = 1;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_LIST, &list, TICKPATH__REPLY__BODY_LISTING);
    for (size_t i = 0; i < reply->listing->n_map; i++)
        ck_assert_str_ne(reply->listing->map[i]->map, name);
    wire_reply_free(reply);
}

static void close_all(struct wire *wire)
{
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.has_all = close.all = 1;
    wire_reply_free(
        wire_ask(wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close, TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
}

/* ---- In memory ---- */

START_TEST(test_refusals)
{
    expect_refused(&served.wire, NULL, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "map");
    expect_refused(&served.wire, "", TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "map");
    expect_refused(&served.wire, "../m", TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "map");
    expect_refused(&served.wire, "nowhere", TICKPATH__ERROR_CODE__NOT_FOUND, "map");
    uint64_t epoch = epoch_of(&served.wire, "m");
    drop_init("m");
    drop_.has_epoch = 1;
    const uint64_t others[] = {0, epoch - 1, epoch + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        drop_.epoch = others[i];
        wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop_,
                       TICKPATH__ERROR_CODE__FAILED_PRECONDITION, "epoch");
    }
    struct wire other;
    wire_open_greeted(&other, served.daemon.port);
    for (int own = 0; own < 2; own++) { /* whoever has the session */
        struct wire *with = own ? &served.wire : &other, *asks = own ? &other : &served.wire;
        uint64_t session = wire_open_session(with, "m", 0, SERVED_CELLS - 1, NULL, 100);
        expect_refused(&served.wire, "m", TICKPATH__ERROR_CODE__FAILED_PRECONDITION, "map");
        expect_refused(&other, "m", TICKPATH__ERROR_CODE__FAILED_PRECONDITION, "map");
        wire_reply_free(wire_tick(with, session)); /* undisturbed */
        ck_assert_uint_eq(epoch_of(asks, "m"), epoch);
        close_all(with);
    }
    wire_close(&other);
    drop_init("m");
    drop_.has_epoch = 1;
    drop_.epoch = epoch;
    wire_reply_free(
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop_, TICKPATH__REPLY__BODY_MAP_DROPPED));
    expect_gone(&served.wire, "m");
}
END_TEST

/* The name is free again: another size, a new epoch, versions from 1. Pipelined behind each other as well. */
START_TEST(test_put_again)
{
    uint64_t epoch = epoch_of(&served.wire, "m");
    wire_set_cell(&served.wire, "m", 0, '@');
    for (int i = 0; i < 20; i++) {
        drop(&served.wire, "m");
        expect_gone(&served.wire, "m");
        wire_put_free_map(&served.wire, "m", 3 + (uint32_t)i, 4);
        uint64_t anew = epoch_of(&served.wire, "m");
        ck_assert_uint_gt(anew, epoch);
        epoch = anew;
        ck_assert_uint_eq(wire_set_cell(&served.wire, "m", 0, '@'), 2);
        uint64_t session = wire_open_session(&served.wire, "m", 1, 11, NULL, 100);
        Tickpath__Reply *reply = wire_tick(&served.wire, session);
        ck_assert_uint_eq(reply->ticked->version[0], 2);
        wire_reply_free(reply);
        close_all(&served.wire);
    }
    drop_init("m");
    wire_send(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop_);
    wire_send(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop_);
    Tickpath__Reply *reply = wire_recv(&served.wire);
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_MAP_DROPPED);
    wire_reply_free(reply);
    reply = wire_recv(&served.wire);
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__NOT_FOUND);
    wire_reply_free(reply);
}
END_TEST

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
    wire_daemon_start(&daemon_, "--threads", "2", "--data", data_, NULL);
    wire_open_greeted(&wire_, daemon_.port);
}

static void die(void)
{
    wire_daemon_kill(&daemon_);
    wire_close(&wire_);
}

static void stop(void)
{
    wire_close(&wire_);
    wire_daemon_stop(&daemon_);
}

/* A dropped map leaves room for another: with room for 3 maps many more come and go. */
START_TEST(test_room)
{
    wire_daemon_start(&daemon_, "--threads", "2", "--maps-max", "3", NULL);
    wire_open_greeted(&wire_, daemon_.port);
    wire_put_free_map(&wire_, "stays", 5, 5);
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "map/%d", i);
        /* the other thread may not have heard of the last drop yet; it does without being asked */
        uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
        for (bool is_put = false; !is_put;) {
            uint8_t cells[4] = "....";
            Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
            put.map = name;
            put.has_width = put.has_height = put.has_cells = put.has_last = put.last = 1;
            put.width = put.height = 2;
            put.cells = (ProtobufCBinaryData){.len = 4, .data = cells};
            wire_send(&wire_, TICKPATH__REQUEST__BODY_PUT_MAP, &put);
            Tickpath__Reply *reply = wire_recv(&wire_);
            is_put = reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO;
            if (!is_put)
                ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED);
            wire_reply_free(reply);
            ck_assert_uint_lt(wire_now_ms(), until);
        }
        wire_reply_free(wire_tick(&wire_, wire_open_session(&wire_, name, 0, 3, NULL, 10)));
        close_all(&wire_);
        drop(&wire_, name);
    }
    ck_assert_uint_gt(epoch_of(&wire_, "stays"), 0);
    stop();
}
END_TEST

/* ---- In the data folder ---- */

static size_t count_files(const char *pattern)
{
    char path[256];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s", data_, pattern);
    int error = glob(path, 0, NULL, &found);
    size_t count = error == GLOB_NOMATCH ? 0 : found.gl_pathc;
    globfree(&found);
    return count;
}

/* Gone from the folder before the reply, and after a death right behind it; a name that the other begins with stays. */
START_TEST(test_folder)
{
    start();
    wire_put_free_map(&wire_, "town/a", 10, 10);
    wire_put_free_map(&wire_, "town/ab", 10, 10);
    wire_set_cell(&wire_, "town/a", 5, '@');
    wire_set_cell(&wire_, "town/ab", 6, '@');
    uint64_t epoch = epoch_of(&wire_, "town/a"), kept = epoch_of(&wire_, "town/ab");
    drop(&wire_, "town/a");
    ck_assert_uint_eq(count_files("town+a[.~]*"), 0);
    ck_assert_uint_eq(count_files("town+ab[.~]*"), 2);
    die();
    start();
    expect_gone(&wire_, "town/a");
    ck_assert_uint_eq(epoch_of(&wire_, "town/ab"), kept);
    wire_put_free_map(&wire_, "town/a", 4, 4);
    uint64_t anew = epoch_of(&wire_, "town/a");
    ck_assert_uint_gt(anew, epoch);
    ck_assert_uint_eq(wire_set_cell(&wire_, "town/a", 3, '@'), 2);
    die();
    start(); /* dropped right after the start, before anybody asked for it */
    drop(&wire_, "town/ab");
    ck_assert_uint_eq(count_files("town+ab[.~]*"), 0);
    ck_assert_uint_eq(epoch_of(&wire_, "town/a"), anew);
    ck_assert_uint_eq(wire_set_cell(&wire_, "town/a", 4, '@'), 3);
    drop(&wire_, "town/a");
    ck_assert_uint_eq(count_files("town*"), 0);
    stop();
}
END_TEST

/* Killed when the snapshot was removed and the log was not: there is no map, and the log does no harm to the next one. */
START_TEST(test_folder_half)
{
    start();
    wire_put_free_map(&wire_, "m", 10, 10);
    wire_set_cell(&wire_, "m", 5, '@');
    die();
    char path[256];
    snprintf(path, sizeof path, "%s/m.snap", data_);
    ck_assert_int_eq(unlink(path), 0);
    start();
    expect_gone(&wire_, "m");
    wire_put_free_map(&wire_, "m", 4, 4);
    uint64_t epoch = epoch_of(&wire_, "m");
    die();
    start();
    ck_assert_uint_eq(epoch_of(&wire_, "m"), epoch);
    ck_assert_uint_eq(count_files("m~*"), 1);
    stop();
}
END_TEST

/* A map that cannot be read is dropped like any other; an epoch cannot be told of it. */
START_TEST(test_folder_corrupt)
{
    start();
    wire_put_free_map(&wire_, "m", 10, 10);
    die();
    char path[256];
    snprintf(path, sizeof path, "%s/m.snap", data_);
    ck_assert_int_eq(truncate(path, 20), 0);
    start();
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)"m";
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__CORRUPT, "map");
    drop_init("m");
    drop_.has_epoch = drop_.epoch = 1;
    wire_ask_error(&wire_, TICKPATH__REQUEST__BODY_DROP_MAP, &drop_,
                   TICKPATH__ERROR_CODE__FAILED_PRECONDITION, "epoch");
    drop(&wire_, "m");
    ck_assert_uint_eq(count_files("m*"), 0);
    expect_gone(&wire_, "m");
    wire_put_free_map(&wire_, "m", 4, 4);
    ck_assert_uint_eq(wire_set_cell(&wire_, "m", 3, '@'), 2);
    stop();
}
END_TEST

/* ---- Many at one name ---- */

/* What each request may be answered with while others put, drop, change and open the same map. */
static bool is_allowed(const Tickpath__Reply *reply)
{
    if (reply->body_case != TICKPATH__REPLY__BODY_ERROR)
        return true;
    switch (reply->error->code) {
    case TICKPATH__ERROR_CODE__NOT_FOUND:
    case TICKPATH__ERROR_CODE__ALREADY_EXISTS:
    case TICKPATH__ERROR_CODE__FAILED_PRECONDITION:
    case TICKPATH__ERROR_CODE__UNAVAILABLE:
    case TICKPATH__ERROR_CODE__MAP_NOT_READY:
        return true;
    default:
        return false;
    }
}

static void send_any(struct wire *wire, struct tp_test_rng *rng)
{
    static uint8_t cells[36];
    memset(cells, '.', sizeof cells);
    uint32_t cell = tp_test_below(rng, 36), terrain = tp_test_percent(rng, 50) ? '@' : '.';
    switch (tp_test_below(rng, 6)) {
    case 0: {
        Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
        put.map = (char *)"one";
        put.has_width = put.has_height = put.has_cells = put.has_last = put.last = put.has_replace = 1;
        put.width = put.height = 6;
        put.cells = (ProtobufCBinaryData){.len = sizeof cells, .data = cells};
        put.replace = tp_test_percent(rng, 50);
        wire_send(wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put);
        break;
    }
    case 1:
        drop_init("one");
        wire_send(wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop_);
        break;
    case 2: {
        Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
        open.map = (char *)"one";
        open.has_start = open.has_goal = 1;
        open.goal = cell;
        wire_send(wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open);
        break;
    }
    case 3: {
        Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
        change.map = (char *)"one";
        change.cell = &cell;
        change.cell_terrain = &terrain;
        change.n_cell = change.n_cell_terrain = 1;
        wire_send(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
        break;
    }
    case 4: {
        Tickpath__Tick tick = TICKPATH__TICK__INIT;
        tick.has_all = tick.all = 1;
        wire_send(wire, TICKPATH__REQUEST__BODY_TICK, &tick);
        break;
    }
    default: {
        Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
        close.has_all = close.all = 1;
        wire_send(wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close);
        break;
    }
    }
}

static void many(void)
{
    enum { CONNECTIONS = 6, AHEAD = 8 };
    struct wire wires[CONNECTIONS];
    struct tp_test_rng rng = tp_test_rng("many at one name");
    uint64_t rounds = tp_test_steps(150, 5000), granted = 0;
    for (int c = 0; c < CONNECTIONS; c++)
        wire_open_greeted(&wires[c], daemon_.port);
    for (uint64_t round = 0; round < rounds; round++) {
        for (int c = 0; c < CONNECTIONS; c++)
            for (int i = 0; i < AHEAD; i++)
                send_any(&wires[c], &rng);
        for (int c = 0; c < CONNECTIONS; c++)
            for (int i = 0; i < AHEAD; i++) {
                Tickpath__Reply *reply = wire_recv(&wires[c]);
                ck_assert_msg(is_allowed(reply), "code %d, field %s: %s", reply->error->code,
                              reply->error->field, reply->error->message);
                granted += reply->body_case == TICKPATH__REPLY__BODY_MAP_DROPPED;
                wire_reply_free(reply);
            }
    }
    ck_assert_uint_gt(granted, 0);
    for (int c = 0; c < CONNECTIONS; c++) {
        close_all(&wires[c]);
        wire_close(&wires[c]);
    }
}

START_TEST(test_many_in_memory)
{
    wire_daemon_start(&daemon_, "--threads", "2", "--maps-max", "8", NULL);
    many();
    wire_daemon_stop(&daemon_);
}
END_TEST

/* Likewise in the folder; what it holds at the end is what a restart finds. */
START_TEST(test_many_in_folder)
{
    start();
    many();
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)"one";
    wire_send(&wire_, TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
    Tickpath__Reply *before = wire_recv(&wire_);
    die();
    start();
    wire_send(&wire_, TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
    Tickpath__Reply *after = wire_recv(&wire_);
    ck_assert_int_eq(before->body_case, after->body_case);
    if (before->body_case == TICKPATH__REPLY__BODY_MAP_INFO) {
        ck_assert_uint_eq(before->map_info->epoch, after->map_info->epoch);
        ck_assert_uint_eq(before->map_info->version, after->map_info->version);
        ck_assert_uint_eq(before->map_info->passable_cells, after->map_info->passable_cells);
    } else {
        ck_assert_uint_eq(count_files("one*"), 0);
    }
    wire_reply_free(before);
    wire_reply_free(after);
    stop();
}
END_TEST

static Suite *drop_suite(void)
{
    Suite *suite = suite_create("daemon_drop");
    TCase *cases = tcase_create("served");
    tcase_add_checked_fixture(cases, served_begin, served_end);
    tcase_add_test(cases, test_refusals);
    tcase_add_test(cases, test_put_again);
    suite_add_tcase(suite, cases);
    TCase *own = tcase_create("own");
    tcase_add_checked_fixture(own, begin, end);
    tcase_add_test(own, test_room);
    tcase_add_test(own, test_folder);
    tcase_add_test(own, test_folder_half);
    tcase_add_test(own, test_folder_corrupt);
    tcase_add_test(own, test_many_in_memory);
    tcase_add_test(own, test_many_in_folder);
    suite_add_tcase(suite, own);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_drop", drop_suite);
}
