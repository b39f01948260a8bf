/* Cache lines: what two threads write, or one writes and others read all the time, is kept a line apart, or each write would take the
 * line from the others' caches, whatever in it they look at. Asserted where it is promised. */
#ifndef TP_BASE_LINE_H
#define TP_BASE_LINE_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TP_LINE_BYTES = 64 };

/* Within a struct of whatever alignment: b begins a line's length behind a, so that no line has bytes of both. */
#define TP_ASSERT_APART(type, a, b)                                                                          \
    _Static_assert(offsetof(type, b) - offsetof(type, a) >= sizeof(((type *)0)->a) + TP_LINE_BYTES - 1,      \
                   #a " and " #b " may share a cache line")

/* Within one that is aligned to lines: b begins a line, and a ends before it. */
#define TP_ASSERT_LINE(type, b)                                                                              \
    _Static_assert(_Alignof(type) % TP_LINE_BYTES == 0 && offsetof(type, b) % TP_LINE_BYTES == 0,            \
                   #b " does not begin a cache line")

/* Zeroed memory of whole lines, so that what lies beside it on the heap, another thread's perhaps, is on others; NULL when there is none. Freed
 * with free(). */
static inline void *tp_lines_alloc(size_t bytes)
{
    size_t whole = (bytes + TP_LINE_BYTES - 1) / TP_LINE_BYTES * TP_LINE_BYTES;
    void *memory = aligned_alloc(TP_LINE_BYTES, whole);
    return memory != NULL ? memset(memory, 0, whole) : NULL;
}

#endif
