/* The happy path of a change: change() applies it to the tip and submits an op to the store; stored_cb (store
 * thread) posts the op back; stored() publishes and answers. What may go wrong on the way:
 *
 *     the name is unknown        look_up() parks the request and asks the store; loaded() handles it again
 *     a cell, a size, the base   refused at once, the tip untouched
 *     the store fails            fall_back(): the tip returns to what is published, later ops are doomed
 *     out of memory              refused at once; what an op needs later is allocated before it is submitted
 */
#include "daemon/world.h"

#include "base/check.h"
#include "base/limits.h"
#include "daemon/log.h"
#include "daemon/snapshot.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct tp_world_map shared;     /* first: the shards' pointer is this one */
    const struct tp_map *published; /* under the lock; NULL until the first publication */
    struct entry *next;             /* of the bucket; under the lock */
    const struct tp_map *tip;       /* newest version made, perhaps not stored yet; NULL: none */
    uint64_t epoch_last;            /* highest epoch given */
    uint64_t seq;                   /* of the op submitted last */
    uint64_t seq_doomed;            /* ops up to here were built on a refused one */
    uint64_t seq_put;               /* of the put in flight; 0: none */
    uint32_t ops;                   /* in flight */
    bool loading;
    int load_error; /* TP_ERR_CORRUPT: the store holds it, but cannot read it */
    const char *load_reason;
    struct tp_world_request *parked_first, **parked_end;
};

/* A call of the store on its way. */
struct op {
    struct tp_mail mail; /* STORED or LOADED */
    struct tp_world *world;
    struct entry *entry;
    struct tp_world_request *request; /* NULL for a load */
    const struct tp_map *map;         /* what was made, or loaded */
    uint64_t seq;
    bool is_put;
    bool is_initial; /* a load of tp_world_load_all */
    int error;
    const char *reason;
    struct tp_world_publication *publication[]; /* one per shard, allocated beforehand */
};

struct listed {
    struct tp_mail mail;
    int error;
    size_t count;
    char names[][TP_MAP_NAME_MAX + 1];
};

struct tp_world {
    struct tp_world_config config;
    pthread_mutex_t lock; /* over buckets, slots and entry.published */
    struct entry **buckets;
    uint32_t bucket_mask;
    struct entry **slots;
    uint32_t entries;
    size_t busy;
    size_t initial_loads; /* still to come back; world thread */
    _Atomic bool ready;
};

static void handle_request(struct tp_world *world, struct tp_world_request *request);

/* ---- Names ---- */

bool tp_map_name_allowed(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > TP_MAP_NAME_MAX || name[0] == '.' || name[0] == '/')
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
              c == '_' || c == '/' || c == '-'))
            return false;
        bool part_begins = i == 0 || name[i - 1] == '/';
        if (part_begins && c == '.' && name[i + 1] == '.' && (name[i + 2] == '/' || name[i + 2] == '\0'))
            return false;
    }
    return true;
}

static uint32_t name_hash(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash ^ hash >> 15;
}

/* Any thread, lock held; or the world thread, which alone changes the buckets. */
static struct entry *find_entry(const struct tp_world *world, const char *name)
{
    struct entry *entry = world->buckets[name_hash(name) & world->bucket_mask];
    while (entry != NULL && strcmp(entry->shared.name, name) != 0)
        entry = entry->next;
    return entry;
}

/* Gives a new entry; NULL with *error. */
static struct entry *add_entry(struct tp_world *world, const char *name, int *error)
{
    if (world->entries >= world->config.maps_max) {
        *error = TP_ERR_RESOURCE_EXHAUSTED;
        return NULL;
    }
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL) {
        *error = TP_ERR_NO_MEMORY;
        return NULL;
    }
    strcpy(entry->shared.name, name);
    entry->parked_end = &entry->parked_first;
    uint32_t slot = 0;
    while (world->slots[slot] != NULL)
        slot++;
    entry->shared.slot = slot;
    struct entry **bucket = &world->buckets[name_hash(name) & world->bucket_mask];
    pthread_mutex_lock(&world->lock);
    world->slots[slot] = entry;
    entry->next = *bucket;
    *bucket = entry;
    world->entries++;
    pthread_mutex_unlock(&world->lock);
    return entry;
}

