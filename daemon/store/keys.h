/* The keys of the batches applied to a map last: a batch that comes again is known by its key.
 *
 * What it is: a ring of the last TP_KEYS_MAX keys with the version that each made; and its bytes, which go into a snapshot.
 * What it refuses: to say whether two batches of one key are the same; keys of another life (epoch) of the map, which its
 * owner forgets. Who calls it: the world (to answer) and the stores (to keep), each with a ring of its own.
 */
#ifndef TP_DAEMON_KEYS_H
#define TP_DAEMON_KEYS_H

#include "base/error.h"
#include "daemon/world/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_KEY_BYTES_MAX = 64, TP_KEYS_MAX = 1024 };

/* A batch's key; size 0: it has none. */
struct tp_key {
    uint8_t size;
    uint8_t bytes[TP_KEY_BYTES_MAX];
};

static inline bool tp_key_is_set(const struct tp_key *key)
{
    return key->size > 0;
}

bool tp_key_equals(const struct tp_key *a, const struct tp_key *b);

struct tp_key_made {
    uint64_t hash;
    uint64_t version;
    struct tp_key key;
};

/* Zeroed is empty, and holds no memory. */
struct tp_keys {
    struct tp_key_made *ring; /* TP_KEYS_MAX of them; NULL before the first */
    uint32_t first, count;    /* the oldest, and how many */
};

void tp_keys_fini(struct tp_keys *keys);

/* Makes sure that tp_keys_add finds memory. TP_ERR_NO_MEMORY. */
int tp_keys_reserve(struct tp_keys *keys) TP_MUST_CHECK;

/* Adds a key, in place of the oldest where there are TP_KEYS_MAX; one that is not set is passed over. Versions rise from one
 * to the next. tp_keys_reserve came before. */
void tp_keys_add(struct tp_keys *keys, const struct tp_key *key, uint64_t version);

/* The version that the batch of this key made; 0: not known. Cost: O(keys), a comparison of two numbers each. */
uint64_t tp_keys_find(const struct tp_keys *keys, const struct tp_key *key);

/* Makes *copy, which is empty, the same. TP_ERR_NO_MEMORY. */
int tp_keys_copy(struct tp_keys *copy, const struct tp_keys *keys) TP_MUST_CHECK;

/* As bytes: u32 count, then per key, the oldest first: u8 size, the key, u64 version; little-endian. */
size_t tp_keys_encoded_bytes(const struct tp_keys *keys);
void tp_keys_encode(const struct tp_keys *keys, uint8_t *bytes);

/* How many of the bytes such keys take that stand at their beginning; 0: they are no keys. Cost: O(keys). */
size_t tp_keys_measure(const uint8_t *bytes, size_t size);

/* Reads such bytes into *keys, which is empty; *used says how many they were. TP_ERR_CORRUPT, TP_ERR_NO_MEMORY; *keys is
 * empty then. */
int tp_keys_decode(struct tp_keys *keys, const uint8_t *bytes, size_t size, size_t *used) TP_MUST_CHECK;

#endif
