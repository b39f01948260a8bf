#include "daemon/stats/text.h"

#include "daemon/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct tp_text *text, size_t more)
{
    if (text->failed)
        return false;
    if (text->room - text->size > more)
        return true;
    size_t room = text->room ? text->room : 16384;
    while (room - text->size <= more)
        room *= 2;
    char *bytes = realloc(text->bytes, room);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->room = room;
    return true;
}

void tp_text_fini(struct tp_text *text)
{
    free(text->bytes);
    *text = (struct tp_text){0};
}

void tp_text_clear(struct tp_text *text)
{
    text->size = 0;
    text->failed = false;
}

void tp_text_put(struct tp_text *text, const void *bytes, size_t size)
{
    if (size == 0 || !reserve(text, size))
        return;
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
}

void tp_text_add(struct tp_text *text, const char *format, ...)
{
    va_list arguments;
    for (size_t more = 256;;) {
        if (!reserve(text, more))
            return;
        va_start(arguments, format);
        int length = vsnprintf(text->bytes + text->size, text->room - text->size, format, arguments);
        va_end(arguments);
        if (length < 0) {
            text->failed = true;
            return;
        }
        if ((size_t)length < text->room - text->size) {
            text->size += (size_t)length;
            return;
        }
        more = (size_t)length;
    }
}

void tp_text_add_quoted(struct tp_text *text, const char *string)
{
    tp_text_add(text, "\"");
    for (size_t left = strlen(string), size; left > 0; string += size, left -= size) {
        unsigned char c = (unsigned char)*string;
        size = tp_utf8_size((const unsigned char *)string, left);
        if (c == '"' || c == '\\')
            tp_text_add(text, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            tp_text_add(text, "\\u%04x", c);
        else if (size > 0)
            tp_text_put(text, string, size);
        else {
            tp_text_add(text, "\\ufffd");
            size = 1;
        }
    }
    tp_text_add(text, "\"");
}

void tp_text_add_float(struct tp_text *text, double value)
{
    if (isinf(value)) {
        tp_text_add(text, "+Inf");
        return;
    }
    char digits[32];
    snprintf(digits, sizeof digits, "%.9g", value);
    tp_text_add(text, "%s%s", digits, strpbrk(digits, ".e") != NULL ? "" : ".0");
}

char *tp_text_give(struct tp_text *text, size_t *size)
{
    if (text->failed) {
        free(text->bytes);
        text->bytes = NULL;
        text->size = 0;
    }
    *size = text->size;
    return text->bytes;
}
