#include "daemon/serve/scheduler_internal.h"

#include "base/prefetch.h"
#include "daemon/serve/refusal.h"

/* When a session's turn ends. */
struct turn {
    const struct tp_schedule *schedule;
    uint64_t end_us; /* for budgets in time */
};

bool tp__schedule_over(const struct tp_schedule *schedule)
{
    return schedule->is_over != NULL && atomic_load_explicit(schedule->is_over, memory_order_relaxed);
}

/* Expansions and steps alone count: the clock is not looked at. */
static bool given_up_cb(void *context)
{
    const struct turn *turn = context;
    return tp__schedule_over(turn->schedule);
}

static bool turn_over_cb(void *context)
{
    const struct turn *turn = context;
    const struct tp_clock *clock = &turn->schedule->clock;
    return tp__schedule_over(turn->schedule) || clock->now_us(clock->context) >= turn->end_us;
}

static bool always_over_cb(void *context)
{
    (void)context;
    return true;
}

struct tp_budget tp_agent_budget_for_check(const struct tp_agent_budget *budget)
{
    return (struct tp_budget){.kind = budget->kind,
                              .expansions = budget->expansions,
                              .r_milli = budget->r_milli,
                              .c = budget->c,
                              .expired = always_over_cb,
                              .expansions_max = UINT64_MAX};
}

size_t tp_schedule_most(const struct tp_schedule *schedule)
{
    size_t count = schedule->sessions->count;
    return schedule->all || schedule->id_count > count ? count : schedule->id_count;
}

size_t tp_schedule_most_refused(const struct tp_schedule *schedule)
{
    size_t named = schedule->all ? schedule->sessions->count : schedule->id_count;
    return named + schedule->at_count;
}

static void refuse(struct tp_schedule *schedule, uint64_t id, int error, const struct tp_map *map)
{
    schedule->is_usual = false;
    schedule->refused[schedule->refused_count++] = (struct tp_schedule_refused){id, error, map};
}

/* What an id that is no session's is refused with. */
static int missing_error(const struct tp_sessions *sessions, uint64_t id)
{
    int error = tp_sessions_ended(sessions, id);
    return error != 0 ? error : TP_ERR_NOT_FOUND;
}

/* Fills slots[] with the sessions to serve, in order; the rest go to refused[]. */
static void select_sessions(struct tp_schedule *schedule)
{
    enum { SLOTS_AHEAD = 16 };
    struct tp_sessions *sessions = schedule->sessions;
    if (schedule->all) {
        for (uint32_t slot = sessions->first; slot != TP_AGENT_NONE; slot = sessions->agents[slot].next) {
            if (slot + SLOTS_AHEAD < sessions->capacity) /* those opened together mostly lie in this order */
                tp_prefetch(&sessions->agents[slot + SLOTS_AHEAD].next);
            schedule->slots[schedule->served++] = slot;
        }
        for (uint32_t slot = sessions->ended_first; slot != TP_AGENT_NONE; slot = sessions->agents[slot].next)
            refuse(schedule, tp_sessions_id(sessions, slot), sessions->agents[slot].ended_error, NULL);
        return;
    }
    for (size_t i = 0; i < schedule->id_count; i++) {
        uint32_t slot = tp_sessions_find(sessions, schedule->ids[i]);
        if (slot == TP_AGENT_NONE) {
            refuse(schedule, schedule->ids[i], missing_error(sessions, schedule->ids[i]), NULL);
        } else if (sessions->agents[slot].tick_seen == schedule->tick) {
            refuse(schedule, schedule->ids[i], TP_ERR_INVALID_ARGUMENT, NULL);
        } else {
            sessions->agents[slot].tick_seen = schedule->tick;
            schedule->slots[schedule->served++] = slot;
        }
    }
}

const struct tp_map *tp__schedule_map(const struct tp_schedule *schedule, uint32_t slot)
{
    const struct tp_agent *agent = &schedule->sessions->agents[slot];
    if (agent->layer != NULL)
        return schedule->layers[agent->map->slot]->layer[agent->layer->index];
    return schedule->current[agent->map->slot];
}

