/* What a daemon says to a peer that puts or changes maps wrongly: the exact code and field, and nothing
 * applied. */
#include "tests/lib/served.h"

#include <stdlib.h>
#include <string.h>

/* ---- Uploads ---- */

static Tickpath__PutMap put;
static Tickpath__ClassWeight weight;
static Tickpath__ClassWeight *profile[] = {&weight, &weight};
static uint8_t cells[64];

/* The first and only chunk of a 4x2 map, right in every field, for one of them to be spoilt. */
static void put_init(void)
{
    tickpath__put_map__init(&put);
    tickpath__class_weight__init(&weight);
    memset(cells, '.', sizeof cells);
    put.map = "up";
    put.has_width = put.has_height = put.has_cells = put.has_last = 1;
    put.width = 4;
    put.height = 2;
    put.cells = (ProtobufCBinaryData){.len = 8, .data = cells};
    put.last = 1;
}

#define PUT_REFUSED(CODE, FIELD, SPOIL)                                                                      \
    do {                                                                                                     \
        put_init();                                                                                          \
        SPOIL;                                                                                               \
        wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__ERROR_CODE__##CODE,    \
                       FIELD);                                                                               \
    } while (0)

static void expect_chunk(uint64_t received)
{
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_CHUNK);
    ck_assert_uint_eq(reply->map_chunk->cells_received, received);
    wire_reply_free(reply);
}

static void expect_put(void)
{
    wire_reply_free(
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO));
}

static void expect_no_map(const char *name)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)name;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__ERROR_CODE__NOT_FOUND,
                   "map");
}

START_TEST(test_names)
{
    const char *const bad[] = {"",     ".hidden", "/root", "a/../b", "..",
                               "a/..", "a b",     "a\\b",  "a\nb",   "caf\303\251"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        PUT_REFUSED(INVALID_ARGUMENT, "map", put.map = (char *)bad[i]);
    PUT_REFUSED(INVALID_ARGUMENT, "map", put.map = NULL);
    char name[130];
    memset(name, 'n', 129);
    name[129] = 0;
    PUT_REFUSED(INVALID_ARGUMENT, "map", put.map = name);
    name[128] = 0;
    const char *const good[] = {name, "a", "a/b", "A-Z_0.9", "a.b/c..d"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        put_init();
        put.map = (char *)good[i];
        expect_put();
    }
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open,
                   TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "map");
}
END_TEST

START_TEST(test_sizes)
{
    PUT_REFUSED(INVALID_ARGUMENT, "width", put.width = 0);
    PUT_REFUSED(INVALID_ARGUMENT, "height", put.height = 0);
    PUT_REFUSED(INVALID_ARGUMENT, "height", put.has_height = 0);
    PUT_REFUSED(INVALID_ARGUMENT, "width", (put.width = 8192, put.height = 8193));   /* 64 Mi and a row */
    PUT_REFUSED(INVALID_ARGUMENT, "width", (put.width = 65536, put.height = 65536)); /* 2^32 cells */
    PUT_REFUSED(INVALID_ARGUMENT, "width", (put.width = UINT32_MAX, put.height = UINT32_MAX));
    expect_no_map("up");
}
END_TEST

START_TEST(test_profiles)
{
#define WEIGH(TERRAIN, WEIGHT)                                                                               \
    (put.n_profile = 1, put.profile = profile, weight.has_terrain = weight.has_weight = 1,                   \
     weight.terrain = (TERRAIN), weight.weight = (WEIGHT))
    PUT_REFUSED(INVALID_ARGUMENT, "profile.terrain", WEIGH(256, 1));
    PUT_REFUSED(INVALID_ARGUMENT, "profile.weight", WEIGH('.', 65536));
    PUT_REFUSED(INVALID_ARGUMENT, "profile.weight", WEIGH('.', UINT32_MAX));
    PUT_REFUSED(INVALID_ARGUMENT, "profile", WEIGH('.', 0));
    PUT_REFUSED(INVALID_ARGUMENT, "profile.terrain", (WEIGH('.', 1), put.n_profile = 2)); /* named twice */
    expect_no_map("up");
    put_init();
    WEIGH('.', 65535);
    expect_put();
}
END_TEST

