#include "daemon/serve/spares.h"

#include <stdlib.h>

void tp_spares_fini(struct tp_spares *spares)
{
    for (unsigned i = 0; i < spares->count; i++)
        free(spares->kept[i].bytes);
    *spares = (struct tp_spares){0};
}

/* Takes number i out; those behind it move up. */
static uint8_t *take_out(struct tp_spares *spares, unsigned i)
{
    uint8_t *bytes = spares->kept[i].bytes;
    spares->bytes -= spares->kept[i].capacity;
    spares->count--;
    for (; i < spares->count; i++)
        spares->kept[i] = spares->kept[i + 1];
    return bytes;
}

uint8_t *tp_spares_take(struct tp_spares *spares, size_t bytes, size_t *capacity)
{
    unsigned best = TP_SPARES_MAX;
    for (unsigned i = spares != NULL ? spares->count : 0; i-- > 0;)
        if (spares->kept[i].capacity >= bytes &&
            (best == TP_SPARES_MAX || spares->kept[i].capacity < spares->kept[best].capacity))
            best = i;
    if (best != TP_SPARES_MAX) {
        *capacity = spares->kept[best].capacity;
        spares->idle -= best < spares->idle;
        return take_out(spares, best);
    }
    *capacity = TP_SPARES_BYTES_MIN;
    while (*capacity < bytes)
        *capacity *= 2;
    return malloc(*capacity);
}

void tp_spares_put(struct tp_spares *spares, void *bytes, size_t capacity)
{
    if (bytes == NULL)
        return;
    if (spares == NULL || spares->count == TP_SPARES_MAX || capacity > TP_SPARES_BYTES_MAX - spares->bytes) {
        free(bytes);
        return;
    }
    spares->kept[spares->count].bytes = bytes;
    spares->kept[spares->count++].capacity = capacity;
    spares->bytes += capacity;
}

void tp_spares_trim(struct tp_spares *spares)
{
    for (; spares->idle > 0; spares->idle--)
        free(take_out(spares, 0));
    spares->idle = spares->count;
}
