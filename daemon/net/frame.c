#include "daemon/net/frame.h"

#include "daemon/varint.h"

#include <string.h>

void tp_frame_decoder_init(struct tp_frame_decoder *decoder, size_t frame_bytes_max, struct tp_spares *spares)
{
    *decoder = (struct tp_frame_decoder){.frame_bytes_max = frame_bytes_max, .spares = spares};
}

void tp_frame_decoder_fini(struct tp_frame_decoder *decoder)
{
    tp_spares_put(decoder->spares, decoder->own, decoder->capacity);
    decoder->bytes = decoder->own = NULL;
    decoder->start = decoder->end = decoder->capacity = 0;
}

/* Appends to what the decoder owns. */
static int append(struct tp_frame_decoder *decoder, const void *bytes, size_t size)
{
    size_t held = tp_frame_decoder_held(decoder);
    if (decoder->capacity - decoder->end < size || decoder->own == NULL) {
        if (decoder->own != NULL && held + size <= decoder->capacity) {
            memmove(decoder->own, decoder->own + decoder->start, held);
        } else {
            size_t capacity;
            uint8_t *larger = tp_spares_take(decoder->spares, held + size, &capacity);
            if (larger == NULL)
                return TP_ERR_NO_MEMORY;
            if (held > 0)
                memcpy(larger, decoder->bytes + decoder->start, held);
            tp_spares_put(decoder->spares, decoder->own, decoder->capacity);
            decoder->bytes = decoder->own = larger;
            decoder->capacity = capacity;
        }
        decoder->start = 0;
        decoder->end = held;
    }
    memcpy(decoder->own + decoder->end, bytes, size);
    decoder->end += size;
    return 0;
}

int tp_frame_decoder_push(struct tp_frame_decoder *decoder, const void *bytes, size_t size)
{
    if (size == 0)
        return 0;
    if (tp_frame_decoder_held(decoder) > 0)
        return append(decoder, bytes, size);
    decoder->bytes = bytes;
    decoder->start = 0;
    decoder->end = size;
    return 0;
}

int tp_frame_decoder_keep(struct tp_frame_decoder *decoder)
{
    if (!tp_frame_decoder_is_lent(decoder))
        return 0;
    struct tp_frame_decoder lent = *decoder;
    tp_frame_decoder_fini(decoder);
    return append(decoder, lent.bytes + lent.start, tp_frame_decoder_held(&lent));
}

/* Reads the length prefix: its own size in bytes, 0 when more is needed, or an error. */
static int read_prefix(const struct tp_frame_decoder *decoder, uint64_t *length)
{
    size_t held = tp_frame_decoder_held(decoder);
    *length = 0;
    for (int i = 0; i < TP_FRAME_PREFIX_MAX; i++) {
        if ((size_t)i >= held)
            return 0;
        uint8_t byte = decoder->bytes[decoder->start + (size_t)i];
        *length |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80)
            return *length > decoder->frame_bytes_max ? TP_ERR_FRAME_TOO_LARGE : i + 1;
    }
    return TP_ERR_MALFORMED_FRAME;
}

int tp_frame_decoder_next(const struct tp_frame_decoder *decoder, const uint8_t **payload, size_t *size)
{
    uint64_t length;
    int prefix = read_prefix(decoder, &length);
    if (prefix <= 0)
        return prefix;
    if (tp_frame_decoder_held(decoder) - (size_t)prefix < length)
        return 0;
    *payload = decoder->bytes + decoder->start + prefix;
    *size = length;
    return 1;
}

void tp_frame_decoder_skip(struct tp_frame_decoder *decoder)
{
    uint64_t length;
    int prefix = read_prefix(decoder, &length);
    if (prefix <= 0)
        return;
    decoder->start += (size_t)prefix + length;
    if (decoder->start == decoder->end)
        tp_frame_decoder_fini(decoder);
}

bool tp_frame_buffer_reserve(struct tp_frame_buffer *buffer, size_t payload_bytes)
{
    size_t most = buffer->size + TP_FRAME_PREFIX_MAX + payload_bytes;
    if (most <= buffer->capacity)
        return true;
    size_t capacity;
    uint8_t *larger = tp_spares_take(buffer->spares, most, &capacity);
    if (larger == NULL)
        return false;
    if (buffer->size > 0)
        memcpy(larger, buffer->bytes, buffer->size);
    tp_spares_put(buffer->spares, buffer->bytes, buffer->capacity);
    buffer->bytes = larger;
    buffer->capacity = capacity;
    return true;
}

uint8_t *tp_frame_buffer_add(struct tp_frame_buffer *buffer, size_t payload_bytes)
{
    if (!tp_frame_buffer_reserve(buffer, payload_bytes))
        return NULL;
    uint8_t *payload = tp_varint_put(buffer->bytes + buffer->size, payload_bytes);
    buffer->size = (size_t)(payload - buffer->bytes) + payload_bytes;
    return payload;
}

void tp_frame_buffer_fini(struct tp_frame_buffer *buffer)
{
    tp_spares_put(buffer->spares, buffer->bytes, buffer->capacity);
    *buffer = (struct tp_frame_buffer){.spares = buffer->spares};
}
