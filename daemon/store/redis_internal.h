/* The Redis store's own parts, which its files share. All of it belongs to the store's thread, but for what `lock` guards.
 *
 *     store_redis.c      the interface: calls in, the thread, the connections, the status
 *     redis_map.c        one map: its calls in their order, and the events
 *     redis_write.c      puts, batches and drops on their way into the log
 *     redis_read.c       the reader: entries out of the logs that are followed
 *     redis_load.c       a map out of its snapshots and its log
 *     redis_reconcile.c  whether a log is the one that was read, and what is done where it is not
 *     redis_snapshots.c  snapshots, written in the background
 *
 *  A map:   IDLE --load, put--> BUSY --held--> CHECKING <--looked at--> OPEN
 *           any of these but IDLE --the connection is lost--> AWAY --it is back--> CHECKING (or IDLE)
 */
#ifndef TP_DAEMON_REDIS_INTERNAL_H
#define TP_DAEMON_REDIS_INTERNAL_H

#include "daemon/stats/metrics.h"
#include "daemon/store/redis_conn.h"
#include "daemon/store/redis_history.h"
#include "daemon/store/redis_url.h"
#include "daemon/store/store.h"
#include "daemon/store/store_redis.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct tp__redis_store;
struct tp__redis_map;
struct tp__redis_load;

enum {
    TP__REDIS_KEY_MAX = TP_REDIS_PREFIX_MAX + TP_WORLD_NAME_MAX + 16,
    TP__REDIS_FIELD_MAX = 2 * 21 + TP_LOG_PLACE_TEXT_BYTES,
    TP__REDIS_IN_FLIGHT_MAX = 4096, /* batches that Redis has, or has not, and that were not read back */
    TP__REDIS_IN_FLIGHT_BYTES_MAX = 64 << 20,
    TP__REDIS_WAITING_MAX = 65536, /* batches that wait for that */
    TP__REDIS_WAITING_BYTES_MAX = 256 << 20, /* of their changes; one alone may have more */
    TP__REDIS_WRITE_MS = 3000, /* of every command to the writer: a WAIT before it may hold its connection up for TP__REDIS_REPLICAS_MS */
    TP__REDIS_UNKNOWN_MS = 3500, /* after so long a batch that was not read back is nobody-knows */
    TP__REDIS_STUCK_MS = 30000,   /* likewise, though Redis is there: its log can't be read */
    TP__REDIS_GRACE_MS = 1000, /* a log may have lost entries: how long those who read them have to put them back */
    TP__REDIS_REPLICAS_MS = 1000, /* how long replicas may take to have what was written */
    TP__REDIS_PROBE_MS = 20, /* likewise where no change waits for them: nothing else is answered on the writer's connection meanwhile */
    TP__REDIS_TICK_MS = 50,
};

/* ---- Calls and events ---- */

enum tp__redis_call_kind { TP__REDIS_PUT, TP__REDIS_SUBMIT, TP__REDIS_LOAD, TP__REDIS_DROP, TP__REDIS_LIST };

/* What Redis has to do with a call. */
enum tp__redis_asking {
    TP__REDIS_UNASKED,
    TP__REDIS_ASKED,   /* sent: it will answer, or the connection is lost; until then the call is not freed, nor sent again ... */
    TP__REDIS_AGAIN,   /* ... and then it is begun again */
    TP__REDIS_TOLD,    /* ... and then it is freed: it was decided and told before */
    TP__REDIS_REPLIED, /* it did */
};

/* Whether a call's event may be told. */
enum tp__redis_hold {
    TP__REDIS_FREE,
    TP__REDIS_HELD,  /* it waits for replicas, and those behind it with it ... */
    TP__REDIS_ALONE, /* ... which did not have it in time: nobody knows whether it stays */
};

/* What is to be told, or was asked; in turn both. */
struct tp__redis_call {
    struct tp__redis_call *next;
    enum tp__redis_call_kind kind;
    struct tp__redis_map *map;
    char name[TP_WORLD_NAME_MAX + 1];
    void *context;
    struct tp_store_event event; /* the answer, once there is one */

    const struct tp_map *put; /* a reference */
    bool is_replacing;
    const struct tp_keys *put_keys;       /* of a put of the store's own: borrowed from its history */
    const struct tp_lineage *put_lineage; /* likewise */
    const char *reason;                   /* likewise: why */
    uint8_t *snapshot;                    /* a put's, encoded */
    size_t snapshot_size;
    struct tp_redis_history *history; /* of a put of the store's own: owned */
    char at[TP_LOG_PLACE_TEXT_BYTES]; /* likewise: the log's last place that it is made for */
    uv_work_t work;

