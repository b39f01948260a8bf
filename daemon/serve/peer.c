#include "daemon/serve/peer.h"

#include "base/check.h"
#include "daemon/serve/commands.h"
#include "daemon/serve/tick_read.h"

#include <stdlib.h>
#include <string.h>

/* Which moves of the state are allowed. */
static const uint8_t allowed[] = {
    [TP_PEER_GREETING] = 1 << TP_PEER_READY | 1 << TP_PEER_FLUSHING | 1 << TP_PEER_CLOSED,
    [TP_PEER_READY] = 1 << TP_PEER_WAITING | 1 << TP_PEER_FLUSHING | 1 << TP_PEER_CLOSED,
    [TP_PEER_WAITING] = 1 << TP_PEER_READY | 1 << TP_PEER_CLOSED,
    [TP_PEER_FLUSHING] = 1 << TP_PEER_CLOSED,
    [TP_PEER_CLOSED] = 0,
};

static void move_to(struct tp_peer *peer, enum tp_peer_state state)
{
    TP_CHECK(allowed[peer->state] >> state & 1);
    peer->state = state;
}

void tp_peer_init(struct tp_peer *peer, struct tp_shard *shard, void *transport, uint64_t seed)
{
    memset(peer, 0, sizeof *peer);
    peer->shard = shard;
    peer->transport = transport;
    peer->state = TP_PEER_GREETING;
    peer->versions_seen = shard->versions;
    tp_frame_decoder_init(&peer->input, shard->config->frame_bytes_max, &shard->spares);
    peer->output.spares = &shard->spares;
    tp_sessions_init(&peer->sessions, &shard->closing, shard->metrics, (uint32_t)shard->config->sessions_max, seed);
}

void tp_peer_drop(struct tp_peer *peer)
{
    if (peer->state == TP_PEER_CLOSED)
        return;
    move_to(peer, TP_PEER_CLOSED);
    tp_shard_count_closed(peer->shard, tp_sessions_fini(&peer->sessions));
    if (peer->layer != NULL)
        tp_world_layer_leave(peer->layer);
    peer->layer = NULL;
    tp_upload_drop(&peer->upload);
    tp_subscriptions_fini(&peer->subscriptions);
    tp_peer_count_subscriptions(peer);
    tp_frame_decoder_fini(&peer->input);
    tp_frame_buffer_fini(&peer->output);
}

void tp_peer_end_sessions(struct tp_peer *peer, const struct tp_world_map *map, int error)
{
    if (peer->state == TP_PEER_CLOSED)
        return;
    uint32_t ended = tp_sessions_end(&peer->sessions, map, error);
    tp_shard_count_closed(peer->shard, ended);
    tp_metric_add(&peer->shard->metrics->sessions_ended, ended);
    if (peer->layer == NULL || peer->layer->of != map)
        return;
    tp_world_layer_leave(peer->layer);
    peer->layer = NULL;
    peer->is_retry = false; /* the frame at hand asks for it again */
}

static uint64_t now_us(const struct tp_peer *peer)
{
    const struct tp_clock *clock = &peer->shard->clock;
    return clock->now_us(clock->context);
}

/* How long the world had been waited for by now, of all requests so far. */
static uint64_t world_us(const struct tp_peer *peer, uint64_t now_us)
{
    return peer->world_us + (peer->state == TP_PEER_WAITING ? now_us - peer->waiting_since_us : 0);
}

static void note_came(struct tp_peer *peer)
{
    if (TP_METRICS && peer->came.at_us == TP_PEER_JUST_NOW)
        peer->came = (struct tp_peer_mark){now_us(peer), peer->world_us};
}

/* The frame at hand begins with what is held. Where bytes came more than twice since, and it came in between, it is taken to have come last. */
uint64_t tp__peer_late_us(struct tp_peer *peer, uint64_t now_us)
{
    const struct tp_frame_decoder *input = &peer->input;
    const uint8_t *payload;
    size_t size;
    if (peer->late_bytes > 0 && tp_frame_decoder_next(input, &payload, &size) > 0 &&
        (size_t)(input->bytes + input->end - (payload + size)) < peer->late_bytes) {
        peer->came = peer->late;
        peer->late_bytes = 0;
    }
    return now_us - peer->came.at_us;
}