/* A chunk after the first: cells at an offset, and nothing of the map but its name. */
static void later_chunk(uint64_t offset, size_t size)
{
    put_init();
    put.has_width = put.has_height = 0;
    put.has_offset = 1;
    put.offset = offset;
    put.cells.len = size;
}

/* Three of the eight cells. */
static void begin_upload(void)
{
    put_init();
    put.cells.len = 3;
    put.last = 0;
    expect_chunk(3);
}

START_TEST(test_chunks)
{
    PUT_REFUSED(INVALID_ARGUMENT, "offset", later_chunk(3, 5)); /* before a first one */
    PUT_REFUSED(OUT_OF_RANGE, "cells", put.cells.len = 9);
    PUT_REFUSED(INVALID_ARGUMENT, "last", put.cells.len = 7);
    /* a hole, a step back, one over the end, one that ends too early, another map: each gives the upload up
     */
    const struct {
        uint64_t offset;
        size_t size;
        Tickpath__ErrorCode code;
        const char *field;
    } bad[] = {{4, 4, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "offset"},
               {2, 5, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "offset"},
               {UINT64_MAX, 5, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "offset"},
               {3, 6, TICKPATH__ERROR_CODE__OUT_OF_RANGE, "cells"},
               {3, 4, TICKPATH__ERROR_CODE__INVALID_ARGUMENT, "last"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        begin_upload();
        later_chunk(bad[i].offset, bad[i].size);
        wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, bad[i].code, bad[i].field);
        PUT_REFUSED(INVALID_ARGUMENT, "offset", later_chunk(3, 5));
    }
    begin_upload();
    PUT_REFUSED(FAILED_PRECONDITION, "map", (later_chunk(3, 5), put.map = "another"));
    begin_upload();
    PUT_REFUSED(FAILED_PRECONDITION, "width", (later_chunk(3, 5), put.has_width = 1, put.width = 5));
    begin_upload();
    PUT_REFUSED(FAILED_PRECONDITION, "height", (later_chunk(3, 5), put.has_height = 1, put.height = 3));
    expect_no_map("up");
    expect_no_map("another");
    begin_upload();
    later_chunk(3, 5);
    expect_put();
    PUT_REFUSED(INVALID_ARGUMENT, "offset", later_chunk(8, 0)); /* once complete it is no upload any more */
}
END_TEST

/* What may be uploaded at a time is bounded over all connections, and given back when one ends. */
START_TEST(test_upload_quota)
{
    struct wire other[5];
    int taken = 0;
    put_init();
    put.width = put.height = 8192; /* 64 Mi cells; the default quota holds four of them */
    put.cells.len = 1;
    put.last = 0;
    for (int i = 0; i < 5; i++) {
        wire_open_greeted(&other[i], served.daemon.port);
        wire_send(&other[i], TICKPATH__REQUEST__BODY_PUT_MAP, &put);
        Tickpath__Reply *reply = wire_recv(&other[i]);
        if (reply->body_case == TICKPATH__REPLY__BODY_MAP_CHUNK) {
            taken++;
        } else {
            ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED);
            ck_assert(reply->error->has_retry_after_ms);
        }
        wire_reply_free(reply);
    }
    ck_assert_int_eq(taken, 4);
    for (int i = 0; i < 5; i++)
        wire_close(&other[i]);
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    for (bool granted = false; !granted;) {
        ck_assert_msg(wire_now_ms() < until, "ended uploads still count");
        wire_send(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put);
        Tickpath__Reply *reply = wire_recv(&served.wire);
        granted = reply->body_case == TICKPATH__REPLY__BODY_MAP_CHUNK;
        wire_reply_free(reply);
    }
}
END_TEST

