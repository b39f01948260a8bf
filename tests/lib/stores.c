#include "tests/lib/stores.h"

#include "daemon/store/store_embedded.h"
#include "daemon/store/store_redis.h"
#include "tests/lib/maps.h"
#include "tests/lib/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAIT_S = 50 };

/* ---- The table ---- */

static struct tp_store *open_memory(struct stores_place *place)
{
    (void)place;
    struct tp_store *store;
    ck_assert_int_eq(tp_store_memory_open(&store), 0);
    return store;
}

/* Folds often, so that logs and snapshots both have their part. */
static struct tp_store *open_folder(struct stores_place *place)
{
    struct tp_store *store;
    char reason[256];
    int error = tp_store_embedded_open(&store, place->folder, 7, place->metrics, reason);
    ck_assert_msg(error == 0, "%s", reason);
    return store;
}

/* A server of the test's own; snapshots often, so that they and the log both have their part. */
static struct tp_store *open_redis(struct stores_place *place)
{
    static const struct tp_store_redis_options options = {.snapshot_batches = 7};
    if (place->server == NULL) {
        place->server = malloc(sizeof(struct test_redis));
        ck_assert_ptr_nonnull(place->server);
        test_redis_init(place->server);
        test_redis_start(place->server);
    }
    struct tp_store *store;
    struct tp_store_status status;
    char reason[160];
    int error = tp_store_redis_open(&store, ((struct test_redis *)place->server)->url, &options, place->metrics, reason);
    ck_assert_msg(error == 0, "%s", reason);
    for (int tries = 0; store->ops->status(store, &status), status.state != TP_STORE_OK; tries++) {
        ck_assert_msg(tries < 1000 * WAIT_S / 10, "the store is not well: %s", status.reason);
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000000}, NULL);
    }
    return store;
}

static void end_redis(struct stores_place *place)
{
    test_redis_fini(place->server);
    free(place->server);
}

const struct stores_row stores_rows[] = {
    {.name = "memory", .open = open_memory},
    {.name = "folder", .keeps = true, .open = open_folder},
    {.name = "redis", .keeps = true, .open = open_redis, .end = end_redis},
};
const int stores_row_count = sizeof stores_rows / sizeof *stores_rows;

/* ---- What is told ---- */

static const char *const kind_names[] = {"LOADED", "BEGUN", "VERSION", "REPEATED", "DROPPED", "REFUSED"};

/* With the lock held: notes the first fault. */
static void fault(struct stores *stores, const struct tp_store_event *event, const char *words)
{
    if (stores->fault[0] == '\0')
        snprintf(stores->fault, sizeof stores->fault, "event %zu, %s of '%s': %s", stores->events, kind_names[event->kind],
                 event->name, words);
}

static struct stores_told *told_of(struct stores *stores, const char *name)
{
    size_t i = 0;
    while (i < STORES_MAPS - 1 && stores->told[i].name[0] != '\0' && strcmp(stores->told[i].name, name) != 0)
        i++;
    snprintf(stores->told[i].name, sizeof stores->told[i].name, "%s", name);
    return &stores->told[i];
}

static bool same_place(const struct tp_map *a, const struct tp_map *b)
{
    return a->epoch == b->epoch && a->version == b->version;
}

/* What may be told, given what was told of the map last. NULL, or what is wrong. */
static const char *wrong(const struct stores *stores, const struct tp_store_event *event, const struct tp_map *last)
{
    const struct tp_map *map = event->map;
    bool is_shared = stores->store != NULL && stores->store->is_shared;
    switch (event->kind) {
    case TP_STORE_LOADED:
        return map == NULL ? "without a map" : last != NULL && !same_place(map, last) ? "not where it stood" : NULL;
    case TP_STORE_BEGUN:
        return map == NULL ? "without a map" : last != NULL && last->epoch == map->epoch ? "in the same epoch" : NULL;
    case TP_STORE_VERSION:
        if (map == NULL || last == NULL)
            return map == NULL ? "without a map" : "of a map that was not told";
        if (map->epoch != last->epoch)
            return "in another epoch";
        if (is_shared ? map->version <= last->version : map->version != last->version + 1)
            return "not the next one";
        return NULL;
    case TP_STORE_REPEATED:
        if (event->version == 0 || (map != NULL && event->version > map->version))
            return "of a version that is none";
        break;
    case TP_STORE_DROPPED:
        return map != NULL ? "with a map" : NULL;
    case TP_STORE_REFUSED:
        if (event->error == 0 || (event->is_unknown && event->error != TP_ERR_UNAVAILABLE))
            return "with no such error";
        break;
    }
    return map != NULL && last != NULL && !same_place(map, last) ? "with a map that does not stand there" : NULL;
}

