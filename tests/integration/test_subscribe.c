/* Subscriptions: what a connection is told of a map's changes, when, and how much of it.
 *
 * The promise about order: on a subscribed connection no reply names a version before a push (or Subscribed) has told of it or of
 * a later one. */
#include "tests/lib/exposition.h"
#include "tests/lib/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a subscriber knows of a map. */
struct told {
    uint64_t epoch, version;
    uint32_t pushes, resyncs;
    uint8_t *cells; /* as the pushes say; NULL: not wanted */
    bool dropped;
};

static Tickpath__Reply *subscribe(struct wire *wire, const char *map, bool want_cells)
{
    Tickpath__Subscribe message = TICKPATH__SUBSCRIBE__INIT;
    message.map = (char *)map;
    message.has_want_cells = message.want_cells = want_cells;
    return wire_ask(wire, TICKPATH__REQUEST__BODY_SUBSCRIBE, &message, TICKPATH__REPLY__BODY_SUBSCRIBED);
}

static void begin_told(struct told *told, struct wire *wire, const char *map, bool want_cells)
{
    Tickpath__Reply *reply = subscribe(wire, map, want_cells);
    ck_assert_str_eq(reply->subscribed->map, map);
    *told = (struct told){.epoch = reply->subscribed->epoch, .version = reply->subscribed->version};
    wire_reply_free(reply);
}

static void unsubscribe(struct wire *wire, const char *map)
{
    Tickpath__Subscribe message = TICKPATH__SUBSCRIBE__INIT;
    message.map = (char *)map;
    message.has_off = message.off = 1;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_SUBSCRIBE, &message, TICKPATH__REPLY__BODY_SUBSCRIBED);
    ck_assert_str_eq(reply->subscribed->map, map);
    ck_assert(!reply->subscribed->has_version);
    wire_reply_free(reply);
}

/* Takes a push: it leads on from where the one before it ended. */
static void take_push(struct told *told, const Tickpath__Reply *reply, const char *map)
{
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_MAP_CHANGED);
    const Tickpath__MapChanged *push = reply->map_changed;
    ck_assert(!reply->has_id);
    ck_assert_str_eq(push->map, map);
    ck_assert_uint_eq(push->from_version, told->version);
    ck_assert_uint_eq(push->n_cell, push->n_terrain);
    ck_assert(!told->dropped);
    if (push->epoch == told->epoch)
        ck_assert(push->version > told->version || push->dropped);
    else
        ck_assert(push->resync && push->epoch > told->epoch);
    if (push->resync)
        ck_assert_uint_eq(push->n_cell, 0);
    told->epoch = push->epoch;
    told->version = push->version;
    told->dropped = push->dropped;
    told->pushes++;
    told->resyncs += push->resync;
    for (size_t i = 0; told->cells != NULL && i < push->n_cell; i++) {
        ck_assert_uint_ne(told->cells[push->cell[i]], push->terrain[i]); /* it differs */
        told->cells[push->cell[i]] = (uint8_t)push->terrain[i];
    }
}

static void expect_push(struct told *told, struct wire *wire, const char *map)
{
    Tickpath__Reply *reply = wire_recv(wire);
    take_push(told, reply, map);
    wire_reply_free(reply);
}

static void expect_nothing(struct wire *wire)
{
    Tickpath__Reply *reply;
    ck_assert_int_eq(wire_poll(wire, &reply, 150), WIRE_GOT_NOTHING);
}

/* Waits for a reply; pushes about `map` that come before it are taken. */
static Tickpath__Reply *recv_reply(struct told *told, struct wire *wire, const char *map)
{
    for (;;) {
        Tickpath__Reply *reply = wire_recv(wire);
        if (reply->body_case != TICKPATH__REPLY__BODY_MAP_CHANGED)
            return reply;
        take_push(told, reply, map);
        wire_reply_free(reply);
    }
}

