/* The maps: by name, as published immutable versions; what sessions and clients see of the store's maps.
 *
 * What it is: a machine that is handed one mail at a time (a request, or an event of the store) and posts
 * mails in turn: publications to every shard, then the answer to the shard that asked. A request's life:
 *
 *     request -> [load from the store, when the name is unknown] -> the store (put, submit, drop), which decides
 *             -> its event -> publish to all shards -> answer
 *
 * The answer is posted after the publications, into the same mailbox, so that whoever gets it already has the
 * new version. Events without a request (another daemon changed the map, or the store began it anew) are published likewise. Where
 * such an event ends an epoch that sessions stand in, the shards end those sessions first (world_ending.c). While a drop is at the
 * store, or an epoch ends, later requests about the map wait. A version is published with its layers, those that sessions use
 * (world_layers.c). What it refuses: a replacement or a drop asked for here while sessions stand on the map; more maps than
 * maps_max. Who calls it: tp_world_handle from one thread (the world thread, or a simulation); the functions marked "any
 * thread" from anywhere. No libuv, clock or thread of its own.
 */
#ifndef TP_DAEMON_WORLD_H
#define TP_DAEMON_WORLD_H

#include "base/line.h"
#include "daemon/store/keys.h"
#include "daemon/net/mailbox.h"
#include "daemon/stats/metrics.h"
#include "daemon/store/store.h"
#include "daemon/serve/upload.h"
#include "map/layer.h"

#include <stdbool.h>

struct tp_world;

/* A map as the shards see it; once published it stays until it is dropped and every shard has heard of that, or the
 * world closes. */
struct tp_world_map {
    char name[TP_WORLD_NAME_MAX + 1];
    uint32_t slot;            /* 0..maps_max-1: index into a shard's cache; read for every agent of every tick */
    uint8_t apart[TP_LINE_BYTES];
    _Atomic int64_t sessions; /* open on all shards, which count here; TP_WORLD_MAP_REPLACING while it is replaced or dropped */
    _Atomic unsigned holders; /* once dropped: shards that have not heard of it */
};
TP_ASSERT_APART(struct tp_world_map, slot, sessions);

enum { TP_WORLD_MAP_REPLACING = -1 };

enum {
    TP_WORLD_PROFILES_MAX = 64, /* of a map, besides its own */
    TP_WORLD_LAYERS_MAX = 16,   /* of a map at a time */
};

/* A layer (map/layer.h) of a map as the shards see it: it stays while a session is counted in. */
struct tp_world_layer {
    struct tp_mail unused; /* first; to the world, when the last session has left */
    struct tp_world *world;
    struct tp_world_map *of;
    uint32_t index;            /* below TP_WORLD_LAYERS_MAX: where it stands among those of one version; read as a map's slot */
    uint8_t apart[TP_LINE_BYTES];
    _Atomic uint64_t sessions; /* world_layers.c */
};
TP_ASSERT_APART(struct tp_world_layer, index, sessions);

/* The layers of one version, by index, NULL where none; immutable once published. */
struct tp_world_layers {
    _Atomic unsigned refs;
    uint8_t apart[TP_LINE_BYTES];
    const struct tp_map *layer[TP_WORLD_LAYERS_MAX];
};
TP_ASSERT_APART(struct tp_world_layers, refs, layer);

const struct tp_world_layers *tp_world_layers_ref(const struct tp_world_layers *layers);
void tp_world_layers_unref(const struct tp_world_layers *layers);

enum tp_world_op {
    TP_WORLD_PUT,
    TP_WORLD_OPEN,
    TP_WORLD_CHANGE,
    TP_WORLD_DROP,
    TP_WORLD_PROFILE, /* gives the map a profile */
    TP_WORLD_LAYER,   /* counts a session in on a layer, made if there is none of that kind */
};