static bool fits_call(enum tp_store_event_kind kind, enum stores_call_kind call)
{
    switch (kind) {
    case TP_STORE_LOADED:
        return call == STORES_LOAD;
    case TP_STORE_BEGUN:
        return call == STORES_PUT;
    case TP_STORE_VERSION:
    case TP_STORE_REPEATED:
        return call == STORES_SUBMIT;
    case TP_STORE_DROPPED:
        return call == STORES_DROP;
    case TP_STORE_REFUSED:
        return true;
    }
    return false;
}

/* The store's thread, or within the call. */
static int event_cb(void *context, const struct tp_store_event *event)
{
    struct stores *stores = context;
    struct stores_call *call = event->context;
    pthread_mutex_lock(&stores->lock);
    struct stores_told *told = told_of(stores, event->name);
    const char *words = wrong(stores, event, told->map);
    if (words != NULL)
        fault(stores, event, words);
    if (call == NULL) {
        stores->strange++;
    } else if (call->answers++ > 0) {
        fault(stores, event, "a second answer");
    } else {
        if (!fits_call(event->kind, call->kind) || strcmp(event->name, call->name) != 0)
            fault(stores, event, "not an answer to this call");
        call->event = *event;
        call->event.name = call->name;
        call->event.map = event->map == NULL ? NULL : tp_map_ref(event->map);
        call->at = stores->events;
        call->stands = told->map == NULL ? NULL : tp_map_ref(told->map);
        stores->answered++;
    }
    stores->events++;
    if (event->kind == TP_STORE_LOADED || event->kind == TP_STORE_BEGUN || event->kind == TP_STORE_VERSION ||
        event->kind == TP_STORE_DROPPED) {
        tp_map_unref(told->map);
        told->map = event->map;
    } else {
        tp_map_unref(event->map);
    }
    pthread_cond_broadcast(&stores->came);
    pthread_mutex_unlock(&stores->lock);
    return 0;
}

/* ---- Opening and closing ---- */

static void begin(struct stores *stores, const struct stores_row *row, void *server)
{
    *stores = (struct stores){.row = row, .place = {.server = server, .is_borrowed = server != NULL}};
    pthread_mutex_init(&stores->lock, NULL);
    pthread_cond_init(&stores->came, NULL);
    snprintf(stores->place.folder, sizeof stores->place.folder, "%s", tp_test_folder_make());
    stores->place.metrics = tp_metrics_new("store");
    ck_assert_ptr_nonnull(stores->place.metrics);
    stores_open(stores);
}

void stores_begin(struct stores *stores, int row)
{
    begin(stores, &stores_rows[row], NULL);
}

void stores_begin_beside(struct stores *stores, const struct stores *other)
{
    begin(stores, other->row, other->place.server);
}

void stores_open(struct stores *stores)
{
    ck_assert_ptr_null(stores->store);
    stores->store = stores->row->open(&stores->place);
    stores->place.is_begun = true;
    ck_assert_int_eq(stores->store->is_volatile, !stores->row->keeps);
    tp_store_attach(stores->store, event_cb, stores, &stores->held);
}

static void expect_no_fault(struct stores *stores)
{
    pthread_mutex_lock(&stores->lock);
    ck_assert_msg(stores->fault[0] == '\0', "%s: %s", stores->row->name, stores->fault);
    pthread_mutex_unlock(&stores->lock);
}

