/* One client's side of the protocol: bytes in, bytes out, sessions in between. No socket; a transport (or a
 * simulation) moves the bytes.
 *
 *     GREETING --hello--> READY --put, open, change--> WAITING --answer--> READY
 *        |                  |                             |
 *        +------ error -----+--- last frame after EOF ----+--> FLUSHING --output sent--> CLOSED
 *     any state --dropped--> CLOSED
 *
 * Requests take effect in the order sent: while WAITING no later frame is looked at. Replies are appended to
 * `output` in the same order; pushes come between them (daemon/serve/subscriptions.h). What it refuses: anything before
 * a hello; frames after framing was lost. Who calls it: the loop that owns the connection.
 */
#ifndef TP_DAEMON_PEER_H
#define TP_DAEMON_PEER_H

#include "daemon/net/frame.h"
#include "daemon/serve/shard.h"
#include "daemon/serve/subscriptions.h"
#include "daemon/serve/ticked.h"

#include "proto/tickpath.pb-c.h"

enum { TP_PROTOCOL_MIN = 1, TP_PROTOCOL_MAX = 1 };

enum tp_peer_state {
    TP_PEER_GREETING, /* no hello yet */
    TP_PEER_READY,
    TP_PEER_WAITING,  /* for the world's answer */
    TP_PEER_FLUSHING, /* no more input is looked at; closes when the output is out */
    TP_PEER_CLOSED,
};

enum { TP_PEER_JUST_NOW = 0 }; /* when bytes came, if no clock was read since */

struct tp_peer {
    struct tp_shard *shard; /* borrowed */
    void *transport;        /* the transport's own */
    enum tp_peer_state state;
    struct tp_frame_decoder input;
    struct tp_frame_buffer output; /* replies; the transport takes them away */
    struct tp_sessions sessions;
    struct tp_upload upload;
    uint64_t tick;       /* ticks served on this connection */
    uint64_t tick_stamp; /* tick requests, refused ones as well: never the same twice */
    bool has_ended;      /* the client sent its last byte */
    size_t queued_bytes; /* of output, with the transport, when the peer ran last */
    struct tp_subscriptions subscriptions;
    struct tp_peer *subscriber_previous, *subscriber_next; /* in shard->subscribers, while it has subscriptions */
    uint32_t subscriptions_counted;                        /* what the gauge has of this peer */

    struct tp_world_request *waiting_for; /* WAITING: not to be touched, the world has it */
    uint64_t waiting_id;                  /* id of the request */
    bool answers_frame;                   /* the answer only makes the frame that waits be handled again */
    struct tp_world_layer *layer; /* with is_retry: what the frame asked the world for, entered; NULL: none */
    /* for how long frames wait: when bytes came, and how long the world had been waited for by then */
    struct tp_peer_mark {
        uint64_t at_us, world_us;
    } came, late;      /* of the frame that is next, or one before; of the last bytes, where they came behind others */
    size_t late_bytes; /* those; 0: none, or it is what `came` says */
    uint64_t world_us, waiting_since_us;
    uint64_t versions_seen; /* of shard->versions, by its last tick */
    bool is_retry; /* the frame at hand was handled before: its map has been looked for */
    bool gives_way; /* set by a command that took long: the turn ends with its frame */
};

void tp_peer_init(struct tp_peer *peer, struct tp_shard *shard, void *transport, uint64_t seed);

/* Closes the sessions and gives up what was received and not sent: the peer is CLOSED. If it was WAITING the
 * struct must stay until tp_peer_answer was called. */
void tp_peer_drop(struct tp_peer *peer);

/* Ends the peer's sessions on `map`, which are refused with `error` from then on, and leaves what else of it the peer holds. */
void tp_peer_end_sessions(struct tp_peer *peer, const struct tp_world_map *map, int error);

/* Takes received bytes, borrowed until tp_peer_keep. TP_ERR_NO_MEMORY. */
int tp_peer_receive(struct tp_peer *peer, const void *bytes, size_t size) TP_MUST_CHECK;

/* Copies what tp_peer_run has not consumed of them. TP_ERR_NO_MEMORY: the peer must be dropped. */
int tp_peer_keep(struct tp_peer *peer) TP_MUST_CHECK;

/* Says that no more bytes come; what was received is still handled. */
void tp_peer_end(struct tp_peer *peer);

/* Handles frames until none is whole, the peer waits, `output` plus `queued_bytes` (with the transport)
 * reaches the bound, `frames_max` were handled, or one that took long. Before them it tells what subscriptions ask for. Returns whether
 * frames may be left that only want for room or for a turn: the caller runs the peer again as soon as its output is
 * below the bound, for nothing else may come to remind it. */
bool tp_peer_run(struct tp_peer *peer, size_t queued_bytes, unsigned frames_max);

/* Whether it would handle a frame now, if it had one. */
bool tp_peer_is_listening(const struct tp_peer *peer);

/* Takes the world's answer to the request that this peer waited for, and frees it. A CLOSED peer only frees.
 */
void tp_peer_answer(struct tp_peer *peer, struct tp_world_request *request);

/* Refuses the connection itself: an error frame, then FLUSHING. */
void tp_peer_refuse(struct tp_peer *peer, int error, const char *words);

/* ---- for the commands ---- */

/* The hello was good: GREETING becomes READY. */
void tp_peer_greeted(struct tp_peer *peer);

/* Appends a reply; body_case and body as of struct Tickpath__Reply (`body` points to the message). */
void tp_peer_reply(struct tp_peer *peer, uint64_t id, Tickpath__Reply__BodyCase body_case, void *body);

/* The same for a tick, packed straight from the schedule's answers. */
void tp_peer_reply_ticked(struct tp_peer *peer, uint64_t id, const struct tp_ticked *ticked);

/* The same where a clock was read since its bytes came. */
uint64_t tp__peer_late_us(struct tp_peer *peer, uint64_t now_us);

/* How long the frame at hand has waited here by now, from its last byte on or a little later. 0 where nobody counts. Cost: O(1). */
static inline uint64_t tp_peer_waited_us(struct tp_peer *peer, uint64_t now_us)
{
    if (!TP_METRICS)
        return 0;
    if (peer->came.at_us != TP_PEER_JUST_NOW)
        return tp__peer_late_us(peer, now_us);
    peer->came = (struct tp_peer_mark){now_us, peer->world_us};
    return 0;
}

/* How long of that a request before it waited for the world. After tp_peer_waited_us, while the peer is not WAITING. */
uint64_t tp_peer_world_us(const struct tp_peer *peer);

/* Appends a reply that no request asked for; false when out of memory. */
bool tp_peer_push(struct tp_peer *peer, Tickpath__Reply__BodyCase body_case, void *body);

/* The number of its subscriptions is another: keeps the shard's list of subscribers, and the gauge. */
void tp_peer_count_subscriptions(struct tp_peer *peer);

/* Appends an error; strings may be NULL. */
void tp_peer_reply_error(struct tp_peer *peer, uint64_t id, int error, const char *field, const char *words,
                         uint32_t retry_after_ms);

/* Appends the error of a refused change, put or open: with the change at fault, if one is. */
void tp_peer_reply_refusal(struct tp_peer *peer, uint64_t id, const struct tp_world_refusal *refusal);

/* Gives `request` to the world and waits. `answers_frame`: when the answer is good, the frame at hand is
 * handled again instead of being answered. */
void tp_peer_wait(struct tp_peer *peer, uint64_t id, struct tp_world_request *request, bool answers_frame);

#endif
