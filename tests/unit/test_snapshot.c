/* Snapshots as bytes: what was put in comes back; what is damaged, cut, grown, lies about its sizes or comes from a later program is
 * refused with words, before memory is taken for it. Calls of malloc and calloc are watched (the linker's --wrap, tests.mk). */
#include "daemon/bytes.h"
#include "daemon/store/snapshot.h"
#include "tests/lib/maps.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static size_t most_bytes_; /* asked for at once */
static int fail_in_ = -1;  /* so many calls are yet to go well; < 0: all */

static bool fails(size_t bytes)
{
    most_bytes_ = bytes > most_bytes_ ? bytes : most_bytes_;
    return fail_in_ >= 0 && fail_in_-- == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return fails(bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails(count * bytes) ? NULL : __real_calloc(count, bytes);
}

/* A map with what goes along, and its bytes. */
struct written {
    struct tp_map *map;
    struct tp_keys keys;
    struct tp_lineage lineage;
    struct tp_log_place place;
    const char *name; /* NULL: none */
    uint8_t *bytes;
    size_t size;
};

static struct tp_snapshot_extra extra_of(const struct written *w)
{
    return (struct tp_snapshot_extra){.name = w->name, .keys = &w->keys, .place = w->place, .lineage = &w->lineage};
}

static struct tp_map *random_graph(struct tp_test_rng *rng)
{
    enum { NODES_MAX = 12, EDGES_MAX = 30 };
    struct tp_graph_edge edges[EDGES_MAX];
    double x[NODES_MAX], y[NODES_MAX];
    uint32_t nodes = tp_test_between(rng, 1, NODES_MAX), count = tp_test_below(rng, EDGES_MAX + 1);
    for (uint32_t e = 0; e < count; e++)
        edges[e] = (struct tp_graph_edge){tp_test_below(rng, nodes), tp_test_below(rng, nodes), tp_test_between(rng, 1, 1000)};
    for (uint32_t i = 0; i < nodes; i++) {
        x[i] = tp_test_below(rng, 1000) / 7.0;
        y[i] = tp_test_below(rng, 1000) / 3.0;
    }
    bool is_placed = tp_test_percent(rng, 50);
    return tp_test_map_graph(nodes, edges, count, is_placed ? x : NULL, is_placed ? y : NULL);
}

enum { WITH_KEYS = 1, WITH_PLACE = 2, ALL_OF_THEM = 4 };

/* Writes a random map with keys, or with a place, a lineage and a name; some, or as many as there can be. */
static struct written write_random(struct tp_test_rng *rng, bool is_graph, int with)
{
    struct written w = {0};
    uint32_t width = tp_test_between(rng, 1, 9), height = tp_test_between(rng, 1, 9);
    w.map = is_graph ? random_graph(rng) : tp_test_map_random(rng, width, height, 30);
    w.map->epoch = tp_test_next(rng);
    w.map->version = tp_test_next(rng);
    uint32_t keys = with & ALL_OF_THEM ? TP_KEYS_MAX : tp_test_between(rng, 1, 4);
    uint32_t tags = with & ALL_OF_THEM ? TP_LINEAGE_MAX : tp_test_below(rng, 3);
    ck_assert_int_eq(tp_keys_reserve(&w.keys), 0);
    for (uint32_t i = 0; with & WITH_KEYS && i < keys; i++) {
        struct tp_key key = {.size = (uint8_t)tp_test_between(rng, 4, with & ALL_OF_THEM ? TP_KEY_BYTES_MAX : 8)};
        for (int b = 0; b < key.size; b++)
            key.bytes[b] = (uint8_t)tp_test_next(rng);
        tp_keys_add(&w.keys, &key, i + 2);
    }
    for (uint32_t i = 0; with & WITH_PLACE && i < tags; i++) {
        uint8_t tag[TP_LOG_TAG_BYTES] = {(uint8_t)i, (uint8_t)tp_test_next(rng)};
        tp_lineage_note(&w.lineage, tag, (struct tp_log_place){tp_test_next(rng), tp_test_next(rng)});
    }
    if (with & WITH_PLACE) {
        w.place = (struct tp_log_place){tp_test_next(rng) | 1, tp_test_below(rng, 5)};
        w.name = tp_test_percent(rng, 50) ? "a/map-of.mine_7" : NULL;
    }
    struct tp_snapshot_extra extra = extra_of(&w);
    ck_assert_int_eq(tp_snapshot_encode_placed(w.map, &extra, &w.bytes, &w.size), 0);
    return w;
}

static void written_fini(struct written *w)
{
    tp_map_unref(w->map);
    tp_keys_fini(&w->keys);
    free(w->bytes);
}

/* The map alone as bytes, which are the same for the same map. */
static bool same_map(const struct tp_map *a, const struct tp_map *b)
{
    uint8_t *one, *other;
    size_t one_size, other_size;
    ck_assert_int_eq(tp_snapshot_encode(a, NULL, &one, &one_size), 0);
    ck_assert_int_eq(tp_snapshot_encode(b, NULL, &other, &other_size), 0);
    bool same = one_size == other_size && memcmp(one, other, one_size) == 0 && a->width == b->width && a->height == b->height &&
                a->epoch == b->epoch && a->version == b->version && a->passable_cells == b->passable_cells;
    for (uint32_t y = 0; same && a->graph == NULL && y < a->height; y++)
        for (uint32_t x = 0; x < a->width; x++)
            same = same && tp_map_class(a, x, y) == tp_map_class(b, x, y) && tp_map_weight(a, x, y) == tp_map_weight(b, x, y);
    free(one);
    free(other);
    return same;
}

static bool same_keys(const struct tp_keys *a, const struct tp_keys *b)
{
    uint8_t one[4 + TP_KEYS_MAX * (1 + TP_KEY_BYTES_MAX + 8)], other[sizeof one];
    tp_keys_encode(a, one);
    tp_keys_encode(b, other);
    return tp_keys_encoded_bytes(a) == tp_keys_encoded_bytes(b) && memcmp(one, other, tp_keys_encoded_bytes(a)) == 0;
}

static void seal(uint8_t *bytes, size_t size)
{
    tp_put_u64(bytes + size - 8, XXH3_64bits(bytes, size - 8));
}

/* Where the map's own snapshot begins, which ends before the last checksum, or with it where it is not wrapped. */
static size_t map_at(const struct written *w)
{
    uint8_t layout = w->bytes[7];
    if (layout < 3)
        return 0;
    const uint8_t *at = memmem(w->bytes + 8, w->size - 8, "tpsnap", 7);
    ck_assert_ptr_nonnull(at);
    return (size_t)(at - w->bytes);
}

/* A copy that ends where its memory ends, so that a read behind it is found. */
static uint8_t *copy_of(const uint8_t *bytes, size_t size, size_t room)
{
    uint8_t *copy = malloc(room > 0 ? room : 1);
    memcpy(copy, bytes, size < room ? size : room);
    return copy;
}

/* Decodes bytes, and frees them: they are refused as corrupt, with these words (NULL: any), in at most this much memory. */
static void expect_refused(uint8_t *bytes, size_t size, const char *words, size_t memory_max, const char *what, size_t at)
{
    struct tp_map *map = (struct tp_map *)bytes; /* to be made NULL */
    struct tp_keys keys = {.count = 7};
    const char *reason = NULL;
    most_bytes_ = 0;
    int error = tp_snapshot_decode(&map, &keys, bytes, size, &reason);
    if (error != TP_ERR_CORRUPT || map != NULL || keys.count != 0 || keys.ring != NULL || reason == NULL)
        ck_abort_msg("%s %zu: error %d, %s", what, at, error, reason != NULL ? reason : "without words");
    if (words != NULL && strstr(reason, words) == NULL)
        ck_abort_msg("%s %zu: %s", what, at, reason);
    if (most_bytes_ > memory_max)
        ck_abort_msg("%s %zu: %zu bytes were asked for", what, at, most_bytes_);
    free(bytes);
}

static const struct {
    bool is_graph;
    int with;
    uint8_t layout;
} kinds[] = {{false, 0, 1}, {true, 0, 2}, {false, WITH_KEYS, 3}, {true, WITH_KEYS, 3}, {false, WITH_PLACE, 4}, {true, WITH_KEYS | WITH_PLACE, 4}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

START_TEST(test_round_trips)
{
    struct tp_test_rng rng = tp_test_rng("round trips");
    for (uint64_t round = 0; round < tp_test_steps(300, 20000); round++) {
        int kind = (int)(round % KINDS);
        int with = kinds[kind].with | (tp_test_percent(&rng, 10) ? ALL_OF_THEM : 0);
        struct written w = write_random(&rng, kinds[kind].is_graph, with);
        if (w.bytes[7] != kinds[kind].layout) /* the lowest that can say it */
            ck_abort_msg("kind %d is in layout %d", kind, w.bytes[7]);
        struct tp_map *back;
        struct tp_keys keys;
        struct tp_snapshot_info info;
        const char *reason;
        ck_assert_int_eq(tp_snapshot_decode(&back, &keys, w.bytes, w.size, &reason), 0);
        ck_assert(same_map(w.map, back));
        ck_assert(same_keys(&w.keys, &keys));
        most_bytes_ = 0;
        int error = tp_snapshot_peek(&info, w.bytes, w.size, &reason);
        ck_assert(error == 0 && most_bytes_ == 0);
        ck_assert(info.layout == kinds[kind].layout && !info.is_newer && info.is_graph == kinds[kind].is_graph);
        ck_assert(info.width == w.map->width && info.height == w.map->height);
        ck_assert(info.epoch == w.map->epoch && info.version == w.map->version);
        ck_assert_str_eq(info.name, w.name != NULL ? w.name : "");
        ck_assert_int_eq(tp_log_place_compare(info.place, w.place), 0);
        ck_assert_uint_eq(info.lineage.count, w.lineage.count);
        ck_assert_mem_eq(&info.lineage, &w.lineage, sizeof info.lineage);
        tp_keys_fini(&keys);
        tp_map_unref(back);
        ck_assert_int_eq(tp_snapshot_decode(&back, NULL, w.bytes, w.size, &reason), 0); /* whoever does not want the keys */
        ck_assert(same_map(w.map, back));
        tp_map_unref(back);
        written_fini(&w);
    }
}
END_TEST

/* Each bit of a small snapshot flipped in turn is found, nothing being asked for; so is each that is cut, and each that has grown. */
START_TEST(test_damage)
{
    struct tp_test_rng rng = tp_test_rng("damage");
    struct written w = write_random(&rng, kinds[_i].is_graph, kinds[_i].with);
    for (size_t bit = 0; bit < 8 * w.size; bit++) {
        uint8_t *bytes = copy_of(w.bytes, w.size, w.size);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct tp_snapshot_info info;
        const char *reason = NULL;
        if (tp_snapshot_peek(&info, bytes, w.size, &reason) != TP_ERR_CORRUPT || reason == NULL || info.layout != 0 || info.is_newer)
            ck_abort_msg("bit %zu: a peek takes it", bit);
        expect_refused(bytes, w.size, NULL, 0, "bit", bit);
    }
    for (size_t cut = 0; cut < w.size; cut++) {
        expect_refused(copy_of(w.bytes, w.size, cut), cut, NULL, 0, "cut at", cut);
        if (cut >= 16) { /* cut, with a checksum that fits */
            uint8_t *bytes = copy_of(w.bytes, w.size, cut);
            seal(bytes, cut);
            expect_refused(bytes, cut, NULL, 1 << 17, "cut and sealed at", cut);
        }
    }
    for (size_t more = 1; more < 40; more++) {
        uint8_t *bytes = copy_of(w.bytes, w.size, w.size + more);
        for (size_t i = 0; i < more; i++)
            bytes[w.size + i] = _i % 2 ? 0 : (uint8_t)tp_test_next(&rng);
        uint8_t *sealed = copy_of(bytes, w.size + more, w.size + more);
        expect_refused(bytes, w.size + more, NULL, 0, "grown by", more);
        if (more >= 8) {
            seal(sealed, w.size + more);
            expect_refused(sealed, w.size + more, NULL, 1 << 17, "grown and sealed by", more);
        } else
            free(sealed);
    }
    written_fini(&w);
}
END_TEST

/* The wrapping's bytes changed and sealed anew, so that the map's own checksum alone is left: never another map. */
START_TEST(test_sealed_anew)
{
    struct tp_test_rng rng = tp_test_rng("sealed anew");
    struct written w = write_random(&rng, kinds[_i].is_graph, kinds[_i].with);
    size_t head = map_at(&w);
    for (size_t bit = 0; bit < 8 * (w.size - 8); bit++) {
        uint8_t *bytes = copy_of(w.bytes, w.size, w.size);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        seal(bytes, w.size);
        struct tp_map *back;
        struct tp_keys keys;
        const char *reason = NULL;
        int error = tp_snapshot_decode(&back, &keys, bytes, w.size, &reason);
        if (error == TP_ERR_CORRUPT ? reason == NULL || back != NULL : error != 0 || bit / 8 < 8 || (head > 0 && bit / 8 >= head))
            ck_abort_msg("bit %zu: error %d", bit, error);
        if (error == 0 && head > 0 && !same_map(back, w.map))
            ck_abort_msg("bit %zu: another map", bit);
        tp_keys_fini(&keys);
        tp_map_unref(back);
        free(bytes);
    }
    written_fini(&w);
}
END_TEST

/* What a later program wrote is said to be that, however it goes on behind its magic; damaged, it is damaged. */
START_TEST(test_newer)
{
    struct tp_test_rng rng = tp_test_rng("newer");
    for (uint32_t layout = 5; layout < 256; layout++) {
        uint8_t bytes[80];
        size_t size = tp_test_between(&rng, 16, sizeof bytes);
        for (size_t i = 8; i < size; i++)
            bytes[i] = (uint8_t)tp_test_next(&rng);
        memcpy(bytes, "tpsnap", 7);
        bytes[7] = (uint8_t)layout;
        seal(bytes, size);
        struct tp_snapshot_info info;
        const char *reason;
        ck_assert_int_eq(tp_snapshot_peek(&info, bytes, size, &reason), 0);
        ck_assert(info.is_newer && info.layout == layout);
        expect_refused(copy_of(bytes, size, size), size, "written by a newer tickpath", 0, "layout", layout);
        bytes[tp_test_below(&rng, (uint32_t)size)] ^= 1;
        ck_assert_int_eq(tp_snapshot_peek(&info, bytes, size, &reason), TP_ERR_CORRUPT);
        ck_assert(!info.is_newer);
    }
}
END_TEST

/* Sizes and counts that lie, under checksums that fit. */
START_TEST(test_lies)
{
    struct tp_test_rng rng = tp_test_rng("lies");
    const struct {
        int kind;
        bool is_in_map; /* at counts from where the map's own snapshot begins */
        size_t at;
        uint32_t value;
        const char *words;
    } lies[] = {
        {4, false, 24, 0x0000ff00, "place"},       /* 255 tags of a lineage */
        {4, false, 24, 0x00001100, "place"},       /* 17 */
        {4, false, 24, 0x000000ff, "place"},       /* a name of 255 bytes */
        {4, false, 24, 0x00000081, "place"},       /* of 129 */
        {4, false, 24, 0x01000000, "place"},       /* what is to be 0 */
        {4, false, 28, 0x00000001, "place"},       /* the same */
        {2, false, 8, 0xffffffff, "keys"},         /* how many */
        {2, false, 8, TP_KEYS_MAX, "keys"},        /* as many as there can be, and are not */
        {2, false, 12, 0x000000ff, "keys"},        /* the size of one */
        {2, false, 12, 0, "keys"},                 /* the same */
        {0, true, 8, 0xffffffff, "size of the map"},
        {0, true, 8, 0, "size of the map"},
        {0, true, 12, 0x04000000, NULL},
        {0, true, 544, 0xffffffff, "length"},
        {0, true, 548, 0x00000001, "length"},
        {4, true, 8, 8192, "cells"},
        {4, true, 544, 0, "length"},
        {1, true, 12, 0x04000001, "size of the graph"},
        {1, true, 32, 0x08000001, "size of the graph"},
        {1, true, 32, 0x08000000, "contents"},
        {5, true, 32, 0xffffffff, "size of the graph"},
        {5, true, 44, 0x00000001, "length"},
        {5, true, 8, 0x00000003, "kind"},
        {4, true, 4, 0x03007061, "no map"},        /* a layout within another: keys */
        {4, true, 4, 0x04007061, "no map"},        /* itself */
        {4, true, 4, 0x07007061, "no map"},        /* one that is not known */
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct written w = write_random(&rng, kinds[lies[i].kind].is_graph, kinds[lies[i].kind].with);
        size_t head = map_at(&w), at = lies[i].at + (lies[i].is_in_map ? head : 0);
        uint8_t *bytes = copy_of(w.bytes, w.size, w.size);
        tp_put_u32(bytes + at, lies[i].value);
        if (head > 0)
            seal(bytes + head, w.size - 8 - head);
        seal(bytes, w.size);
        expect_refused(bytes, w.size, lies[i].words, 1 << 17, "lie", i);
        written_fini(&w);
    }
}
END_TEST

/* A frame whose own header says as much as the snapshot's: 64 Mi cells in a few bytes. */
START_TEST(test_lying_frame)
{
    enum { HEADER = 552 };
    const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 4, 1, 0, 0}; /* of 0x4000000 bytes, with one block, of none */
    size_t size = HEADER + sizeof frame + 8;
    uint8_t *bytes = calloc(1, size);
    memcpy(bytes, "tpsnap\0\1", 8);
    tp_put_u32(bytes + 8, 8192);
    tp_put_u32(bytes + 12, 8192);
    tp_put_u64(bytes + 544, sizeof frame);
    memcpy(bytes + HEADER, frame, sizeof frame);
    seal(bytes, size);
    expect_refused(bytes, size, "cells", 0, "frame", 0);
}
END_TEST

/* As the head of daemon/store/snapshot.c has it, byte by byte: what is written stays readable. */
START_TEST(test_documented)
{
    struct tp_map *map = tp_test_map("..@\n@T.");
    struct tp_keys keys = {0};
    struct tp_lineage lineage = {0};
    ck_assert_int_eq(tp_keys_reserve(&keys), 0);
    tp_keys_add(&keys, &(struct tp_key){2, "ab"}, 0x0102);
    tp_lineage_note(&lineage, (const uint8_t *)"0123456789abcdef", (struct tp_log_place){7, 8});
    const struct tp_snapshot_extra extra = {.name = "m", .keys = &keys, .place = {0x0506, 9}, .lineage = &lineage};
    uint8_t *bytes, *plain;
    size_t size, plain_size;
    ck_assert_int_eq(tp_snapshot_encode(map, NULL, &plain, &plain_size), 0);
    ck_assert_int_eq(tp_snapshot_encode_placed(map, &extra, &bytes, &size), 0);
    static const char head[] = "tpsnap\0\4"
                               "\6\5\0\0\0\0\0\0\11\0\0\0\0\0\0\0" /* the place */
                               "\1\1\0\0\0\0\0\0m"
                               "0123456789abcdef\7\0\0\0\0\0\0\0\10\0\0\0\0\0\0\0"
                               "\1\0\0\0\2ab\2\1\0\0\0\0\0\0"; /* the keys */
    ck_assert_uint_eq(size, sizeof head - 1 + plain_size + 8);
    ck_assert_mem_eq(bytes, head, sizeof head - 1);
    ck_assert_mem_eq(bytes + sizeof head - 1, plain, plain_size);
    ck_assert_mem_eq(plain, "tpsnap\0\1\3\0\0\0\2\0\0\0", 16);
    ck_assert_uint_eq(tp_get_u64(plain + 16), map->epoch);
    ck_assert_uint_eq(tp_get_u64(plain + 24), map->version);
    ck_assert_uint_eq(tp_get_u16(plain + 32 + 2 * '.'), 1);
    ck_assert_uint_eq(tp_get_u16(plain + 32 + 2 * '@'), 0);
    ck_assert_uint_eq(tp_get_u64(plain + 544), plain_size - 560);
    ck_assert_uint_eq(tp_get_u64(bytes + size - 8), XXH3_64bits(bytes, size - 8));
    free(bytes);
    free(plain);
    tp_keys_fini(&keys);
    tp_map_unref(map);
}
END_TEST

/* Memory that runs out at each call in turn: that is said, and nothing is left behind (the address sanitizer looks). */
START_TEST(test_no_memory)
{
    struct tp_test_rng rng = tp_test_rng("no memory");
    struct written w = write_random(&rng, kinds[_i].is_graph, kinds[_i].with);
    for (int times = 0, done = 0; done < 2; times++) {
        done = 0;
        uint8_t *bytes;
        size_t size;
        fail_in_ = times;
        struct tp_snapshot_extra extra = extra_of(&w);
        int error = tp_snapshot_encode_placed(w.map, &extra, &bytes, &size);
        fail_in_ = -1;
        ck_assert(error == 0 || error == TP_ERR_NO_MEMORY);
        done += error == 0;
        if (error == 0)
            free(bytes);
        struct tp_map *back;
        struct tp_keys keys;
        const char *reason;
        fail_in_ = times;
        error = tp_snapshot_decode(&back, &keys, w.bytes, w.size, &reason);
        fail_in_ = -1;
        ck_assert(error == 0 || error == TP_ERR_NO_MEMORY);
        done += error == 0;
        ck_assert(times > 0 || done == 0);
        if (error != 0)
            ck_assert(back == NULL && keys.ring == NULL);
        tp_keys_fini(&keys);
        tp_map_unref(back);
    }
    written_fini(&w);
}
END_TEST

static Suite *snapshot_suite(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *cases = tcase_create("snapshot");
    tcase_add_test(cases, test_round_trips);
    tcase_add_loop_test(cases, test_damage, 0, KINDS);
    tcase_add_loop_test(cases, test_sealed_anew, 0, KINDS);
    tcase_add_test(cases, test_newer);
    tcase_add_test(cases, test_lies);
    tcase_add_test(cases, test_lying_frame);
    tcase_add_test(cases, test_documented);
    tcase_add_loop_test(cases, test_no_memory, 0, KINDS);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_snapshot", snapshot_suite);
}