/* What a session's map is refused for, 0 for nothing. */
static int map_error(const struct tp_schedule *schedule, uint32_t slot)
{
    const struct tp_map *map = tp__schedule_map(schedule, slot);
    if (schedule->has_epoch && map->epoch != schedule->epoch)
        return TP_ERR_VERSION_MISMATCH;
    return map->version < schedule->min_version ? TP_ERR_MAP_NOT_READY : 0;
}

/* Takes out the sessions whose maps are not where the request wants them: the others need not wait for those. */
static void drop_late(struct tp_schedule *schedule)
{
    size_t kept = 0;
    for (size_t i = 0; i < schedule->served; i++) {
        uint32_t slot = schedule->slots[i];
        int error = map_error(schedule, slot);
        if (error != 0)
            refuse(schedule, tp_sessions_id(schedule->sessions, slot), error, tp__schedule_map(schedule, slot));
        else
            schedule->slots[kept++] = slot;
    }
    schedule->served = kept;
}

/* Whether the request can be served as it stands. */
static int check(const struct tp_schedule *schedule, struct tp_refusal *refusal)
{
    for (size_t i = 0; i < schedule->served; i++) {
        uint32_t slot = schedule->slots[i];
        if (schedule->each != NULL) {
            struct tp_budget budget = tp_agent_budget_for_check(schedule->each);
            int error = tp_session_check_budget(schedule->sessions->agents[slot].session, &budget, refusal);
            if (error != 0)
                return error;
        }
    }
    return 0;
}

/* Applies the true positions; a session with a bad one is refused and not served. */
static void apply_positions(struct tp_schedule *schedule)
{
    struct tp_sessions *sessions = schedule->sessions;
    bool some_bad = false;
    for (size_t i = 0; i < schedule->at_count; i++) {
        uint32_t slot = tp_sessions_find(sessions, schedule->at_ids[i]);
        if (slot == TP_AGENT_NONE) {
            refuse(schedule, schedule->at_ids[i], missing_error(sessions, schedule->at_ids[i]), NULL);
            continue;
        }
        if (map_error(schedule, slot) != 0)
            continue;
        int vx = schedule->at_vx != NULL ? schedule->at_vx[i] : 0;
        int vy = schedule->at_vy != NULL ? schedule->at_vy[i] : 0;
        int error = tp_session_at_velocity(sessions->agents[slot].session, schedule->at_cells[i], vx, vy);
        if (error != 0) {
            refuse(schedule, schedule->at_ids[i], error, NULL);
            sessions->agents[slot].tick_seen = UINT64_MAX; /* out of this tick */
            some_bad = true;
        }
        tp_agent_set_off(&sessions->agents[slot]);
    }
    if (!some_bad)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < schedule->served; i++) {
        uint32_t slot = schedule->slots[i];
        if (sessions->agents[slot].tick_seen != UINT64_MAX)
            schedule->slots[kept++] = slot;
    }
    schedule->served = kept;
    for (size_t i = 0; i < schedule->at_count; i++) {
        uint32_t slot = tp_sessions_find(sessions, schedule->at_ids[i]);
        if (slot != TP_AGENT_NONE && sessions->agents[slot].tick_seen == UINT64_MAX)
            sessions->agents[slot].tick_seen = 0;
    }
}

const struct tp_agent_budget *tp__schedule_budget(const struct tp_schedule *schedule, const struct tp_agent *agent)
{
    return schedule->each != NULL ? schedule->each : &agent->budget;
}

void tp__line_fetch(const struct tp_schedule *schedule, const struct tp_line *line, size_t i)
{
    enum { AGENT_AHEAD = 36 };
    const struct tp_agent *agents = schedule->sessions->agents;
    if (line->order != NULL && i + AGENT_AHEAD < line->count) /* else they mostly lie in this order */
        tp_prefetch_bytes(&agents[schedule->slots[tp__line_index(line, i + AGENT_AHEAD)]], sizeof *agents);
    for (unsigned step = 1; step <= TP_PREFETCH_STEPS; step++) {
        size_t walks = i + tp_prefetch_walk_ahead[step - 1], searches = i + tp_prefetch_ahead[step - 1];
        if (walks < line->walking)
            tp_session_prefetch_walk(agents[schedule->slots[tp__line_index(line, walks)]].session, step);
        if (searches >= line->walking && searches < line->count)
            tp_session_prefetch(agents[schedule->slots[tp__line_index(line, searches)]].session, step);
    }
}