/* Why a request was refused; words go to the client. */
struct tp_world_refusal {
    int error;         /* 0: not refused */
    const char *field; /* as the protocol spells it; NULL for none */
    char words[200];
    uint32_t retry_after_ms; /* 0: no hint */
    bool has_bad_change;     /* change_index is set; with OUT_OF_RANGE on a grid bad_x and bad_y too */
    bool of_graph;           /* the change was one of an edge or a node */
    uint32_t change_index, bad_x, bad_y;
    bool has_place; /* epoch and version are set: where the map stands */
    uint64_t epoch, version;
    bool has_bad_edge, has_bad_node; /* of a graph; edge_index or node_index is set */
    uint32_t edge_index, node_index;
};

static inline void tp_world_refusal_place(struct tp_world_refusal *refusal, const struct tp_map *map)
{
    refusal->has_place = true;
    refusal->epoch = map->epoch;
    refusal->version = map->version;
}

/* One request to the world. Made by a shard, which gives it with the post and gets it back, answered, as a
 * mail of kind TP_SHARD_MAIL_ANSWER. */
struct tp_world_request {
    struct tp_mail mail;
    enum tp_world_op op;
    unsigned shard; /* where the answer goes */
    void *owner;    /* the shard's own: who asked */
    char name[TP_WORLD_NAME_MAX + 1];
    /* PUT */
    uint32_t width, height;
    uint8_t *cells; /* malloc'd; freed with the request, or as soon as the map is built */
    struct tp_profile profile;
    struct tp_upload_graph graph; /* with nodes: a graph is put, not a grid. Owned and freed like cells */
    bool replace;
    /* OPEN */
    uint64_t min_version;
    /* PROFILE: with `profile`; LAYER: which, empty for the map's own */
    char profile_name[TP_WORLD_NAME_MAX + 1];
    uint32_t agent_size; /* LAYER: cells */
    bool has_blocks;     /* LAYER: with a block graph */
    enum tp_blocks_links links;
    /* CHANGE */
    struct tp_batch batch; /* its changes are malloc'd, as is what their bitmaps borrow; freed with the request. The world
                            * fills in the epoch */
    uint8_t *change_bits;
    /* DROP, CHANGE, OPEN */
    bool has_epoch; /* then `epoch` is the one that the map must be in */
    /* the world's own */
    struct tp_world_request *parked_next;
    bool looked_up; /* the store was asked for the name */
    uint64_t arrived_us;
    /* the answer */
    struct tp_world_refusal refusal;
    struct tp_world_map *map;     /* when not refused; NULL: dropped */
    uint64_t epoch, version;      /* of the version this request made or found */
    struct tp_world_layer *layer; /* LAYER: entered, as is its map; left with the request unless taken */
    bool applied_before;          /* CHANGE: a batch of the same key made it */
};

/* Gives a zeroed request; NULL when out of memory. */
struct tp_world_request *tp_world_request_new(enum tp_world_op op);
void tp_world_request_free(struct tp_world_request *request);

/* What a shard receives. */
enum tp_shard_mail_kind {
    TP_SHARD_MAIL_MAP = 1, /* struct tp_world_publication */
    TP_SHARD_MAIL_ANSWER,  /* struct tp_world_request */
    TP_SHARD_MAIL_OWN,     /* first of the numbers free for the transport around the shard */
};

struct tp_world_publication {
    struct tp_mail mail;
    struct tp_world_map *of;
    const struct tp_map *map;             /* one reference, given; NULL: the map is dropped */
    const struct tp_world_layers *layers; /* of that version, likewise */
    uint64_t seq;                         /* the larger is the newer */
    bool ends; /* no version: the epoch that sessions stand in is over, or the map is gone. The shard ends its sessions on the
                * map and gives the publication back (tp_world_ended) */
    int ended_error; /* ends: what such a session is refused with from then on */
};

/* What the world receives; post with tp_world_config.post's owner's means. */
enum tp_world_mail_kind {
    TP_WORLD_MAIL_REQUEST = 1,
    TP_WORLD_MAIL_EVENT,
    TP_WORLD_MAIL_LISTED,
    TP_WORLD_MAIL_UNUSED, /* the first of a struct tp_world_layer */
    TP_WORLD_MAIL_ENDED,  /* struct tp_world_publication, back from a shard: its sessions on the map are ended */
    TP_WORLD_MAIL_OWN
};

