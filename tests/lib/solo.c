#include "tests/lib/solo.h"

#include "base/check.h"
#include "daemon/clock.h"

#include <stdlib.h>
#include <string.h>

static uint64_t now_us(void *context)
{
    (void)context;
    return tp_clock_now_us();
}

static void submit(void *context, struct tp_world_request *request)
{
    (void)context, (void)request;
    TP_CHECK(!"a request to a world that is not there");
}

static void hello(struct solo *solo)
{
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    size_t size;
    uint8_t *frame = solo_frame(TICKPATH__REQUEST__BODY_HELLO, &hello, 0, &size);
    solo_receive(solo, frame, size);
    free(frame);
    TP_CHECK(solo->peer.state == TP_PEER_READY);
    solo->peer.output.size = 0;
}

void solo_init(struct solo *solo, const struct tp_map *map)
{
    char reason[TP_CONFIG_REASON_BYTES], *name = "solo", *none = NULL;
    memset(solo, 0, sizeof *solo);
    TP_CHECK(tp_config_read(&solo->config, 1, &name, &none, reason) == 0);
    atomic_init(&solo->cap.bytes_max, UINT64_MAX);
    struct tp_shard *shard = &solo->shard;
    shard->config = &solo->config;
    shard->metrics = tp_metrics_new("loop0");
    shard->clock.now_us = now_us;
    shard->submit = submit;
    TP_CHECK(shard->metrics != NULL && tp_store_memory_open(&shard->store) == 0);
    TP_CHECK(tp_shard_init(shard, &solo->cap) == 0);
    strcpy(solo->of.name, "m");
    shard->current[0] = tp_map_ref(map);
    tp_peer_init(&solo->peer, shard, NULL, 42);
    hello(solo);
}

void solo_fini(struct solo *solo)
{
    tp_peer_drop(&solo->peer);
    tp_shard_fini(&solo->shard);
    solo->shard.store->ops->close(solo->shard.store);
    free(solo->shard.metrics);
}

uint64_t solo_open_of(struct tp_shard *shard, struct tp_peer *peer, struct tp_world_map *of, const struct tp_session_params *params)
{
    struct tp_session_params with_fields = *params;
    with_fields.fields = shard->fields;
    struct tp_session *session;
    struct tp_refusal refusal;
    TP_CHECK(tp_session_open(&session, &with_fields, shard->current[0], &shard->pool, &refusal) == 0);
    TP_CHECK(tp_world_enter(of));
    uint32_t slot;
    const struct tp_budget *budget = &params->budget;
    struct tp_agent_budget own = {budget->kind, budget->expansions, budget->r_milli, budget->c, 0};
    TP_CHECK(tp_sessions_add(&peer->sessions, session, of, &own, &slot) == 0);
    peer->sessions.agents[slot].is_bounded = params->bounded;
    peer->sessions.agents[slot].is_vehicle = params->motion == TP_MOTION_INERTIA;
    return tp_sessions_id(&peer->sessions, slot);
}

uint64_t solo_open(struct solo *solo, const struct tp_session_params *params)
{
    return solo_open_of(&solo->shard, &solo->peer, &solo->of, params);
}

struct tp_session *solo_session(struct solo *solo, uint64_t id)
{
    uint32_t slot = tp_sessions_find(&solo->peer.sessions, id);
    TP_CHECK(slot != TP_AGENT_NONE);
    return solo->peer.sessions.agents[slot].session;
}

uint8_t *solo_frame(Tickpath__Request__BodyCase body_case, void *body, uint64_t id, size_t *size)
{
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = id != 0;
    request.id = id;
    request.body_case = body_case;
    request.hello = body; /* the members of the union are pointers all */
    struct tp_frame_buffer buffer = {0};
    uint8_t *room = tp_frame_buffer_add(&buffer, tickpath__request__get_packed_size(&request));
    TP_CHECK(room != NULL);
    tickpath__request__pack(&request, room);
    *size = buffer.size;
    return buffer.bytes;
}

void solo_receive(struct solo *solo, const void *bytes, size_t size)
{
    TP_CHECK(tp_peer_receive(&solo->peer, bytes, size) == 0);
    while (tp_peer_run(&solo->peer, 0, 64))
        ;
    TP_CHECK(tp_peer_keep(&solo->peer) == 0);
}

Tickpath__Reply *solo_reply(struct solo *solo)
{
    struct tp_frame_decoder decoder;
    const uint8_t *payload;
    size_t size;
    tp_frame_decoder_init(&decoder, solo->config.frame_bytes_max, NULL);
    TP_CHECK(tp_frame_decoder_push(&decoder, solo->peer.output.bytes, solo->peer.output.size) == 0);
    TP_CHECK(tp_frame_decoder_next(&decoder, &payload, &size) == 1);
    Tickpath__Reply *reply = tickpath__reply__unpack(NULL, size, payload);
    TP_CHECK(reply != NULL);
    solo->peer.output.size = 0;
    return reply;
}