/* Forgets an entry that no shard ever saw and nothing in flight needs. */
static void drop_unseen_entry(struct tp_world *world, struct entry *entry)
{
    if (entry->published != NULL || entry->tip != NULL || entry->ops > 0 || entry->loading ||
        entry->load_error != 0)
        return;
    TP_CHECK(entry->parked_first == NULL);
    pthread_mutex_lock(&world->lock);
    struct entry **link = &world->buckets[name_hash(entry->shared.name) & world->bucket_mask];
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    world->slots[entry->shared.slot] = NULL;
    world->entries--;
    pthread_mutex_unlock(&world->lock);
    free(entry);
}

/* ---- Answers ---- */

struct tp_world_request *tp_world_request_new(enum tp_world_op op)
{
    struct tp_world_request *request = calloc(1, sizeof *request);
    if (request != NULL) {
        request->mail.kind = TP_WORLD_MAIL_REQUEST;
        request->op = op;
    }
    return request;
}

void tp_world_request_free(struct tp_world_request *request)
{
    if (request == NULL)
        return;
    free(request->cells);
    free(request->changes);
    free(request->change_bits);
    free(request);
}

static void answer(struct tp_world *world, struct tp_world_request *request)
{
    if (request->op == TP_WORLD_CHANGE) {
        if (request->refusal.error != 0) {
            tp_metric_add(&world->config.metrics->batches_refused, 1);
        } else {
            tp_metric_add(&world->config.metrics->batches_applied, 1);
            tp_metric_add(&world->config.metrics->changes_applied, request->change_count);
            tp_metric_observe(&world->config.metrics->change_us,
                              world->config.now_us(world->config.context) - request->arrived_us);
        }
    }
    request->mail.kind = TP_SHARD_MAIL_ANSWER;
    world->config.post_shard(world->config.context, request->shard, &request->mail);
}

__attribute__((format(printf, 5, 6))) static void refuse(struct tp_world *world,
                                                         struct tp_world_request *request, int error,
                                                         const char *field, const char *format, ...)
{
    request->refusal.error = error;
    request->refusal.field = field;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(request->refusal.words, sizeof request->refusal.words, format, arguments);
    va_end(arguments);
    answer(world, request);
}

static void accept_request(struct tp_world *world, struct tp_world_request *request, struct entry *entry,
                           const struct tp_map *map)
{
    request->map = &entry->shared;
    request->epoch = map->epoch;
    request->version = map->version;
    answer(world, request);
}

/* ---- Publishing ---- */

/* Gives an op with everything that publishing its result will need; NULL when out of memory. */
static struct op *op_new(struct tp_world *world, struct entry *entry, struct tp_world_request *request)
{
    unsigned shards = world->config.shards;
    struct op *op = calloc(1, sizeof *op + shards * sizeof op->publication[0]);
    if (op == NULL)
        return NULL;
    for (unsigned i = 0; i < shards; i++) {
        op->publication[i] = calloc(1, sizeof *op->publication[i]);
        if (op->publication[i] == NULL) {
            while (i > 0)
                free(op->publication[--i]);
            free(op);
            return NULL;
        }
    }
    op->world = world;
    op->entry = entry;
    op->request = request;
    return op;
}

static void op_free(struct op *op)
{
    for (unsigned i = 0; i < op->world->config.shards; i++)
        free(op->publication[i]);
    tp_map_unref(op->map);
    free(op);
}

/* Makes op->map the published version and tells every shard. */
static void publish(struct op *op)
{
    struct tp_world *world = op->world;
    struct entry *entry = op->entry;
    struct tp_metrics *metrics = world->config.metrics;
    pthread_mutex_lock(&world->lock);
    const struct tp_map *before = entry->published;
    entry->published = tp_map_ref(op->map);
    pthread_mutex_unlock(&world->lock);
    tp_metric_gauge_add(&metrics->maps, before == NULL);
    if (before != NULL)
        tp_metric_gauge_add(&metrics->map_cells, -(int64_t)before->width * before->height);
    tp_metric_gauge_add(&metrics->map_cells, (int64_t)op->map->width * op->map->height);
    tp_map_unref(before);
    for (unsigned i = 0; i < world->config.shards; i++) {
        struct tp_world_publication *publication = op->publication[i];
        op->publication[i] = NULL;
        publication->mail.kind = TP_SHARD_MAIL_MAP;
        publication->of = &entry->shared;
        publication->map = tp_map_ref(op->map);
        world->config.post_shard(world->config.context, i, &publication->mail);
    }
}

