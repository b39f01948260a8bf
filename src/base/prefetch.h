/* Having the processor fetch memory that will be read or written soon. Any address will do, be there anything or not. */
#ifndef TP_BASE_PREFETCH_H
#define TP_BASE_PREFETCH_H

#include "base/line.h"

#include <stdint.h>

/* A compiler takes a function that does no more than this for one without effect, and leaves out calls of it, unless it is told of one. */
static inline void tp__prefetch_stays(const void *address)
{
    __asm__ volatile("" : : "r"(address));
}

static inline void tp_prefetch(const void *address)
{
    __builtin_prefetch(address, 1);
    tp__prefetch_stays(address);
}

/* The same for memory that others read too, and that will not be written. */
static inline void tp_prefetch_to_read(const void *address)
{
    __builtin_prefetch(address, 0);
    tp__prefetch_stays(address);
}

/* Every line that so many bytes lie in. */
static inline void tp_prefetch_bytes(const void *address, size_t bytes)
{
    uintptr_t line = (uintptr_t)address & ~(uintptr_t)(TP_LINE_BYTES - 1), end = (uintptr_t)address + bytes;
    for (; line < end; line += TP_LINE_BYTES)
        tp_prefetch((const void *)line);
}

#endif
