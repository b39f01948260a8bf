/* Every number the daemon counts, in one table.
 *
 * What it is: the X-macro list below generates the storage (one struct per writing thread, on cache lines of
 * its own), the descriptors from which the stats endpoint renders, and the docs' check. A thread adds to its
 * own struct with a relaxed load and store, never a locked instruction; a reader sums over all structs. What
 * it refuses: user-supplied labels (a client could make any number of them). Who calls it: tp_metric_* by the
 * one thread that owns the struct; tp_metrics_read_* by any.
 *
 * To count something new: one line in the list, one call where it happens.
 */
#ifndef TP_DAEMON_METRICS_H
#define TP_DAEMON_METRICS_H

#include "base/line.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* X(TYPE, field, unit, help). The exported name is tickpath_<field>, with _total added for a counter; the
 * unit is the field's last word where it has one. A gauge is a sum over threads of what each holds now. */
#define TP_METRIC_LIST(X)                                                                                    \
    X(COUNTER, connections_accepted, "", "Connections accepted.")                                            \
    X(COUNTER, connections_refused, "", "Connections closed at once because connections-max was reached.")   \
    X(COUNTER, connections_dropped, "",                                                                      \
      "Connections ended by the daemon: timeouts, slow readers, bad frames.")                                \
    X(GAUGE, connections_open, "", "Connections open now.")                                                  \
    X(COUNTER, received_bytes, "bytes", "Bytes read from clients.")                                          \
    X(COUNTER, sent_bytes, "bytes", "Bytes written to clients.")                                             \
    X(GAUGE, output_queued_bytes, "bytes", "Reply bytes waiting for slow readers now.")                      \
    X(COUNTER, reading_paused, "", "Times a connection's reading stopped because its output was full.")      \
    X(COUNTER, slow_reader_dropped, "", "Connections dropped because their output stayed full too long.")    \
    X(COUNTER, timeouts_hello, "", "Connections dropped because no hello came in time.")                     \
    X(COUNTER, timeouts_idle, "", "Connections dropped because nothing came in time.")                       \
    X(COUNTER, frames_bad, "", "Frames that were malformed or too large.")                                   \
    X(COUNTER, requests, "", "Requests handled.")                                                            \
    X(COUNTER, errors, "", "Requests answered with an error.")                                               \
    X(COUNTER, sessions_opened, "", "Sessions opened.")                                                      \
    X(COUNTER, sessions_closed, "", "Sessions closed, by request, with their connection, or ended.")         \
    X(COUNTER, sessions_ended, "", "Sessions ended because their map began anew or was dropped elsewhere.")   \
    X(GAUGE, sessions_open, "", "Sessions open now.")                                                        \
    X(GAUGE, sessions_closing, "", "Sessions closed whose search memory is not put back yet.")               \
    X(COUNTER, versions_let_go, "", "Old versions of maps that sessions not ticked for long let go of.")     \
    X(COUNTER, ticks, "", "Tick requests served.")                                                           \
    X(COUNTER, agent_ticks, "", "Sessions ticked.")                                                          \
    X(COUNTER, agent_ticks_refused, "", "Sessions named in a tick that could not be ticked.")                \
    X(COUNTER, agent_ticks_starved, "", "Sessions that wanted to search, and a shared total left them no expansion.") \
    X(COUNTER, moves, "", "Moves answered.")                                                                 \
    X(COUNTER, back_moves, "", "Moves that were physical backtracks.")                                       \
    X(COUNTER, pauses, "", "Agent ticks that waited instead of moving back (pause_on_backtrack).")           \
    X(COUNTER, flips, "", "Times a path followed was left for one that does not go on from it.")             \
    X(COUNTER, looping, "", "Agent ticks answered with the flag LOOPING.")                                   \
    X(COUNTER, arrivals, "", "Moves that arrived.")                                                          \
    X(COUNTER, status_searching, "", "Agent ticks answered SEARCHING.")                                      \
    X(COUNTER, status_blocked, "", "Agent ticks answered BLOCKED.")                                          \
    X(COUNTER, status_unreachable, "", "Agent ticks answered UNREACHABLE.")                                  \
    X(COUNTER, restarts, "", "Searches begun anew.")                                                         \
    X(COUNTER, node_cap, "", "Agent ticks answered with the flag NODE_CAP.")                                 \
    X(COUNTER, expansions, "", "States expanded.")                                                           \
    X(COUNTER, traced, "", "Steps paid at 1/c: traceback, looks at changes, open entries renewed, ...")      \
    X(COUNTER, generated, "", "States given a (better) g.")                                                  \
    X(COUNTER, learned, "", "Heuristic updates.")                                                            \
    X(COUNTER, guide_expansions, "", "Units that guided sessions paid for what guides them.")                \
    X(GAUGE, guide_bytes, "bytes", "Memory of goal fields and scouts of guided sessions now.")               \
    X(GAUGE, guide_fields, "", "Goal fields in memory, those included that no session uses now.")            \
    X(COUNTER, guide_fields_made, "", "Goal fields made.")                                                   \
    X(COUNTER, guide_fields_shared, "", "Times a session found its goal field made already.")                \
    X(COUNTER, guide_fields_given_up, "", "Goal fields that no session used given up to make room.")         \
    X(COUNTER, guide_refused, "", "Times there was no room for a goal field or a scout (guide-bytes-max).")  \
    X(COUNTER, guide_settled, "", "Areas settled by goal fields: their work, done once for all who share.")  \
    X(HISTOGRAM, starved_ticks, "", "Ticks on end that a session was starved in, counted when it is so no more.")  \
    X(HISTOGRAM, tick_us, "us", "Time to serve one tick request, all its sessions.")                         \
    X(HISTOGRAM, tick_expansions, "", "Expansions of one tick request, all its sessions.")                   \
    X(HISTOGRAM, tick_sessions, "", "Sessions of one tick request.")                                         \
    X(GAUGE, subscriptions_open, "", "Subscriptions to the changes of maps, of all connections, now.")       \
    X(COUNTER, pushes, "", "Messages about changes of maps pushed to subscribers.")                          \
    X(GAUGE, maps, "", "Maps in memory.")                                                                    \
    X(GAUGE, map_cells, "", "Cells of the maps in memory.")                                                  \
    X(GAUGE, layers, "", "Layers of maps in memory: profiles, agent sizes and block graphs in use.")         \
    X(COUNTER, maps_put, "", "Maps uploaded whole.")                                                         \
    X(COUNTER, maps_loaded, "", "Maps read from the store.")                                                 \
    X(COUNTER, batches_applied, "", "Change batches applied; each made one version.")                        \
    X(COUNTER, batches_repeated, "", "Change batches not applied again because their key was known.")        \
    X(COUNTER, batches_refused, "", "Change batches refused.")                                               \
    X(COUNTER, changes_applied, "", "Cells, rectangles, bitmaps, runs, edges and nodes in the batches applied.") \
    X(HISTOGRAM, change_us, "us", "Time from a batch's arrival at the world to its acknowledgement.")        \
    X(COUNTER, store_writes, "", "Snapshots and batches written by the store.")                              \
    X(COUNTER, store_syncs, "", "Syncs (or round trips) of the store; one serves all that was queued.")      \
    X(COUNTER, store_errors, "", "Failed calls of the store.")                                               \
    X(COUNTER, store_written_bytes, "bytes", "Bytes written by the store.")                                  \
    X(COUNTER, store_snapshots, "", "Snapshots written by the store.")                                       \
    X(COUNTER, store_reads, "", "Answers of a shared store that brought entries of a map's log.")             \
    X(COUNTER, store_entries_read, "", "Entries of shared maps' logs that were read and decided.")           \
    X(COUNTER, store_loads, "", "Times a map was read from a shared store, the first time or anew.")         \
    X(COUNTER, store_restores, "", "Times entries that a shared store had lost were put back.")              \
    X(COUNTER, store_reconnects, "", "Times a shared store was lost.")                                       \
    X(HISTOGRAM, store_log_us, "us", "Time from a batch's sending to the log to its decision, read back.")   \
    X(HISTOGRAM, store_sync_us, "us", "Time of one sync (or round trip) of the store.")

