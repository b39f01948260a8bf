#include "daemon/view_wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 256 };

void tp_view_buffer_fini(struct tp_view_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct tp_view_buffer){0};
}

void tp_view_buffer_clear(struct tp_view_buffer *buffer)
{
    buffer->size = 0;
    buffer->has_failed = false;
}

/* Room for `more` bytes at the end; NULL when out of memory. */
static char *room(struct tp_view_buffer *buffer, size_t more)
{
    if (buffer->has_failed)
        return NULL;
    if (buffer->capacity - buffer->size < more) {
        size_t capacity = buffer->capacity < CAPACITY_MIN ? CAPACITY_MIN : buffer->capacity;
        while (capacity - buffer->size < more)
            capacity *= 2;
        char *larger = realloc(buffer->bytes, capacity);
        if (larger == NULL) {
            buffer->has_failed = true;
            return NULL;
        }
        buffer->bytes = larger;
        buffer->capacity = capacity;
    }
    return buffer->bytes + buffer->size;
}

void tp_view_put(struct tp_view_buffer *buffer, const void *bytes, size_t size)
{
    char *to = room(buffer, size);
    if (to == NULL || size == 0)
        return;
    memcpy(to, bytes, size);
    buffer->size += size;
}

void tp_view_put_byte(struct tp_view_buffer *buffer, uint8_t byte)
{
    tp_view_put(buffer, &byte, 1);
}

void tp_view_put_varint(struct tp_view_buffer *buffer, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    tp_view_put(buffer, bytes, n);
}

void tp_view_put_fixed(struct tp_view_buffer *buffer, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        tp_view_put_byte(buffer, (uint8_t)(value >> (8 * i)));
}

void tp_view_print(struct tp_view_buffer *buffer, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *to = size >= 0 ? room(buffer, (size_t)size + 1) : NULL;
    if (to != NULL) {
        vsnprintf(to, (size_t)size + 1, format, again);
        buffer->size += (size_t)size;
    }
    va_end(again);
}

void tp_view_put_quoted(struct tp_view_buffer *buffer, const char *text)
{
    tp_view_put_byte(buffer, '"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            tp_view_print(buffer, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            tp_view_print(buffer, "\\u%04x", c);
        else
            tp_view_put_byte(buffer, c);
    }
    tp_view_put_byte(buffer, '"');
}

static void put_base64(struct tp_view_buffer *buffer, const uint8_t *in, size_t size)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *to = room(buffer, (size + 2) / 3 * 4);
    if (to == NULL)
        return;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t three = (uint32_t)in[i] << 16;
        three |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
        three |= left > 2 ? in[i + 2] : 0;
        *to++ = letters[three >> 18];
        *to++ = letters[three >> 12 & 63];
        *to++ = left > 1 ? letters[three >> 6 & 63] : '=';
        *to++ = left > 2 ? letters[three & 63] : '=';
    }
    buffer->size += (size + 2) / 3 * 4;
}

void tp_view_put_event(struct tp_view_buffer *buffer, const char *name, const struct tp_view_buffer *data, bool as_base64)
{
    tp_view_print(buffer, "event: %s\ndata: ", name);
    if (as_base64)
        put_base64(buffer, (const uint8_t *)data->bytes, data->size);
    else
        tp_view_put(buffer, data->bytes, data->size);
    tp_view_print(buffer, "\n\n");
    buffer->has_failed |= data->has_failed;
}
