#include "daemon/store/keys.h"

#include "base/check.h"
#include "daemon/bytes.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static uint64_t hash_of(const struct tp_key *key)
{
    return XXH3_64bits(key->bytes, key->size);
}

static struct tp_key_made *at(const struct tp_keys *keys, uint32_t index)
{
    return &keys->ring[(keys->first + index) % TP_KEYS_MAX];
}

bool tp_key_equals(const struct tp_key *a, const struct tp_key *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

void tp_keys_fini(struct tp_keys *keys)
{
    free(keys->ring);
    *keys = (struct tp_keys){0};
}

int tp_keys_reserve(struct tp_keys *keys)
{
    if (keys->ring == NULL)
        keys->ring = calloc(TP_KEYS_MAX, sizeof *keys->ring);
    return keys->ring == NULL ? TP_ERR_NO_MEMORY : 0;
}

void tp_keys_add(struct tp_keys *keys, const struct tp_key *key, uint64_t version)
{
    if (!tp_key_is_set(key))
        return;
    TP_CHECK(keys->ring != NULL);
    if (keys->count == TP_KEYS_MAX)
        keys->first = (keys->first + 1) % TP_KEYS_MAX;
    else
        keys->count++;
    *at(keys, keys->count - 1) = (struct tp_key_made){hash_of(key), version, *key};
}

uint64_t tp_keys_find(const struct tp_keys *keys, const struct tp_key *key)
{
    if (keys->count == 0)
        return 0;
    uint64_t hash = hash_of(key);
    for (uint32_t i = 0; i < keys->count; i++) {
        const struct tp_key_made *made = at(keys, i);
        if (made->hash == hash && tp_key_equals(&made->key, key))
            return made->version;
    }
    return 0;
}

int tp_keys_copy(struct tp_keys *copy, const struct tp_keys *keys)
{
    *copy = (struct tp_keys){0};
    if (keys->ring == NULL)
        return 0;
    if (tp_keys_reserve(copy) != 0)
        return TP_ERR_NO_MEMORY;
    memcpy(copy->ring, keys->ring, TP_KEYS_MAX * sizeof *keys->ring);
    copy->first = keys->first;
    copy->count = keys->count;
    return 0;
}

size_t tp_keys_encoded_bytes(const struct tp_keys *keys)
{
    size_t bytes = 4;
    for (uint32_t i = 0; i < keys->count; i++)
        bytes += 1 + (size_t)at(keys, i)->key.size + 8;
    return bytes;
}

void tp_keys_encode(const struct tp_keys *keys, uint8_t *bytes)
{
    tp_put_u32(bytes, keys->count);
    bytes += 4;
    for (uint32_t i = 0; i < keys->count; i++) {
        const struct tp_key_made *made = at(keys, i);
        bytes[0] = made->key.size;
        memcpy(bytes + 1, made->key.bytes, made->key.size);
        tp_put_u64(bytes + 1 + made->key.size, made->version);
        bytes += 1 + made->key.size + 8;
    }
}

size_t tp_keys_measure(const uint8_t *bytes, size_t size)
{
    uint32_t count = size < 4 ? TP_KEYS_MAX + 1 : tp_get_u32(bytes);
    if (count > TP_KEYS_MAX)
        return 0;
    size_t from = 4;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *p = bytes + from;
        size_t left = size - from;
        if (left < 1 || p[0] == 0 || p[0] > TP_KEY_BYTES_MAX || left - 1 < (size_t)p[0] + 8)
            return 0;
        from += 1 + (size_t)p[0] + 8;
    }
    return from;
}

int tp_keys_decode(struct tp_keys *keys, const uint8_t *bytes, size_t size, size_t *used)
{
    *keys = (struct tp_keys){0};
    *used = tp_keys_measure(bytes, size);
    if (*used == 0)
        return TP_ERR_CORRUPT;
    uint32_t count = tp_get_u32(bytes);
    if (count > 0 && tp_keys_reserve(keys) != 0)
        return TP_ERR_NO_MEMORY;
    const uint8_t *p = bytes + 4;
    for (uint32_t i = 0; i < count; i++) {
        struct tp_key key = {.size = p[0]};
        memcpy(key.bytes, p + 1, p[0]);
        tp_keys_add(keys, &key, tp_get_u64(p + 1 + p[0]));
        p += 1 + (size_t)p[0] + 8;
    }
    return 0;
}
