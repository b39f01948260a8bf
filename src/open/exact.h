/* The `exact` open list: least f first, then larger g, then lower state: a whole order, so that every
 * machine expands the same states in the same order.
 *
 * A 4-ary heap of entries that carry their whole key, so that ordering never touches a node. A state whose g
 * improves is entered again; its older entries are recognised as stale when they come up (their g is not the
 * node's, or the node is closed). Entries lie in chunks of the pool: growing copies no entries. The four children
 * of an entry share a cache line (in the narrow form).
 *
 * Narrow entries hold g in 32 bits, wide ones in 64. `wide` is a constant where these functions are inlined.
 * What it refuses: to grow past the byte cap of its owner. Not thread-safe. Who calls it: the searches and their kernels;
 * learn.c (states by h) and lookahead.c (the frontier) as a heap or a list of their own.
 */
#ifndef TP_OPEN_EXACT_H
#define TP_OPEN_EXACT_H

#include "base/inline.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    TP_OPEN_CHUNK_BYTES = 2048,
    TP_OPEN_ROOT = 3, /* index of the least entry: children of i are 4 (i - 2) .. 4 (i - 2) + 3, line-aligned */
};

/* Both forms order by comparing their words from the first to the last as one number. */
struct tp_open_narrow {
    uint64_t f;
    uint64_t low; /* inverted g above, state below: orders by larger g, then lower state */
};

struct tp_open_wide {
    uint64_t f;
    uint64_t g_inverted;
    uint64_t state;
    uint64_t padding;
};

enum {
    TP_OPEN_NARROW_SHIFT = 7, /* 128 and 64 entries a chunk */
    TP_OPEN_WIDE_SHIFT = 6,
};
_Static_assert(TP_OPEN_CHUNK_BYTES == sizeof(struct tp_open_narrow) << TP_OPEN_NARROW_SHIFT &&
                   TP_OPEN_CHUNK_BYTES == sizeof(struct tp_open_wide) << TP_OPEN_WIDE_SHIFT,
               "a chunk is full of entries");

/* An entry in registers. */
struct tp_open_entry {
    uint64_t f, g;
    uint32_t state;
};

struct tp_open {
    struct tp_pool *pool; /* borrowed */
    void **chunks;         /* a block of the pool; beyond 256 chunks one of its own */
    uint32_t chunks_count, chunks_room;
    uint32_t count;    /* entries, stale ones included */
    uint32_t capacity; /* entries that fit the chunks held */
    bool wide;
    uint64_t *bytes;   /* the owner's count of pool bytes held */
    uint64_t bytes_max;
};

void tp_open_init(struct tp_open *open, bool wide, struct tp_pool *pool, uint64_t *bytes, uint64_t bytes_max);

/* Empties the list and puts every block back; it may be used again, or not. Cost: O(chunks). */
void tp_open_empty(struct tp_open *open);

/* Empties the list and puts back as many blocks as *blocks says, which it takes from; true when all are. */
bool tp_open_put_some(struct tp_open *open, uint32_t *blocks);

/* Adds one chunk; false at the cap. */
bool tp_open_grow(struct tp_open *open);

/* Empties the list, keeping its chunks. */
static inline void tp_open_clear(struct tp_open *open)
{
    open->count = 0;
}

/* Makes sure that `more` entries can be pushed; false at the cap. */
static inline bool tp_open_reserve(struct tp_open *open, uint32_t more)
{
    while (open->count + more > open->capacity)
        if (!tp_open_grow(open))
            return false;
    return true;
}

TP_ALWAYS_INLINE struct tp_open_narrow *tp__open_narrow(const struct tp_open *open, uint32_t i)
{
    return (struct tp_open_narrow *)open->chunks[i >> TP_OPEN_NARROW_SHIFT] + (i & ((1 << TP_OPEN_NARROW_SHIFT) - 1));
}

TP_ALWAYS_INLINE struct tp_open_wide *tp__open_wide(const struct tp_open *open, uint32_t i)
{
    return (struct tp_open_wide *)open->chunks[i >> TP_OPEN_WIDE_SHIFT] + (i & ((1 << TP_OPEN_WIDE_SHIFT) - 1));
}

__extension__ typedef unsigned __int128 tp__u128;

TP_ALWAYS_INLINE bool tp__open_less_narrow(const struct tp_open_narrow *a, const struct tp_open_narrow *b)
{
    return ((tp__u128)a->f << 64 | a->low) < ((tp__u128)b->f << 64 | b->low);
}

TP_ALWAYS_INLINE bool tp__open_less_wide(const struct tp_open_wide *a, const struct tp_open_wide *b)
{
    if (a->f != b->f)
        return a->f < b->f;
    return ((tp__u128)a->g_inverted << 64 | a->state) < ((tp__u128)b->g_inverted << 64 | b->state);
}

/* The heap's operations, once for each form of entry. The slots behind the last entry, up to its group of four, hold
 * greatest entries, so that four children are always compared, without a branch. */
