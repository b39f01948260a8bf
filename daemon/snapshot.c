/* Snapshot of a grid, layout 1; all numbers little-endian:
 *
 *     offset  bytes
 *          0      8  magic "tpsnap\0\1", the last byte being the layout number
 *          8      4  width, cells
 *         12      4  height, cells
 *         16      8  epoch
 *         24      8  version
 *         32    512  profile: 256 weights
 *        544      8  bytes of the compressed cells, n
 *        552      n  cells, row-major, one zstd frame
 *      552+n      8  XXH3-64 of everything before
 *
 * Snapshot of a graph, layout 2 (daemon/snapshot_graph.c): a program that knows layout 1 alone says that it can't read it.
 *
 * Snapshot with keys, layout 3: magic, the keys (daemon/keys.h), a whole snapshot of layout 1 or 2, and an XXH3-64 of all that. Without
 * keys there is no such wrapping, so that a program that knows no keys reads what has none.
 *
 * Batch: u32 count, with the highest bit set where u8 size and the bytes of a key follow; then per change: u8 kind,
 * u8 class, u32 x, u32 y; a rectangle or a bitmap adds u32 width, u32 height; a bitmap adds u32 bytes and the bits.
 * Whoever stores a batch adds version and checksum.
 */
#include "daemon/snapshot.h"

#include "base/limits.h"
#include "daemon/bytes.h"
#include "daemon/snapshot_graph.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum { LAYOUT_GRID = 1, LAYOUT_GRAPH = 2, LAYOUT_KEYED = 3 };
enum { HEADER_BYTES = 552, CHECKSUM_BYTES = 8, CHANGE_BYTES_MIN = 10, ZSTD_LEVEL = 3 };
#define BATCH_HAS_KEY 0x80000000u
static const char magic[8] = {'t', 'p', 's', 'n', 'a', 'p', 0, LAYOUT_GRID};

static int encode_plain(const struct tp_map *map, uint8_t **bytes, size_t *size)
{
    if (map->graph != NULL)
        return tp__snapshot_encode_graph(map, LAYOUT_GRAPH, bytes, size);
    size_t cells = (size_t)map->width * map->height;
    size_t bound = ZSTD_compressBound(cells);
    uint8_t *plain = malloc(cells);
    uint8_t *out = malloc(HEADER_BYTES + bound + CHECKSUM_BYTES);
    if (plain == NULL || out == NULL) {
        free(plain);
        free(out);
        return TP_ERR_NO_MEMORY;
    }
    tp_map_copy_cells(map, plain);
    size_t packed = ZSTD_compress(out + HEADER_BYTES, bound, plain, cells, ZSTD_LEVEL);
    free(plain);
    if (ZSTD_isError(packed)) { /* its only cause here: its own working memory */
        free(out);
        return TP_ERR_NO_MEMORY;
    }
    memcpy(out, magic, sizeof magic);
    tp_put_u32(out + 8, map->width);
    tp_put_u32(out + 12, map->height);
    tp_put_u64(out + 16, map->epoch);
    tp_put_u64(out + 24, map->version);
    for (size_t i = 0; i < 256; i++)
        tp_put_u16(out + 32 + 2 * i, map->profile.weight[i]);
    tp_put_u64(out + 544, packed);
    tp_put_u64(out + HEADER_BYTES + packed, XXH3_64bits(out, HEADER_BYTES + packed));
    *bytes = out;
    *size = HEADER_BYTES + packed + CHECKSUM_BYTES;
    return 0;
}

static int corrupt(const char **reason, const char *words)
{
    *reason = words;
    return TP_ERR_CORRUPT;
}

