#include "daemon/trim.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

static void give_back(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void tp_trim_look(struct tp_trim *trim)
{
    uint64_t bytes = atomic_load_explicit(&trim->cap->bytes, memory_order_relaxed) +
                     atomic_load_explicit(&trim->held->bytes, memory_order_relaxed);
    if (bytes > trim->bytes_most)
        trim->bytes_most = bytes;
    if (trim->bytes_most - bytes < TP_TRIM_BYTES)
        return;
    trim->bytes_most = bytes;
    give_back();
}
