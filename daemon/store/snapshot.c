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
 * Snapshot of a graph, layout 2: daemon/store/snapshot_graph.c.
 *
 * Snapshot with keys, layout 3: magic, the keys (daemon/store/keys.h), a whole snapshot of layout 1 or 2, and an XXH3-64 of all that.
 *
 * Snapshot with a place in a log, layout 4:
 *
 *     offset  bytes
 *          0      8  magic "tpsnap\0\4"
 *          8     16  place of the last entry of the log applied, its two numbers
 *         24      1  bytes of the map's name, n; 0 where it is not said
 *         25      1  tags of the log's lineage, t
 *         26      6  0
 *         32      n  name
 *       32+n    32t  a tag each, the oldest first: 16 bytes of a log's name, and the last place under it, its two numbers
 *                    the keys (daemon/store/keys.h)
 *                    a whole snapshot of layout 1 or 2
 *                 8  XXH3-64 of everything before
 *
 * What has nothing of a layout's own is written in a lower one, so that a program that knows no more reads it. Whatever the layout,
 * now and later: the first 8 bytes are the magic with the layout's number, which rises, and the last 8 an XXH3-64 of everything before. So
 * a program tells what a later one wrote from damage.
 *
 * Batch: u32 count, with the highest bit set where u8 size and the bytes of a key follow; then per change: u8 kind,
 * u8 class, u32 x, u32 y; a rectangle or a bitmap adds u32 width, u32 height; a bitmap adds u32 bytes and the bits.
 * Whoever stores a batch adds version and checksum.
 */
#include "daemon/store/snapshot.h"

#include "base/check.h"
#include "base/limits.h"
#include "daemon/bytes.h"
#include "daemon/store/snapshot_graph.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum { LAYOUT_GRID = 1, LAYOUT_GRAPH = 2, LAYOUT_KEYED = 3, LAYOUT_PLACED = 4, LAYOUT_NEWEST = LAYOUT_PLACED };
enum { MAGIC_BYTES = 8, HEADER_BYTES = 552, PLACED_BYTES = 32, TAG_BYTES = 32, CHECKSUM_BYTES = 8, CHANGE_BYTES_MIN = 10, ZSTD_LEVEL = 3 };
#define BATCH_HAS_KEY 0x80000000u

static void put_magic(uint8_t *p, uint8_t layout)
{
    memcpy(p, "tpsnap", MAGIC_BYTES - 1); /* with its 0 */
    p[MAGIC_BYTES - 1] = layout;
}

/* Behind everything else. */
static void put_checksum(uint8_t *p, size_t size)
{
    tp_put_u64(p + size - CHECKSUM_BYTES, XXH3_64bits(p, size - CHECKSUM_BYTES));
}

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
    put_magic(out, LAYOUT_GRID);
    tp_put_u32(out + 8, map->width);
    tp_put_u32(out + 12, map->height);
    tp_put_u64(out + 16, map->epoch);
    tp_put_u64(out + 24, map->version);
    for (size_t i = 0; i < 256; i++)
        tp_put_u16(out + 32 + 2 * i, map->profile.weight[i]);
    tp_put_u64(out + 544, packed);
    *bytes = out;
    *size = HEADER_BYTES + packed + CHECKSUM_BYTES;
    put_checksum(out, *size);
    return 0;
}

static int corrupt(const char **reason, const char *words)
{
    *reason = words;
    return TP_ERR_CORRUPT;
}

bool tp__snapshot_can_unpack(const uint8_t *frame, size_t packed, size_t plain)
{
    return ZSTD_getFrameContentSize(frame, packed) == plain && plain / (128 * 1024 / 4) <= packed;
}