static void set_tip(struct entry *entry, const struct tp_map *map)
{
    const struct tp_map *before = entry->tip;
    entry->tip = map == NULL ? NULL : tp_map_ref(map);
    tp_map_unref(before);
}

/* ---- The store ---- */

/* Store thread. */
static void stored_cb(int error, void *context)
{
    struct op *op = context;
    op->error = error;
    op->world->config.post_self(op->world->config.context, &op->mail);
}

static void submit(struct op *op, const uint8_t *batch, size_t batch_bytes)
{
    struct tp_world *world = op->world;
    struct entry *entry = op->entry;
    struct tp_store *store = world->config.store;
    op->mail.kind = TP_WORLD_MAIL_STORED;
    op->seq = ++entry->seq;
    if (op->is_put)
        entry->seq_put = op->seq;
    entry->ops++;
    world->busy++;
    set_tip(entry, op->map);
    if (op->is_put)
        store->ops->put(store, entry->shared.name, op->map, stored_cb, op);
    else
        store->ops->append(store, entry->shared.name, op->map, batch, batch_bytes, stored_cb, op);
}

/* The op failed: what was built on it is doomed, the tip falls back to what is published (unless a put in
 * flight begins anew behind it). */
static void fall_back(struct op *op)
{
    struct entry *entry = op->entry;
    if (!op->is_put && entry->seq_put > op->seq) {
        entry->seq_doomed = entry->seq_put - 1;
        return;
    }
    entry->seq_doomed = entry->seq;
    set_tip(entry, entry->published);
}

static void stored(struct tp_world *world, struct op *op)
{
    struct entry *entry = op->entry;
    struct tp_world_request *request = op->request;
    world->busy--;
    entry->ops--;
    bool is_doomed = op->seq <= entry->seq_doomed;
    bool is_kept = !is_doomed && (op->error == 0 || world->config.store->serves_degraded);
    if (op->is_put)
        entry->seq_put = 0;
    if (is_kept) {
        publish(op);
        if (op->is_put)
            entry->load_error = 0;
    } else if (!is_doomed) {
        fall_back(op);
        char quoted[TP_MAP_NAME_MAX + 8];
        tp_log(TP_LOG_WARN, "the store refused a write", "map=%s version=%" PRIu64 " error=%s",
               tp_log_quote(quoted, sizeof quoted, entry->shared.name), op->map->version,
               tp_error_name(op->error));
    }
    if (op->is_put)
        atomic_store(&entry->shared.sessions,
                     0); /* after the publication: whoever enters now finds the new epoch */
    if (is_kept) {
        if (op->is_put)
            tp_metric_add(&world->config.metrics->maps_put, 1);
        accept_request(world, request, entry, op->map);
    } else {
        request->refusal.retry_after_ms = 1000;
        int error = op->error == TP_ERR_NO_MEMORY ? TP_ERR_NO_MEMORY : TP_ERR_UNAVAILABLE;
        refuse(world, request, error, NULL, "the store cannot take it now; nothing was applied");
    }
    op_free(op);
    drop_unseen_entry(world, entry);
}

/* Store thread. */
static void loaded_cb(int error, struct tp_map *map, const char *reason, void *context)
{
    struct op *op = context;
    op->error = error;
    op->map = map;
    op->reason = reason;
    op->world->config.post_self(op->world->config.context, &op->mail);
}

