/* The frame codec: varint length, then that many bytes of protobuf.
 *
 * What it is: a decoder that takes bytes in whatever pieces they arrive, and a growing buffer of frames to
 * send. No sockets; a simulation drives it as well. What it refuses: a length above the cap (before anything
 * is allocated for it) and a length that is no varint of 32 bits. Memory follows the bytes that came, not the
 * length that was claimed. Who calls it: one thread per decoder or buffer.
 */
#ifndef TP_DAEMON_FRAME_H
#define TP_DAEMON_FRAME_H

#include "base/error.h"
#include "daemon/serve/spares.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_frame_decoder {
    const uint8_t *bytes; /* received and not yet consumed, from `start`: `own`, or lent */
    size_t start, end;
    uint8_t *own;
    size_t capacity; /* of `own` */
    size_t frame_bytes_max;
    struct tp_spares *spares; /* borrowed: where `own` comes from; NULL: the system */
};

void tp_frame_decoder_init(struct tp_frame_decoder *decoder, size_t frame_bytes_max, struct tp_spares *spares);
void tp_frame_decoder_fini(struct tp_frame_decoder *decoder);

/* Takes `size` received bytes: borrowed until tp_frame_decoder_keep, or copied when some are held already.
 * TP_ERR_NO_MEMORY leaves the decoder as it was. Cost: O(1), or O(size) amortised. */
int tp_frame_decoder_push(struct tp_frame_decoder *decoder, const void *bytes, size_t size) TP_MUST_CHECK;

/* Copies what is still borrowed. To be called before the bytes that were pushed go away, and before the next
 * push. TP_ERR_NO_MEMORY: the decoder is empty. */
int tp_frame_decoder_keep(struct tp_frame_decoder *decoder) TP_MUST_CHECK;

/* Looks at the next frame: 1 and its payload (borrowed until the next push, keep or skip), or 0 when more
 * bytes are needed; TP_ERR_FRAME_TOO_LARGE, TP_ERR_MALFORMED_FRAME: framing is lost, and each later call says
 * the same. The frame stays next until tp_frame_decoder_skip. Cost: O(1). */
int tp_frame_decoder_next(const struct tp_frame_decoder *decoder, const uint8_t **payload,
                          size_t *size) TP_MUST_CHECK;

/* Consumes the frame that tp_frame_decoder_next showed; memory goes back once nothing is held. */
void tp_frame_decoder_skip(struct tp_frame_decoder *decoder);

/* Bytes received and not consumed. */
static inline size_t tp_frame_decoder_held(const struct tp_frame_decoder *decoder)
{
    return decoder->end - decoder->start;
}

/* Whether some of them are borrowed still. */
static inline bool tp_frame_decoder_is_lent(const struct tp_frame_decoder *decoder)
{
    return decoder->bytes != decoder->own;
}

/* Frames to send, one after the other. Zeroed is empty. */
struct tp_frame_buffer {
    uint8_t *bytes;
    size_t size, capacity;
    struct tp_spares *spares; /* borrowed: where `bytes` come from; NULL: the system */
};

enum { TP_FRAME_PREFIX_MAX = 5 };

/* Sees to it that a payload of so many bytes can be added without taking memory. False when out of memory, the buffer as it was. */
bool tp_frame_buffer_reserve(struct tp_frame_buffer *buffer, size_t payload_bytes) TP_MUST_CHECK;

/* Appends the length prefix of a frame of `payload_bytes` and gives room for exactly its payload, which the
 * caller fills; NULL when out of memory, the buffer as it was. */
uint8_t *tp_frame_buffer_add(struct tp_frame_buffer *buffer, size_t payload_bytes);

/* Gives the bytes back: it is empty, and may be used again. */
void tp_frame_buffer_fini(struct tp_frame_buffer *buffer);

#endif
