#include "daemon/view/view_wire.h"

#include "daemon/bytes.h"
#include "daemon/varint.h"

void tp_view_put_byte(struct tp_text *text, uint8_t byte)
{
    tp_text_put(text, &byte, 1);
}

void tp_view_put_varint(struct tp_text *text, uint64_t value)
{
    uint8_t bytes[10];
    tp_text_put(text, bytes, (size_t)(tp_varint_put(bytes, value) - bytes));
}

void tp_view_put_id(struct tp_text *text, uint64_t id)
{
    uint8_t bytes[sizeof id];
    tp_put_u64(bytes, id);
    tp_text_put(text, bytes, sizeof bytes);
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
