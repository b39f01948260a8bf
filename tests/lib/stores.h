/* Stores under test (daemon/store/store.h): a table of how each is opened, calls that remember what answered them, and a record of every
 * event in the order told.
 *
 * What it is: one row a store; a new one is one function that opens it. Whatever it tells is checked against the promises that hold always: each
 * call is answered exactly once and by an event that fits it, and the events of a map are in an order that daemon/store/store.h allows. What it
 * refuses: anything else fails the running test. Who calls it: the tests of stores, of one thread; events come on the store's own.
 */
#ifndef TESTS_LIB_STORES_H
#define TESTS_LIB_STORES_H

#include "daemon/stats/metrics.h"
#include "daemon/store/store.h"
#include "tests/lib/harness.h"

#include <pthread.h>

/* Where a store keeps its maps: made by the first open, over all opens of a test. */
struct stores_place {
    char folder[128]; /* a temporary one, of the test's own */
    bool is_begun;    /* opened before */
    void *server;     /* of the row's own: NULL before the first open */
    bool is_borrowed; /* it is another one's */
    struct tp_metrics *metrics;
};

struct stores_row {
    const char *name;
    bool keeps; /* what it acknowledged is there after a close, and after a SIGKILL, and an open; where not, tests of that skip it */
    struct tp_store *(*open)(struct stores_place *place);
    void (*end)(struct stores_place *place); /* NULL: the folder is all there is to remove */
};
extern const struct stores_row stores_rows[];
extern const int stores_row_count;

enum stores_call_kind { STORES_PUT, STORES_SUBMIT, STORES_LOAD, STORES_DROP };

/* A call, and what came of it. */
struct stores_call {
    struct stores_call *next;
    enum stores_call_kind kind;
    char name[TP_WORLD_NAME_MAX + 1];
    struct tp_batch batch;       /* its own copy */
    unsigned answers;            /* 1 once it is settled */
    size_t at;                   /* its answer's place among all events */
    struct tp_store_event event; /* the map's reference is the record's */
    const struct tp_map *stands; /* the map that was told last before it: NULL for none */
};

/* What was told of one map last. */
struct stores_told {
    char name[TP_WORLD_NAME_MAX + 1];
    const struct tp_map *map;
};
enum { STORES_MAPS = 64 };

struct stores {
    const struct stores_row *row;
    struct stores_place place;
    struct tp_store *store; /* NULL: closed */
    struct tp_map_held held;

    struct stores_call *calls; /* all, the last one first */

    pthread_mutex_t lock;
    pthread_cond_t came;
    size_t asked, answered; /* calls */
    size_t events, strange; /* told; of those without a context */
    char fault[256];        /* what was told that may not be, in words; empty: nothing */
    struct stores_told told[STORES_MAPS];
};

/* Begins with an empty place, and opens it. */
void stores_begin(struct stores *stores, int row);

/* Closes, then checks and forgets everything. */
void stores_end(struct stores *stores);

/* Closes: afterwards every call has its answer. Opens again. */
void stores_close(struct stores *stores);
void stores_open(struct stores *stores);

/* Whether the row keeps what it acknowledges; says so when not. */
bool stores_keeps_or_skip(const struct stores *stores);

/* Calls. They return at once; stores_settle waits for the answers to all. The call is the record's. */
struct stores_call *stores_put(struct stores *stores, const char *name, const struct tp_map *map, bool replace);
struct stores_call *stores_submit(struct stores *stores, const char *name, const struct tp_batch *batch);
struct stores_call *stores_load(struct stores *stores, const char *name);
struct stores_call *stores_drop(struct stores *stores, const char *name);
struct stores_call *stores_drop_epoch(struct stores *stores, const char *name, uint64_t epoch);
void stores_settle(struct stores *stores);

/* The map that was told last of this name; NULL: none. Borrowed: until the next event, so settle first where there may be one. */
const struct tp_map *stores_stands(struct stores *stores, const char *name);

/* Waits until it is at this version, of this epoch, and fails if that takes long. */
void stores_await(struct stores *stores, const char *name, uint64_t epoch, uint64_t version);

/* Begins on the server of another one, which ends after it. */
void stores_begin_beside(struct stores *stores, const struct stores *other);

/* Asks, waits, and gives the names in static memory, sorted. */
struct stores_names {
    size_t count;
    char name[STORES_MAPS][TP_WORLD_NAME_MAX + 1];
};
const struct stores_names *stores_list(struct stores *stores);

/* Settles, then fails unless the call's answer is this. */
void stores_expect(struct stores *stores, struct stores_call *call, enum tp_store_event_kind kind, int error);

/* The same, of an answer with a map at this version. */
void stores_expect_at(struct stores *stores, struct stores_call *call, enum tp_store_event_kind kind, uint64_t epoch,
                      uint64_t version);

/* A number made of all that a map holds (sizes, profile, classes; edges, costs, what is closed) but epoch and version. */
uint64_t stores_content(const struct tp_map *map);

/* Fails unless two maps are the same version with the same content. */
void stores_expect_same(const struct tp_map *a, const struct tp_map *b);

/* A free grid in this epoch, and one change of one cell of it, both alive until the test ends. */
struct tp_map *stores_grid(uint32_t width, uint32_t height, uint64_t epoch);

/* A ring of nodes with two edges each, and coordinates. */
struct tp_map *stores_graph(uint32_t nodes, uint64_t epoch);

/* A batch that sets one cell; key 0: it has none. The change lies in static memory of a few last ones. */
struct tp_batch stores_cell(uint32_t x, uint32_t y, uint8_t class_to, uint64_t key);
struct tp_key stores_key(uint64_t number);

#endif