    struct tp_batch *batch; /* borrowed until the answer */
    size_t weight;          /* bytes of its changes, for the bound on what waits */

    bool has_epoch; /* of a drop */
    uint64_t epoch;

    tp_store_listed_cb listed;

    uint64_t number; /* of the origin */
    uint64_t run;    /* of the connection that took it */
    uint64_t sent_us;
    size_t bytes;
    enum tp__redis_asking asking;
    enum tp__redis_hold hold;
    uint64_t waits; /* HELD: for the answer to the WAIT of this number */
    struct tp_log_place place; /* what Redis answered */
};

struct tp__redis_calls {
    struct tp__redis_call *first, **last;
};

static inline void tp__redis_calls_init(struct tp__redis_calls *calls)
{
    calls->first = NULL;
    calls->last = &calls->first;
}

static inline void tp__redis_calls_add(struct tp__redis_calls *calls, struct tp__redis_call *call)
{
    call->next = NULL;
    *calls->last = call;
    calls->last = &call->next;
}

struct tp__redis_call *tp__redis_calls_take(struct tp__redis_calls *calls);

/* Takes that call out of the list, if it is in it. */
void tp__redis_calls_remove(struct tp__redis_calls *calls, struct tp__redis_call *call);

/* The place before one that an entry has. */
static inline struct tp_log_place tp__redis_place_before(struct tp_log_place place)
{
    return place.seq > 0 ? (struct tp_log_place){place.ms, place.seq - 1} : (struct tp_log_place){place.ms - 1, UINT64_MAX};
}

/* ---- A map ---- */

enum tp__redis_map_state {
    TP__REDIS_IDLE,     /* nothing is held */
    TP__REDIS_BUSY,     /* it is loaded, put or dropped: the calls behind that wait */
    TP__REDIS_CHECKING, /* held; whether the log goes on where it was read is not known yet: batches wait */
    TP__REDIS_OPEN,     /* held, and takes batches */
    TP__REDIS_AWAY,     /* held; Redis is not there: batches are refused */
};

struct tp__redis_map {
    struct tp__redis_map *next;
    struct tp__redis_store *store;
    char name[TP_WORLD_NAME_MAX + 1];
    char log[TP__REDIS_KEY_MAX], snaps[TP__REDIS_KEY_MAX], lease[TP__REDIS_KEY_MAX], ended[TP__REDIS_KEY_MAX];
    enum tp__redis_map_state state;
    bool is_followed;             /* the reader reads it: from `read` on */
    struct tp_redis_history history;
    struct tp_log_place read;     /* of the last entry copied; behind history.place by `unread` */
    struct tp_log_place read_from; /* by the XREAD under way; where `read` is another by now, what that brings is not what comes next */
    struct tp_redis_entry *unread, **unread_last;
    bool is_broken;               /* its log is no Stream: nothing can be read */
    bool is_stalled;              /* what is next can't be applied now: memory is missing, or an answer; the tick tries again */

    uint64_t told_epoch, told_version; /* 0: nothing was told */
    const char *told_reason;           /* of the next BEGUN that nobody asked for */
    bool owes_drop;                    /* a drop that nobody asked for is still to be told: there was no memory for the event */

    struct tp__redis_calls waiting; /* to be begun, in order */
    struct tp__redis_calls pending; /* puts, batches and drops that were sent and not read back, in order */
    struct tp__redis_calls telling; /* decided; events in order */
    struct tp__redis_load *load;
    uint32_t asked; /* replies that are still to come */

    const char *trouble; /* words for the status, while the log is not what it was */
    bool is_looking;
    struct tp_log_place looked; /* the place that the look under way, or the last one, asks for */
    uint64_t look_at_ms; /* CHECKING: when to look; 0: not */
    uint64_t grace_until_ms; /* not marked before; 0: it is */
    unsigned snapless;       /* looks on end that found no snapshots */

    /* snapshots */
    uint64_t snapshot_epoch, snapshot_version; /* the newest known to be in Redis */
    uint64_t changed_ms;                       /* of the first change that is in none; 0: there is none */
    uint64_t snapshot_at_ms;                   /* not before */
    bool is_snapshotting;
};

/* ---- The store ---- */

