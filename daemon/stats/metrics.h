/* Every number the daemon counts, in one table.
 *
 * What it is: the X-macro list below generates the storage (one struct per writing thread, on cache lines of its own),
 * the descriptors from which the stats endpoint renders, and METRICS.md (make docs-metrics). A thread adds to its own
 * struct with a relaxed load and store, never a locked instruction; a reader sums over all structs. What it refuses:
 * labels whose values a client could make; a label's values are a set known when this is compiled. Who calls it:
 * tp_metric_* by the one thread that owns the struct; tp_metrics_read_* by any.
 *
 * To count something new: one line in the list, one call where it happens, `make docs-metrics`. With METRICS=0 the
 * calls are nothing: that build shows what counting costs (make bench-metrics).
 */
#ifndef TP_DAEMON_METRICS_H
#define TP_DAEMON_METRICS_H

#include "base/error.h"
#include "base/line.h"
#include "daemon/stats/slow.h"
#include "search/algorithm.h"
#include "search/session.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TP_METRICS
#define TP_METRICS 1
#endif

/* The labels that a line may have, and what each one's values are; the room for them follows. */
enum tp_metric_label {
    TP_METRIC_LABEL_NONE,
    TP_METRIC_LABEL_CODE,      /* code: the protocol's errors; error -n is at n - 1 */
    TP_METRIC_LABEL_STATUS,    /* status: as the protocol has them; enum tp_status, less 1 */
    TP_METRIC_LABEL_STATE,     /* state: of a session, FRESH before its first tick, then its last tick's status (enum tp_status) */
    TP_METRIC_LABEL_ALGORITHM, /* algorithm: the registry's rows, in its order */
    TP_METRIC_LABEL_REASON,    /* reason: enum tp_drop_reason */
    TP_METRIC_LABEL_POOL,      /* pool: enum tp_metric_pool */
    TP_METRIC_LABEL_OUTCOME,   /* outcome: enum tp_metric_outcome */
    TP_METRIC_LABEL_CAUSE,     /* cause: enum tp_slow_cause */
    TP_METRIC_LABEL_COUNT,
};
#define TP_METRIC_ROOM_NONE
#define TP_METRIC_ROOM_CODE [TP_ERROR_COUNT]
#define TP_METRIC_ROOM_STATUS [TP_STATUS_UNREACHABLE]
#define TP_METRIC_ROOM_STATE [TP_STATUS_UNREACHABLE + 1]
#define TP_METRIC_ROOM_ALGORITHM [TP_ALGORITHMS_MAX]
#define TP_METRIC_ROOM_REASON [TP_DROP_REASON_COUNT]
#define TP_METRIC_ROOM_POOL [TP_METRIC_POOL_COUNT]
#define TP_METRIC_ROOM_OUTCOME [TP_METRIC_OUTCOME_COUNT]
#define TP_METRIC_ROOM_CAUSE [TP_SLOW_CAUSES]

/* Why the daemon ended a connection. */
#define TP_DROP_REASON_LIST(X)                                                                               \
    X(HELLO_TIMEOUT, "hello_timeout") /* no hello came in time */                                            \
    X(IDLE_TIMEOUT, "idle_timeout")   /* nothing came in time */                                             \
    X(SLOW_READER, "slow_reader")     /* its output stayed full too long */                                  \
    X(BAD_FRAME, "bad_frame")         /* malformed or too large */                                           \
    X(DRAIN, "drain")                 /* the daemon ends */                                                  \
    X(SYSTEM, "system")               /* out of memory, or the socket failed */

enum tp_drop_reason {
#define TP_DROP_REASON_ENUM(name, word) TP_DROP_##name,
    TP_DROP_REASON_LIST(TP_DROP_REASON_ENUM)
#undef TP_DROP_REASON_ENUM
        TP_DROP_REASON_COUNT
};

/* What memory is for; no byte is in two of them. */
#define TP_METRIC_POOL_LIST(X)                                                                               \
    X(SESSIONS, "sessions") /* searches */                                                                   \
    X(GUIDE, "guide")       /* goal fields and scouts */                                                     \
    X(SPARE, "spare")       /* taken from the system for either, and in no use now */                        \
    X(MAPS, "maps")         /* all versions of maps and layers that somebody holds; what they share once */  \
    X(UPLOADS, "uploads")   /* maps on their way here */

