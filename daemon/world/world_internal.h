/* What the files of the world share: world.c (names, life cycle), world_request.c (put, open, change, drop),
 * world_store.c (calls of the store, its events, publishing), world_ending.c (epochs that end under sessions), world_layers.c
 * (profiles and layers). */
#ifndef TP_DAEMON_WORLD_INTERNAL_H
#define TP_DAEMON_WORLD_INTERNAL_H

#include "daemon/world/world.h"
#include "map/layer.h"

struct tp__world_layer; /* world_layers.c */

struct tp__world_profile {
    char name[TP_WORLD_NAME_MAX + 1];
    struct tp_profile profile;
};

struct tp__world_entry {
    struct tp_world_map shared;     /* first: the shards' pointer is this one */
    const struct tp_map *published; /* under the lock; NULL until the first publication */
    const struct tp_world_layers *layers_published; /* likewise, of that version */
    uint64_t seq_published;                         /* likewise */
    struct tp__world_layer *layer[TP_WORLD_LAYERS_MAX];
    struct tp__world_profile *profiles; /* malloc'd */
    size_t profile_count;
    struct tp__world_entry *next; /* of the bucket; under the lock */
    uint64_t epoch_last;          /* highest epoch given */
    uint32_t ops;                 /* puts, batches and drops at the store */
    uint32_t puts;                /* of them, puts */
    bool loading;
    bool dropping;          /* the store has been told to */
    struct tp__world_op *gone; /* the map was dropped elsewhere; waits for the calls that are at the store */
    unsigned ending_shards; /* an epoch ends: shards that still may have sessions in it */
    struct tp__world_op *deferred, **deferred_end; /* meanwhile: the event that ends it, and those behind; by deferred_next */
    int load_error;         /* TP_ERR_CORRUPT: the store holds it, but cannot read it */
    const char *load_reason;
    struct tp_world_request *parked_first, **parked_end;
};

/* A call of the store on its way, or an event that nobody here asked for. */
struct tp__world_op {
    struct tp_mail mail; /* EVENT */
    struct tp_world *world;
    struct tp__world_entry *entry;    /* NULL: by the event's name */
    struct tp_world_request *request; /* NULL for a load, and where nobody asked */
    struct tp_store_event event;      /* when it has come back; its name is `name`, its map the op's */
    char name[TP_WORLD_NAME_MAX + 1]; /* where nobody asked */
    const struct tp_map *map;         /* a reference: the event's */
    struct tp_world_layers *layers;   /* of it */
    struct tp__world_op *deferred_next;
    bool is_initial;                              /* a load of tp_world_load_all */
    struct tp_world_publication *publication[]; /* one per shard, allocated beforehand */
};

/* The names that a store holds. */
struct tp__world_listed {
    struct tp_mail mail;
    int error;
    size_t count;
    char names[][TP_WORLD_NAME_MAX + 1];
};

struct tp_world {
    struct tp_world_config config;
    pthread_mutex_t lock; /* over buckets, slots and entry.published */
    struct tp__world_entry **buckets;
    uint32_t bucket_mask;
    struct tp__world_entry **slots;
    uint32_t entries;
    struct tp__world_entry *dropped; /* out of the buckets, a shard may still hold them; linked by `next` */
    uint64_t epoch_dropped;          /* highest epoch of a map dropped */
    uint64_t seq_published; /* of the last publication of all */
    size_t busy;
    size_t initial_loads; /* still to come back; world thread */
    uint64_t list_at_us;  /* when to ask the store for its names again; 0: it is not to be asked */
    bool is_list_told;    /* that it could not be asked, in the log */
    struct tp__world_listed *listed_nothing; /* for when there is no memory for the names; NULL: to be allocated */
    _Atomic bool ready;
};

/* Any thread with the lock held; or the world thread, which alone changes the buckets. */
struct tp__world_entry *tp__world_find(const struct tp_world *world, const char *name);

/* Gives a new entry; NULL with *error (TP_ERR_RESOURCE_EXHAUSTED: maps_max; TP_ERR_NO_MEMORY). */
struct tp__world_entry *tp__world_add(struct tp_world *world, const char *name, int *error);

/* Takes an entry that is dropped out of the names; it is freed once no shard holds it. */
void tp__world_retire(struct tp_world *world, struct tp__world_entry *entry);

/* Forgets an entry that no shard ever saw and nothing in flight needs; else does nothing. */
void tp__world_drop_unseen(struct tp_world *world, struct tp__world_entry *entry);

