/* A store of a test's own that answers when it is told to: what the world does with a store that is late, fails, or is shared
 * with other daemons, one step after the other on one thread.
 *
 * What it is: the interface of daemon/store/store.h over tips in memory. Calls are queued; late_store_answer completes the oldest, as
 * decided by tp_tip_apply, or as a store does that could not. late_store_elsewhere_* play another daemon. What it refuses: threads.
 * Everything asserts. Who calls it: tests of the world.
 */
#ifndef TESTS_LIB_LATE_STORE_H
#define TESTS_LIB_LATE_STORE_H

#include "daemon/store/store.h"

enum { LATE_CALLS = 64, LATE_MAPS = 8 };

struct late_store {
    struct tp_store store; /* first; give a pointer to it to the world */
    struct late_call {
        enum { LATE_PUT, LATE_SUBMIT, LATE_LOAD, LATE_DROP } kind;
        char name[TP_WORLD_NAME_MAX + 1];
        const struct tp_map *map; /* LATE_PUT: a reference */
        bool replace, has_epoch;
        uint64_t epoch;
        struct tp_batch *batch;
        void *context;
    } calls[LATE_CALLS];
    size_t count;
    int takes;      /* what put, submit and drop return: 0, or TP_ERR_NO_MEMORY and nothing is taken */
    int load_error; /* what loads are refused with; 0: they find what is kept */
    uint64_t epoch_last; /* of all maps: a put that is not above it is raised, as a shared store does */
    bool loads_late; /* loads are queued like the rest; else they are answered within the call */
    struct late_map {
        char name[TP_WORLD_NAME_MAX + 1]; /* empty: free */
        struct tp_tip tip;
    } maps[LATE_MAPS];
};

/* Sets up an empty store. */
void late_store_init(struct late_store *late);

/* No call may wait. */
void late_store_fini(struct late_store *late);

/* Completes the oldest call: 0, as it is decided; else refused with this error. */
void late_store_answer(struct late_store *late, int error);

/* The map kept under a name, borrowed; NULL: none. */
const struct tp_map *late_store_kept(struct late_store *late, const char *name);

/* What another daemon does, told as an event that nobody here asked for: a batch on what is kept (TP_ERR_NOT_FOUND when nothing is;
 * else as decided; only an applied one is told), a map put (takes a reference of its own), a drop (nothing when nothing is kept). */
int late_store_elsewhere_submit(struct late_store *late, const char *name, struct tp_batch *batch);
void late_store_elsewhere_put(struct late_store *late, const char *name, const struct tp_map *map);
void late_store_elsewhere_drop(struct late_store *late, const char *name);

#endif
