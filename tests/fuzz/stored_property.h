/* What must hold of the bytes that stores keep, snapshots and batches, whatever was done to them, even where every checksum fits. Used by the
 * seeded test (test_fuzz_stored.c) and by the libFuzzer entry (fuzz_stored.c); a broken promise prints the input and aborts.
 *
 * An input edits bytes that were well made. Its first byte says which, and with bit 7 that the checksums are left as they are; then come edits of
 * 4 bytes each: where (u16, little-endian), what (0: a byte is set, 1: it is changed, 2: the rest is cut off, 3: a byte is put in), a byte. */
#ifndef TP_TESTS_FUZZ_STORED_PROPERTY_H
#define TP_TESTS_FUZZ_STORED_PROPERTY_H

#include "daemon/bytes.h"
#include "daemon/store/snapshot.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { STORED_SNAPSHOTS = 6, STORED_BATCHES = 2, STORED_KINDS = STORED_SNAPSHOTS + STORED_BATCHES };
enum { STORED_EDIT_BYTES = 4, STORED_GROWN_MAX = 256, STORED_CHECKSUM_AS_IS = 0x80 };

static void stored_broken(const char *promise, int line, const uint8_t *input, size_t size)
{
    fprintf(stderr, "stored_property.h:%d: broken: %s\ninput (%zu bytes):", line, promise, size);
    for (size_t i = 0; i < size; i++)
        fprintf(stderr, " %02x", input[i]);
    fputs("\n", stderr);
    abort();
}