static void send_cell(struct wire *wire, const char *map, uint32_t cell, uint32_t terrain)
{
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = (char *)map;
    change.cell = &cell;
    change.cell_terrain = &terrain;
    change.n_cell = change.n_cell_terrain = 1;
    wire_send(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

static void put_anew(struct wire *wire, const char *map, uint32_t width, uint32_t height)
{
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    uint8_t *cells = malloc((size_t)width * height);
    memset(cells, '.', (size_t)width * height);
    put.map = (char *)map;
    put.has_width = put.has_height = put.has_cells = put.has_last = put.has_replace = 1;
    put.width = width;
    put.height = height;
    put.cells = (ProtobufCBinaryData){.len = (size_t)width * height, .data = cells};
    put.last = put.replace = 1;
    wire_reply_free(wire_ask(wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    free(cells);
}

/* ---- What is told ---- */

START_TEST(test_told_of_others_changes)
{
    struct wire writer;
    wire_open_greeted(&writer, served.daemon.port);
    struct told told;
    begin_told(&told, &served.wire, "m", false);
    ck_assert_uint_eq(told.version, 1);
    expect_nothing(&served.wire); /* not of what is */
    for (uint64_t i = 0; i < 20; i++) {
        ck_assert_uint_eq(wire_set_cell(&writer, "m", (uint32_t)i, '@'), i + 2);
        expect_push(&told, &served.wire, "m"); /* nobody asks for it */
        ck_assert_uint_eq(told.version, i + 2);
    }
    wire_put_free_map(&writer, "other", 4, 4); /* nor is it told of other maps */
    wire_set_cell(&writer, "other", 3, '@');
    expect_nothing(&served.wire);
    unsubscribe(&served.wire, "m");
    wire_set_cell(&writer, "m", 3, '.');
    expect_nothing(&served.wire);
    unsubscribe(&served.wire, "m"); /* again, and of one that is not there */
    unsubscribe(&served.wire, "no/such");
    begin_told(&told, &served.wire, "m", false);
    ck_assert_uint_eq(told.version, 22);
    wire_close(&writer);
}
END_TEST

START_TEST(test_cells)
{
    struct wire writer;
    wire_open_greeted(&writer, served.daemon.port);
    struct told told;
    begin_told(&told, &served.wire, "m", true);
    uint8_t cells[SERVED_CELLS];
    memset(cells, '.', sizeof cells);
    told.cells = cells;
    wire_set_cell(&writer, "m", 7, '@');
    expect_push(&told, &served.wire, "m");
    ck_assert_int_eq(cells[7], '@');
    wire_set_cell(&writer, "m", 9, 'G'); /* weighs the same, and is another class */
    expect_push(&told, &served.wire, "m");
    ck_assert_int_eq(cells[9], 'G');
    wire_set_cell(&writer, "m", 9, 'G'); /* a version that changes nothing */
    Tickpath__Reply *reply = wire_recv(&served.wire);
    ck_assert_uint_eq(reply->map_changed->n_cell, 0);
    ck_assert(!reply->map_changed->resync);
    take_push(&told, reply, "m");
    wire_reply_free(reply);
    ck_assert_uint_eq(told.version, 4);
    /* asked again without cells: they come no more */
    wire_reply_free(subscribe(&served.wire, "m", false));
    wire_set_cell(&writer, "m", 11, '@');
    reply = wire_recv(&served.wire);
    ck_assert_uint_eq(reply->map_changed->n_cell, 0);
    ck_assert(!reply->map_changed->resync);
    wire_reply_free(reply);
    wire_close(&writer);
}
END_TEST

/* Up to 65,536 cells are listed, one more is too many. */
START_TEST(test_many_cells)
{
    enum { SIDE = 400, MOST = 65536 };
    struct wire writer;
    wire_open_greeted(&writer, served.daemon.port);
    wire_put_free_map(&writer, "big", SIDE, SIDE);
    struct told told;
    begin_told(&told, &served.wire, "big", true);
    uint8_t *cells = malloc((size_t)SIDE * SIDE);
    memset(cells, '.', (size_t)SIDE * SIDE);
    told.cells = cells;
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    uint32_t run_cell[SIDE], run_length[SIDE], terrain = '@';
    change.map = "big";
    change.run_cell = run_cell;
    change.run_length = run_length;
    change.run_terrain = &terrain;
    change.n_run_terrain = 1;
    size_t left = MOST;
    for (uint32_t y = 0; left > 0; y++) {
        run_cell[y] = y * SIDE;
        run_length[y] = left < SIDE ? (uint32_t)left : SIDE;
        left -= run_length[y];
        change.n_run_cell = change.n_run_length = y + 1;
    }
    wire_reply_free(
        wire_ask(&writer, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED));
    expect_push(&told, &served.wire, "big");
    ck_assert_uint_eq(told.resyncs, 0);
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
        if (cells[i] != (i < MOST ? '@' : '.'))
            ck_abort_msg("cell %zu", i);
    terrain = '.';
    run_cell[change.n_run_cell] = SIDE * SIDE - 1; /* all of them back, and one more */
    run_length[change.n_run_cell] = 1;
    change.n_run_cell++;
    change.n_run_length++;
    uint32_t terrains[SIDE];
    for (size_t i = 0; i < SIDE; i++)
        terrains[i] = i + 1 < change.n_run_cell ? '.' : 'T';
    change.run_terrain = terrains;
    change.n_run_terrain = change.n_run_cell;
    wire_reply_free(
        wire_ask(&writer, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED));
    expect_push(&told, &served.wire, "big");
    ck_assert_uint_eq(told.resyncs, 1);
    ck_assert_uint_eq(told.version, 3);
    wire_set_cell(&writer, "big", 5, 'T'); /* and on from there */
    Tickpath__Reply *reply = wire_recv(&served.wire);
    ck_assert_uint_eq(reply->map_changed->n_cell, 1);
    ck_assert_uint_eq(reply->map_changed->cell[0], 5);
    wire_reply_free(reply);
    free(cells);
    wire_close(&writer);
}
END_TEST

START_TEST(test_replaced_and_dropped)
{
    struct wire writer;
    wire_open_greeted(&writer, served.daemon.port);
    struct told told;
    begin_told(&told, &served.wire, "m", true);
    wire_set_cell(&writer, "m", 1, '@');
    expect_push(&told, &served.wire, "m");
    uint64_t epoch = told.epoch;
    put_anew(&writer, "m", 3, 3);
    expect_push(&told, &served.wire, "m");
    ck_assert_uint_gt(told.epoch, epoch);
    ck_assert_uint_eq(told.version, 1);
    ck_assert_uint_eq(told.resyncs, 1);
    wire_set_cell(&writer, "m", 1, '@'); /* the subscription goes on in the new life */
    Tickpath__Reply *reply = wire_recv(&served.wire);
    ck_assert_uint_eq(reply->map_changed->n_cell, 1);
    take_push(&told, reply, "m");
    wire_reply_free(reply);
    Tickpath__DropMap drop = TICKPATH__DROP_MAP__INIT;
    drop.map = "m";
    wire_reply_free(
        wire_ask(&writer, TICKPATH__REQUEST__BODY_DROP_MAP, &drop, TICKPATH__REPLY__BODY_MAP_DROPPED));
    expect_push(&told, &served.wire, "m");
    ck_assert(told.dropped);
    wire_put_free_map(&writer, "m", 4, 4); /* and not into another */
    expect_nothing(&served.wire);
    begin_told(&told, &served.wire, "m", false);
    drop.map = "m"; /* one who drops a map himself is told before the reply */
    wire_send(&served.wire, TICKPATH__REQUEST__BODY_DROP_MAP, &drop);
    expect_push(&told, &served.wire, "m");
    ck_assert(told.dropped);
    reply = wire_recv(&served.wire);
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_MAP_DROPPED);
    wire_reply_free(reply);
    wire_put_free_map(&served.wire, "m", SERVED_WIDTH, SERVED_HEIGHT); /* as the fixture wants it */
    wire_close(&writer);
}
END_TEST

START_TEST(test_graph)
{
    struct wire writer;
    wire_open_greeted(&writer, served.daemon.port);
    Tickpath__PutGraph put = TICKPATH__PUT_GRAPH__INIT;
    uint32_t from[] = {0, 1}, to[] = {1, 2}, cost[] = {5, 5};
    put.map = "g";
    put.has_nodes = put.has_edges = put.has_last = put.last = put.has_replace = put.replace = 1;
    put.nodes = 3;
    put.edges = 2;
    put.n_edge_from = put.n_edge_to = put.n_edge_cost = 2;
    put.edge_from = from;
    put.edge_to = to;
    put.edge_cost = cost;
    wire_reply_free(
        wire_ask(&writer, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    struct told told;
    begin_told(&told, &served.wire, "g", true);
    wire_reply_free(
        wire_ask(&writer, TICKPATH__REQUEST__BODY_PUT_GRAPH, &put, TICKPATH__REPLY__BODY_MAP_INFO));
    expect_push(&told, &served.wire, "g");
    ck_assert_uint_eq(told.resyncs, 1);
    wire_close(&writer);
}
END_TEST

START_TEST(test_refused)
{
    Tickpath__Subscribe message = TICKPATH__SUBSCRIBE__INIT;
    const Tickpath__Request__BodyCase kind = TICKPATH__REQUEST__BODY_SUBSCRIBE;
    wire_ask_error(&served.wire, kind, &message, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "map");
    message.map = "../up";
    wire_ask_error(&served.wire, kind, &message, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "map");
    message.has_off = message.off = 1;
    wire_ask_error(&served.wire, kind, &message, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "map");
    message.has_off = 0;
    message.map = "no/such";
    wire_ask_error(&served.wire, kind, &message, TICKPATH__ERROR_CODE__NOT_FOUND, "map");
    enum { MOST = 64 };
    char name[16];
    for (int i = 0; i <= MOST; i++) {
        snprintf(name, sizeof name, "map%d", i);
        wire_put_free_map(&served.wire, name, 2, 2);
        message.map = name;
        if (i < MOST)
            wire_reply_free(subscribe(&served.wire, name, false));
        else
            wire_ask_error(&served.wire, kind, &message, TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED, "map");
    }
    wire_reply_free(subscribe(&served.wire, "map7", true)); /* again is not one more */
    unsubscribe(&served.wire, "map7");
    wire_reply_free(subscribe(&served.wire, name, false));
    struct wire other; /* the limit is the connection's */
    wire_open_greeted(&other, served.daemon.port);
    wire_reply_free(subscribe(&other, "map7", false));
    wire_close(&other);
}
END_TEST

/* ---- When ---- */

/* Random requests on a subscribed connection while others change the map: no reply names a version that was not told. */
START_TEST(test_order)
{
    enum { WRITERS = 3, SIDE = 32 };
    struct tp_test_rng rng = tp_test_rng("subscribe order");
    struct wire writer[WRITERS];
    wire_put_free_map(&served.wire, "o", SIDE, SIDE);
    for (int w = 0; w < WRITERS; w++)
        wire_open_greeted(&writer[w], served.daemon.port);
    struct told told;
    begin_told(&told, &served.wire, "o", true);
    uint8_t cells[SIDE * SIDE];
    memset(cells, '.', sizeof cells);
    told.cells = cells;
    uint64_t session = wire_open_session(&served.wire, "o", 0, SIDE * SIDE - 1, NULL, 20);
    uint64_t steps = tp_test_steps(1500, 50000), owed[WRITERS] = {0};
    for (uint64_t step = 0; step < steps; step++) {
        for (int w = 0; w < WRITERS; w++) {
            if (owed[w] < 20 && tp_test_percent(&rng, 60)) {
                send_cell(&writer[w], "o", tp_test_below(&rng, SIDE * SIDE),
                          tp_test_percent(&rng, 30) ? '@' : '.');
                owed[w]++;
            }
            Tickpath__Reply *reply;
            while (owed[w] > 0 && wire_poll(&writer[w], &reply, 0) == WIRE_GOT_FRAME) {
                wire_reply_free(reply);
                owed[w]--;
            }
        }
        uint64_t named = 0;
        switch (tp_test_below(&rng, 5)) {
        case 0:
            send_cell(&served.wire, "o", tp_test_below(&rng, SIDE * SIDE), '.');
            break;
        case 1: {
            Tickpath__Tick tick = TICKPATH__TICK__INIT;
            tick.session = &session;
            tick.n_session = 1;
            wire_send(&served.wire, TICKPATH__REQUEST__BODY_TICK, &tick);
            break;
        }
        case 2: {
            Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
            open.map = "o";
            wire_send(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
            break;
        }
        case 3: {
            Tickpath__List list = TICKPATH__LIST__INIT;
            list.has_maps = list.maps = 1;
            wire_send(&served.wire, TICKPATH__REQUEST__BODY_LIST, &list);
            break;
        }
        default: {
            Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
            open.map = "o";
            open.has_start = open.has_goal = 1;
            open.goal = 5;
            wire_send(&served.wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open);
            break;
        }
        }
        Tickpath__Reply *reply = recv_reply(&told, &served.wire, "o");
        ck_assert_uint_eq(reply->id, served.wire.sent_id);
        uint64_t opened = 0;
        switch (reply->body_case) {
        case TICKPATH__REPLY__BODY_CHANGED:
            named = reply->changed->version;
            break;
        case TICKPATH__REPLY__BODY_TICKED:
            named = reply->ticked->version[0];
            break;
        case TICKPATH__REPLY__BODY_MAP_INFO:
            named = reply->map_info->version;
            break;
        case TICKPATH__REPLY__BODY_LISTING:
            for (size_t i = 0; i < reply->listing->n_map; i++)
                if (strcmp(reply->listing->map[i]->map, "o") == 0)
                    named = reply->listing->map[i]->version;
            break;
        case TICKPATH__REPLY__BODY_SESSION_OPENED:
            named = reply->session_opened->version;
            opened = reply->session_opened->session;
            break;
        default:
            ck_abort_msg("reply %d", reply->body_case);
        }
        ck_assert_uint_gt(named, 0);
        ck_assert_msg(named <= told.version, "step %llu: reply %d names version %llu, told was %llu",
                      (unsigned long long)step, reply->body_case, (unsigned long long)named,
                      (unsigned long long)told.version);
        wire_reply_free(reply);
        if (opened != 0) {
            Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
            close.session = &opened;
            close.n_session = 1;
            wire_send(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close);
            wire_reply_free(recv_reply(&told, &served.wire, "o"));
        }
    }
    /* in the end the cells told are the map's: agents stand in blocked cells exactly where the pushes say so */
    for (int w = 0; w < WRITERS; w++) {
        for (; owed[w] > 0; owed[w]--)
            wire_reply_free(wire_recv(&writer[w]));
        wire_close(&writer[w]);
    }
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "o";
    wire_send(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
    Tickpath__Reply *reply = recv_reply(&told, &served.wire, "o");
    uint64_t passable = 0;
    for (size_t i = 0; i < sizeof cells; i++)
        passable += cells[i] == '.';
    ck_assert_uint_eq(reply->map_info->version, told.version);
    ck_assert_uint_eq(reply->map_info->passable_cells, passable);
    ck_assert_uint_eq(told.resyncs, 0);
    wire_reply_free(reply);
    ck_assert_uint_gt(told.pushes, 100);
    unsubscribe(&served.wire, "o");
}
END_TEST

/* ---- How much ---- */

static struct wire_daemon daemon_;

/* Changes every cell of a map to and fro. */
static void send_whole(struct wire *wire, const char *map, uint32_t side, uint32_t terrain)
{
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    Tickpath__Rectangle rectangle = TICKPATH__RECTANGLE__INIT, *rectangles[] = {&rectangle};
    change.map = (char *)map;
    rectangle.has_x = rectangle.has_y = rectangle.has_width = rectangle.has_height = rectangle.has_terrain =
        1;
    rectangle.width = rectangle.height = side;
    rectangle.terrain = terrain;
    change.rectangle = rectangles;
    change.n_rectangle = 1;
    wire_send(wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

/* A subscriber that does not read: what is told meanwhile becomes one push, the daemon keeps a bounded number of bytes for it, and
 * once it reads it ends with the present version and nothing left out. */
START_TEST(test_slow_reader)
{
    enum { SIDE = 250, CHANGES = 160 };
    wire_daemon_lean();
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", "--output-bytes-max", "262144", NULL);
    struct wire slow, writer;
    wire_open_greeted(&writer, daemon_.port);
    wire_open_greeted(&slow, daemon_.port);
    wire_put_free_map(&writer, "m", SIDE, SIDE);
    uint8_t *cells = malloc((size_t)SIDE * SIDE);
    memset(cells, '.', (size_t)SIDE * SIDE);
    struct told told;
    begin_told(&told, &slow, "m", true);
    told.cells = cells;
    for (uint32_t i = 0; i < CHANGES; i++) {
        send_whole(&writer, "m", SIDE, i % 2 == 0 ? '@' : 'T');
        Tickpath__Reply *reply = wire_recv(&writer);
        ck_assert_uint_eq(reply->changed->version, i + 2);
        wire_reply_free(reply);
    }
    ck_assert(wire_daemon_alive(&daemon_));
    while (told.version < CHANGES + 1)
        expect_push(&told, &slow, "m");
    expect_nothing(&slow);
    printf("%d changes of all cells in %u pushes, %u resyncs\n", CHANGES, told.pushes, told.resyncs);
    ck_assert_uint_lt(told.pushes, CHANGES); /* some stood for several */
    ck_assert_uint_eq(told.resyncs, 0);      /* 62,500 cells are not too many */
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
        if (cells[i] != 'T')
            ck_abort_msg("cell %zu", i);
    wire_expect_alive(&slow);
    free(cells);
    wire_close(&slow);
    wire_close(&writer);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}
END_TEST

/* One that never reads is dropped, and nobody else waits for it. */
START_TEST(test_dead_reader)
{
    enum { SIDE = 250 };
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--stats", "127.0.0.1:0", "--threads", "1", "--output-bytes-max", "262144",
                      "--slow-reader-ms", "500", NULL);
    struct wire dead, writer;
    wire_open_greeted(&writer, daemon_.port);
    wire_open_greeted(&dead, daemon_.port);
    wire_put_free_map(&writer, "m", SIDE, SIDE);
    wire_reply_free(subscribe(&dead, "m", true));
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    bool is_dropped = false;
    for (uint32_t i = 0; !is_dropped; i++) {
        ck_assert_uint_lt(wire_now_ms(), until);
        send_whole(&writer, "m", SIDE, i % 2 == 0 ? '@' : 'T');
        wire_reply_free(wire_recv(&writer));
        int status;
        char *text = wire_http_get(&daemon_, "/metrics", &status);
        ck_assert_ptr_nonnull(text);
        is_dropped = tp_test_sample(text, "tickpath_connections_dropped_total{reason=\"slow_reader\"}") == 1 &&
                     tp_test_metric(text, "subscriptions_open") == 0;
        free(text);
    }
    wire_close(&dead);
    wire_close(&writer);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
}
END_TEST

static Suite *subscribe_suite(void)
{
    Suite *suite = suite_create("subscribe");
    TCase *cases = tcase_create("subscribe");
    tcase_add_checked_fixture(cases, served_begin, served_end);
    tcase_add_test(cases, test_told_of_others_changes);
    tcase_add_test(cases, test_cells);
    tcase_add_test(cases, test_many_cells);
    tcase_add_test(cases, test_replaced_and_dropped);
    tcase_add_test(cases, test_graph);
    tcase_add_test(cases, test_refused);
    tcase_add_test(cases, test_order);
    suite_add_tcase(suite, cases);
    TCase *slow = tcase_create("slow");
    tcase_add_test(slow, test_slow_reader);
    tcase_add_test(slow, test_dead_reader);
    suite_add_tcase(suite, slow);
    return suite;
}

int main(void)
{
    return tp_test_main("test_subscribe", subscribe_suite);
}