struct tp_world_config {
    struct tp_store *store;     /* borrowed until close */
    struct tp_metrics *metrics; /* borrowed; the world thread's */
    struct tp_map_held *
        held; /* counts all versions of maps and layers; borrowed until the last of them is gone; NULL: not counted */
    uint32_t maps_max;
    unsigned shards;
    void *context; /* first parameter of the functions below */
    /* Puts a mail into the world's own queue. Any thread. */
    void (*post_self)(void *context, struct tp_mail *mail);
    /* Gives a mail to a shard. World thread. */
    void (*post_shard)(void *context, unsigned shard, struct tp_mail *mail);
    uint64_t (*now_us)(void *context);      /* monotonic */
    uint64_t (*unix_now_us)(void *context); /* wall clock, for epochs */
};

/* Opens an empty world. TP_ERR_NO_MEMORY. */
int tp_world_open(struct tp_world **out, const struct tp_world_config *config) TP_MUST_CHECK;

/* Does what is due from time to time: frees the versions that nobody holds any more, where config.held puts them aside; asks a store that could
 * not list its maps once more. World thread. */
void tp_world_look(struct tp_world *world);

/* Throws away a mail that came when nobody was there to handle it: the world is about to close. Any thread. */
void tp_world_discard(struct tp_world *world, struct tp_mail *mail);

/* Frees all maps. No work may be in flight (tp_world_busy is 0), and the store is closed. */
void tp_world_close(struct tp_world *world);

/* Asks the store for its names and loads every map; tp_world_ready says when that is done. A store that can't be asked is asked again, by
 * tp_world_look. World thread. */
void tp_world_load_all(struct tp_world *world);

/* Handles one mail; takes it. World thread. */
void tp_world_handle(struct tp_world *world, struct tp_mail *mail);

/* Calls of the store that have not come back, and epochs that shards have not ended. World thread. */
size_t tp_world_busy(const struct tp_world *world);

/* Whether the maps that the store held at start are loaded. Any thread. */
bool tp_world_ready(const struct tp_world *world);

/* The published map of that name, NULL if none. Any thread. Cost: a short lock. */
struct tp_world_map *tp_world_find(struct tp_world *world, const char *name);

/* Gives a reference to the published version of the map of that name, NULL if none, for who holds nothing of the map: *of
 * only tells it from others, and is not to be read. Any thread. Cost: a short lock. */
const struct tp_map *tp_world_peek(struct tp_world *world, const char *name, const struct tp_world_map **of);

/* Gives a reference to the version published last, NULL when the map was dropped just now, its layers as a second reference, and
 * when it was published (struct tp_world_publication's seq). Any thread. Cost: a short lock. */
const struct tp_map *tp_world_current(struct tp_world *world, const struct tp_world_map *map,
                                      const struct tp_world_layers **layers, uint64_t *seq);

/* Calls `each` for every published map, with a reference borrowed until it returns; no lock is held
 * meanwhile. Any thread. TP_ERR_NO_MEMORY. */
typedef void (*tp_world_each_cb)(struct tp_world_map *of, const struct tp_map *map, void *context);
int tp_world_each(struct tp_world *world, tp_world_each_cb each, void *context) TP_MUST_CHECK;

/* Counts a session in, false while the map is being replaced or dropped. After success tp_world_current gives a version
 * of the epoch that stays until tp_world_leave. Any thread. */
bool tp_world_enter(struct tp_world_map *map);
void tp_world_leave(struct tp_world_map *map);

/* Gives back a publication with `ends`: this shard has no session on the map any more, nor a layer. Any thread. */
void tp_world_ended(struct tp_world *world, struct tp_world_publication *publication);

/* Counts out a session that a request of TP_WORLD_LAYER counted in, of the layer and of its map. Any thread. */
void tp_world_layer_leave(struct tp_world_layer *layer);

#endif
