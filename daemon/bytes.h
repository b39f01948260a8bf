/* Little-endian numbers in bytes, as the data folder and Redis keep them: the same on every machine, at any alignment.
 * Refuses nothing: that the bytes are there is the caller's to know. Who calls it: the snapshots, the log of
 * changes and the live view. */
#ifndef TP_DAEMON_BYTES_H
#define TP_DAEMON_BYTES_H

#include <stdint.h>

static inline void tp_put_u16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void tp_put_u32(uint8_t *p, uint32_t v)
{
    tp_put_u16(p, (uint16_t)v);
    tp_put_u16(p + 2, (uint16_t)(v >> 16));
}

static inline void tp_put_u64(uint8_t *p, uint64_t v)
{
    tp_put_u32(p, (uint32_t)v);
    tp_put_u32(p + 4, (uint32_t)(v >> 32));
}

static inline uint16_t tp_get_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t tp_get_u32(const uint8_t *p)
{
    return tp_get_u16(p) | (uint32_t)tp_get_u16(p + 2) << 16;
}

static inline uint64_t tp_get_u64(const uint8_t *p)
{
    return tp_get_u32(p) | (uint64_t)tp_get_u32(p + 4) << 32;
}

#endif
