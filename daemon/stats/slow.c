#include "daemon/stats/slow.h"

#include <string.h>

enum { READS_MAX = 64 }; /* of one entry, before a reader goes without it */

#define KEPT_US ((uint64_t)TP_SLOW_KEPT_SECONDS * 1000000)

/* One number of an entry, for the loop, which is who writes it. */
#define WORD_OF(entry, field) \
    atomic_load_explicit(&(entry)->words[offsetof(struct tp_slow_tick, field) / sizeof(uint64_t)], memory_order_relaxed)

static struct tp_slow_tick copy_of(const struct tp_slow_entry *entry)
{
    uint64_t words[sizeof(struct tp_slow_tick) / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = atomic_load_explicit(&entry->words[i], memory_order_relaxed);
    struct tp_slow_tick tick;
    memcpy(&tick, words, sizeof tick);
    return tick;
}

static void write_entry(struct tp_slow_entry *entry, const struct tp_slow_tick *tick)
{
    uint64_t words[sizeof *tick / sizeof(uint64_t)];
    memcpy(words, tick, sizeof words);
    uint64_t number = atomic_load_explicit(&entry->number, memory_order_relaxed);
    atomic_store_explicit(&entry->number, number + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        atomic_store_explicit(&entry->words[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&entry->number, number + 2, memory_order_release);
}

void tp_slow_offer(struct tp_slow *slow, const struct tp_slow_tick *tick)
{
    struct tp_slow_entry *least = NULL;
    uint64_t before_us = atomic_load(&slow->least_us), limit_us = atomic_load(&slow->limit_us);
    uint64_t least_us = 0, next_us = UINT64_MAX, oldest_us = tick->at_us; /* of each entry what a tick must take to beat it */
    for (size_t i = 0; i < TP_SLOW_TICKS; i++) {
        const struct tp_slow_entry *kept = &slow->entries[i];
        uint64_t at_us = WORD_OF(kept, at_us);
        bool is_over = at_us == 0 || at_us + KEPT_US <= tick->at_us;
        uint64_t beaten_us = is_over ? 0 : WORD_OF(kept, queued_us) + WORD_OF(kept, took_us) + 1;
        if (least == NULL || beaten_us < least_us) {
            next_us = least == NULL ? UINT64_MAX : least_us;
            least = &slow->entries[i];
            least_us = beaten_us;
        } else if (beaten_us < next_us) {
            next_us = beaten_us;
        }
        if (!is_over && at_us < oldest_us)
            oldest_us = at_us;
    }
    uint64_t waited_us = tp_slow_waited_us(tick);
    if (waited_us >= least_us) {
        write_entry(least, tick);
        least_us = waited_us + 1 < next_us ? waited_us + 1 : next_us;
    }
    slow->look_us = oldest_us + KEPT_US;
    uint64_t wanted_us = limit_us != 0 && limit_us + 1 < least_us ? limit_us + 1 : least_us;
    if (atomic_compare_exchange_strong(&slow->least_us, &before_us, wanted_us) && atomic_load(&slow->limit_us) != limit_us)
        atomic_store(&slow->least_us, 0); /* the limit is another since */
}

void tp_slow_limit(struct tp_slow *slow, uint64_t limit_us)
{
    atomic_store(&slow->limit_us, limit_us);
    atomic_store(&slow->least_us, 0);
}

size_t tp_slow_read(const struct tp_slow *slow, uint64_t now_us, struct tp_slow_tick ticks[TP_SLOW_TICKS])
{
    size_t count = 0;
    for (size_t i = 0; i < TP_SLOW_TICKS; i++) {
        const struct tp_slow_entry *entry = &slow->entries[i];
        for (unsigned reads = 0; reads < READS_MAX; reads++) {
            uint64_t number = atomic_load_explicit(&entry->number, memory_order_acquire);
            struct tp_slow_tick tick = copy_of(entry);
            atomic_thread_fence(memory_order_acquire);
            if (number % 2 != 0 || atomic_load_explicit(&entry->number, memory_order_relaxed) != number)
                continue;
            if (tick.at_us != 0 && tick.at_us + KEPT_US > now_us)
                ticks[count++] = tick;
            break;
        }
    }
    return count;
}

const char *tp_slow_cause_name(enum tp_slow_cause cause)
{
#define WORD(name, word) [TP_SLOW_##name] = word,
    static const char *const words[] = {TP_SLOW_CAUSE_LIST(WORD)};
#undef WORD
    return words[cause];
}

size_t tp_slow_why(const struct tp_slow_tick *tick, enum tp_slow_cause causes[TP_SLOW_CAUSES])
{
    enum { MANY_SESSIONS = 1000, SEARCHES = 16 };
    size_t count = 0;
    uint64_t waited_us = tp_slow_waited_us(tick), queued_us = tick->queued_us - tick->world_us;
    uint64_t work = tick->expansions + tick->guide_expansions + tick->traced;
    if (tick->world_us > waited_us / 4)
        causes[count++] = TP_SLOW_STORE;
    if (queued_us > waited_us / 4)
        causes[count++] = TP_SLOW_QUEUE;
    if (tick->memory_bytes > 0)
        causes[count++] = TP_SLOW_MEMORY;
    if (tick->restarts > tick->sessions / 4)
        causes[count++] = tick->versions > 0 ? TP_SLOW_VERSIONS : TP_SLOW_RESTARTS;
    if (work > tick->sessions * SEARCHES)
        causes[count++] = TP_SLOW_SEARCH;
    if (tick->sessions >= MANY_SESSIONS)
        causes[count++] = TP_SLOW_BATCH;
    if (tick->total_us != 0 && tick->took_us > tick->total_us)
        causes[count++] = TP_SLOW_DEADLINE;
    if (count == 0)
        causes[count++] = TP_SLOW_PROCESSOR;
    return count;
}