START_TEST(test_upload_never_finished)
{
    struct wire other;
    wire_open_greeted(&other, served.daemon.port);
    put_init();
    put.last = 0;
    put.cells.len = 4;
    wire_reply_free(wire_ask(&other, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_CHUNK));
    expect_no_map("up"); /* nobody sees half a map */
    wire_close(&other);
    /* nor can another connection go on with it */
    PUT_REFUSED(INVALID_ARGUMENT, "offset", later_chunk(4, 4));
    expect_no_map("up");
    put_init();
    expect_put();
}
END_TEST

START_TEST(test_replace)
{
    PUT_REFUSED(ALREADY_EXISTS, "map", put.map = "m");
    uint64_t session = wire_open_session(&served.wire, "m", 0, 5, NULL, 10);
    PUT_REFUSED(FAILED_PRECONDITION, "replace", (put.map = "m", put.has_replace = put.replace = 1));
    /* the map is still the old one */
    Tickpath__Reply *reply = wire_tick(&served.wire, session);
    ck_assert_uint_eq(reply->ticked->cell[0], 1);
    wire_reply_free(reply);
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    uint64_t epoch = reply->map_info->epoch;
    wire_reply_free(reply);
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    close.has_all = close.all = 1;
    wire_reply_free(wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close,
                             TICKPATH__REPLY__BODY_SESSIONS_CLOSED));
    put_init();
    put.map = "m";
    put.has_replace = put.replace = 1;
    reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put, TICKPATH__REPLY__BODY_MAP_INFO);
    ck_assert_uint_eq(reply->map_info->width, 4);
    ck_assert_uint_ne(reply->map_info->epoch, epoch);
    wire_reply_free(reply);
}
END_TEST

START_TEST(test_open_map)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    open.has_min_version = 1;
    open.min_version = 2;
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_ERROR);
    ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__MAP_NOT_READY);
    ck_assert_str_eq(reply->error->field, "min_version");
    ck_assert(reply->error->has_retry_after_ms);
    wire_reply_free(reply);
    wire_set_cell(&served.wire, "m", 0, '.');
    wire_reply_free(
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO));
}
END_TEST

/* ---- Changes ---- */

static Tickpath__ChangeCosts change;
static Tickpath__Rectangle rectangle;
static Tickpath__Bitmap bitmap;
static Tickpath__Rectangle *rectangles[] = {&rectangle};
static Tickpath__Bitmap *bitmaps[] = {&bitmap};
static uint32_t changed_cells[3], terrains[3];
static uint8_t bits[8];

/* A batch of three cells, one rectangle and one bitmap, all of them right. */
static void change_init(void)
{
    tickpath__change_costs__init(&change);
    tickpath__rectangle__init(&rectangle);
    tickpath__bitmap__init(&bitmap);
    change.map = "m";
    for (uint32_t i = 0; i < 3; i++) {
        changed_cells[i] = 10 + i;
        terrains[i] = '@';
    }
    change.n_cell = change.n_cell_terrain = 3;
    change.cell = changed_cells;
    change.cell_terrain = terrains;
    change.n_rectangle = change.n_bitmap = 1;
    change.rectangle = rectangles;
    change.bitmap = bitmaps;
    rectangle.has_x = rectangle.has_y = rectangle.has_width = rectangle.has_height = rectangle.has_terrain =
        1;
    rectangle.x = 4;
    rectangle.y = 4;
    rectangle.width = 2;
    rectangle.height = 2;
    rectangle.terrain = '@';
    bitmap.has_x = bitmap.has_y = bitmap.has_width = bitmap.has_height = bitmap.has_bits =
        bitmap.has_terrain = 1;
    bitmap.x = 7;
    bitmap.y = 0;
    bitmap.width = 3;
    bitmap.height = 3; /* 9 bits: 2 bytes */
    memset(bits, 0xff, sizeof bits);
    bitmap.bits = (ProtobufCBinaryData){.len = 2, .data = bits};
    bitmap.terrain = '@';
}