struct tp__redis_store {
    struct tp_store head;
    struct tp_metrics *metrics;
    struct tp_redis_url url;
    struct tp_store_redis_options options;
    uint64_t instance;
    uint64_t random;
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows up to the blank line */
    pthread_cond_t tried_once;
    struct tp__redis_calls queue;
    bool closing, tried;
    struct tp_store_status status;

    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t tick;
    struct tp_redis_conn writer, reader;
    bool writer_stopped, reader_stopped, is_ending;
    uint64_t end_at_ms;
    uint64_t run; /* of the writer's connection: counts them */
    bool is_up;   /* both are, and of one server */
    uint64_t up_ms;
    struct tp__redis_map *maps;
    size_t map_count;
    size_t look_next; /* which map is looked at next, though all seems well */
    uint64_t look_ms;
    uint64_t number; /* of the last origin */
    size_t in_flight, in_flight_bytes;
    uv_prepare_t ask_replicas; /* active while something was sent behind which no WAIT went yet */
    uint64_t waits;            /* the number of the next one */
    uint64_t waits_held;       /* those before this number have changes that wait for them */
    bool is_waiting, wants_wait; /* one is under way; another is wanted behind it */
    bool has_few_replicas;     /* said the last one */
    size_t waiting, waiting_bytes; /* batches that wait in the maps' lists; what their changes take up */

    /* the reader's XREAD */
    struct tp__redis_map **reading; /* the maps it names, in their order; NULL: gone since */
    size_t reading_count, reading_room;
    uint64_t reading_run;
    bool is_reading, is_woken; /* an XREAD is under way; it was asked to end */
    size_t read_count;         /* entries a map, by their size */

    char refused[96]; /* what Redis last said to a write; empty: it took it */
    uint64_t probe_at_ms;
    char told[128];
    uint64_t failures_counted;
};

uint64_t tp__redis_random(struct tp__redis_store *store);
void tp__redis_tag_new(struct tp__redis_store *store, uint8_t tag[TP_LOG_TAG_BYTES]);

/* ---- store_redis.c ---- */

void tp__redis_status_renew(struct tp__redis_store *store);
void tp__redis_call_free(struct tp__redis_call *call);

/* An answer that is none of an event's: a list. */
void tp__redis_list(struct tp__redis_store *store, struct tp__redis_call *call);

/* Sends a script to the writer (or the reader). As tp_redis_conn_send. `keys` of argv's are keys. */
enum { TP__REDIS_SCRIPT_ARGS_MAX = 16 };
bool tp__redis_script_send(struct tp_redis_conn *conn, const char *script, int keys, int argc, const char **argv, const size_t *sizes,
                           tp_redis_reply_cb reply, void *context);

/* A reply of type string or status says so. */
bool tp__redis_reply_is(const redisReply *reply, const char *words);

/* Notes an error that Redis gave to a write; a server that is no master is left. */
void tp__redis_write_refused(struct tp__redis_store *store, const char *words);
void tp__redis_write_taken(struct tp__redis_store *store);

/* ---- redis_map.c ---- */

struct tp__redis_map *tp__redis_map_find(struct tp__redis_store *store, const char *name);

/* NULL when out of memory. */
struct tp__redis_map *tp__redis_map_get(struct tp__redis_store *store, const char *name);

/* Frees the map if nothing is left of it. */
void tp__redis_map_rest(struct tp__redis_map *map);

/* Begins the calls that wait, as far as that goes. */
void tp__redis_map_serve(struct tp__redis_map *map);

/* Counts a call that is put among those that wait. False, and nothing is counted: there is no room for it, unless it `must`. */
bool tp__redis_wait_begin(struct tp__redis_store *store, struct tp__redis_call *call, bool must);

/* Takes the first call that waits, and counts it no more. */
struct tp__redis_call *tp__redis_wait_end(struct tp__redis_map *map);

/* Fails what waits and what is pending; what Redis may have done is_unknown. */
void tp__redis_map_fail_all(struct tp__redis_map *map);

/* Where it stands once a load, put or drop came to nothing. */
void tp__redis_map_resume(struct tp__redis_map *map);

static inline bool tp__redis_map_is_held(const struct tp__redis_map *map)
{
    return map->history.tip.map != NULL;
}

/* It was told, or is to be freed: frees it if Redis answered. */
void tp__redis_call_end(struct tp__redis_call *call);

/* The loads that wait first. */
void tp__redis_refuse_loads(struct tp__redis_map *map, int error, const char *reason);

/* Answers: the event goes behind those before it; takes the call. */
void tp__redis_answer(struct tp__redis_call *call, enum tp_store_event_kind kind, const struct tp_map *map);
void tp__redis_refuse(struct tp__redis_call *call, int error, const char *reason);
void tp__redis_refuse_unknown(struct tp__redis_call *call, const char *reason);

/* Tells that the map stands at this version, if that was not told; or where it stands now. */
void tp__redis_tell_map(struct tp__redis_map *map, const struct tp_map *now);
void tp__redis_tell_state(struct tp__redis_map *map);

/* Tells what is decided, up to what waits for replicas. */
void tp__redis_tell_all(struct tp__redis_map *map);

