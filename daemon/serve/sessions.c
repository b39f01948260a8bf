#include "daemon/serve/sessions.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

/* An id is salt << SLOT_BITS | slot; a salt is never 0, so no id below 2^SLOT_BITS exists. */
enum { SLOT_BITS = 20, CAPACITY_MIN = 8 };

void tp_sessions_init(struct tp_sessions *sessions, struct tp_closing *closing, struct tp_metrics *metrics, uint32_t count_max,
                      uint64_t seed)
{
    TP_CHECK(count_max <= 1u << SLOT_BITS);
    *sessions = (struct tp_sessions){.closing = closing,
                                     .metrics = metrics,
                                     .count_max = count_max,
                                     .first = TP_AGENT_NONE,
                                     .last = TP_AGENT_NONE,
                                     .free_first = TP_AGENT_NONE,
                                     .ended_first = TP_AGENT_NONE,
                                     .salt_state = seed,
                                     .pace = tp_pace_begin()};
}

uint32_t tp_sessions_fini(struct tp_sessions *sessions)
{
    uint32_t open = sessions->count - sessions->ended_count;
    while (sessions->first != TP_AGENT_NONE)
        tp_sessions_close(sessions, sessions->first);
    free(sessions->agents);
    sessions->agents = NULL;
    sessions->capacity = sessions->count = sessions->ended_count = 0;
    sessions->free_first = sessions->ended_first = TP_AGENT_NONE;
    return open;
}

/* splitmix64, the upper half; never 0 and never the slot's last salt */
static uint32_t draw_salt(struct tp_sessions *sessions, uint32_t last)
{
    for (;;) {
        uint64_t z = sessions->salt_state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        uint32_t salt = (uint32_t)(z >> 32 ^ z >> 63);
        if (salt != 0 && salt != last)
            return salt;
    }
}

static int grow(struct tp_sessions *sessions)
{
    uint32_t capacity = sessions->capacity == 0 ? CAPACITY_MIN : sessions->capacity * 2;
    if (capacity > sessions->count_max)
        capacity = sessions->count_max;
    struct tp_agent *larger = realloc(sessions->agents, capacity * sizeof *larger);
    if (larger == NULL)
        return TP_ERR_NO_MEMORY;
    sessions->agents = larger;
    memset(larger + sessions->capacity, 0, (capacity - sessions->capacity) * sizeof *larger);
    for (uint32_t slot = capacity; slot-- > sessions->capacity;) {
        larger[slot].next = sessions->free_first;
        sessions->free_first = slot;
    }
    sessions->capacity = capacity;
    return 0;
}

/* Counts one more, or one less, of the session's kinds. */
static void count_one(const struct tp_sessions *sessions, const struct tp_agent *agent, int more)
{
    tp_metric_gauge_add(&sessions->metrics->sessions_open[agent->algorithm], more);
    tp_metric_gauge_add(&sessions->metrics->session_states[agent->state], more);
}

void tp_agent_state(const struct tp_sessions *sessions, struct tp_agent *agent, enum tp_status status)
{
    tp_metric_gauge_add(&sessions->metrics->session_states[agent->state], -1);
    tp_metric_gauge_add(&sessions->metrics->session_states[status], 1);
    agent->state = (uint8_t)status;
}

bool tp_sessions_full(const struct tp_sessions *sessions)
{
    return sessions->count >= sessions->count_max;
}

int tp_sessions_add(struct tp_sessions *sessions, struct tp_session *session, struct tp_world_map *map,
                    const struct tp_agent_budget *budget, uint32_t *slot)
{
    if (tp_sessions_full(sessions))
        return TP_ERR_RESOURCE_EXHAUSTED;
    if (sessions->free_first == TP_AGENT_NONE) {
        int error = grow(sessions);
        if (error != 0)
            return error;
    }
    int error = tp_closing_expect(sessions->closing);
    if (error != 0)
        return error;
    *slot = sessions->free_first;
    struct tp_agent *agent = &sessions->agents[*slot];
    sessions->free_first = agent->next;
    agent->session = session;
    agent->map = map;
    agent->budget = *budget;
    agent->salt = draw_salt(sessions, agent->salt);
    agent->tick_seen = 0;
    agent->ticks_looked = agent->looked_ms = 0;
    agent->is_vehicle = agent->is_bounded = agent->is_unbounded = false;
    agent->priority = TP_PRIORITY_DEFAULT;
    agent->guide_units = agent->waited = 0;
    agent->flags = 0;
    agent->search = agent->guide = (struct tp_share){0};
    tp_agent_set_off(agent);
    agent->layer = agent->told = NULL;
    agent->algorithm = (uint8_t)tp_algorithm_index(tp_session_algorithm(session));
    agent->state = 0;
    count_one(sessions, agent, 1);
    agent->ended_error = 0;
    agent->previous = sessions->last;
    agent->next = TP_AGENT_NONE;
    if (sessions->last == TP_AGENT_NONE)
        sessions->first = *slot;
    else
        sessions->agents[sessions->last].next = *slot;
    sessions->last = *slot;
    sessions->count++;
    return 0;
}