enum tp_metric_pool {
#define TP_METRIC_POOL_ENUM(name, word) TP_METRIC_POOL_##name,
    TP_METRIC_POOL_LIST(TP_METRIC_POOL_ENUM)
#undef TP_METRIC_POOL_ENUM
        TP_METRIC_POOL_COUNT
};

/* What became of a configuration read anew. */
#define TP_METRIC_OUTCOME_LIST(X)                                                                            \
    X(OK, "ok")           /* what is live of it holds now */                                                 \
    X(REFUSED, "refused") /* all is as it was */

enum tp_metric_outcome {
#define TP_METRIC_OUTCOME_ENUM(name, word) TP_METRIC_OUTCOME_##name,
    TP_METRIC_OUTCOME_LIST(TP_METRIC_OUTCOME_ENUM)
#undef TP_METRIC_OUTCOME_ENUM
        TP_METRIC_OUTCOME_COUNT
};

/* X(TYPE, field, unit, label, help). The exported name is tickpath_<field>, with _total added for a counter. The unit
 * is the name's last word where it has one. Times are counted in microseconds, whatever the name says, and divided when
 * they are shown. A gauge is a sum over threads of what each holds now; a fact is a gauge of the whole process, found
 * out when it is asked for. */
#define TP_METRIC_LIST(X)                                                                                    \
    X(FACT, build_info, "", NONE, "The build in labels; always 1.")                                          \
    X(FACT, uptime_seconds, "seconds", NONE, "Time since the daemon started.")                               \
    X(FACT, threads, "", NONE, "Event loops.")                                                               \
    X(FACT, ready, "", NONE, "1 while requests are served, 0 while starting or draining.")                   \
    X(FACT, store_degraded, "", NONE, "1 while the store cannot keep what it promises.")                     \
    X(FACT, store_volatile, "", NONE, "1 if maps do not survive a restart of the daemon.")                   \
    X(FACT, resident_bytes, "bytes", NONE, "Memory that the system holds for the whole process; 0 where it does not say.") \
    X(FACT, descriptors_open, "", NONE, "File descriptors (connections, files) that the process has now; 0 where the system does not say.") \
    X(FACT, descriptors_max, "", NONE, "How many it may have; +Inf for no limit.") \
    X(FACT, pool_bytes, "bytes", POOL, "Memory now, by what it is for.")                                     \
    X(FACT, node_bytes, "bytes", NONE, "Search memory taken from the system now: the pools sessions, guide and spare.") \
    X(FACT, node_bytes_max, "", NONE, "Cap on search memory, in bytes (node-bytes-max); +Inf for none.")     \
    X(COUNTER, config_reloads, "", OUTCOME, "Times the configuration was read anew (SIGHUP), by what became of it.") \
    X(GAUGE, config_last_reload_successful, "", NONE, "0 when the configuration was refused the last time it was read anew, else 1.") \
    X(COUNTER, connections_accepted, "", NONE, "Connections accepted.")                                      \
    X(COUNTER, connections_refused, "", NONE, "Connections closed at once because connections-max was reached.") \
    X(COUNTER, connections_dropped, "", REASON, "Connections ended by the daemon.")                          \
    X(GAUGE, connections_open, "", NONE, "Connections open now.")                                            \
    X(COUNTER, received_bytes, "bytes", NONE, "Bytes read from clients.")                                    \
    X(COUNTER, sent_bytes, "bytes", NONE, "Bytes written to clients.")                                       \
    X(GAUGE, output_queued_bytes, "bytes", NONE, "Reply bytes waiting for slow readers now.")                \
    X(COUNTER, reading_paused, "", NONE, "Times a connection's reading stopped because its output was full.") \
    X(COUNTER, requests, "", NONE, "Requests handled.")                                                      \
    X(COUNTER, errors, "", CODE, "Errors answered, frames that could not be read among them.")               \
    X(COUNTER, sessions_opened, "", NONE, "Sessions opened.")                                                \
    X(COUNTER, sessions_closed, "", NONE, "Sessions closed, by request, with their connection, or ended.")   \
    X(COUNTER, sessions_ended, "", NONE, "Sessions ended because their map began anew or was dropped elsewhere.") \
    X(GAUGE, sessions_open, "", ALGORITHM, "Sessions open now, by their algorithm.")                         \
    X(GAUGE, session_states, "", STATE, "Sessions open now, by the status of their last tick; FRESH before the first.") \
    X(GAUGE, sessions_closing, "", NONE, "Sessions closed whose search memory is not put back yet.")         \
    X(COUNTER, versions_let_go, "", NONE, "Old versions of maps that sessions not ticked for long let go of.") \
    X(COUNTER, statuses, "", STATUS, "Agent ticks (sessions ticked), by the status answered.")               \
    X(COUNTER, agent_ticks_refused, "", NONE, "Sessions named in a tick that could not be ticked.")          \
    X(COUNTER, agent_ticks_starved, "", NONE, "Sessions that wanted to search, and a shared total left them no expansion.") \
    X(COUNTER, moves, "", NONE, "Moves answered.")                                                           \
    X(COUNTER, back_moves, "", NONE, "Moves that were physical backtracks.")                                 \
    X(COUNTER, pauses, "", NONE, "Agent ticks that waited instead of moving back (pause_on_backtrack).")     \
    X(COUNTER, flips, "", NONE, "Times a path followed was left for one that does not go on from it.")       \
    X(COUNTER, looping, "", NONE, "Agent ticks answered with the flag LOOPING.")                             \
    X(COUNTER, arrivals, "", NONE, "Moves that arrived.")                                                    \
    X(COUNTER, restarts, "", NONE, "Searches begun anew.")                                                   \
    X(COUNTER, node_cap, "", NONE, "Agent ticks answered with the flag NODE_CAP.")                           \
    X(COUNTER, expansions, "", NONE, "States expanded.")                                                     \
    X(COUNTER, traced, "", NONE, "Steps paid at 1/c: traceback, looks at changes, open entries renewed, ...") \
    X(COUNTER, generated, "", NONE, "States given a (better) g.")                                            \
    X(COUNTER, learned, "", NONE, "Heuristic updates.")                                                      \
    X(COUNTER, guide_expansions, "", NONE, "Units that guided sessions paid for what guides them.")          \
    X(GAUGE, guide_fields, "", NONE, "Goal fields in memory, those included that no session uses now.")      \
    X(COUNTER, guide_fields_made, "", NONE, "Goal fields made.")                                             \
    X(COUNTER, guide_fields_shared, "", NONE, "Times a session found its goal field made already.")          \
    X(COUNTER, guide_fields_given_up, "", NONE, "Goal fields that no session used given up to make room.")   \
    X(COUNTER, guide_refused, "", NONE, "Times there was no room for a goal field or a scout (guide-bytes-max).") \
    X(COUNTER, guide_settled, "", NONE, "Areas settled by goal fields: their work, done once for all who share.") \
    X(HISTOGRAM, starved_ticks, "", NONE, "Ticks on end that a session was starved in, counted when it is so no more.") \
    X(HISTOGRAM, tick_seconds, "seconds", NONE, "Time to serve one tick request, all its sessions.")         \
    X(HISTOGRAM, tick_wait_seconds, "seconds", NONE, "Time from the reading of a tick request's last byte to its serving.") \
    X(HISTOGRAM, tick_expansions, "", NONE, "Expansions of one tick request, all its sessions.")             \
    X(HISTOGRAM, tick_sessions, "", NONE, "Sessions of one tick request.")                                   \
    X(COUNTER, ticks_deadline_missed, "", NONE, "Tick requests with a total of time that was over before they were served.") \
    X(COUNTER, ticks_starved, "", NONE, "Tick requests in which a session was starved.")                     \
    X(COUNTER, ticks_slow, "", NONE, "Tick requests that took longer than slow-tick-us, waiting here included.")\
    X(COUNTER, slow_causes, "", CAUSE, "What made those slow ticks slow; a tick may have several causes.")   \
    X(GAUGE, subscriptions_open, "", NONE, "Subscriptions to the changes of maps, of all connections, now.") \
    X(COUNTER, pushes, "", NONE, "Messages about changes of maps pushed to subscribers.")                    \
    X(GAUGE, maps, "", NONE, "Maps in memory.")                                                              \
    X(GAUGE, map_cells, "", NONE, "Cells of the maps in memory.")                                            \
    X(FACT, map_versions, "", NONE, "Versions of maps and layers that somebody holds: the newest of each, and older ones not left yet.") \
    X(GAUGE, layers, "", NONE, "Layers of maps in memory: profiles, agent sizes and block graphs in use.")   \
    X(COUNTER, maps_put, "", NONE, "Maps uploaded whole.")                                                   \
    X(COUNTER, maps_loaded, "", NONE, "Maps read from the store.")                                           \
    X(COUNTER, batches_applied, "", NONE, "Change batches applied; each made one version.")                  \
    X(COUNTER, batches_repeated, "", NONE, "Change batches not applied again because their key was known.")  \
    X(COUNTER, batches_refused, "", NONE, "Change batches refused.")                                         \
    X(COUNTER, changes_applied, "", NONE, "Cells, rectangles, bitmaps, runs, edges and nodes in the batches applied.") \
    X(HISTOGRAM, change_seconds, "seconds", NONE, "Time from a batch's arrival at the world to its acknowledgement.") \
    X(COUNTER, store_batches, "", NONE, "Change batches written by the store.")                              \
    X(COUNTER, store_snapshots, "", NONE, "Snapshots written by the store.")                                 \
    X(COUNTER, store_syncs, "", NONE, "Syncs (or round trips) of the store; one serves all that was queued.") \
    X(COUNTER, store_errors, "", NONE, "Failed calls of the store.")                                         \
    X(COUNTER, store_written_bytes, "bytes", NONE, "Bytes written by the store.")                            \
    X(COUNTER, store_reads, "", NONE, "Answers of a shared store that brought entries of a map's log.")      \
    X(COUNTER, store_entries_read, "", NONE, "Entries of shared maps' logs that were read and decided.")     \
    X(COUNTER, store_loads, "", NONE, "Times a map was read from a shared store, the first time or anew.")   \
    X(COUNTER, store_restores, "", NONE, "Times entries that a shared store had lost were put back.")        \
    X(COUNTER, store_reconnects, "", NONE, "Times a shared store was lost.")                                 \
    X(HISTOGRAM, store_log_seconds, "seconds", NONE, "Time from a batch's sending to the log to its decision, read back.") \
    X(HISTOGRAM, store_sync_seconds, "seconds", NONE, "Time of one sync (or round trip) of the store.")