#define TP_OPEN_HEAP(form)                                                                                    \
    TP_ALWAYS_INLINE void tp__open_insert_##form(struct tp_open *open, struct tp_open_##form e)                \
    {                                                                                                         \
        uint32_t i = TP_OPEN_ROOT + open->count++;                                                            \
        if ((i & 3) == 0)                                                                                     \
            memset(tp__open_##form(open, i), 0xff, 4 * sizeof e);                                             \
        while (i > TP_OPEN_ROOT) {                                                                            \
            uint32_t parent = (i >> 2) + 2;                                                                   \
            struct tp_open_##form *p = tp__open_##form(open, parent);                                         \
            if (!tp__open_less_##form(&e, p))                                                                 \
                break;                                                                                        \
            *tp__open_##form(open, i) = *p;                                                                   \
            i = parent;                                                                                       \
        }                                                                                                     \
        *tp__open_##form(open, i) = e;                                                                        \
    }                                                                                                         \
    /* Lets an entry sink from the root to its place; the least entry's slot is free. */                      \
    static inline void tp__open_sink_##form(struct tp_open *open, struct tp_open_##form e)                    \
    {                                                                                                         \
        uint32_t end = TP_OPEN_ROOT + open->count, i = TP_OPEN_ROOT;                                          \
        for (uint32_t first; (first = (i - 2) << 2) < end;) {                                                 \
            const struct tp_open_##form *child = tp__open_##form(open, first);                                \
            uint32_t a = tp__open_less_##form(&child[1], &child[0]);                                          \
            uint32_t b = 2 + tp__open_less_##form(&child[3], &child[2]);                                      \
            uint32_t least = a ^ ((a ^ b) & (0u - tp__open_less_##form(&child[b], &child[a])));               \
            if (!tp__open_less_##form(&child[least], &e))                                                     \
                break;                                                                                        \
            *tp__open_##form(open, i) = child[least];                                                         \
            i = first + least;                                                                                \
        }                                                                                                     \
        *tp__open_##form(open, i) = e;                                                                        \
    }                                                                                                         \
    TP_ALWAYS_INLINE void tp__open_remove_##form(struct tp_open *open)                                        \
    {                                                                                                         \
        struct tp_open_##form *last = tp__open_##form(open, TP_OPEN_ROOT + --open->count), e = *last;         \
        memset(last, 0xff, sizeof e);                                                                         \
        if (open->count)                                                                                      \
            tp__open_sink_##form(open, e);                                                                    \
    }
TP_OPEN_HEAP(narrow)
TP_OPEN_HEAP(wide)
#undef TP_OPEN_HEAP

/* Enters a state; room must have been reserved. Cost: O(log n). */
TP_ALWAYS_INLINE void tp_open_push(struct tp_open *open, struct tp_open_entry e, bool wide)
{
    if (wide)
        tp__open_insert_wide(open, (struct tp_open_wide){e.f, ~e.g, e.state, 0});
    else
        tp__open_insert_narrow(open, (struct tp_open_narrow){e.f, (uint64_t)~(uint32_t)e.g << 32 | e.state});
}

/* Puts a state in the place of the least entry: cheaper than a pop and a push, most of all where the new entry is
 * one of the best. Cost: O(log n). */
TP_ALWAYS_INLINE void tp_open_replace(struct tp_open *open, struct tp_open_entry e, bool wide)
{
    if (wide)
        tp__open_sink_wide(open, (struct tp_open_wide){e.f, ~e.g, e.state, 0});
    else
        tp__open_sink_narrow(open, (struct tp_open_narrow){e.f, (uint64_t)~(uint32_t)e.g << 32 | e.state});
}

/* The entry at an index, TP_OPEN_ROOT .. TP_OPEN_ROOT + count - 1, in no order but that the first is the least. */
TP_ALWAYS_INLINE struct tp_open_entry tp_open_at(const struct tp_open *open, uint32_t i, bool wide)
{
    if (wide) {
        const struct tp_open_wide *e = tp__open_wide(open, i);
        return (struct tp_open_entry){e->f, ~e->g_inverted, (uint32_t)e->state};
    }
    const struct tp_open_narrow *e = tp__open_narrow(open, i);
    return (struct tp_open_entry){e->f, ~(uint32_t)(e->low >> 32), (uint32_t)e->low};
}

/* The least entry; the list must not be empty. */
TP_ALWAYS_INLINE struct tp_open_entry tp_open_least(const struct tp_open *open, bool wide)
{
    return tp_open_at(open, TP_OPEN_ROOT, wide);
}

/* Whether one entry comes out before another. */
TP_ALWAYS_INLINE bool tp_open_before(uint64_t a_f, uint64_t a_g, uint32_t a_state, uint64_t b_f, uint64_t b_g, uint32_t b_state)
{
    if (a_f != b_f)
        return a_f < b_f;
    return a_g != b_g ? a_g > b_g : a_state < b_state;
}

/* Has the place of the least entry kept, whatever is entered, until that is replaced or removed. Cost: O(1). */
TP_ALWAYS_INLINE void tp_open_hold(struct tp_open *open, bool wide)
{
    if (wide)
        *tp__open_wide(open, TP_OPEN_ROOT) = (struct tp_open_wide){0};
    else
        *tp__open_narrow(open, TP_OPEN_ROOT) = (struct tp_open_narrow){0};
}

/* Removes the least entry; the list must not be empty. Cost: O(log n). */
TP_ALWAYS_INLINE void tp_open_pop(struct tp_open *open, bool wide)
{
    if (wide)
        tp__open_remove_wide(open);
    else
        tp__open_remove_narrow(open);
}

/* The same for callers that are not compiled for a width: the list's own decides. */
static inline void tp_open_push_any(struct tp_open *open, struct tp_open_entry e)
{
    if (open->wide)
        tp_open_push(open, e, true);
    else
        tp_open_push(open, e, false);
}

static inline struct tp_open_entry tp_open_at_any(const struct tp_open *open, uint32_t i)
{
    return open->wide ? tp_open_at(open, i, true) : tp_open_at(open, i, false);
}

static inline void tp_open_pop_any(struct tp_open *open)
{
    if (open->wide)
        tp_open_pop(open, true);
    else
        tp_open_pop(open, false);
}

#endif