enum tp_metric_type { TP_METRIC_COUNTER, TP_METRIC_GAUGE, TP_METRIC_HISTOGRAM };

/* Bucket i counts values <= 2^i; the last counts the rest (+Inf). */
enum { TP_HISTOGRAM_BUCKETS = 28 };

struct tp_histogram {
    _Atomic uint64_t bucket[TP_HISTOGRAM_BUCKETS]; /* each its own share, not cumulative */
    _Atomic uint64_t sum;
};

#define TP_METRIC_FIELD_COUNTER(field) _Atomic uint64_t field;
#define TP_METRIC_FIELD_GAUGE(field) _Atomic int64_t field;
#define TP_METRIC_FIELD_HISTOGRAM(field) struct tp_histogram field;
#define TP_METRIC_FIELD(type, field, unit, help) TP_METRIC_FIELD_##type(field)

/* One writing thread's numbers. */
struct tp_metrics {
    _Alignas(2 * TP_LINE_BYTES) char thread[16]; /* "loop0", "world", "store": for the JSON's per-thread view */
    TP_METRIC_LIST(TP_METRIC_FIELD)
};
/* Two lines, since processors fetch them in pairs: a thread's numbers begin and end with a pair. */
_Static_assert(_Alignof(struct tp_metrics) == 2 * TP_LINE_BYTES && sizeof(struct tp_metrics) % (2 * TP_LINE_BYTES) == 0,
               "the numbers of two threads may share a cache line");

/* A descriptor per line of the list, in its order. */
struct tp_metric_info {
    enum tp_metric_type type;
    const char *name; /* the field's name */
    const char *unit;
    const char *help;
    size_t offset; /* of the field in struct tp_metrics */
};
extern const struct tp_metric_info tp_metric_table[];
extern const size_t tp_metric_count;

/* Owner thread only. */
static inline void tp_metric_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Owner thread only. */
static inline void tp_metric_gauge_add(_Atomic int64_t *gauge, int64_t n)
{
    atomic_store_explicit(gauge, atomic_load_explicit(gauge, memory_order_relaxed) + n, memory_order_relaxed);
}

/* Owner thread only. */
void tp_metric_observe(struct tp_histogram *histogram, uint64_t value);

/* Sums over `count` structs. Any thread. */
uint64_t tp_metrics_read_counter(const struct tp_metrics *const *all, size_t count,
                                 const struct tp_metric_info *info);
int64_t tp_metrics_read_gauge(const struct tp_metrics *const *all, size_t count,
                              const struct tp_metric_info *info);

struct tp_histogram_view {
    uint64_t bucket[TP_HISTOGRAM_BUCKETS]; /* not cumulative */
    uint64_t count, sum;
};
void tp_metrics_read_histogram(const struct tp_metrics *const *all, size_t count,
                               const struct tp_metric_info *info, struct tp_histogram_view *out);

/* The upper bound of bucket i; UINT64_MAX for the last. */
uint64_t tp_histogram_bound(size_t i);

/* Gives zeroed numbers for one writing thread, on cache lines of its own; NULL when out of memory. Freed with
 * free(). */
struct tp_metrics *tp_metrics_new(const char *thread);

#endif
