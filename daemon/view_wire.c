#include "daemon/view_wire.h"

void tp_view_put_byte(struct tp_text *text, uint8_t byte)
{
    tp_text_put(text, &byte, 1);
}

void tp_view_put_varint(struct tp_text *text, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    tp_text_put(text, bytes, n);
}

void tp_view_put_fixed(struct tp_text *text, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        tp_view_put_byte(text, (uint8_t)(value >> (8 * i)));
}

static void put_base64(struct tp_text *text, const uint8_t *in, size_t size)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t three = (uint32_t)in[i] << 16;
        three |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
        three |= left > 2 ? in[i + 2] : 0;
        const char four[] = {letters[three >> 18], letters[three >> 12 & 63], left > 1 ? letters[three >> 6 & 63] : '=',
                             left > 2 ? letters[three & 63] : '='};
        tp_text_put(text, four, sizeof four);
    }
}

void tp_view_put_event(struct tp_text *text, const char *name, const struct tp_text *data, bool as_base64)
{
    tp_text_add(text, "event: %s\ndata: ", name);
    if (as_base64)
        put_base64(text, (const uint8_t *)data->bytes, data->size);
    else
        tp_text_put(text, data->bytes, data->size);
    tp_text_add(text, "\n\n");
    text->failed |= data->failed;
}