void stores_close(struct stores *stores)
{
    stores->store->ops->close(stores->store);
    stores->store = NULL;
    expect_no_fault(stores);
    ck_assert_msg(stores->answered == stores->asked, "%s: %zu of %zu calls have no answer when it is closed", stores->row->name,
                  stores->asked - stores->answered, stores->asked);
    for (size_t i = 0; i < STORES_MAPS; i++)
        tp_map_unref(stores->told[i].map);
    memset(stores->told, 0, sizeof stores->told);
}

static void free_batch(struct tp_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        free((void *)(uintptr_t)batch->changes[i].bits);
    free(batch->changes);
}

void stores_end(struct stores *stores)
{
    if (stores->store != NULL)
        stores_close(stores);
    while (stores->calls != NULL) {
        struct stores_call *call = stores->calls;
        stores->calls = call->next;
        tp_map_unref(call->event.map);
        tp_map_unref(call->stands);
        free_batch(&call->batch);
        free(call);
    }
    tp_map_held_end_gone(&stores->held);
    ck_assert_msg(stores->held.versions == 0, "%s: %llu versions are held by nobody", stores->row->name,
                  (unsigned long long)stores->held.versions);
    if (stores->row->end != NULL && !stores->place.is_borrowed)
        stores->row->end(&stores->place);
    free(stores->place.metrics);
    tp_test_folder_remove(stores->place.folder);
    pthread_cond_destroy(&stores->came);
    pthread_mutex_destroy(&stores->lock);
}

bool stores_keeps_or_skip(const struct stores *stores)
{
    if (!stores->row->keeps)
        printf("%s: skipped, it keeps nothing over its end\n", stores->row->name);
    return stores->row->keeps;
}

/* ---- Calls ---- */

static struct stores_call *call_new(struct stores *stores, enum stores_call_kind kind, const char *name)
{
    struct stores_call *call = calloc(1, sizeof *call);
    ck_assert_ptr_nonnull(call);
    call->kind = kind;
    snprintf(call->name, sizeof call->name, "%s", name);
    call->next = stores->calls;
    stores->calls = call;
    pthread_mutex_lock(&stores->lock);
    stores->asked++;
    pthread_mutex_unlock(&stores->lock);
    return call;
}

struct stores_call *stores_put(struct stores *stores, const char *name, const struct tp_map *map, bool replace)
{
    struct stores_call *call = call_new(stores, STORES_PUT, name);
    tp_map_count_in((struct tp_map *)(uintptr_t)map, &stores->held);
    ck_assert_int_eq(stores->store->ops->put(stores->store, name, map, replace, call), 0);
    return call;
}

struct stores_call *stores_submit(struct stores *stores, const char *name, const struct tp_batch *batch)
{
    struct stores_call *call = call_new(stores, STORES_SUBMIT, name);
    call->batch = *batch;
    call->batch.changes = malloc((batch->count + 1) * sizeof *batch->changes);
    for (size_t i = 0; i < batch->count; i++) {
        struct tp_change *change = &call->batch.changes[i];
        *change = batch->changes[i];
        if (change->bits == NULL)
            continue;
        uint8_t *bits = malloc(change->bits_size + 1);
        memcpy(bits, change->bits, change->bits_size);
        change->bits = bits;
    }
    ck_assert_int_eq(stores->store->ops->submit(stores->store, name, &call->batch, call), 0);
    return call;
}

struct stores_call *stores_load(struct stores *stores, const char *name)
{
    struct stores_call *call = call_new(stores, STORES_LOAD, name);
    ck_assert_int_eq(stores->store->ops->load(stores->store, name, call), 0);
    return call;
}

struct stores_call *stores_drop(struct stores *stores, const char *name)
{
    struct stores_call *call = call_new(stores, STORES_DROP, name);
    ck_assert_int_eq(stores->store->ops->drop(stores->store, name, false, 0, call), 0);
    return call;
}