/* The map is kept no more: all that waits for it hears that, and nothing is held. */
void tp__redis_map_dropped(struct tp__redis_map *map, struct tp__redis_call *own);

/* The history is the map's now: it is followed, and looked at. */
void tp__redis_map_held(struct tp__redis_map *map);

/* ---- redis_write.c ---- */

/* Whatever became of the list: a map that is there stands in it. */
void tp__redis_name_list(struct tp__redis_map *map);

void tp__redis_put_begin(struct tp__redis_call *call);
void tp__redis_drop_begin(struct tp__redis_call *call);

/* False: it stays where it was, nothing was sent; there is no room yet. */
bool tp__redis_submit_begin(struct tp__redis_call *call);

/* The pending call of that origin; NULL: there is none. */
struct tp__redis_call *tp__redis_pending_find(struct tp__redis_map *map, const struct tp_redis_entry *entry);

/* The WAIT of this number, and those before it, were answered: so are the calls that wait for them. */
void tp__redis_release(struct tp__redis_calls *calls, uint64_t number, bool is_enough);

/* Sends a WAIT behind what was sent in this turn, if the URL asks for one. */
void tp__redis_replicas_cb(uv_prepare_t *prepare);

/* Takes a call out of those that are pending: it is decided. */
void tp__redis_pending_end(struct tp__redis_call *call);

/* It was meant for an epoch that is over, and its client named none: it is begun again. */
void tp__redis_submit_again(struct tp__redis_call *call);

/* Of those pending that another connection took: nobody knows. `all`: of the present one too. */
void tp__redis_pending_give_up(struct tp__redis_map *map, bool all);

/* ---- redis_read.c ---- */

/* Something about the maps that are followed has changed: the XREAD under way is not the right one. */
void tp__redis_read_again(struct tp__redis_store *store);
void tp__redis_read(struct tp__redis_store *store);
void tp__redis_read_lost(struct tp__redis_store *store);

/* How many entries to ask for, now that so many had so many bytes. */
void tp__redis_read_count_renew(struct tp__redis_store *store, size_t entries, size_t bytes);
void tp__redis_unread_forget(struct tp__redis_map *map);
void tp__redis_unread_apply(struct tp__redis_map *map);

/* After a load: what of ours stands in the log before where it ended, and was not met as what it is. Puts are told as begun; of the others nobody
 * knows, but with only_puts they stay. */
void tp__redis_passed_over(struct tp__redis_map *map, bool only_puts);

/* ---- redis_load.c ---- */

enum tp__redis_load_why {
    TP__REDIS_LOAD_FIRST, /* somebody asked */
    TP__REDIS_LOAD_BEGUN, /* the map was begun anew by another daemon */
    TP__REDIS_LOAD_LOST,  /* the log does not have the place that was read last */
};
void tp__redis_load_begin(struct tp__redis_map *map, enum tp__redis_load_why why);
void tp__redis_load_lost(struct tp__redis_map *map); /* the connection is gone: ends it, as if Redis was away */

/* Own batches that a load has met: as those that are told. */
void tp__redis_load_release(struct tp__redis_map *map, uint64_t number, bool is_enough);

/* ---- redis_reconcile.c ---- */

/* Looks at the log; submissions wait (CHECKING) unless it is a look only. */
void tp__redis_look(struct tp__redis_map *map);
void tp__redis_check(struct tp__redis_map *map, uint64_t pause_ms);

/* The log's state was loaded, since the place read last is not in it. Whether all that was read from it is in there. False: acknowledged changes
 * of ours are not; then *loaded is given a new epoch, with them in it. */
bool tp__redis_reconcile(struct tp__redis_map *map, struct tp_redis_history *loaded);

/* Something is wrong that only time or an operator can change: batches are refused, and the log is looked at again later. */
void tp__redis_trouble(struct tp__redis_map *map, const char *words);

/* Puts the map with what *history has, whose tip nobody else has, into a new epoch, if the log's last entry is still that at `last`. Takes what *history
 * has. */
void tp__redis_begin_epoch(struct tp__redis_map *map, struct tp_redis_history *history, struct tp_log_place last, const char *reason);

/* ---- redis_snapshots.c ---- */

struct tp__redis_snapshot_field {
    uint64_t epoch, version;
    struct tp_log_place place;
};
void tp__redis_snapshot_field_print(char text[TP__REDIS_FIELD_MAX], const struct tp__redis_snapshot_field *field);
bool tp__redis_snapshot_field_read(struct tp__redis_snapshot_field *field, const char *text, size_t size);

/* A change was applied: notes it. */
void tp__redis_snapshot_changed(struct tp__redis_map *map);

/* Writes one if it is due. */
void tp__redis_snapshot_look(struct tp__redis_map *map, uint64_t now_ms);

#endif
