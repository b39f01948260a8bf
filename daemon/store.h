/* Where maps outlive the daemon: one interface, several implementations (memory, a data folder, Redis).
 *
 * What it is: a queue and a thread of its own behind a table of function pointers. Every call returns at
 * once; the work is done on the store's thread in the order submitted, and the completion is called on that
 * thread, or within the call where there is nothing to wait for (memory): it must only post the result somewhere (the world posts
 * it into its own queue). What it refuses:
 * holding up its caller; reporting success before the bytes are as safe as this store promises. Who calls it:
 * the world thread submits; any thread asks for the status.
 *
 * Ordering: batches of one map are submitted with versions that follow each other. After a failed append the
 * store fails every later batch of that map until one follows what it holds, so that no gap is ever
 * acknowledged.
 */
#ifndef TP_DAEMON_STORE_H
#define TP_DAEMON_STORE_H

#include "base/error.h"
#include "daemon/keys.h"
#include "daemon/name.h"
#include "map/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called once per submitted call that was taken, on the store's thread or within the call. `error` is 0; TP_ERR_UNAVAILABLE: the store
 * could not write it now (one that serves degraded keeps it and writes it later, another has dropped it);
 * TP_ERR_NO_MEMORY, TP_ERR_INTERNAL: it has dropped it. */
typedef void (*tp_store_done_cb)(int error, void *context);

/* Likewise. On 0 gives one reference to `map`; `keys` are those of the batches applied to it last, to be taken out (or left) before
 * the callback returns; NULL for none. TP_ERR_NOT_FOUND: the store holds no map of that name;
 * TP_ERR_CORRUPT with `reason` (static words) when what it holds fails its checks; TP_ERR_UNAVAILABLE when it
 * cannot be asked. */
typedef void (*tp_store_loaded_cb)(int error, struct tp_map *map, struct tp_keys *keys, const char *reason, void *context);

/* Likewise. The names are borrowed until the callback returns; any order, each once. */
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

struct tp_store_ops {
    const char *name; /* "memory", "folder", "redis": for logs and stats */

    /* Makes `map` the whole of what is kept under `name` (snapshot; the log begins anew; no keys). Keeps a reference
     * of its own to `map` and copies `name` until done. TP_ERR_NO_MEMORY: it was not taken, and no completion comes:
     * the caller learns of it before anything is built on `map`. */
    int (*put)(struct tp_store *store, const char *name, const struct tp_map *map, tp_store_done_cb done,
               void *context);

    /* Appends the batch that made `after` (its version and epoch name the batch) to the map's log, or writes
     * `after` as a new snapshot where the implementation finds that better. `batch` is tp_batch_encode's
     * bytes and is copied; its key is kept with those before it; a reference to `after` is kept until done. TP_ERR_NO_MEMORY: as above. */
    int (*append)(struct tp_store *store, const char *name, const struct tp_map *after, const void *batch,
                  size_t batch_bytes, tp_store_done_cb done, void *context);

    /* Reads a map: snapshot and log, to the newest version kept. */
    void (*load)(struct tp_store *store, const char *name, tp_store_loaded_cb loaded, void *context);

    /* Forgets what is kept under `name`, with every file or key of it. On TP_ERR_UNAVAILABLE it is kept as it was; where
     * the implementation cannot know that, it writes `map`, the newest version (NULL: none can be read), anew. Keeps a
     * reference of its own to `map` until done. TP_ERR_NO_MEMORY: as above. */
    int (*drop)(struct tp_store *store, const char *name, const struct tp_map *map, tp_store_done_cb done,
                void *context);

    void (*list)(struct tp_store *store, tp_store_listed_cb listed, void *context);

    /* Copies the present status into *out. Any thread. */
    void (*status)(struct tp_store *store, struct tp_store_status *out);

    /* Finishes what was submitted (or fails it), joins the thread, frees the store. No callback comes after.
     */
    void (*close)(struct tp_store *store);
};

/* The head of every implementation's own struct. */
struct tp_store {
    const struct tp_store_ops *ops;
    bool is_volatile; /* constant: what it acknowledges does not survive a restart of the daemon */

    /* Constant. What the world does when put or append completes with TP_ERR_UNAVAILABLE: false (the data folder):
     * the change is refused and not applied; true (a store that may be away while the daemon serves on, and writes
     * later what it could not write now): it is applied and acknowledged, and the welcome and the stats say
     * degraded. After any other error it is refused. */
    bool serves_degraded;
};

/* The store without a place: acknowledges at once, holds nothing. TP_ERR_NO_MEMORY. */
int tp_store_memory_open(struct tp_store **out) TP_MUST_CHECK;

#endif
