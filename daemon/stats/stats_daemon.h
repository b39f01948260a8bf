/* The running daemon as a source of the stats (stats.h): what /stats, /metrics, /readyz and the live view read of it.
 *
 * What it is: the functions of a struct tp_stats_source over the world, the store and the life cycle. What it refuses: owning any of them;
 * waiting for a loop or for the store. Who calls it: the server, once, before the stats port opens; from then on the source's readers do,
 * through its functions, on any thread.
 */
#ifndef TP_DAEMON_STATS_DAEMON_H
#define TP_DAEMON_STATS_DAEMON_H

#include "daemon/stats/stats.h"
#include "daemon/world/world.h"

struct tp_life;

/* All is given, and borrowed for as long as anybody reads the source. */
struct tp_stats_daemon {
    const struct tp_life *life;
    struct tp_store *store;
    struct tp_world *world;
    uint64_t started_us;     /* the loops' clock when the daemon started, */
    int64_t started_unix_ms; /* and the wall clock then */
};

/* Sets what a source reads of the daemon: its store's words, when it started, context and functions. The numbers (metrics and their count,
 * pool_cap, held, uploads, threads) are the caller's, before or after. Borrows `daemon`. */
void tp_stats_daemon_fill(struct tp_stats_daemon *daemon, struct tp_stats_source *source);

#endif