/* Asks the store for an entry; 0 when the answer is on its way. */
static int load(struct tp_world *world, struct entry *entry, bool is_initial)
{
    struct op *op = op_new(world, entry, NULL);
    if (op == NULL)
        return TP_ERR_NO_MEMORY;
    op->mail.kind = TP_WORLD_MAIL_LOADED;
    op->is_initial = is_initial;
    entry->loading = true;
    world->busy++;
    world->config.store->ops->load(world->config.store, entry->shared.name, loaded_cb, op);
    return 0;
}

static void park(struct entry *entry, struct tp_world_request *request)
{
    request->parked_next = NULL;
    *entry->parked_end = request;
    entry->parked_end = &request->parked_next;
}

/* The name is unknown here: asks the store, if that can know it, and parks the request. False: it cannot. */
static bool look_up(struct tp_world *world, struct tp_world_request *request)
{
    if (world->config.store->is_volatile || request->looked_up)
        return false;
    int error = 0;
    struct entry *entry = add_entry(world, request->name, &error);
    if (entry != NULL) {
        error = load(world, entry, false);
        if (error != 0)
            drop_unseen_entry(world, entry);
    }
    if (error != 0)
        refuse(world, request, error, "map", "%s",
               error == TP_ERR_NO_MEMORY ? "out of memory" : "the server holds as many maps as it may");
    else
        park(entry, request);
    return true;
}

/* One of the calls that tp_world_load_all waits for came back. */
static void initial_load_done(struct tp_world *world)
{
    if (--world->initial_loads == 0)
        atomic_store(&world->ready, true);
}

static void loaded(struct tp_world *world, struct op *op)
{
    struct entry *entry = op->entry;
    char quoted[TP_MAP_NAME_MAX + 8];
    tp_log_quote(quoted, sizeof quoted, entry->shared.name);
    world->busy--;
    entry->loading = false;
    if (op->error == 0) {
        set_tip(entry, op->map);
        entry->epoch_last = op->map->epoch;
        publish(op);
        tp_metric_add(&world->config.metrics->maps_loaded, 1);
        tp_log(TP_LOG_INFO, "map loaded", "map=%s width=%u height=%u version=%" PRIu64, quoted,
               op->map->width, op->map->height, op->map->version);
    } else if (op->error == TP_ERR_CORRUPT) {
        entry->load_error = TP_ERR_CORRUPT;
        entry->load_reason = op->reason != NULL ? op->reason : "what the store holds fails its checks";
        tp_log(TP_LOG_ERROR, "a stored map is corrupt", "map=%s reason=\"%s\"", quoted, entry->load_reason);
    } else if (op->error != TP_ERR_NOT_FOUND) {
        tp_log(TP_LOG_WARN, "the store could not be asked for a map", "map=%s error=%s", quoted,
               tp_error_name(op->error));
    }
    int error = op->error;
    if (op->is_initial)
        initial_load_done(world);
    op_free(op);
    struct tp_world_request *parked = entry->parked_first;
    entry->parked_first = NULL;
    entry->parked_end = &entry->parked_first;
    drop_unseen_entry(world, entry);
    while (parked != NULL) {
        struct tp_world_request *request = parked;
        parked = parked->parked_next;
        request->looked_up = true;
        bool goes_on = error == 0 || error == TP_ERR_NOT_FOUND || error == TP_ERR_CORRUPT ||
                       (request->op == TP_WORLD_PUT && world->config.store->serves_degraded);
        if (goes_on) {
            handle_request(world, request);
        } else {
            request->refusal.retry_after_ms = 1000;
            refuse(world, request, error == TP_ERR_NO_MEMORY ? TP_ERR_NO_MEMORY : TP_ERR_UNAVAILABLE, "map",
                   "the store cannot be asked for this map now");
        }
    }
}

/* Store thread. */
static void listed_cb(int error, const char *const *names, size_t count, void *context)
{
    struct tp_world *world = context;
    struct listed *listed = calloc(1, sizeof *listed + count * sizeof listed->names[0]);
    if (listed == NULL) {
        tp_log_words(TP_LOG_ERROR, "out of memory while listing the stored maps");
        listed = calloc(1, sizeof *listed);
        TP_CHECK(listed != NULL);
        count = 0;
        error = TP_ERR_NO_MEMORY;
    }
    listed->mail.kind = TP_WORLD_MAIL_LISTED;
    listed->error = error;
    for (size_t i = 0; i < count; i++)
        if (tp_map_name_allowed(names[i]))
            strcpy(listed->names[listed->count++], names[i]);
    world->config.post_self(world->config.context, &listed->mail);
}