/* Layouts 1 and 2. */
static int decode_plain(struct tp_map **out, const void *bytes, size_t size, const char **reason)
{
    const uint8_t *p = bytes;
    if (size < sizeof magic + CHECKSUM_BYTES)
        return corrupt(reason, "the snapshot is shorter than its header");
    if (memcmp(p, magic, sizeof magic - 1) != 0)
        return corrupt(reason, "not a snapshot of this program");
    uint8_t layout = p[sizeof magic - 1];
    if (layout != LAYOUT_GRID && layout != LAYOUT_GRAPH)
        return corrupt(reason, "the snapshot has a layout of another version of this program");
    if (tp_get_u64(p + size - CHECKSUM_BYTES) != XXH3_64bits(p, size - CHECKSUM_BYTES))
        return corrupt(reason, "the snapshot's checksum does not fit");
    if (layout == LAYOUT_GRAPH)
        return tp__snapshot_decode_graph(out, p, size, reason);
    if (size < HEADER_BYTES + CHECKSUM_BYTES)
        return corrupt(reason, "the snapshot is shorter than its header");
    uint64_t width = tp_get_u32(p + 8), height = tp_get_u32(p + 12), packed = tp_get_u64(p + 544);
    if (packed != size - HEADER_BYTES - CHECKSUM_BYTES)
        return corrupt(reason, "the snapshot's length does not fit its header");
    if (width == 0 || height == 0 || width * height > (uint64_t)TP_MAP_CELLS_MAX)
        return corrupt(reason, "the snapshot's size of the map is not allowed");
    if (ZSTD_getFrameContentSize(p + HEADER_BYTES, packed) != width * height)
        return corrupt(reason, "the snapshot's cells do not fit its size");
    struct tp_profile profile;
    for (size_t i = 0; i < 256; i++)
        profile.weight[i] = tp_get_u16(p + 32 + 2 * i);
    uint8_t *cells = malloc(width * height);
    if (cells == NULL)
        return TP_ERR_NO_MEMORY;
    if (ZSTD_decompress(cells, width * height, p + HEADER_BYTES, packed) != width * height) {
        free(cells);
        return corrupt(reason, "the snapshot's cells cannot be decompressed");
    }
    int error = tp_map_restore(out, (uint32_t)width, (uint32_t)height, cells, &profile, tp_get_u64(p + 16),
                               tp_get_u64(p + 24));
    free(cells);
    if (error == TP_ERR_INVALID_ARGUMENT)
        return corrupt(reason, "the snapshot's map is not allowed");
    return error;
}

int tp_snapshot_encode(const struct tp_map *map, const struct tp_keys *keys, uint8_t **bytes, size_t *size)
{
    uint8_t *plain;
    size_t plain_size;
    int error = encode_plain(map, &plain, &plain_size);
    if (error != 0)
        return error;
    if (keys == NULL || keys->count == 0) {
        *bytes = plain;
        *size = plain_size;
        return 0;
    }
    size_t key_bytes = tp_keys_encoded_bytes(keys);
    size_t total = sizeof magic + key_bytes + plain_size + CHECKSUM_BYTES;
    uint8_t *out = malloc(total);
    if (out != NULL) {
        memcpy(out, magic, sizeof magic);
        out[sizeof magic - 1] = LAYOUT_KEYED;
        tp_keys_encode(keys, out + sizeof magic);
        memcpy(out + sizeof magic + key_bytes, plain, plain_size);
        tp_put_u64(out + total - CHECKSUM_BYTES, XXH3_64bits(out, total - CHECKSUM_BYTES));
    }
    free(plain);
    *bytes = out;
    *size = total;
    return out == NULL ? TP_ERR_NO_MEMORY : 0;
}

static int decode_keyed(struct tp_map **out, struct tp_keys *keys, const void *bytes, size_t size, const char **reason)
{
    const uint8_t *p = bytes;
    *out = NULL;
    *keys = (struct tp_keys){0};
    *reason = NULL;
    if (size < sizeof magic + CHECKSUM_BYTES || memcmp(p, magic, sizeof magic - 1) != 0 ||
        p[sizeof magic - 1] != LAYOUT_KEYED)
        return decode_plain(out, bytes, size, reason);
    if (tp_get_u64(p + size - CHECKSUM_BYTES) != XXH3_64bits(p, size - CHECKSUM_BYTES))
        return corrupt(reason, "the snapshot's checksum does not fit");
    size_t contents = size - sizeof magic - CHECKSUM_BYTES, used;
    int error = tp_keys_decode(keys, p + sizeof magic, contents, &used);
    if (error != 0)
        return error == TP_ERR_CORRUPT ? corrupt(reason, "the snapshot's keys cannot be read") : error;
    error = decode_plain(out, p + sizeof magic + used, contents - used, reason);
    if (error != 0)
        tp_keys_fini(keys);
    return error;
}

int tp_snapshot_decode(struct tp_map **out, struct tp_keys *keys, const void *bytes, size_t size, const char **reason)
{
    struct tp_keys unwanted = {0};
    int error = decode_keyed(out, keys != NULL ? keys : &unwanted, bytes, size, reason);
    tp_keys_fini(&unwanted);
    return error;
}

static bool covers_area(const struct tp_change *change)
{
    return change->kind == TP_CHANGE_RECT || change->kind == TP_CHANGE_BITMAP;
}

static size_t change_bytes(const struct tp_change *change)
{
    switch (change->kind) {
    case TP_CHANGE_CELL:
    case TP_CHANGE_EDGE:
    case TP_CHANGE_NODE:
        return CHANGE_BYTES_MIN;
    case TP_CHANGE_RECT:
        return CHANGE_BYTES_MIN + 8;
    case TP_CHANGE_BITMAP:
        return CHANGE_BYTES_MIN + 12 + change->bits_size;
    }
    return 0;
}