struct stores_call *stores_drop_epoch(struct stores *stores, const char *name, uint64_t epoch)
{
    struct stores_call *call = call_new(stores, STORES_DROP, name);
    ck_assert_int_eq(stores->store->ops->drop(stores->store, name, true, epoch, call), 0);
    return call;
}

static struct timespec until(void)
{
    struct timespec when;
    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_sec += WAIT_S;
    return when;
}

void stores_settle(struct stores *stores)
{
    struct timespec when = until();
    pthread_mutex_lock(&stores->lock);
    int error = 0;
    while (stores->answered < stores->asked && error == 0)
        error = pthread_cond_timedwait(&stores->came, &stores->lock, &when);
    size_t asked = stores->asked, answered = stores->answered;
    pthread_mutex_unlock(&stores->lock);
    ck_assert_msg(answered == asked, "%s: %zu of %zu calls have no answer in %d s", stores->row->name, asked - answered, asked,
                  WAIT_S);
    expect_no_fault(stores);
}

const struct tp_map *stores_stands(struct stores *stores, const char *name)
{
    pthread_mutex_lock(&stores->lock);
    const struct tp_map *map = told_of(stores, name)->map;
    pthread_mutex_unlock(&stores->lock);
    return map;
}

void stores_await(struct stores *stores, const char *name, uint64_t epoch, uint64_t version)
{
    struct timespec when = until();
    int error = 0;
    uint64_t at_epoch = 0, at_version = 0;
    pthread_mutex_lock(&stores->lock);
    for (;;) {
        const struct tp_map *map = told_of(stores, name)->map;
        at_epoch = map != NULL ? map->epoch : 0;
        at_version = map != NULL ? map->version : 0;
        if ((at_epoch == epoch && at_version == version) || error != 0)
            break;
        error = pthread_cond_timedwait(&stores->came, &stores->lock, &when);
    }
    pthread_mutex_unlock(&stores->lock);
    ck_assert_msg(error == 0, "%s: '%s' is at %llu of %llu, and never at %llu of %llu", stores->row->name, name,
                  (unsigned long long)at_version, (unsigned long long)at_epoch, (unsigned long long)version, (unsigned long long)epoch);
    expect_no_fault(stores);
}