void tp__schedule_count_more(struct tp_schedule *schedule, const struct tp_tick_reply *reply)
{
    struct tp_metrics *metrics = schedule->sessions->metrics;
    const struct tp_tick_work *did = &reply->work;
    tp_metric_add(&metrics->expansions, did->expansions);
    tp_metric_add(&metrics->traced, did->traced);
    tp_metric_add(&metrics->generated, did->generated);
    tp_metric_add(&metrics->learned, did->learned);
    tp_metric_add(&metrics->guide_expansions, did->guide);
    bool is_paused = reply->status == TP_STATUS_BLOCKED && reply->flags & TP_FLAG_BACK_MOVE;
    tp_metric_add(&metrics->back_moves, (reply->flags & TP_FLAG_BACK_MOVE) != 0 && !is_paused);
    tp_metric_add(&metrics->pauses, is_paused);
    tp_metric_add(&metrics->flips, reply->flips);
    tp_metric_add(&metrics->looping, (reply->flags & TP_FLAG_LOOPING) != 0);
    tp_metric_add(&metrics->restarts, (reply->flags & TP_FLAG_RESTARTED) != 0);
    tp_metric_add(&metrics->node_cap, (reply->flags & TP_FLAG_NODE_CAP) != 0);
    schedule->traced += did->traced;
    schedule->guide_units += did->guide;
    schedule->restarts += (reply->flags & TP_FLAG_RESTARTED) != 0;
    if (did->guide != 0 || (reply->flags & TP_FLAG_RESTARTED) != 0)
        schedule->is_usual = false;
}

/* Serves the sessions in the order named, each with its own budget, or the request's. */
static void serve_each(struct tp_schedule *schedule)
{
    const struct tp_clock *clock = &schedule->clock;
    const struct tp_line line = {.count = schedule->served};
    for (size_t i = 0; i < schedule->served; i++) {
        struct tp_agent *agent = &schedule->sessions->agents[schedule->slots[i]];
        const struct tp_agent_budget *own = tp__schedule_budget(schedule, agent);
        struct turn turn = {.schedule = schedule};
        struct tp_budget budget = tp_agent_budget_for_check(own);
        budget.context = &turn;
        if (own->kind == TP_BUDGET_DEADLINE) {
            budget.expired = turn_over_cb;
            turn.end_us = clock->now_us(clock->context) + own->deadline_us;
        } else {
            budget.expired = schedule->is_over != NULL ? given_up_cb : NULL;
        }
        struct tp_tick_reply *reply = &schedule->replies[i];
        tp__line_fetch(schedule, &line, i);
        tp_session_tick(agent->session, tp__schedule_map(schedule, schedule->slots[i]), &budget, reply);
        schedule->expansions += reply->work.expansions;
        tp__schedule_note(schedule, agent, reply);
        agent->waited = 0;
    }
}

bool tp_schedule_is_shared(const struct tp_schedule *schedule)
{
    return schedule->total_expansions != TP_TOTAL_NONE || schedule->total_us != TP_TOTAL_NONE ||
           schedule->total_guide_units != TP_TOTAL_NONE;
}

int tp_schedule_serve(struct tp_schedule *schedule, struct tp_refusal *refusal)
{
    schedule->served = schedule->refused_count = 0;
    schedule->starved = schedule->starved_longest = 0;
    schedule->expansions = schedule->traced = schedule->guide_units = schedule->restarts = 0;
    bool is_shared = tp_schedule_is_shared(schedule);
    schedule->is_usual = !is_shared;
    select_sessions(schedule);
    int error = check(schedule, refusal);
    if (error != 0)
        return error;
    drop_late(schedule);
    apply_positions(schedule);
    if (is_shared)
        tp__schedule_serve_shared(schedule);
    else
        serve_each(schedule);
    return 0;
}