uint64_t tp_peer_world_us(const struct tp_peer *peer)
{
    return peer->world_us - peer->came.world_us;
}

/* Takes bytes behind others that are held. Apart from the rest, which is short without it. */
__attribute__((noinline)) static int receive_late(struct tp_peer *peer, const void *bytes, size_t size)
{
    uint64_t at_us = now_us(peer);
    peer->late_bytes += size;
    peer->late = (struct tp_peer_mark){at_us, world_us(peer, at_us)};
    return tp_frame_decoder_push(&peer->input, bytes, size);
}

/* Most bytes come when nothing is held, and are one request, which is served at once: when they came is noted by who reads the clock
 * first, if any are left then. */
int tp_peer_receive(struct tp_peer *peer, const void *bytes, size_t size)
{
    if (peer->state == TP_PEER_FLUSHING || peer->state == TP_PEER_CLOSED)
        return 0; /* read only so that the client gets its last reply */
    if (TP_METRICS && tp_frame_decoder_held(&peer->input) > 0)
        return receive_late(peer, bytes, size);
    if (TP_METRICS) {
        peer->late_bytes = 0;
        peer->came.at_us = TP_PEER_JUST_NOW;
    }
    return tp_frame_decoder_push(&peer->input, bytes, size);
}

int tp_peer_keep(struct tp_peer *peer)
{
    if (!tp_frame_decoder_is_lent(&peer->input))
        return 0;
    note_came(peer);
    return tp_frame_decoder_keep(&peer->input);
}

void tp_peer_end(struct tp_peer *peer)
{
    peer->has_ended = true;
}

/* ---- Replies ---- */

/* A request without its reply would break the order of replies. */
static void end_here(struct tp_peer *peer)
{
    if (tp_peer_is_listening(peer))
        move_to(peer, TP_PEER_FLUSHING);
}

static bool pack(struct tp_peer *peer, const Tickpath__Reply *reply, size_t size)
{
    uint8_t *room = tp_frame_buffer_add(&peer->output, size);
    if (room != NULL)
        tickpath__reply__pack(reply, room);
    return room != NULL;
}

static void append_error(struct tp_peer *peer, uint64_t id, Tickpath__Error *error)
{
    Tickpath__Reply reply = TICKPATH__REPLY__INIT;
    reply.has_id = 1;
    reply.id = id;
    reply.body_case = TICKPATH__REPLY__BODY_ERROR;
    reply.error = error;
    tp_metric_add(&peer->shard->metrics->errors[error->code - 1], 1);
    if (!pack(peer, &reply, tickpath__reply__get_packed_size(&reply)))
        end_here(peer);
}

void tp_peer_reply(struct tp_peer *peer, uint64_t id, Tickpath__Reply__BodyCase body_case, void *body)
{
    Tickpath__Reply reply = TICKPATH__REPLY__INIT;
    reply.has_id = 1;
    reply.id = id;
    reply.body_case = body_case;
    reply.error = body; /* the members of the union are pointers all */
    size_t size = tickpath__reply__get_packed_size(&reply);
    if (size > peer->shard->config->frame_bytes_max) {
        tp_peer_reply_error(peer, id, TP_ERR_RESOURCE_EXHAUSTED, NULL,
                            "the reply does not fit into one frame", 0);
        return;
    }
    /* the reply may name a version that the client was not told of */
    if (!tp_subscriptions_tell(peer, true) || !pack(peer, &reply, size))
        end_here(peer);
}

void tp_peer_reply_ticked(struct tp_peer *peer, uint64_t id, const struct tp_ticked *ticked)
{
    if (!tp_subscriptions_tell(peer, true) || !tp_ticked_append(&peer->output, id, ticked))
        end_here(peer);
}

bool tp_peer_push(struct tp_peer *peer, Tickpath__Reply__BodyCase body_case, void *body)
{
    Tickpath__Reply reply = TICKPATH__REPLY__INIT;
    reply.body_case = body_case;
    reply.error = body;
    return pack(peer, &reply, tickpath__reply__get_packed_size(&reply));
}