/* The map's version, and that nothing of any batch was applied. */
static void expect_untouched(void)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    ck_assert_uint_eq(reply->map_info->version, 1);
    ck_assert_uint_eq(reply->map_info->passable_cells, SERVED_CELLS);
    wire_reply_free(reply);
}

#define CHANGE_REFUSED(CODE, FIELD, SPOIL)                                                                   \
    do {                                                                                                     \
        change_init();                                                                                       \
        SPOIL;                                                                                               \
        wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change,                          \
                       TICKPATH__ERROR_CODE__##CODE, FIELD);                                                 \
        expect_untouched();                                                                                  \
    } while (0)

/* Likewise, the change that is bad named: its place in the order of the batch. */
#define CHANGE_NAMED(FIELD, INDEX, SPOIL)                                                                    \
    do {                                                                                                     \
        change_init();                                                                                       \
        SPOIL;                                                                                               \
        Tickpath__Reply *reply_ = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change,      \
                                           TICKPATH__REPLY__BODY_ERROR);                                     \
        ck_assert_int_eq(reply_->error->code, TICKPATH__ERROR_CODE__INVALID_ARGUMENT);                       \
        ck_assert_str_eq(reply_->error->field, FIELD);                                                       \
        ck_assert(reply_->error->has_change_index);                                                          \
        ck_assert(!reply_->error->has_bad_x && !reply_->error->has_bad_y);                                   \
        ck_assert_uint_eq(reply_->error->change_index, INDEX);                                               \
        wire_reply_free(reply_);                                                                             \
        expect_untouched();                                                                                  \
    } while (0)

/* Likewise, the change that is bad and its first cell outside named. */
#define CHANGE_OUTSIDE(FIELD, INDEX, X, Y, SPOIL)                                                            \
    do {                                                                                                     \
        change_init();                                                                                       \
        SPOIL;                                                                                               \
        Tickpath__Reply *reply_ = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change,      \
                                           TICKPATH__REPLY__BODY_ERROR);                                     \
        ck_assert_int_eq(reply_->error->code, TICKPATH__ERROR_CODE__OUT_OF_RANGE);                           \
        ck_assert_str_eq(reply_->error->field, FIELD);                                                       \
        ck_assert(reply_->error->has_change_index && reply_->error->has_bad_x && reply_->error->has_bad_y);  \
        ck_assert_uint_eq(reply_->error->change_index, INDEX);                                               \
        ck_assert_uint_eq(reply_->error->bad_x, X);                                                          \
        ck_assert_uint_eq(reply_->error->bad_y, Y);                                                          \
        wire_reply_free(reply_);                                                                             \
        expect_untouched();                                                                                  \
    } while (0)

START_TEST(test_change_outside)
{
    CHANGE_OUTSIDE("cell", 0, 0, 6, changed_cells[0] = SERVED_CELLS);
    CHANGE_OUTSIDE("cell", 2, 7, 6, changed_cells[2] = SERVED_CELLS + 7); /* the last of a batch */
    CHANGE_OUTSIDE("cell", 1, UINT32_MAX % 10, UINT32_MAX / 10, changed_cells[1] = UINT32_MAX);
    CHANGE_OUTSIDE("rectangle", 3, 10, 4, rectangle.x = 9);
    CHANGE_OUTSIDE("rectangle", 3, 4, 6, rectangle.y = 5);
    CHANGE_OUTSIDE("rectangle", 3, 10, 4, rectangle.width = UINT32_MAX); /* x + width wraps */
    CHANGE_OUTSIDE("rectangle", 3, UINT32_MAX, 4, rectangle.x = UINT32_MAX);
    CHANGE_OUTSIDE("bitmap", 4, 10, 0, bitmap.x = 8);
    CHANGE_OUTSIDE("bitmap", 4, 7, 6, bitmap.y = 4);
}
END_TEST

