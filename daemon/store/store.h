/* Where maps outlive the daemon: one interface, several implementations (memory, a data folder, Redis).
 *
 * What it is: the maps' histories. A store holds the tip of each map it was given or has loaded, takes batches, decides about
 * each in the order of the map's log (daemon/store/tip.h: alike for every store and every daemon), and says what came of it. A
 * store may be shared: then what other daemons do to a map comes as events too, in the same order for all of them.
 *
 * Every call returns at once. Work is done on the store's own thread, in the order submitted for one map; where there is
 * nothing to wait for (memory) within the call. Each call that was taken is answered by exactly one event that carries its
 * `context`; events without one tell what another daemon did, or what the store had to do itself. The event callback is
 * called on the store's thread, or within the call, and must only post what it is told somewhere (the world posts it into
 * its own queue).
 *
 *     call      answered by
 *     load      LOADED, or REFUSED
 *     put       BEGUN, or REFUSED
 *     submit    VERSION, REPEATED, or REFUSED
 *     drop      DROPPED, or REFUSED
 *
 * Of one map the store tells, in this order: LOADED or BEGUN once, then VERSION (each the successor of the map told before; with a
 * shared store a later one of the same epoch, where versions were passed over), BEGUN where it began anew in another epoch,
 * DROPPED at the end. REPEATED and REFUSED stand where they were decided in that order.
 *
 * What it refuses: holding up its caller; reporting success before the bytes are as safe as this store promises; saying
 * that a batch was not applied when it may have been (the words of TP_ERR_UNAVAILABLE say which). Who calls it: the world
 * thread; any thread asks for the status.
 */
#ifndef TP_DAEMON_STORE_H
#define TP_DAEMON_STORE_H

#include "base/error.h"
#include "daemon/store/keys.h"
#include "daemon/world/name.h"
#include "daemon/store/tip.h"
#include "map/held.h"
#include "map/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tp_store_event_kind {
    TP_STORE_LOADED,   /* the map is kept; `map` is its newest version */
    TP_STORE_BEGUN,    /* the map begins anew, in another epoch, with `map`: it was put, or acknowledged changes were lost */
    TP_STORE_VERSION,  /* `map` is the newest version */
    TP_STORE_REPEATED, /* the batch's key is known: `version` is what the batch made that came with it first; nothing new */
    TP_STORE_DROPPED,  /* the map is kept no more */
    TP_STORE_REFUSED,  /* an own call came to nothing, for `error` */
};

struct tp_store_event {
    enum tp_store_event_kind kind;
    const char *name;         /* of the map; borrowed until the callback returns */
    void *context;            /* of the call that this answers; NULL: nobody asked here */
    const struct tp_map *map; /* a reference, given: LOADED, BEGUN, VERSION; REPEATED, REFUSED: where the map stands, NULL if that is not
                               * known here. DROPPED: NULL */
    uint64_t version;         /* REPEATED */

    /* REFUSED. Of a load: TP_ERR_NOT_FOUND; TP_ERR_CORRUPT with `reason`. Of a put: TP_ERR_ALREADY_EXISTS (without replace).
     * Of a drop: TP_ERR_FAILED_PRECONDITION (the map is in another epoch). Of a batch: what tp_tip_apply gives, with
     * `refused`; TP_ERR_NOT_FOUND (the map is kept no more). Of all: TP_ERR_UNAVAILABLE (the store can't do it now),
     * TP_ERR_NO_MEMORY. Nothing was done, but where is_unknown is set. */
    int error;
    const char *reason; /* static words, or NULL. BEGUN without a context: why */
    bool is_unknown;    /* TP_ERR_UNAVAILABLE: the call may yet turn out to have been done; a batch with a key is safe to send again */
    struct tp_tip_refused refused;
};

/* TP_ERR_NO_MEMORY: the event was not taken (allowed where it has no context; `map` stays the caller's): the store then
 * forgets the map's tip and loads it again, and tells it by VERSION or BEGUN. */
typedef int (*tp_store_event_cb)(void *context, const struct tp_store_event *event);

/* Called once per list, as events are. The names are borrowed until the callback returns; any order, each once.
 * TP_ERR_UNAVAILABLE, TP_ERR_NO_MEMORY. */
typedef void (*tp_store_listed_cb)(int error, const char *const *names, size_t count, void *context);

enum tp_store_state {
    TP_STORE_OK,
    TP_STORE_DEGRADED, /* something this store promises cannot be had now; it keeps trying */
};

struct tp_store_status {
    enum tp_store_state state;
    char reason[160]; /* words, when degraded; else empty */
};

struct tp_store;

/* Calls that return an error give TP_ERR_NO_MEMORY: it was not taken, and no event comes. */
struct tp_store_ops {
    const char *name; /* "memory", "folder", "redis": for logs and stats */

    /* Begins a map, or with `replace` begins it anew: `map` is the whole of what is kept (no log, no keys). Takes a reference of its
     * own to `map`, which nobody else uses yet and which is counted already (tp_map_count_in) if versions are counted at all. Its epoch is
     * above those of the name's maps that the caller knows of; a shared store, whose other daemons' clocks may be ahead, raises it above
     * the last one's, before the event. */
    int (*put)(struct tp_store *store, const char *name, const struct tp_map *map, bool replace, void *context);

    /* Asks for a batch to be applied to the map, which was told by LOADED or BEGUN or put by a call before. Keeps a pointer to
     * `batch`, whose cells are placed when it is applied (tp_tip_apply), until the event. */
    int (*submit)(struct tp_store *store, const char *name, struct tp_batch *batch, void *context);

    /* Reads a map: snapshot and log, to the newest version kept. */
    int (*load)(struct tp_store *store, const char *name, void *context);

    /* Forgets what is kept under `name`, with every file or key of it; with `has_epoch` only if the map is in that epoch. On
     * TP_ERR_UNAVAILABLE it is kept as it was, or, with is_unknown, nobody knows yet: a DROPPED without a context follows if it is gone. */
    int (*drop)(struct tp_store *store, const char *name, bool has_epoch, uint64_t epoch, void *context);

    int (*list)(struct tp_store *store, tp_store_listed_cb listed, void *context);

    /* Copies the present status into *out. Any thread. */
    void (*status)(struct tp_store *store, struct tp_store_status *out);

    /* Finishes what was submitted (or fails it), joins the thread, frees the store. No callback comes after. */
    void (*close)(struct tp_store *store);
};

/* The head of every implementation's own struct. */
struct tp_store {
    const struct tp_store_ops *ops;
    bool is_volatile; /* constant: what it acknowledges does not survive a restart of the daemon */
    bool is_shared;   /* constant: other daemons may change the maps too */

    /* Set by tp_store_attach. */
    tp_store_event_cb event;
    void *event_context;
    struct tp_map_held *held; /* counts the versions of maps loaded (tp_map_count_in); NULL: not counted */
};

/* Says where events go; once, before the first call that has one. */
static inline void tp_store_attach(struct tp_store *store, tp_store_event_cb event, void *context,
                                   struct tp_map_held *held)
{
    store->event = event;
    store->event_context = context;
    store->held = held;
}

/* The store without a place: acknowledges at once, forgets all with its end. TP_ERR_NO_MEMORY. */
int tp_store_memory_open(struct tp_store **out) TP_MUST_CHECK;

#endif
