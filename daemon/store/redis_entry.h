/* An entry of a map's change log, a Redis Stream.
 *
 * What it is: the fields of an entry, as they are written, and as they are read back. Entries by the value of the field `t`:
 *
 *     put     the map begins anew          e epoch, f the snapshot's field, g the log's tag, o origin
 *     batch   asks for a change            e epoch, d the batch's bytes (tp_batch_encode), o origin; where they count: v base version, u how many
 *                                            of the changes are runs, where its cells are numbers that are placed when it is applied
 *     drop    the map is kept no more      o origin
 *     mark    the log goes on              g the log's tag: a server's run began, or the log was put back after a loss
 *
 * An origin is 16 hexadecimal digits that name the daemon's store, a dash, and the number of the call there: a store knows its own calls
 * by it. What it refuses: entries of unknown type and malformed ones make nothing, in every daemon alike; an entry that is read keeps
 * every field it had, known or not, so that it can be put back as it was. Who calls it: the Redis store's thread; pure functions.
 */
#ifndef TP_DAEMON_REDIS_ENTRY_H
#define TP_DAEMON_REDIS_ENTRY_H

#include "daemon/store/place.h"
#include "daemon/store/tip.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tp_redis_entry_kind { TP_REDIS_UNKNOWN, TP_REDIS_PUT, TP_REDIS_BATCH, TP_REDIS_DROP, TP_REDIS_MARK };

struct tp_redis_text {
    const char *bytes; /* no end */
    size_t size;
};

/* One block; what it points to lies in it. */
struct tp_redis_entry {
    struct tp_redis_entry *next;
    struct tp_log_place place;
    enum tp_redis_entry_kind kind; /* TP_REDIS_UNKNOWN: also a malformed one */
    uint64_t epoch;
    uint64_t base_version;
    bool has_base_version, is_unplaced;
    size_t unplaced_count;
    uint64_t instance, number; /* of the origin; both 0: it has none */
    struct tp_redis_text data, field;
    uint8_t tag[TP_LOG_TAG_BYTES];
    uint64_t made; /* the version, once it was applied and made one; else 0 */
    size_t bytes;  /* of the block */
    size_t text_count;
    struct tp_redis_text texts[]; /* names and values in turn */
};

/* Copies an entry out of XREAD's or XRANGE's reply. TP_ERR_CORRUPT: that is no entry; TP_ERR_NO_MEMORY. Cost: O(bytes). */
int tp__redis_entry_read(struct tp_redis_entry **out, const redisReply *reply) TP_MUST_CHECK;

/* The place that a reply of type string or status tells; false: it is none. */
bool tp__redis_place_read(struct tp_log_place *place, const redisReply *reply);

/* Reads a decimal number; false: it is none, or too large. */
bool tp__redis_number_read(uint64_t *out, const char *text, size_t size);

/* The changes of an entry that is a batch, as one to apply: its bytes are borrowed from the entry, batch->changes is the caller's to free.
 * TP_ERR_CORRUPT, TP_ERR_NO_MEMORY. */
int tp__redis_entry_batch(struct tp_batch *batch, const struct tp_redis_entry *entry) TP_MUST_CHECK;

enum { TP_REDIS_ORIGIN_BYTES = 16 + 1 + 20 + 1, TP_REDIS_TAG_TEXT_BYTES = 2 * TP_LOG_TAG_BYTES + 1 };

void tp__redis_origin_print(char text[TP_REDIS_ORIGIN_BYTES], uint64_t instance, uint64_t number);
void tp__redis_tag_print(char text[TP_REDIS_TAG_TEXT_BYTES], const uint8_t tag[TP_LOG_TAG_BYTES]);

#endif