#define STORED_PROMISE(condition)                                                                             \
    do {                                                                                                      \
        if (!(condition))                                                                                     \
            stored_broken(#condition, __LINE__, input, input_size);                                           \
    } while (0)

static void stored_must(bool done)
{
    if (!done) {
        fprintf(stderr, "stored_property.h: what is to be edited can't be made\n");
        abort();
    }
}

static struct tp_map *stored_map(bool is_graph)
{
    struct tp_map *map;
    if (is_graph) {
        const struct tp_graph_edge edges[] = {{0, 1, 3}, {1, 2, 4}, {2, 0, 5}, {3, 1, UINT32_MAX}};
        const double x[] = {0, 1, 1, 0}, y[] = {0, 0, 1, 1};
        const struct tp_graph *graph;
        size_t bad;
        stored_must(tp_graph_build(&graph, 4, edges, 4, x, y, &bad) == 0);
        stored_must(tp_map_build_graph(&map, graph, 77, 5) == 0);
        tp_graph_unref(graph);
        return map;
    }
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    stored_must(tp_map_restore(&map, 6, 4, (const uint8_t *)"..@.....@T..GSWO........", &profile, 77, 5) == 0);
    return map;
}

/* The bytes that are edited, made anew. */
static uint8_t *stored_make(int kind, size_t *size)
{
    uint8_t *bytes;
    struct tp_key key = {3, "abc"};
    if (kind >= STORED_SNAPSHOTS) {
        static const uint8_t bits[] = {0xa5, 0x5a};
        const struct tp_change changes[] = {{.kind = TP_CHANGE_CELL, .class_to = '@', .x = 1, .y = 2},
                                            {.kind = TP_CHANGE_RECT, .class_to = '.', .width = 3, .height = 2},
                                            {.kind = TP_CHANGE_BITMAP, .class_to = 'T', .x = 1, .y = 1, .width = 4, .height = 3, .bits = bits, .bits_size = 2},
                                            {.kind = TP_CHANGE_EDGE, .x = 2, .y = 9},
                                            {.kind = TP_CHANGE_NODE, .x = 1}};
        stored_must(tp_batch_encode(changes, 5, kind % 2 ? &key : NULL, &bytes, size) == 0);
        return bytes;
    }
    struct tp_map *map = stored_map(kind % 2);
    struct tp_keys keys = {0};
    struct tp_lineage lineage = {0};
    stored_must(tp_keys_reserve(&keys) == 0);
    if (kind >= 2)
        tp_keys_add(&keys, &key, 4);
    struct tp_snapshot_extra extra = {.keys = &keys};
    if (kind >= 4) {
        tp_lineage_note(&lineage, (const uint8_t *)"0123456789abcdef", (struct tp_log_place){5, 1});
        extra = (struct tp_snapshot_extra){"of/a-map", &keys, {5, 1}, &lineage};
    }
    stored_must(tp_snapshot_encode_placed(map, &extra, &bytes, size) == 0);
    tp_keys_fini(&keys);
    tp_map_unref(map);
    return bytes;
}

static void stored_seal(uint8_t *bytes, size_t size)
{
    if (size >= 16)
        tp_put_u64(bytes + size - 8, XXH3_64bits(bytes, size - 8));
}

/* Whoever takes a snapshot has a map as large as it says, and gets the same when it is written and read again. */
static void stored_check_snapshot(const uint8_t *bytes, size_t size, const uint8_t *input, size_t input_size)
{
    struct tp_snapshot_info info;
    struct tp_map *map, *back;
    struct tp_keys keys, keys_back;
    const char *words = NULL, *reason = NULL;
    int peeked = tp_snapshot_peek(&info, bytes, size, &words);
    int error = tp_snapshot_decode(&map, &keys, bytes, size, &reason);
    STORED_PROMISE(peeked == 0 || (peeked == TP_ERR_CORRUPT && words != NULL && error == TP_ERR_CORRUPT && info.layout == 0));
    STORED_PROMISE(error == 0 || (error == TP_ERR_CORRUPT && reason != NULL && map == NULL && keys.ring == NULL && keys.count == 0));
    STORED_PROMISE(!info.is_newer || error == TP_ERR_CORRUPT);
    if (error != 0)
        return;
    STORED_PROMISE(map->width == info.width && map->height == info.height && map->epoch == info.epoch && map->version == info.version);
    STORED_PROMISE((map->graph != NULL) == info.is_graph && keys.count <= TP_KEYS_MAX);
    const struct tp_snapshot_extra extra = {info.name, &keys, info.place, &info.lineage};
    uint8_t *again, *twice;
    size_t again_size, twice_size;
    stored_must(tp_snapshot_encode_placed(map, &extra, &again, &again_size) == 0);
    STORED_PROMISE(tp_snapshot_decode(&back, &keys_back, again, again_size, &reason) == 0);
    const struct tp_snapshot_extra extra_back = {info.name, &keys_back, info.place, &info.lineage};
    stored_must(tp_snapshot_encode_placed(back, &extra_back, &twice, &twice_size) == 0);
    STORED_PROMISE(again_size == twice_size && memcmp(again, twice, again_size) == 0);
    free(again);
    free(twice);
    tp_keys_fini(&keys);
    tp_keys_fini(&keys_back);
    tp_map_unref(map);
    tp_map_unref(back);
}

/* A batch that is taken is one that these very bytes are written for; and it can be applied, or is refused with a place of its own. */
static void stored_check_batch(const uint8_t *bytes, size_t size, const uint8_t *input, size_t input_size)
{
    struct tp_change *changes;
    size_t count;
    struct tp_key key;
    tp_batch_key(bytes, size, &key);
    STORED_PROMISE(key.size <= TP_KEY_BYTES_MAX);
    int error = tp_batch_decode(bytes, size, &changes, &count);
    STORED_PROMISE(error == 0 || (error == TP_ERR_CORRUPT && changes == NULL && count == 0));
    if (error != 0)
        return;
    uint8_t *again;
    size_t again_size;
    stored_must(tp_batch_encode(changes, count, &key, &again, &again_size) == 0);
    STORED_PROMISE(again_size == size && memcmp(again, bytes, size) == 0);
    free(again);
    for (int is_graph = 0; is_graph < 2; is_graph++) {
        struct tp_map *map = stored_map(is_graph), *next;
        size_t bad;
        uint32_t bad_x, bad_y;
        error = tp_map_apply(&next, map, changes, count, &bad, &bad_x, &bad_y);
        STORED_PROMISE(error == 0 ? next->version == map->version + 1 : next == NULL && bad < count);
        tp_map_unref(next);
        tp_map_unref(map);
    }
    free(changes);
}

/* Checks the bytes that an input makes. Gives their number, for a test to count by. */
static size_t stored_check(const uint8_t *input, size_t input_size)
{
    if (input_size < 1)
        return 0;
    int kind = (input[0] & 0x7f) % STORED_KINDS;
    size_t size, room;
    uint8_t *made = stored_make(kind, &size);
    room = size + STORED_GROWN_MAX;
    uint8_t *draft = malloc(room);
    stored_must(draft != NULL);
    memcpy(draft, made, size);
    free(made);
    for (const uint8_t *edit = input + 1; input + input_size - edit >= STORED_EDIT_BYTES; edit += STORED_EDIT_BYTES) {
        size_t at = tp_get_u16(edit);
        if (at > size || (at == size && edit[2] % 4 != 3))
            continue;
        switch (edit[2] % 4) {
        case 0:
            draft[at] = edit[3];
            break;
        case 1:
            draft[at] ^= edit[3];
            break;
        case 2:
            size = at;
            break;
        case 3:
            if (size < room) {
                memmove(draft + at + 1, draft + at, size++ - at);
                draft[at] = edit[3];
            }
            break;
        }
    }
    uint8_t *bytes = malloc(size > 0 ? size : 1); /* it ends where its memory ends, so that a read behind it is found */
    stored_must(bytes != NULL);
    memcpy(bytes, draft, size);
    free(draft);
    if (kind < STORED_SNAPSHOTS) {
        if (!(input[0] & STORED_CHECKSUM_AS_IS)) {
            uint8_t *inner = size > 16 ? memmem(bytes + 8, size - 8, "tpsnap", 7) : NULL;
            if (inner != NULL && bytes + size - inner > 8)
                stored_seal(inner, (size_t)(bytes + size - inner) - 8);
            stored_seal(bytes, size);
        }
        stored_check_snapshot(bytes, size, input, input_size);
    } else
        stored_check_batch(bytes, size, input, input_size);
    free(bytes);
    return size;
}

#endif