int tp_batch_encode(const struct tp_change *changes, size_t count, const struct tp_key *key, uint8_t **bytes, size_t *size)
{
    size_t key_bytes = key != NULL && tp_key_is_set(key) ? 1 + (size_t)key->size : 0;
    size_t total = 4 + key_bytes;
    for (size_t i = 0; i < count; i++)
        total += change_bytes(&changes[i]);
    uint8_t *out = malloc(total);
    if (out == NULL)
        return TP_ERR_NO_MEMORY;
    tp_put_u32(out, (uint32_t)count | (key_bytes > 0 ? BATCH_HAS_KEY : 0));
    if (key_bytes > 0) {
        out[4] = key->size;
        memcpy(out + 5, key->bytes, key->size);
    }
    uint8_t *p = out + 4 + key_bytes;
    for (size_t i = 0; i < count; i++) {
        const struct tp_change *change = &changes[i];
        p[0] = (uint8_t)change->kind;
        p[1] = change->class_to;
        tp_put_u32(p + 2, change->x);
        tp_put_u32(p + 6, change->y);
        if (covers_area(change)) {
            tp_put_u32(p + 10, change->width);
            tp_put_u32(p + 14, change->height);
        }
        if (change->kind == TP_CHANGE_BITMAP) {
            tp_put_u32(p + 18, (uint32_t)change->bits_size);
            if (change->bits_size > 0)
                memcpy(p + 22, change->bits, change->bits_size);
        }
        p += change_bytes(change);
    }
    *bytes = out;
    *size = total;
    return 0;
}

/* Reads one change at *at; false when the bytes do not hold it. */
static bool read_change(const uint8_t *p, size_t size, size_t *at, struct tp_change *change)
{
    size_t left = size - *at;
    if (left < CHANGE_BYTES_MIN || p[*at] > TP_CHANGE_NODE)
        return false;
    const uint8_t *q = p + *at;
    *change = (struct tp_change){
        .kind = (enum tp_change_kind)q[0], .class_to = q[1], .x = tp_get_u32(q + 2), .y = tp_get_u32(q + 6)};
    size_t used = CHANGE_BYTES_MIN;
    if (covers_area(change)) {
        if (left < used + 8)
            return false;
        change->width = tp_get_u32(q + used);
        change->height = tp_get_u32(q + used + 4);
        used += 8;
    }
    if (change->kind == TP_CHANGE_BITMAP) {
        if (left < used + 4 || left - used - 4 < tp_get_u32(q + used))
            return false;
        change->bits_size = tp_get_u32(q + used);
        change->bits = q + used + 4;
        used += 4 + change->bits_size;
    }
    *at += used;
    return true;
}

/* Where the changes begin; 0: the bytes are no batch. */
static size_t changes_at(const uint8_t *p, size_t size)
{
    if (size < 4)
        return 0;
    if ((tp_get_u32(p) & BATCH_HAS_KEY) == 0)
        return 4;
    bool is_key = size > 4 && p[4] > 0 && p[4] <= TP_KEY_BYTES_MAX && size - 5 >= p[4];
    return is_key ? 5 + (size_t)p[4] : 0;
}

void tp_batch_key(const void *bytes, size_t size, struct tp_key *key)
{
    const uint8_t *p = bytes;
    size_t at = changes_at(p, size);
    *key = (struct tp_key){0};
    if (at > 4) {
        key->size = p[4];
        memcpy(key->bytes, p + 5, p[4]);
    }
}

int tp_batch_decode(const void *bytes, size_t size, struct tp_change **changes, size_t *count)
{
    const uint8_t *p = bytes;
    *changes = NULL;
    *count = 0;
    size_t at = changes_at(p, size);
    if (at == 0)
        return TP_ERR_CORRUPT;
    size_t n = tp_get_u32(p) & ~BATCH_HAS_KEY;
    if (n > TP_BATCH_CHANGES_MAX || n > (size - at) / CHANGE_BYTES_MIN)
        return TP_ERR_CORRUPT;
    struct tp_change *out = malloc((n + 1) * sizeof *out);
    if (out == NULL)
        return TP_ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if (!read_change(p, size, &at, &out[i])) {
            free(out);
            return TP_ERR_CORRUPT;
        }
    }
    if (at != size) {
        free(out);
        return TP_ERR_CORRUPT;
    }
    *changes = out;
    *count = n;
    return 0;
}