void tp_world_load_all(struct tp_world *world)
{
    world->busy++;
    world->initial_loads = 1;
    world->config.store->ops->list(world->config.store, listed_cb, world);
}

static void listed_all(struct tp_world *world, struct listed *listed)
{
    world->busy--;
    if (listed->error != 0)
        tp_log(TP_LOG_WARN, "the stored maps cannot be listed; they are loaded when asked for", "error=%s",
               tp_error_name(listed->error));
    size_t left_out = 0;
    for (size_t i = 0; i < listed->count; i++) {
        if (find_entry(world, listed->names[i]) != NULL)
            continue; /* asked for already */
        int error = 0;
        struct entry *entry = add_entry(world, listed->names[i], &error);
        if (entry == NULL) {
            left_out++;
        } else if (load(world, entry, true) != 0) {
            drop_unseen_entry(world, entry);
            left_out++;
        } else {
            world->initial_loads++;
        }
    }
    if (left_out > 0)
        tp_log(TP_LOG_WARN, "stored maps left out: maps-max is reached", "left_out=%zu", left_out);
    free(listed);
    initial_load_done(world);
}

/* ---- Requests ---- */

static void put(struct tp_world *world, struct tp_world_request *request, struct entry *entry)
{
    if (entry != NULL && !request->replace) {
        refuse(world, request, TP_ERR_ALREADY_EXISTS, "map",
               "a map of that name exists; replace makes it anew");
        return;
    }
    bool is_new = entry == NULL;
    int error = 0;
    if (is_new) {
        entry = add_entry(world, request->name, &error);
        if (entry == NULL) {
            refuse(world, request, error, "map", "%s",
                   error == TP_ERR_NO_MEMORY ? "out of memory" : "the server holds as many maps as it may");
            return;
        }
    }
    int64_t sessions = 0;
    if (!atomic_compare_exchange_strong(&entry->shared.sessions, &sessions, TP_WORLD_MAP_REPLACING)) {
        if (sessions < 0) {
            request->refusal.retry_after_ms = 100;
            refuse(world, request, TP_ERR_UNAVAILABLE, "map", "another put of this map is under way");
        } else {
            refuse(world, request, TP_ERR_FAILED_PRECONDITION, "replace",
                   "%" PRId64 " sessions stand on this map", sessions);
        }
        return;
    }
    uint64_t epoch = world->config.unix_now_us(world->config.context);
    if (epoch <= entry->epoch_last)
        epoch = entry->epoch_last + 1;
    entry->epoch_last = epoch;
    struct tp_map *map = NULL;
    error = tp_map_build(&map, request->width, request->height, request->cells, &request->profile, epoch);
    struct op *op = error == 0 ? op_new(world, entry, request) : NULL;
    if (op == NULL) {
        tp_map_unref(map);
        atomic_store(&entry->shared.sessions, 0);
        drop_unseen_entry(world, entry);
        if (error == TP_ERR_INVALID_ARGUMENT)
            refuse(world, request, error, "width", "a side is 0 or the map has more than %u cells",
                   TP_MAP_CELLS_MAX);
        else
            refuse(world, request, TP_ERR_NO_MEMORY, NULL, "out of memory");
        return;
    }
    free(request->cells);
    request->cells = NULL;
    op->map = map;
    op->is_put = true;
    submit(op, NULL, 0);
}

static void open_map(struct tp_world *world, struct tp_world_request *request, struct entry *entry)
{
    if (entry->published == NULL) {
        request->refusal.retry_after_ms = 10;
        refuse(world, request, TP_ERR_MAP_NOT_READY, "map", "the map is being put");
        return;
    }
    if (entry->published->version < request->min_version) {
        request->refusal.retry_after_ms = 10;
        refuse(world, request, TP_ERR_MAP_NOT_READY, "min_version", "the map is at version %" PRIu64,
               entry->published->version);
        return;
    }
    accept_request(world, request, entry, entry->published);
}

