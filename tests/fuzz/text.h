/* A text under mutation, for the parsers' tests. */
#ifndef TESTS_FUZZ_TEXT_H
#define TESTS_FUZZ_TEXT_H

#include <string.h>

enum { TEXT_ROOM = 2000 };

struct text {
    char bytes[TEXT_ROOM];
    size_t size;
    size_t size_max; /* at most TEXT_ROOM */
};

/* Replaces `cut` bytes at a place by others; leaves the text alone where that would not fit. */
static inline void splice(struct text *text, size_t at, size_t cut, const char *bytes, size_t size)
{
    char copy[TEXT_ROOM];
    if (text->size - cut + size > text->size_max || size > text->size_max)
        return;
    memcpy(copy, bytes, size); /* `bytes` may lie in the text */
    memmove(text->bytes + at + size, text->bytes + at + cut, text->size - at - cut);
    memcpy(text->bytes + at, copy, size);
    text->size += size - cut;
}

#endif
