#include "daemon/view/view_copy.h"

enum { CONNECTION_LOOKS = 4 }; /* what an empty connection counts for */

void tp_view_copy_begin(struct tp_view_copy *copy)
{
    copy->count = copy->missed = copy->slot = 0;
    copy->is_found = false;
}

static struct tp_view_agent agent_of(const struct tp_sessions *sessions, uint32_t slot)
{
    const struct tp_agent *agent = &sessions->agents[slot];
    return (struct tp_view_agent){.id = tp_sessions_id(sessions, slot),
                                  .cell = tp_session_cell(agent->session),
                                  .goal = tp_session_goal(agent->session),
                                  .flags = agent->flags,
                                  .status = agent->state};
}

static void copy_session(struct tp_view_copy *copy, const struct tp_sessions *sessions)
{
    uint32_t slot = tp_sessions_find(sessions, copy->session);
    if (copy->is_found || slot == TP_AGENT_NONE)
        return;
    copy->is_found = true;
    tp_dump_take(copy->dump, &sessions->agents[slot], copy->session, &copy->scan, TP_DUMP_STATES_MAX);
}

static void copy_agent(struct tp_view_copy *copy, const struct tp_sessions *sessions, uint32_t slot)
{
    const struct tp_agent *agent = &sessions->agents[slot];
    if (agent->session == NULL || agent->map != copy->of)
        return;
    if (copy->count < copy->capacity)
        copy->agents[copy->count++] = agent_of(sessions, slot);
    else
        copy->missed++;
}

bool tp_view_copy_some(struct tp_view_copy *copy, const struct tp_sessions *sessions, uint32_t *looks)
{
    if (copy->session != 0) {
        copy_session(copy, sessions);
        *looks -= *looks < CONNECTION_LOOKS ? *looks : CONNECTION_LOOKS;
        return true;
    }
    for (; copy->slot < sessions->capacity; copy->slot++) {
        if (*looks == 0)
            return false;
        --*looks;
        copy_agent(copy, sessions, copy->slot);
    }
    *looks -= *looks > 0;
    copy->slot = 0;
    return true;
}

void tp_view_copy_next(struct tp_view_copy *copy)
{
    copy->slot = 0;
}

void tp_view_copy_forget(struct tp_view_copy *copy, const struct tp_world_map *of)
{
    if (copy->of == of)
        copy->of = NULL;
}