/* Says which change was refused and why. */
static void refuse_batch(struct tp_world *world, struct tp_world_request *request, int error, size_t bad,
                         uint32_t x, uint32_t y, const struct tp_map *base)
{
    static const char *const fields[] = {"cell", "rectangle", "bitmap"};
    const struct tp_change *change = bad < request->change_count ? &request->changes[bad] : NULL;
    if (change == NULL || error == TP_ERR_NO_MEMORY || error == TP_ERR_RESOURCE_EXHAUSTED) {
        refuse(world, request, error, NULL, "%s",
               error == TP_ERR_NO_MEMORY ? "out of memory" : "too many changes in one batch");
        return;
    }
    request->refusal.has_bad_change = true;
    request->refusal.change_index = (uint32_t)bad;
    request->refusal.bad_x = x;
    request->refusal.bad_y = y;
    if (error == TP_ERR_OUT_OF_RANGE)
        refuse(world, request, error, fields[change->kind],
               "change %zu: cell (%u, %u) lies outside the map of %u x %u; nothing was applied", bad, x, y,
               base->width, base->height);
    else
        refuse(world, request, error, fields[change->kind], "change %zu: %s; nothing was applied", bad,
               change->width == 0 || change->height == 0 ? "a side is 0"
                                                         : "the bits are too few for its size");
}

/* Cells of a ChangeCosts come as numbers; only here the width is known that turns them into places. */
static void place_cells(struct tp_world_request *request, uint32_t width)
{
    for (size_t i = 0; i < request->change_count; i++) {
        struct tp_change *change = &request->changes[i];
        if (change->kind == TP_CHANGE_CELL) {
            uint32_t cell = change->x;
            change->x = cell % width;
            change->y = cell / width;
        }
    }
}

static void change(struct tp_world *world, struct tp_world_request *request, struct entry *entry)
{
    const struct tp_map *base = entry->tip;
    if (base == NULL) {
        refuse(world, request, TP_ERR_MAP_NOT_READY, "map", "the map is not ready");
        return;
    }
    if (request->has_base_version && request->base_version != base->version) {
        refuse(world, request, TP_ERR_VERSION_MISMATCH, "base_version", "the map is at version %" PRIu64,
               base->version);
        return;
    }
    place_cells(request, base->width);
    struct tp_map *after = NULL;
    size_t bad = request->change_count;
    uint32_t x = 0, y = 0;
    int error = tp_map_apply(&after, base, request->changes, request->change_count, &bad, &x, &y);
    if (error != 0) {
        refuse_batch(world, request, error, bad, x, y, base);
        return;
    }
    uint8_t *batch = NULL;
    size_t batch_bytes = 0;
    struct op *op = op_new(world, entry, request);
    if (op != NULL && !world->config.store->is_volatile)
        error = tp_batch_encode(request->changes, request->change_count, &batch, &batch_bytes);
    if (op == NULL || error != 0) {
        tp_map_unref(after);
        if (op != NULL)
            op_free(op);
        refuse(world, request, TP_ERR_NO_MEMORY, NULL, "out of memory");
        return;
    }
    op->map = after;
    submit(op, batch, batch_bytes);
    free(batch);
}

static void handle_request(struct tp_world *world, struct tp_world_request *request)
{
    struct entry *entry = find_entry(world, request->name);
    if (entry != NULL && entry->loading) {
        park(entry, request);
        return;
    }
    if (entry == NULL && look_up(world, request))
        return;
    if (request->op == TP_WORLD_PUT) {
        put(world, request, entry);
    } else if (entry == NULL) {
        refuse(world, request, TP_ERR_NOT_FOUND, "map", "there is no map of that name");
    } else if (entry->load_error != 0 && entry->tip == NULL) {
        refuse(world, request, entry->load_error, "map", "%s", entry->load_reason);
    } else if (request->op == TP_WORLD_OPEN) {
        open_map(world, request, entry);
    } else {
        change(world, request, entry);
    }
}

/* ---- Life cycle and what other threads see ---- */

