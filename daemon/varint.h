/* Varints as protobuf writes them: seven bits a byte, the low ones first, the top bit set on all but the last. */
#ifndef TP_DAEMON_VARINT_H
#define TP_DAEMON_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    TP_VARINT_MAX = 10,      /* bytes of the longest */
    TP_VARINT_SLACK = 8,     /* bytes that tp_varint_put_fast may write beyond what it puts */
};

/* Bytes that a value takes, 1..TP_VARINT_MAX. */
static inline size_t tp_varint_size(uint64_t value)
{
    unsigned top = 63u - (unsigned)__builtin_clzll(value | 1);
    return (top * 9 + 73) / 64; /* top / 7 + 1 for every top below 64 */
}

/* Writes a value; gives where the next begins. */
static inline uint8_t *tp_varint_put(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

/* The same without a branch for each byte. It may write TP_VARINT_SLACK bytes whatever the value: room for them is the caller's. */
static inline uint8_t *tp_varint_put_fast(uint8_t *at, uint64_t value)
{
    if (value >> 56)
        return tp_varint_put(at, value);
    size_t size = tp_varint_size(value);
    uint64_t spread = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4; /* 28 bits in each half */
    spread = (spread & 0x00003fff00003fff) | (spread & 0x0fffc0000fffc000) << 2;        /* 14 in each quarter */
    spread = (spread & 0x007f007f007f007f) | (spread & 0x3f803f803f803f80) << 1;        /* 7 in each byte */
    spread |= 0x8080808080808080 & ((UINT64_C(1) << (8 * (size - 1))) - 1);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    spread = __builtin_bswap64(spread);
#endif
    memcpy(at, &spread, sizeof spread);
    return at + size;
}

/* The same for numbers that are most often below 2^28. */
static inline uint8_t *tp_varint_put_short(uint8_t *at, uint64_t value)
{
    if (value >> 28)
        return tp_varint_put_fast(at, value);
    size_t size = tp_varint_size(value);
    uint32_t spread = ((uint32_t)value & 0x00003fff) | ((uint32_t)value & 0x0fffc000) << 2;
    spread = (spread & 0x007f007f) | (spread & 0x3f803f80) << 1;
    spread |= 0x80808080 & ((1u << (8 * (size - 1))) - 1);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    spread = __builtin_bswap32(spread);
#endif
    memcpy(at, &spread, sizeof spread);
    return at + size;
}

/* Reads a value from bytes that end at `end`; gives where the next begins, NULL (and 0) for one that does not end there or does not fit
 * 64 bits. */
static inline const uint8_t *tp_varint_get(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t read = 0;
    *value = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1)
            return NULL;
        read |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = read;
            return at;
        }
    }
    return NULL;
}

/* Eight bytes as they lie in memory, the first the lowest. */
static inline uint64_t tp_varint_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The same as tp_varint_get without a branch for each byte, where eight are left. */
static inline const uint8_t *tp_varint_get_fast(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    if (end - at < 8)
        return tp_varint_get(at, end, value);
    uint64_t word = tp_varint_word(at), last = ~word & 0x8080808080808080;
    if (last == 0)
        return tp_varint_get(at, end, value);
    unsigned top = (unsigned)__builtin_ctzll(last); /* of the last byte */
    word &= UINT64_MAX >> (63 - top) & 0x7f7f7f7f7f7f7f7f;
    word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
    word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
    word = (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
    *value = word;
    return at + top / 8 + 1;
}

/* How many values end in so many bytes. */
static inline size_t tp_varint_count(const uint8_t *at, const uint8_t *end)
{
    size_t count = 0;
    for (; end - at >= 8; at += 8) /* a bit for each last byte, all added up in the highest byte */
        count += ((~tp_varint_word(at) >> 7 & 0x0101010101010101) * 0x0101010101010101) >> 56;
    for (; at < end; at++)
        count += *at < 0x80;
    return count;
}

#endif
