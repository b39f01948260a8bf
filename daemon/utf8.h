/* What is a character of UTF-8 in bytes that may be anything: paths and what peers say. Any thread. */
#ifndef TP_DAEMON_UTF8_H
#define TP_DAEMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the UTF-8 character that begins here; 0: there is none. */
static inline size_t tp_utf8_size(const unsigned char *text, size_t left)
{
    size_t size = text[0] < 0x80 ? 1 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2 : (text[0] & 0xf0) == 0xe0 ? 3 : text[0] >= 0xf0 && text[0] < 0xf5 ? 4 : 0;
    if (size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool is_long = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool is_none = (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf4 && text[1] >= 0x90); /* half a pair; beyond the last */
    return is_long || is_none ? 0 : size;
}

#endif