struct listing {
    struct stores *stores;
    bool is_done;
    int error;
    struct stores_names names;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void listed_cb(int error, const char *const *names, size_t count, void *context)
{
    struct listing *listing = context;
    pthread_mutex_lock(&listing->stores->lock);
    listing->error = error;
    listing->names.count = count;
    for (size_t i = 0; i < count && i < STORES_MAPS; i++)
        snprintf(listing->names.name[i], sizeof listing->names.name[i], "%s", names[i]);
    listing->is_done = true;
    pthread_cond_broadcast(&listing->stores->came);
    pthread_mutex_unlock(&listing->stores->lock);
}

const struct stores_names *stores_list(struct stores *stores)
{
    static struct listing listing;
    listing = (struct listing){.stores = stores};
    ck_assert_int_eq(stores->store->ops->list(stores->store, listed_cb, &listing), 0);
    struct timespec when = until();
    pthread_mutex_lock(&stores->lock);
    int error = 0;
    while (!listing.is_done && error == 0)
        error = pthread_cond_timedwait(&stores->came, &stores->lock, &when);
    pthread_mutex_unlock(&stores->lock);
    ck_assert_msg(error == 0, "%s: no list in %d s", stores->row->name, WAIT_S);
    ck_assert_int_eq(listing.error, 0);
    ck_assert_uint_le(listing.names.count, STORES_MAPS);
    qsort(listing.names.name, listing.names.count, sizeof *listing.names.name, compare_names);
    return &listing.names;
}

void stores_expect(struct stores *stores, struct stores_call *call, enum tp_store_event_kind kind, int error)
{
    stores_settle(stores);
    ck_assert_msg(call->event.kind == kind && call->event.error == error, "%s: %s of '%s' with %s, not %s with %s",
                  stores->row->name, kind_names[call->event.kind], call->name, tp_error_name(call->event.error),
                  kind_names[kind], tp_error_name(error));
}

void stores_expect_at(struct stores *stores, struct stores_call *call, enum tp_store_event_kind kind, uint64_t epoch,
                      uint64_t version)
{
    stores_expect(stores, call, kind, 0);
    ck_assert_ptr_nonnull(call->event.map);
    ck_assert_uint_eq(call->event.map->epoch, epoch);
    ck_assert_uint_eq(call->event.map->version, version);
}

/* ---- Maps and batches ---- */

static uint64_t mix(uint64_t hash, uint64_t number)
{
    return (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}

uint64_t stores_content(const struct tp_map *map)
{
    uint64_t hash = mix(mix(1, map->width), map->height);
    const struct tp_graph *graph = map->graph;
    for (uint32_t i = 0; graph != NULL && i < graph->edges; i++) {
        struct tp_graph_edge edge = tp_graph_edge_set(graph, i);
        hash = mix(mix(mix(hash, edge.from), edge.to), edge.cost);
    }
    for (uint32_t i = 0; graph != NULL && i < graph->nodes; i++) {
        hash = mix(hash, tp_graph_closed(graph, i));
        if (graph->x != NULL)
            hash = mix(mix(hash, (uint64_t)(int64_t)(graph->x[i] * 1024)), (uint64_t)(int64_t)(graph->y[i] * 1024));
    }
    for (uint32_t i = 0; graph == NULL && i < 256; i++)
        hash = mix(hash, map->profile.weight[i]);
    for (uint32_t y = 0; graph == NULL && y < map->height; y++)
        for (uint32_t x = 0; x < map->width; x++)
            hash = mix(hash, tp_map_class(map, x, y));
    return hash;
}

void stores_expect_same(const struct tp_map *a, const struct tp_map *b)
{
    ck_assert_uint_eq(a->epoch, b->epoch);
    ck_assert_uint_eq(a->version, b->version);
    ck_assert_uint_eq(a->width, b->width);
    ck_assert_uint_eq(a->height, b->height);
    ck_assert_uint_eq(a->passable_cells, b->passable_cells);
    ck_assert_int_eq(a->graph != NULL, b->graph != NULL);
    ck_assert_uint_eq(stores_content(a), stores_content(b));
}

struct tp_map *stores_grid(uint32_t width, uint32_t height, uint64_t epoch)
{
    struct tp_map *map = tp_test_map_free(width, height);
    map->epoch = epoch; /* nobody else's yet */
    return map;
}

struct tp_map *stores_graph(uint32_t nodes, uint64_t epoch)
{
    struct tp_graph_edge *edges = calloc(2 * (size_t)nodes, sizeof *edges);
    double *x = calloc(nodes, sizeof *x), *y = calloc(nodes, sizeof *y);
    for (uint32_t i = 0; i < nodes; i++) {
        edges[2 * i] = (struct tp_graph_edge){i, (i + 1) % nodes, 100000};
        edges[2 * i + 1] = (struct tp_graph_edge){i, (i + 2) % nodes, 200000 + i};
        x[i] = i;
        y[i] = (double)i * i / 8;
    }
    struct tp_map *map = tp_test_map_graph(nodes, edges, 2 * (size_t)nodes, x, y);
    map->epoch = epoch;
    free(edges);
    free(x);
    free(y);
    return map;
}

struct tp_key stores_key(uint64_t number)
{
    struct tp_key key = {.size = 8};
    memcpy(key.bytes, &number, sizeof number);
    return key;
}

struct tp_batch stores_cell(uint32_t x, uint32_t y, uint8_t class_to, uint64_t key)
{
    static struct tp_change changes[16];
    static unsigned at;
    struct tp_change *change = &changes[at++ % 16];
    *change = (struct tp_change){.kind = TP_CHANGE_CELL, .class_to = class_to, .x = x, .y = y};
    struct tp_batch batch = {.changes = change, .count = 1, .is_placed = true};
    if (key != 0)
        batch.key = stores_key(key);
    return batch;
}