/* Answers a request: granted on `map`, or refused. */
void tp__world_grant(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry,
                     const struct tp_map *map);
void tp__world_grant_again(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry,
                           uint64_t epoch, uint64_t version); /* a batch of the same key made that version */
void tp__world_grant_dropped(struct tp_world *world, struct tp_world_request *request);
__attribute__((format(printf, 5, 6))) void tp__world_refuse(struct tp_world *world,
                                                            struct tp_world_request *request, int error,
                                                            const char *field, const char *format, ...);

/* world_request.c: does what a request asks, or parks it. */
void tp__world_handle_request(struct tp_world *world, struct tp_world_request *request);

/* world_store.c: an op with everything that publishing its result will need; NULL when out of memory. */
struct tp__world_op *tp__world_op_new(struct tp_world *world, struct tp__world_entry *entry,
                                      struct tp_world_request *request);
void tp__world_op_free(struct tp__world_op *op);

/* Whether the event is one that nobody here asked for. */
static inline bool tp__world_op_is_strange(const struct tp__world_op *op)
{
    return op->name[0] != '\0';
}

/* Whether requests about the map wait. */
static inline bool tp__world_is_closed(const struct tp__world_entry *entry)
{
    return entry->loading || entry->dropping || entry->gone != NULL || entry->ending_shards > 0;
}

/* Says where the store's events go. */
void tp__world_attach(struct tp_world *world);

/* Makes op->map the published version, with its layers, and tells every shard; once for an op. */
void tp__world_publish(struct tp__world_op *op);

/* Gives every shard one publication of the op. */
void tp__world_tell_shards(struct tp__world_op *op, bool ends, int ended_error);

/* Gives a request to the store: the map of a put, a batch, a drop (whose sessions are at TP_WORLD_MAP_REPLACING). */
void tp__world_put(struct tp__world_op *op, const struct tp_map *map);
void tp__world_submit(struct tp__world_op *op);
void tp__world_drop(struct tp__world_op *op);

/* Publishes, answers, or forgets, as the op's event says; takes the op. No epoch of its entry is ending. */
void tp__world_apply_event(struct tp_world *world, struct tp__world_op *op);

/* Handles a chain of requests (by parked_next) that waited, in their order. */
void tp__world_resume(struct tp_world *world, struct tp_world_request *parked);
struct tp_world_request *tp__world_take_parked(struct tp__world_entry *entry);

/* world_ending.c: whether the event has to wait until an epoch has ended, which it may begin to end; then it takes the op. */
bool tp__world_defer(struct tp_world *world, struct tp__world_op *op);

/* A shard has ended its sessions; takes the mail. */
void tp__world_shard_ended(struct tp_world *world, struct tp_mail *mail);

/* world_request.c: says why the store refused what a request asked for. */
void tp__world_refuse_event(struct tp_world *world, struct tp_world_request *request, const struct tp_store_event *event,
                            const struct tp_map *at);

/* Waits with a request until the entry is loaded, or dropped. */
void tp__world_park(struct tp__world_entry *entry, struct tp_world_request *request);

/* The name is unknown here: asks the store, if that can know it, and parks the request. False: it cannot. */
bool tp__world_look_up(struct tp_world *world, struct tp_world_request *request);

/* world_layers.c: PROFILE and LAYER. */
void tp__world_put_profile(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry);
void tp__world_take_layer(struct tp_world *world, struct tp_world_request *request, struct tp__world_entry *entry);

/* A map that is put anew begins without profiles. */
void tp__world_forget_profiles(struct tp__world_entry *entry);

/* Gives an empty one; NULL when out of memory. */
struct tp_world_layers *tp__world_layers_new(void);

/* Makes the layers of op->map, a later version of the epoch published, from those published. TP_ERR_NO_MEMORY. */
int tp__world_follow_layers(struct tp__world_op *op) TP_MUST_CHECK;

/* The last session had left a layer; takes the mail. */
void tp__world_layer_unused(struct tp_world *world, struct tp_mail *mail);

/* Frees layers and profiles of an entry on its way out. */
void tp__world_layers_fini(struct tp__world_entry *entry);

/* What came from the store; takes the mail. */
void tp__world_event(struct tp_world *world, struct tp_mail *mail);
void tp__world_listed(struct tp_world *world, struct tp_mail *mail);

#endif