void tp_peer_count_subscriptions(struct tp_peer *peer)
{
    struct tp_shard *shard = peer->shard;
    uint32_t count = peer->subscriptions.count;
    if (count > 0 && peer->subscriptions_counted == 0) {
        peer->subscriber_previous = NULL;
        peer->subscriber_next = shard->subscribers;
        if (shard->subscribers != NULL)
            shard->subscribers->subscriber_previous = peer;
        shard->subscribers = peer;
    } else if (count == 0 && peer->subscriptions_counted > 0) {
        if (peer->subscriber_previous != NULL)
            peer->subscriber_previous->subscriber_next = peer->subscriber_next;
        else
            shard->subscribers = peer->subscriber_next;
        if (peer->subscriber_next != NULL)
            peer->subscriber_next->subscriber_previous = peer->subscriber_previous;
    }
    tp_metric_gauge_add(&shard->metrics->subscriptions_open, (int64_t)count - peer->subscriptions_counted);
    peer->subscriptions_counted = count;
}

void tp_peer_reply_error(struct tp_peer *peer, uint64_t id, int error, const char *field, const char *words,
                         uint32_t retry_after_ms)
{
    Tickpath__Error body = TICKPATH__ERROR__INIT;
    body.has_code = 1;
    body.code = (Tickpath__ErrorCode)-error;
    body.message = (char *)(words != NULL ? words : tp_error_text(error));
    body.field = (char *)field;
    body.has_retry_after_ms = retry_after_ms != 0;
    body.retry_after_ms = retry_after_ms;
    append_error(peer, id, &body);
}

void tp_peer_reply_refusal(struct tp_peer *peer, uint64_t id, const struct tp_world_refusal *refusal)
{
    Tickpath__Error body = TICKPATH__ERROR__INIT;
    body.has_code = 1;
    body.code = (Tickpath__ErrorCode)-refusal->error;
    body.message = (char *)refusal->words;
    body.field = (char *)refusal->field;
    body.has_retry_after_ms = refusal->retry_after_ms != 0;
    body.retry_after_ms = refusal->retry_after_ms;
    body.has_change_index = refusal->has_bad_change;
    body.has_bad_x = body.has_bad_y =
        refusal->has_bad_change && refusal->error == TP_ERR_OUT_OF_RANGE && !refusal->of_graph;
    body.change_index = refusal->change_index;
    body.bad_x = refusal->bad_x;
    body.bad_y = refusal->bad_y;
    body.has_edge_index = refusal->has_bad_edge;
    body.edge_index = refusal->edge_index;
    body.has_node_index = refusal->has_bad_node;
    body.node_index = refusal->node_index;
    body.has_epoch = body.has_version = refusal->has_place;
    body.epoch = refusal->epoch;
    body.version = refusal->version;
    append_error(peer, id, &body);
}

void tp_peer_refuse(struct tp_peer *peer, int error, const char *words)
{
    tp_peer_reply_error(peer, 0, error, NULL, words, 0);
    if (peer->state != TP_PEER_FLUSHING)
        move_to(peer, TP_PEER_FLUSHING);
}

/* ---- Waiting for the world ---- */

void tp_peer_wait(struct tp_peer *peer, uint64_t id, struct tp_world_request *request, bool answers_frame)
{
    move_to(peer, TP_PEER_WAITING);
    request->owner = peer;
    request->shard = peer->shard->index;
    peer->waiting_for = request;
    peer->waiting_id = id;
    peer->answers_frame = answers_frame;
    peer->waiting_since_us = now_us(peer);
    peer->shard->submit(peer->shard->context, request);
}

/* The frame is to be handled again, with what the world gave. */
static void take_answer(struct tp_peer *peer, struct tp_world_request *request)
{
    peer->is_retry = true;
    peer->layer = request->layer;
    request->layer = NULL;
}

