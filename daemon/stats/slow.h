/* The slowest ticks of the last minutes, with what made them so.
 *
 * What it is: a loop's table of fixed size, and a function that names the causes. The loop offers every tick; one that
 * is slower than the fastest there takes its place. Any thread may read while the loop writes: an entry has a number
 * that is odd while it is written, and a reader that finds it changed reads again. What it refuses: locks, memory,
 * holding up the loop. Who calls it: tp_slow_offer the loop; tp_slow_read any thread.
 */
#ifndef TP_DAEMON_SLOW_H
#define TP_DAEMON_SLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_SLOW_TICKS = 16, TP_SLOW_KEPT_SECONDS = 600 };

/* X(field): all numbers of a tick request. Times in microseconds. */
#define TP_SLOW_LIST(X)                                                                                      \
    X(at_us)            /* when its serving ended, by the loop's clock */                                    \
    X(queued_us)        /* from the reading of its last byte to its serving, the next among it */            \
    X(world_us)         /* while a request before it on its connection waited for the world and its store */ \
    X(took_us)          /* its serving */                                                                    \
    X(sessions)                                                                                              \
    X(refused)          /* sessions named and not ticked */                                                  \
    X(expansions)                                                                                            \
    X(traced)                                                                                                \
    X(guide_expansions)                                                                                      \
    X(restarts)                                                                                              \
    X(versions)         /* versions of maps that the loop took since its connection's tick before */         \
    X(memory_bytes)     /* search memory that its loop's pool took more of meanwhile */                      \
    X(starved)          /* sessions */                                                                       \
    X(total_us)         /* its total of time; 0: it had none */

struct tp_slow_tick {
#define TP_SLOW_FIELD(field) uint64_t field;
    TP_SLOW_LIST(TP_SLOW_FIELD)
#undef TP_SLOW_FIELD
};

/* Zeroed is empty. */
struct tp_slow {
    struct tp_slow_entry {
        _Atomic uint64_t number; /* odd: being written */
        _Atomic uint64_t words[sizeof(struct tp_slow_tick) / sizeof(uint64_t)];
    } entries[TP_SLOW_TICKS];
    _Atomic uint64_t limit_us; /* 0: none */
    _Atomic uint64_t least_us; /* what a tick must take to be kept, or to be over the limit; 0: the next one says */
    uint64_t look_us;          /* the loop's: when the oldest entry is over */
};

/* How long its client waited for it here. */
static inline uint64_t tp_slow_waited_us(const struct tp_slow_tick *tick)
{
    return tick->queued_us + tick->took_us;
}

/* A tick that waited longer is wanted in any case, from the loop's next one on; 0: none is. Any thread. */
void tp_slow_limit(struct tp_slow *slow, uint64_t limit_us);

/* Whether a tick that waited for so many microseconds is over the limit. */
static inline bool tp_slow_is_over(const struct tp_slow *slow, uint64_t waited_us)
{
    uint64_t limit_us = atomic_load_explicit(&slow->limit_us, memory_order_relaxed);
    return limit_us != 0 && waited_us > limit_us;
}

/* Whether a tick that waited for so many microseconds would be kept, or may be over the limit. Owner thread only. Cost: one comparison. */
static inline bool tp_slow_wants(const struct tp_slow *slow, uint64_t waited_us)
{
    return waited_us >= atomic_load_explicit(&slow->least_us, memory_order_relaxed);
}

/* Has the next tick looked at, if an entry is over by now. Owner thread only, several times a second. Cost: O(1). */
static inline void tp_slow_look(struct tp_slow *slow, uint64_t now_us)
{
    if (now_us >= slow->look_us)
        atomic_store_explicit(&slow->least_us, 0, memory_order_relaxed);
}

/* Keeps the tick in place of one that is over, or the fastest, if it is slower. Owner thread only. Cost: O(TP_SLOW_TICKS). */
void tp_slow_offer(struct tp_slow *slow, const struct tp_slow_tick *tick);

/* Copies those kept that ended in the last TP_SLOW_KEPT_SECONDS, in no order; returns how many. Any thread. */
size_t tp_slow_read(const struct tp_slow *slow, uint64_t now_us, struct tp_slow_tick ticks[TP_SLOW_TICKS]);

/* X(NAME, word): what makes a tick slow, the heaviest first. */
#define TP_SLOW_CAUSE_LIST(X)                                                                                \
    X(STORE, "store")         /* a change, a put or an opening before it was not answered yet */             \
    X(QUEUE, "queue")         /* the loop served others, or requests before it */                            \
    X(MEMORY, "memory")       /* it took more */                                                             \
    X(VERSIONS, "versions")   /* searches begun anew, after changes */                                       \
    X(RESTARTS, "restarts")   /* the same, without */                                                        \
    X(SEARCH, "search")       /* expansions */                                                               \
    X(BATCH, "batch")         /* a thousand sessions or more */                                              \
    X(DEADLINE, "deadline")   /* it missed its own */                                                        \
    X(PROCESSOR, "processor") /* little was done: other programs, or the system, took the time */

enum tp_slow_cause {
#define TP_SLOW_CAUSE_ENUM(name, word) TP_SLOW_##name,
    TP_SLOW_CAUSE_LIST(TP_SLOW_CAUSE_ENUM)
#undef TP_SLOW_CAUSE_ENUM
        TP_SLOW_CAUSES
};

/* Why a tick was slow: the causes that apply, one at least, the heaviest first; gives how many. */
size_t tp_slow_why(const struct tp_slow_tick *tick, enum tp_slow_cause causes[TP_SLOW_CAUSES]);

/* Its word, static. */
const char *tp_slow_cause_name(enum tp_slow_cause cause);

#endif