/* Layout 1, whole. */
static int decode_grid(struct tp_map **out, const uint8_t *p, size_t size, const char **reason)
{
    uint64_t width = tp_get_u32(p + 8), height = tp_get_u32(p + 12), packed = tp_get_u64(p + 544);
    if (packed != size - HEADER_BYTES - CHECKSUM_BYTES)
        return corrupt(reason, "the snapshot's length does not fit its header");
    if (width == 0 || height == 0 || width * height > (uint64_t)TP_MAP_CELLS_MAX)
        return corrupt(reason, "the snapshot's size of the map is not allowed");
    if (!tp__snapshot_can_unpack(p + HEADER_BYTES, packed, width * height))
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

static void put_place(uint8_t *p, struct tp_log_place place)
{
    tp_put_u64(p, place.ms);
    tp_put_u64(p + 8, place.seq);
}

static struct tp_log_place get_place(const uint8_t *p)
{
    return (struct tp_log_place){tp_get_u64(p), tp_get_u64(p + 8)};
}

/* What layout 4 has before the keys. */
static uint8_t *put_placed(uint8_t *p, const struct tp_snapshot_extra *extra, size_t name_bytes, uint32_t tags)
{
    put_place(p + 8, extra->place);
    p[24] = (uint8_t)name_bytes;
    p[25] = (uint8_t)tags;
    memset(p + 26, 0, 6);
    p += PLACED_BYTES;
    if (name_bytes > 0)
        memcpy(p, extra->name, name_bytes);
    p += name_bytes;
    for (uint32_t i = 0; i < tags; i++, p += TAG_BYTES) {
        memcpy(p, extra->lineage->tags[i].bytes, TP_LOG_TAG_BYTES);
        put_place(p + TP_LOG_TAG_BYTES, extra->lineage->tags[i].last);
    }
    return p;
}

int tp_snapshot_encode_placed(const struct tp_map *map, const struct tp_snapshot_extra *extra, uint8_t **bytes, size_t *size)
{
    static const struct tp_keys no_keys;
    const struct tp_keys *keys = extra->keys != NULL ? extra->keys : &no_keys;
    size_t name_bytes = extra->name != NULL ? strlen(extra->name) : 0;
    uint32_t tags = extra->lineage != NULL ? extra->lineage->count : 0;
    TP_CHECK(name_bytes <= TP_WORLD_NAME_MAX && tags <= TP_LINEAGE_MAX);
    bool is_placed = name_bytes > 0 || tags > 0 || !tp_log_place_is_start(extra->place);
    uint8_t *plain;
    size_t plain_size;
    int error = encode_plain(map, &plain, &plain_size);
    if (error != 0 || (keys->count == 0 && !is_placed)) {
        *bytes = error == 0 ? plain : NULL;
        *size = error == 0 ? plain_size : 0;
        return error;
    }
    size_t head_bytes = is_placed ? PLACED_BYTES + name_bytes + (size_t)tags * TAG_BYTES : MAGIC_BYTES;
    size_t key_bytes = tp_keys_encoded_bytes(keys);
    size_t total = head_bytes + key_bytes + plain_size + CHECKSUM_BYTES;
    uint8_t *out = malloc(total);
    if (out != NULL) {
        put_magic(out, is_placed ? LAYOUT_PLACED : LAYOUT_KEYED);
        uint8_t *p = is_placed ? put_placed(out, extra, name_bytes, tags) : out + MAGIC_BYTES;
        tp_keys_encode(keys, p);
        memcpy(p + key_bytes, plain, plain_size);
        put_checksum(out, total);
    }
    free(plain);
    *bytes = out;
    *size = total;
    return out == NULL ? TP_ERR_NO_MEMORY : 0;
}

int tp_snapshot_encode(const struct tp_map *map, const struct tp_keys *keys, uint8_t **bytes, size_t *size)
{
    return tp_snapshot_encode_placed(map, &(struct tp_snapshot_extra){.keys = keys}, bytes, size);
}

/* A snapshot taken apart, all within its bytes. */
struct parts {
    const uint8_t *keys; /* NULL: it has none */
    size_t keys_bytes;
    const uint8_t *map; /* a whole snapshot of layout 1 or 2, but that its checksum was not looked at where it is wrapped */
    size_t map_bytes;
};

/* Reads what layout 4 has before the keys; *at is behind it then. */
static bool read_placed(struct tp_snapshot_info *info, const uint8_t *p, size_t end, size_t *at)
{
    static const uint8_t zeros[6];
    if (end < PLACED_BYTES || p[24] > TP_WORLD_NAME_MAX || p[25] > TP_LINEAGE_MAX || memcmp(p + 26, zeros, sizeof zeros) != 0 ||
        end - PLACED_BYTES < p[24] + (size_t)p[25] * TAG_BYTES)
        return false;
    info->place = get_place(p + 8);
    memcpy(info->name, p + PLACED_BYTES, p[24]);
    if (p[24] > 0 && (strlen(info->name) != p[24] || !tp_world_name_allowed(info->name)))
        return false;
    *at = PLACED_BYTES + (size_t)p[24];
    info->lineage.count = p[25];
    for (uint32_t i = 0; i < info->lineage.count; i++, *at += TAG_BYTES) {
        memcpy(info->lineage.tags[i].bytes, p + *at, TP_LOG_TAG_BYTES);
        info->lineage.tags[i].last = get_place(p + *at + TP_LOG_TAG_BYTES);
    }
    return true;
}

/* Reads the header of the map's own snapshot. */
static bool read_map(struct tp_snapshot_info *info, const struct parts *parts)
{
    const uint8_t *p = parts->map;
    if (parts->map_bytes < MAGIC_BYTES + CHECKSUM_BYTES || memcmp(p, "tpsnap", MAGIC_BYTES - 1) != 0)
        return false;
    uint8_t layout = p[MAGIC_BYTES - 1];
    info->is_graph = layout == LAYOUT_GRAPH;
    if ((layout != LAYOUT_GRID && layout != LAYOUT_GRAPH) ||
        parts->map_bytes < (info->is_graph ? TP__SNAPSHOT_GRAPH_BYTES : HEADER_BYTES) + CHECKSUM_BYTES)
        return false;
    info->width = tp_get_u32(info->is_graph ? p + 12 : p + 8);
    info->height = info->is_graph ? 1 : tp_get_u32(p + 12);
    info->epoch = tp_get_u64(p + 16);
    info->version = tp_get_u64(p + 24);
    return true;
}

/* Takes whole bytes apart; *info is set as far as it came. */
static int take_apart(struct tp_snapshot_info *info, struct parts *parts, const uint8_t *p, size_t size, const char **reason)
{
    *info = (struct tp_snapshot_info){0};
    *parts = (struct parts){0};
    if (size < MAGIC_BYTES + CHECKSUM_BYTES)
        return corrupt(reason, "the snapshot is shorter than its header");
    if (memcmp(p, "tpsnap", MAGIC_BYTES - 1) != 0)
        return corrupt(reason, "not a snapshot of this program");
    if (tp_get_u64(p + size - CHECKSUM_BYTES) != XXH3_64bits(p, size - CHECKSUM_BYTES))
        return corrupt(reason, "the snapshot's checksum does not fit");
    info->layout = p[MAGIC_BYTES - 1];
    info->is_newer = info->layout > LAYOUT_NEWEST;
    if (info->is_newer)
        return 0;
    size_t at = 0, end = size;
    if (info->layout == LAYOUT_KEYED || info->layout == LAYOUT_PLACED) {
        at = MAGIC_BYTES;
        end = size - CHECKSUM_BYTES;
        if (info->layout == LAYOUT_PLACED && !read_placed(info, p, end, &at))
            return corrupt(reason, "the snapshot's place in its log cannot be read");
        parts->keys = p + at;
        parts->keys_bytes = tp_keys_measure(parts->keys, end - at);
        if (parts->keys_bytes == 0)
            return corrupt(reason, "the snapshot's keys cannot be read");
        at += parts->keys_bytes;
    }
    parts->map = p + at;
    parts->map_bytes = end - at;
    return read_map(info, parts) ? 0 : corrupt(reason, "the snapshot holds no map");
}

int tp_snapshot_peek(struct tp_snapshot_info *info, const void *bytes, size_t size, const char **reason)
{
    struct parts parts;
    *reason = NULL;
    int error = take_apart(info, &parts, bytes, size, reason);
    if (error != 0)
        *info = (struct tp_snapshot_info){0};
    return error;
}

int tp_snapshot_decode(struct tp_map **out, struct tp_keys *keys, const void *bytes, size_t size, const char **reason)
{
    struct tp_snapshot_info info;
    struct parts parts;
    *out = NULL;
    *reason = NULL;
    if (keys != NULL)
        *keys = (struct tp_keys){0};
    int error = take_apart(&info, &parts, bytes, size, reason);
    if (error == 0 && info.is_newer)
        error = corrupt(reason, "the snapshot was written by a newer tickpath");
    if (error != 0)
        return error;
    if (parts.map != bytes && tp_get_u64(parts.map + parts.map_bytes - CHECKSUM_BYTES) !=
                                  XXH3_64bits(parts.map, parts.map_bytes - CHECKSUM_BYTES))
        return corrupt(reason, "the checksum of the map in the snapshot does not fit");
    if (keys != NULL && parts.keys != NULL) {
        size_t used;
        error = tp_keys_decode(keys, parts.keys, parts.keys_bytes, &used);
        if (error != 0)
            return error == TP_ERR_CORRUPT ? corrupt(reason, "the snapshot's keys cannot be read") : error;
    }
    error = (info.is_graph ? tp__snapshot_decode_graph : decode_grid)(out, parts.map, parts.map_bytes, reason);
    if (error != 0 && keys != NULL)
        tp_keys_fini(keys);
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