START_TEST(test_change_malformed)
{
    CHANGE_REFUSED(INVALID_ARGUMENT, "map", change.map = NULL);
    CHANGE_REFUSED(NOT_FOUND, "map", change.map = "nowhere");
    /* the first cell without a class; with one class too many no change is at fault */
    CHANGE_NAMED("cell_terrain", 0, change.n_cell_terrain = 0);
    CHANGE_NAMED("cell_terrain", 2, change.n_cell_terrain = 2);
    CHANGE_REFUSED(INVALID_ARGUMENT, "cell_terrain", change.n_cell = 2);
    CHANGE_REFUSED(INVALID_ARGUMENT, "cell_terrain", change.n_cell = 0);
    CHANGE_NAMED("cell_terrain", 1, terrains[1] = 256);
    CHANGE_NAMED("cell_terrain", 0, (change.n_cell_terrain = 1, terrains[0] = 256));
    CHANGE_NAMED("rectangle.terrain", 3, rectangle.terrain = 256);
    CHANGE_NAMED("rectangle.terrain", 3, rectangle.has_terrain = 0);
    CHANGE_NAMED("bitmap.terrain", 4, bitmap.terrain = UINT32_MAX);
    CHANGE_NAMED("rectangle", 3, rectangle.width = 0);
    CHANGE_NAMED("rectangle", 3, rectangle.height = 0);
    CHANGE_NAMED("rectangle", 3, rectangle.has_x = 0);
    CHANGE_NAMED("bitmap", 4, bitmap.height = 0);
    CHANGE_NAMED("bitmap", 4, bitmap.bits.len = 1);
    CHANGE_NAMED("bitmap", 4, bitmap.bits.len = 3); /* a row a byte */
    CHANGE_NAMED("bitmap", 4, bitmap.has_bits = 0);
    CHANGE_NAMED("bitmap", 1, (bitmap.has_y = 0, change.n_cell = change.n_cell_terrain = 0));
}
END_TEST

START_TEST(test_change_base_version)
{
    CHANGE_REFUSED(VERSION_MISMATCH, "base_version", change.has_base_version = 1); /* 0 */
    CHANGE_REFUSED(VERSION_MISMATCH, "base_version", (change.has_base_version = 1, change.base_version = 2));
    CHANGE_REFUSED(VERSION_MISMATCH, "base_version",
                   (change.has_base_version = 1, change.base_version = UINT64_MAX));
    change_init();
    change.has_base_version = 1;
    change.base_version = 1;
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED);
    ck_assert_uint_eq(reply->changed->version, 2);
    wire_reply_free(reply);
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change,
                   TICKPATH__ERROR_CODE__VERSION_MISMATCH, "base_version");
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    ck_assert_uint_eq(reply->map_info->version, 2);
    /* 3 cells, 4 of the rectangle, 9 of the bitmap, none of them twice */
    ck_assert_uint_eq(reply->map_info->passable_cells, SERVED_CELLS - 3 - 4 - 9);
    wire_reply_free(reply);
}
END_TEST

/* Cells, then rectangles, then bitmaps: the later one stays. */
START_TEST(test_change_order)
{
    change_init();
    change.n_cell_terrain = 1; /* one for all */
    rectangle.x = 0;
    rectangle.y = 1;
    rectangle.width = 10;
    rectangle.height = 1;
    rectangle.terrain = '.'; /* frees the three cells again */
    bitmap.x = 0;
    bitmap.y = 1;
    bitmap.width = 10;
    bitmap.height = 1;
    bits[0] = 0x05; /* cells 0 and 2 of the row */
    bits[1] = 0x02; /* and 9 */
    wire_reply_free(
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED));
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
    ck_assert_uint_eq(reply->map_info->passable_cells, SERVED_CELLS - 3);
    uint64_t version = reply->map_info->version;
    wire_reply_free(reply);
    Tickpath__ChangeCosts empty = TICKPATH__CHANGE_COSTS__INIT; /* a version all the same */
    empty.map = "m";
    reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &empty, TICKPATH__REPLY__BODY_CHANGED);
    ck_assert_uint_eq(reply->changed->version, version + 1);
    wire_reply_free(reply);
}
END_TEST