void tp_agent_set_off(struct tp_agent *agent)
{
    agent->search.asks = agent->is_fresh = true;
    agent->guide.asks = agent->guide_units > 0;
}

uint32_t tp_sessions_find(const struct tp_sessions *sessions, uint64_t id)
{
    uint32_t slot = (uint32_t)(id & ((1u << SLOT_BITS) - 1));
    if (slot >= sessions->capacity)
        return TP_AGENT_NONE;
    const struct tp_agent *agent = &sessions->agents[slot];
    return agent->session != NULL && agent->salt == id >> SLOT_BITS ? slot : TP_AGENT_NONE;
}

uint64_t tp_sessions_id(const struct tp_sessions *sessions, uint32_t slot)
{
    return (uint64_t)sessions->agents[slot].salt << SLOT_BITS | slot;
}

/* Puts the search of a slot away, leaves its map, and takes the slot out of the order. */
static void put_away(struct tp_sessions *sessions, uint32_t slot)
{
    struct tp_agent *agent = &sessions->agents[slot];
    TP_CHECK(agent->session != NULL);
    count_one(sessions, agent, -1);
    tp_closing_put(sessions->closing, agent->session);
    if (agent->layer != NULL)
        tp_world_layer_leave(agent->layer);
    else
        tp_world_leave(agent->map);
    if (agent->told != NULL)
        tp_world_layer_leave(agent->told);
    agent->session = NULL;
    agent->map = NULL;
    agent->layer = agent->told = NULL;
    if (agent->previous == TP_AGENT_NONE)
        sessions->first = agent->next;
    else
        sessions->agents[agent->previous].next = agent->next;
    if (agent->next == TP_AGENT_NONE)
        sessions->last = agent->previous;
    else
        sessions->agents[agent->next].previous = agent->previous;
}

static void free_slot(struct tp_sessions *sessions, uint32_t slot)
{
    sessions->agents[slot].next = sessions->free_first;
    sessions->free_first = slot;
    sessions->count--;
}

void tp_sessions_close(struct tp_sessions *sessions, uint32_t slot)
{
    put_away(sessions, slot);
    free_slot(sessions, slot);
}

uint32_t tp_sessions_end(struct tp_sessions *sessions, const struct tp_world_map *map, int error)
{
    uint32_t ended = 0, next;
    for (uint32_t slot = sessions->first; slot != TP_AGENT_NONE; slot = next) {
        struct tp_agent *agent = &sessions->agents[slot];
        next = agent->next;
        if (agent->map != map && (agent->told == NULL || agent->told->of != map))
            continue;
        put_away(sessions, slot);
        agent->ended_error = error;
        agent->previous = TP_AGENT_NONE;
        agent->next = sessions->ended_first;
        if (agent->next != TP_AGENT_NONE)
            sessions->agents[agent->next].previous = slot;
        sessions->ended_first = slot;
        ended++;
    }
    sessions->ended_count += ended;
    return ended;
}

int tp_sessions_ended(const struct tp_sessions *sessions, uint64_t id)
{
    uint32_t slot = (uint32_t)(id & ((1u << SLOT_BITS) - 1));
    if (slot >= sessions->capacity || sessions->agents[slot].session != NULL ||
        sessions->agents[slot].salt != id >> SLOT_BITS)
        return 0;
    return sessions->agents[slot].ended_error;
}

bool tp_sessions_forget(struct tp_sessions *sessions, uint64_t id)
{
    if (tp_sessions_ended(sessions, id) == 0)
        return false;
    uint32_t slot = (uint32_t)(id & ((1u << SLOT_BITS) - 1));
    struct tp_agent *agent = &sessions->agents[slot];
    if (agent->previous == TP_AGENT_NONE)
        sessions->ended_first = agent->next;
    else
        sessions->agents[agent->previous].next = agent->next;
    if (agent->next != TP_AGENT_NONE)
        sessions->agents[agent->next].previous = agent->previous;
    agent->ended_error = 0;
    sessions->ended_count--;
    free_slot(sessions, slot);
    return true;
}
