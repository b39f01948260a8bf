#include "daemon/store/maplog.h"

#include "daemon/bytes.h"
#include "daemon/store/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char file_magic[8] = {'t', 'p', 'l', 'o', 'g', 0, 0, 1};
static const char record_magic[4] = {'t', 'p', 'r', 'c'};

void tp_maplog_header(uint8_t out[TP_MAPLOG_HEADER_BYTES], uint64_t epoch, uint64_t version)
{
    memcpy(out, file_magic, sizeof file_magic);
    tp_put_u64(out + 8, epoch);
    tp_put_u64(out + 16, version);
    tp_put_u64(out + 24, XXH3_64bits(out, 24));
}

int tp_maplog_record(uint8_t **record, size_t *size, const struct tp_maplog_batch *batches, uint32_t count,
                     uint64_t first_version)
{
    size_t payload = 0;
    for (uint32_t i = 0; i < count; i++)
        payload += 4 + batches[i].size;
    *size = TP_MAPLOG_RECORD_BYTES + payload + TP_MAPLOG_CHECKSUM_BYTES;
    uint8_t *out = malloc(*size);
    if (out == NULL)
        return TP_ERR_NO_MEMORY;
    memcpy(out, record_magic, sizeof record_magic);
    tp_put_u32(out + 4, count);
    tp_put_u64(out + 8, first_version);
    tp_put_u64(out + 16, payload);
    tp_put_u64(out + 24, XXH3_64bits(out, 24));
    uint8_t *p = out + TP_MAPLOG_RECORD_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        tp_put_u32(p, (uint32_t)batches[i].size);
        memcpy(p + 4, batches[i].bytes, batches[i].size);
        p += 4 + batches[i].size;
    }
    tp_put_u64(p, XXH3_64bits(out + TP_MAPLOG_RECORD_BYTES, payload));
    *record = out;
    return 0;
}

/* Whether a whole record header stands at `p`. */
static bool is_record_header(const uint8_t *p, size_t left)
{
    return left >= TP_MAPLOG_RECORD_BYTES && memcmp(p, record_magic, sizeof record_magic) == 0 &&
           tp_get_u64(p + 24) == XXH3_64bits(p, 24);
}

/* Whether some later record begins behind `p`: then what stands at `p` is not the torn end of the file. (What
 * follows a torn record may be more than nothing: a file system may have grown the file before it wrote all
 * of it.) */
static bool is_followed(const uint8_t *p, size_t left)
{
    for (size_t i = 1; i + TP_MAPLOG_RECORD_BYTES <= left; i++)
        if (p[i] == (uint8_t)record_magic[0] && is_record_header(p + i, left - i))
            return true;
    return false;
}

static int corrupt(const char **reason, const char *words)
{
    *reason = words;
    return TP_ERR_CORRUPT;
}

static int apply_batch(struct tp_map **map, struct tp_keys *keys, const uint8_t *bytes, size_t size, const char **reason)
{
    struct tp_change *changes;
    size_t count, bad = 0;
    uint32_t x, y;
    int error = tp_batch_decode(bytes, size, &changes, &count);
    if (error != 0)
        return error == TP_ERR_CORRUPT ? corrupt(reason, "a batch of the log cannot be read") : error;
    struct tp_map *after;
    error = tp_map_apply(&after, *map, changes, count, &bad, &x, &y);
    free(changes);
    if (error != 0)
        return error == TP_ERR_NO_MEMORY ? error : corrupt(reason, "a batch of the log does not fit its map");
    tp_map_unref(*map);
    *map = after;
    struct tp_key key;
    tp_batch_key(bytes, size, &key);
    if (keys == NULL || !tp_key_is_set(&key))
        return 0;
    error = tp_keys_reserve(keys);
    if (error == 0)
        tp_keys_add(keys, &key, after->version);
    return error;
}

/* Applies the batches of a record whose checksums fit. */
static int apply_record(struct tp_map **map, struct tp_keys *keys, const uint8_t *p, const char **reason)
{
    uint32_t count = tp_get_u32(p + 4);
    size_t left = tp_get_u64(p + 16);
    if (tp_get_u64(p + 8) != (*map)->version + 1)
        return corrupt(reason, "the log's versions do not follow each other");
    p += TP_MAPLOG_RECORD_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        if (left < 4 || left - 4 < tp_get_u32(p))
            return corrupt(reason, "a record of the log does not fit its length");
        size_t size = tp_get_u32(p);
        int error = apply_batch(map, keys, p + 4, size, reason);
        if (error != 0)
            return error;
        p += 4 + size;
        left -= 4 + size;
    }
    return left == 0 ? 0 : corrupt(reason, "a record of the log does not fit its length");
}

int tp_maplog_apply(struct tp_map **map, struct tp_keys *keys, const uint8_t *bytes, size_t size,
                    struct tp_maplog_replay *replay, const char **reason)
{
    *replay = (struct tp_maplog_replay){0};
    *reason = NULL;
    uint8_t header[TP_MAPLOG_HEADER_BYTES];
    tp_maplog_header(header, (*map)->epoch, (*map)->version);
    if (size < sizeof header || memcmp(bytes, header, sizeof header) != 0)
        return is_followed(bytes, size) ? corrupt(reason, "the log's header does not fit the snapshot") : 0;
    size_t at = sizeof header;
    replay->good_bytes = at;
    while (at < size) {
        const uint8_t *p = bytes + at;
        size_t left = size - at;
        if (!is_record_header(p, left))
            return is_followed(p, left) ? corrupt(reason, "a record's header in the log fails its checksum")
                                        : 0;
        uint64_t payload = tp_get_u64(p + 16);
        size_t around = TP_MAPLOG_RECORD_BYTES + TP_MAPLOG_CHECKSUM_BYTES;
        if (left < around || left - around < payload)
            return 0; /* torn: its end was never written */
        size_t whole = around + payload;
        if (tp_get_u64(p + whole - TP_MAPLOG_CHECKSUM_BYTES) !=
            XXH3_64bits(p + TP_MAPLOG_RECORD_BYTES, payload))
            return is_followed(p, left) ? corrupt(reason, "a record in the log fails its checksum") : 0;
        uint32_t count = tp_get_u32(p + 4);
        int error = apply_record(map, keys, p, reason);
        if (error != 0)
            return error;
        at += whole;
        replay->good_bytes = at;
        replay->batches += count;
    }
    return 0;
}