void tp_peer_answer(struct tp_peer *peer, struct tp_world_request *request)
{
    TP_CHECK(peer->waiting_for == request);
    peer->waiting_for = NULL;
    if (peer->state == TP_PEER_WAITING) {
        peer->world_us = world_us(peer, now_us(peer));
        move_to(peer, TP_PEER_READY);
        if (request->refusal.error != 0)
            tp_peer_reply_refusal(peer, peer->waiting_id, &request->refusal);
        else if (peer->answers_frame)
            take_answer(peer, request);
        else
            tp_command_finish(peer, peer->waiting_id, request);
        if (!peer->is_retry)
            tp_frame_decoder_skip(&peer->input);
    }
    tp_world_request_free(request);
}

/* ---- Frames ---- */

static void *arena_alloc(void *context, size_t bytes)
{
    return tp_arena_take(context, bytes);
}

static void arena_free(void *context, void *block)
{
    (void)context, (void)block; /* goes back with the next reset */
}

static void lose_framing(struct tp_peer *peer, int error, const char *words)
{
    tp_metric_add(&peer->shard->metrics->connections_dropped[TP_DROP_BAD_FRAME], 1);
    tp_peer_refuse(peer, error, words);
}

/* Handles one frame; it stays next in the decoder while the peer waits. */
static void handle_frame(struct tp_peer *peer, const uint8_t *payload, size_t size)
{
    struct tp_arena *arena = &peer->shard->arena;
    tp_arena_reset(arena);
    ProtobufCAllocator allocator = {arena_alloc, arena_free, arena};
    Tickpath__Request *request = tp_tick_read(arena, payload, size);
    if (request == NULL) {
        note_came(peer); /* it may take its time, and a tick behind it waits for that */
        request = tickpath__request__unpack(&allocator, size, payload);
        if (request != NULL && request->body_case != TICKPATH__REQUEST__BODY_TICK && !peer->is_retry)
            tp_metric_add(&peer->shard->metrics->requests, 1); /* of ticks, those refused are; the others, tp_metric_tick counts */
    }
    if (request == NULL && arena->is_exhausted) {
        tp_peer_reply_error(peer, 0, TP_ERR_RESOURCE_EXHAUSTED, NULL,
                            "the message needs too much memory to decode", 0);
    } else if (request == NULL) {
        lose_framing(peer, TP_ERR_MALFORMED_FRAME, "the frame's bytes are not a Request");
        return;
    } else {
        bool is_retry = peer->is_retry;
        peer->is_retry = false;
        tp_command_handle(peer, request, is_retry);
        if (peer->layer != NULL) /* the frame came to nothing before it took it */
            tp_world_layer_leave(peer->layer);
        peer->layer = NULL;
    }
    if (peer->state != TP_PEER_WAITING)
        tp_frame_decoder_skip(&peer->input);
}

void tp_peer_greeted(struct tp_peer *peer)
{
    move_to(peer, TP_PEER_READY);
}

bool tp_peer_is_listening(const struct tp_peer *peer)
{
    return peer->state == TP_PEER_GREETING || peer->state == TP_PEER_READY;
}

bool tp_peer_run(struct tp_peer *peer, size_t queued_bytes, unsigned frames_max)
{
    peer->queued_bytes = queued_bytes;
    peer->gives_way = false;
    bool may_tell = peer->state == TP_PEER_READY || peer->state == TP_PEER_WAITING;
    if (may_tell && !tp_subscriptions_tell(peer, false))
        return true;
    for (unsigned handled = 0; tp_peer_is_listening(peer); handled++) {
        if (handled == frames_max || peer->gives_way ||
            peer->output.size + queued_bytes >= peer->shard->config->output_bytes_max)
            return true;
        const uint8_t *payload = NULL;
        size_t size = 0;
        int found = tp_frame_decoder_next(&peer->input, &payload, &size);
        if (found > 0) {
            handle_frame(peer, payload, size);
        } else if (found < 0) {
            lose_framing(peer, found, NULL);
        } else {
            if (peer->has_ended && tp_frame_decoder_held(&peer->input) > 0)
                lose_framing(peer, TP_ERR_MALFORMED_FRAME, "the connection ended inside a frame");
            else if (peer->has_ended)
                move_to(peer, TP_PEER_FLUSHING);
            return false;
        }
    }
    return false;
}