void tp_world_handle(struct tp_world *world, struct tp_mail *mail)
{
    switch (mail->kind) {
    case TP_WORLD_MAIL_REQUEST: {
        struct tp_world_request *request = (struct tp_world_request *)mail;
        request->arrived_us = world->config.now_us(world->config.context);
        handle_request(world, request);
        break;
    }
    case TP_WORLD_MAIL_STORED:
        stored(world, (struct op *)mail);
        break;
    case TP_WORLD_MAIL_LOADED:
        loaded(world, (struct op *)mail);
        break;
    case TP_WORLD_MAIL_LISTED:
        listed_all(world, (struct listed *)mail);
        break;
    default:
        TP_CHECK(!"a mail of unknown kind");
    }
}

int tp_world_open(struct tp_world **out, const struct tp_world_config *config)
{
    *out = NULL;
    struct tp_world *world = calloc(1, sizeof *world);
    if (world == NULL)
        return TP_ERR_NO_MEMORY;
    world->config = *config;
    uint32_t buckets = 16;
    while (buckets < config->maps_max)
        buckets *= 2;
    world->bucket_mask = buckets - 1;
    world->buckets = calloc(buckets, sizeof world->buckets[0]);
    world->slots = calloc(config->maps_max, sizeof world->slots[0]);
    if (world->buckets == NULL || world->slots == NULL) {
        free(world->buckets);
        free(world->slots);
        free(world);
        return TP_ERR_NO_MEMORY;
    }
    pthread_mutex_init(&world->lock, NULL);
    *out = world;
    return 0;
}

void tp_world_close(struct tp_world *world)
{
    if (world == NULL)
        return;
    TP_CHECK(world->busy == 0);
    for (uint32_t i = 0; i < world->config.maps_max; i++) {
        struct entry *entry = world->slots[i];
        if (entry == NULL)
            continue;
        tp_map_unref(entry->published);
        tp_map_unref(entry->tip);
        free(entry);
    }
    pthread_mutex_destroy(&world->lock);
    free(world->buckets);
    free(world->slots);
    free(world);
}

size_t tp_world_busy(const struct tp_world *world)
{
    return world->busy;
}

bool tp_world_ready(const struct tp_world *world)
{
    return atomic_load(&world->ready);
}

struct tp_world_map *tp_world_find(struct tp_world *world, const char *name)
{
    pthread_mutex_lock(&world->lock);
    struct entry *entry = find_entry(world, name);
    bool is_published = entry != NULL && entry->published != NULL;
    pthread_mutex_unlock(&world->lock);
    return is_published ? &entry->shared : NULL;
}

const struct tp_map *tp_world_current(struct tp_world *world, const struct tp_world_map *map)
{
    const struct entry *entry = (const struct entry *)map;
    pthread_mutex_lock(&world->lock);
    const struct tp_map *current = tp_map_ref(entry->published);
    pthread_mutex_unlock(&world->lock);
    return current;
}

int tp_world_each(struct tp_world *world, tp_world_each_cb each, void *context)
{
    pthread_mutex_lock(&world->lock);
    size_t count = 0;
    struct held {
        struct tp_world_map *of;
        const struct tp_map *map;
    } *held = malloc((world->entries + 1) * sizeof *held);
    for (uint32_t i = 0; held != NULL && i < world->config.maps_max && count < world->entries; i++) {
        struct entry *entry = world->slots[i];
        if (entry != NULL && entry->published != NULL)
            held[count++] = (struct held){&entry->shared, tp_map_ref(entry->published)};
    }
    pthread_mutex_unlock(&world->lock);
    if (held == NULL)
        return TP_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        each(held[i].of, held[i].map, context);
        tp_map_unref(held[i].map);
    }
    free(held);
    return 0;
}

bool tp_world_enter(struct tp_world_map *map)
{
    int64_t sessions = atomic_load(&map->sessions);
    while (sessions >= 0)
        if (atomic_compare_exchange_weak(&map->sessions, &sessions, sessions + 1))
            return true;
    return false;
}

void tp_world_leave(struct tp_world_map *map)
{
    atomic_fetch_sub(&map->sessions, 1);
}