enum tp_metric_type { TP_METRIC_COUNTER, TP_METRIC_GAUGE, TP_METRIC_HISTOGRAM, TP_METRIC_FACT };

/* Bucket i counts values <= 2^i; the last counts the rest (+Inf). */
enum { TP_HISTOGRAM_BUCKETS = 28 };

struct tp_histogram {
    _Atomic uint64_t bucket[64 + 1]; /* each its own share, not cumulative; those that are not shown go to the last that is */
    _Atomic uint64_t sum;
};

#define TP_METRIC_FIELD_COUNTER(field, room) _Atomic uint64_t field room;
#define TP_METRIC_FIELD_GAUGE(field, room) _Atomic int64_t field room;
#define TP_METRIC_FIELD_HISTOGRAM(field, room) struct tp_histogram field room;
#define TP_METRIC_FIELD_FACT(field, room) _Atomic int64_t field room; /* INT64_MAX: +Inf */
#define TP_METRIC_FIELD(type, field, unit, label, help) TP_METRIC_FIELD_##type(field, TP_METRIC_ROOM_##label)

/* One writing thread's numbers. */
struct tp_metrics {
    _Alignas(2 * TP_LINE_BYTES) char thread[16]; /* "loop0", "world", "store": for the JSON's per-thread view */
    TP_METRIC_LIST(TP_METRIC_FIELD)
    _Atomic uint64_t ticks_plain; /* tick requests of one session that did not wait nor expand: in three histograms at once */
    struct tp_slow slow;          /* of a loop */
};
/* Two lines, since processors fetch them in pairs: a thread's numbers begin and end with a pair. */
_Static_assert(_Alignof(struct tp_metrics) == 2 * TP_LINE_BYTES && sizeof(struct tp_metrics) % (2 * TP_LINE_BYTES) == 0,
               "the numbers of two threads may share a cache line");

