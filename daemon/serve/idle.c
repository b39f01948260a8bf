#include "daemon/serve/idle.h"

#include "search/session.h"

static bool lags(const struct tp_shard *shard, const struct tp_map *held, const struct tp_map *current)
{
    return held->epoch != current->epoch ||
           current->version - held->version > shard->config->map_versions_max;
}

/* Whether the session lets go now. */
static bool look(struct tp_shard *shard, struct tp_agent *agent, uint64_t now_ms)
{
    const struct tp_map *current =
        agent->layer != NULL ? tp_shard_layer(shard, agent->layer) : tp_shard_map(shard, agent->map);
    uint64_t ticks = tp_session_ticks(agent->session);
    if (ticks != agent->ticks_looked) {
        agent->ticks_looked = ticks;
        agent->looked_ms = now_ms;
    }
    if (current == NULL || current == tp_session_map(agent->session) ||
        !lags(shard, tp_session_map(agent->session), current) ||
        (ticks > 0 && now_ms - agent->looked_ms < TP_IDLE_MS))
        return false;
    tp_session_let_go(agent->session, current);
    return true;
}

void tp_idle_look(struct tp_shard *shard, struct tp_sessions *sessions, uint64_t now_ms, uint64_t end_us)
{
    uint32_t looks = sessions->count == 0                 ? 0
                     : sessions->capacity < TP_IDLE_LOOKS ? sessions->capacity
                                                          : TP_IDLE_LOOKS;
    while (looks-- > 0) {
        if (sessions->idle_next >= sessions->capacity)
            sessions->idle_next = 0;
        struct tp_agent *agent = &sessions->agents[sessions->idle_next++];
        if (agent->session == NULL || !look(shard, agent, now_ms))
            continue;
        tp_metric_add(&shard->metrics->versions_let_go, 1);
        if (shard->clock.now_us(shard->clock.context) >= end_us)
            return;
    }
}