START_TEST(test_change_too_many)
{
    enum { MANY = 1000001 };
    change_init();
    uint32_t *many = calloc(MANY, sizeof *many);
    change.cell = many;
    change.n_cell = MANY;
    change.n_cell_terrain = 1;
    change.n_rectangle = change.n_bitmap = 0;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change,
                   TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED, NULL);
    expect_untouched();
    free(many);
}
END_TEST

/* Few changes, but of more cells together than one batch may name: whole-map rectangles, 250,000 of which fit into one
 * frame, would hold up the maps of everybody else. At the bound it is taken. */
START_TEST(test_change_too_many_cells)
{
    enum { SIDE = 1024, MOST = 64, MANY = 200000 }; /* 64 Mi cells */
    wire_put_free_map(&served.wire, "large", SIDE, SIDE);
    change_init();
    change.map = "large";
    change.n_cell = change.n_cell_terrain = change.n_bitmap = 0;
    rectangle.x = rectangle.y = 0;
    rectangle.width = rectangle.height = SIDE;
    Tickpath__Rectangle **many = malloc(MANY * sizeof(Tickpath__Rectangle *));
    for (size_t i = 0; i < MANY; i++)
        many[i] = &rectangle;
    change.rectangle = many;
    const size_t counts[] = {MOST + 1, MANY};
    for (size_t i = 0; i < 2; i++) {
        change.n_rectangle = counts[i];
        Tickpath__Reply *reply = wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change,
                                          TICKPATH__REPLY__BODY_ERROR);
        ck_assert_int_eq(reply->error->code, TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED);
        ck_assert_str_eq(reply->error->field, "rectangle");
        ck_assert(reply->error->has_change_index && !reply->error->has_bad_x && !reply->error->has_bad_y);
        ck_assert_uint_eq(reply->error->change_index, MOST);
        wire_reply_free(reply);
    }
    change.n_rectangle = MOST;
    change.n_bitmap = 1; /* one cell more */
    bitmap.width = bitmap.height = 1;
    bitmap.bits.len = 1;
    wire_ask_error(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change,
                   TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED, "bitmap");
    change.n_bitmap = 0;
    Tickpath__Reply *reply =
        wire_ask(&served.wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change, TICKPATH__REPLY__BODY_CHANGED);
    ck_assert_uint_eq(reply->changed->version, 2);
    wire_reply_free(reply);
    free(many);
}
END_TEST

static Suite *badinput_maps_suite(void)
{
    Suite *suite = suite_create("badinput_maps");
    TCase *cases = tcase_create("badinput_maps");
    tcase_add_checked_fixture(cases, served_begin, served_end);
    tcase_add_test(cases, test_names);
    tcase_add_test(cases, test_sizes);
    tcase_add_test(cases, test_profiles);
    tcase_add_test(cases, test_chunks);
    tcase_add_test(cases, test_upload_quota);
    tcase_add_test(cases, test_upload_never_finished);
    tcase_add_test(cases, test_replace);
    tcase_add_test(cases, test_open_map);
    tcase_add_test(cases, test_change_outside);
    tcase_add_test(cases, test_change_malformed);
    tcase_add_test(cases, test_change_base_version);
    tcase_add_test(cases, test_change_order);
    tcase_add_test(cases, test_change_too_many);
    tcase_add_test(cases, test_change_too_many_cells);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_badinput_maps", badinput_maps_suite);
}