/* A descriptor per line of the list, in its order. */
struct tp_metric_info {
    enum tp_metric_type type;
    const char *name; /* the field's name */
    const char *unit; /* as shown: "seconds", "bytes" or "" */
    double scale;     /* what is counted, times this, is in that unit */
    enum tp_metric_label label;
    const char *help;
    size_t offset; /* of the field in struct tp_metrics */
};
extern const struct tp_metric_info tp_metric_table[];
extern const size_t tp_metric_count;

/* A label: its name (NULL for TP_METRIC_LABEL_NONE), how many values it has (1 then), and the i-th. Static memory. */
const char *tp_metric_label_name(enum tp_metric_label label);
size_t tp_metric_label_values(enum tp_metric_label label);
const char *tp_metric_label_value(enum tp_metric_label label, size_t i);

/* Owner thread only. Where a plain add to memory is seen whole by other threads it is one instruction, and not the
 * three that compilers make of it. */
static inline void tp_metric_add(_Atomic uint64_t *counter, uint64_t n)
{
    if (!TP_METRICS)
        return;
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    __asm__("addq %1, %0" : "+m"(*counter) : "er"(n) : "cc");
#else
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
#endif
}

/* Owner thread only. */
static inline void tp_metric_gauge_add(_Atomic int64_t *gauge, int64_t n)
{
    if (TP_METRICS)
        atomic_store_explicit(gauge, atomic_load_explicit(gauge, memory_order_relaxed) + n, memory_order_relaxed);
}

/* Owner thread only. */
static inline void tp_metric_gauge_set(_Atomic int64_t *gauge, int64_t value)
{
    if (TP_METRICS)
        atomic_store_explicit(gauge, value, memory_order_relaxed);
}

/* Owner thread only. Cost: O(1); of the small values that most observations have it is a few instructions. */
static inline void tp_metric_observe(struct tp_histogram *histogram, uint64_t value)
{
    size_t i = 0; /* the least with value <= 2^i */
    if (!TP_METRICS)
        return;
    if (value > 1)
        i = 64u - (size_t)__builtin_clzll(value - 1);
    tp_metric_add(&histogram->bucket[i], 1);
    tp_metric_add(&histogram->sum, value);
}

/* Owner thread only: a tick request served; `requests` has it too, when it is read. The smallest are the ones that
 * counting must not slow down: of those it is one number that the three histograms share. */
static inline void tp_metric_tick(struct tp_metrics *metrics, uint64_t took_us, uint64_t wait_us, uint64_t expansions, uint64_t sessions)
{
    tp_metric_observe(&metrics->tick_seconds, took_us);
    if ((wait_us | expansions) == 0 && sessions == 1) {
        tp_metric_add(&metrics->ticks_plain, 1);
    } else {
        tp_metric_observe(&metrics->tick_wait_seconds, wait_us);
        tp_metric_observe(&metrics->tick_expansions, expansions);
        tp_metric_observe(&metrics->tick_sessions, sessions);
    }
}

/* Sums over `count` structs, of the label's i-th value (0 without one). Any thread. A fact reads as a gauge. */
uint64_t tp_metrics_read_counter(const struct tp_metrics *const *all, size_t count, const struct tp_metric_info *info,
                                 size_t value);
int64_t tp_metrics_read_gauge(const struct tp_metrics *const *all, size_t count, const struct tp_metric_info *info,
                              size_t value);

struct tp_histogram_view {
    uint64_t bucket[TP_HISTOGRAM_BUCKETS]; /* not cumulative */
    uint64_t count, sum;
};
void tp_metrics_read_histogram(const struct tp_metrics *const *all, size_t count,
                               const struct tp_metric_info *info, struct tp_histogram_view *out);

/* The upper bound of bucket i; UINT64_MAX for the last. */
uint64_t tp_histogram_bound(size_t i);

/* The least value that so many percent of all do not exceed: in the first bucket with which that many are counted. */
struct tp_histogram_quantile {
    uint64_t most; /* the bucket's bound; UINT64_MAX: it is the last */
    double about;  /* were the bucket's values spread evenly in it; of the last, which has no end, where it begins */
};

/* Of 1..100 percent. False, and zeros: there is no value. Cost: a look at each bucket. */
bool tp_histogram_quantile(const struct tp_histogram_view *view, unsigned percent, struct tp_histogram_quantile *out);

/* Gives zeroed numbers for one writing thread, on cache lines of its own; NULL when out of memory. Freed with
 * free(). */
struct tp_metrics *tp_metrics_new(const char *thread);

#endif
