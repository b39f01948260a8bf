#include "daemon/scheduler.h"

#include "daemon/refusal.h"

/* When a session's turn ends. */
struct turn {
    const struct tp_clock *clock;
    uint64_t end_us; /* for budgets in time */
    const atomic_bool *is_over;
};

static bool is_over(const atomic_bool *flag)
{
    return flag != NULL && atomic_load_explicit(flag, memory_order_relaxed);
}

/* Expansions and steps alone count: the clock is not looked at. */
static bool given_up_cb(void *context)
{
    const struct turn *turn = context;
    return is_over(turn->is_over);
}

static bool turn_over_cb(void *context)
{
    const struct turn *turn = context;
    return is_over(turn->is_over) || turn->clock->now_us(turn->clock->context) >= turn->end_us;
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

static void refuse(struct tp_schedule *schedule, uint64_t id, int error)
{
    schedule->refused[schedule->refused_count++] = (struct tp_schedule_refused){id, error, NULL};
}

/* Fills slots[] with the sessions to serve, in order; the rest go to refused[]. */
static void select_sessions(struct tp_schedule *schedule)
{
    struct tp_sessions *sessions = schedule->sessions;
    if (schedule->all) {
        for (uint32_t slot = sessions->first; slot != TP_AGENT_NONE; slot = sessions->agents[slot].next)
            schedule->slots[schedule->served++] = slot;
        return;
    }
    for (size_t i = 0; i < schedule->id_count; i++) {
        uint32_t slot = tp_sessions_find(sessions, schedule->ids[i]);
        if (slot == TP_AGENT_NONE) {
            refuse(schedule, schedule->ids[i], TP_ERR_NOT_FOUND);
        } else if (sessions->agents[slot].tick_seen == schedule->tick) {
            refuse(schedule, schedule->ids[i], TP_ERR_INVALID_ARGUMENT);
        } else {
            sessions->agents[slot].tick_seen = schedule->tick;
            schedule->slots[schedule->served++] = slot;
        }
    }
}

static const struct tp_map *map_of(const struct tp_schedule *schedule, uint32_t slot)
{
    const struct tp_agent *agent = &schedule->sessions->agents[slot];
    if (agent->layer != NULL)
        return schedule->layers[agent->map->slot]->layer[agent->layer->index];
    return schedule->current[agent->map->slot];
}

/* What a session's map is refused for, 0 for nothing. */
static int map_error(const struct tp_schedule *schedule, uint32_t slot)
{
    const struct tp_map *map = map_of(schedule, slot);
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
            schedule->refused[schedule->refused_count++] = (struct tp_schedule_refused){
                tp_sessions_id(schedule->sessions, slot), error, map_of(schedule, slot)};
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
            refuse(schedule, schedule->at_ids[i], TP_ERR_NOT_FOUND);
            continue;
        }
        if (map_error(schedule, slot) != 0)
            continue;
        int vx = schedule->at_vx != NULL ? schedule->at_vx[i] : 0;
        int vy = schedule->at_vy != NULL ? schedule->at_vy[i] : 0;
        int error = tp_session_at_velocity(sessions->agents[slot].session, schedule->at_cells[i], vx, vy);
        if (error != 0) {
            refuse(schedule, schedule->at_ids[i], error);
            sessions->agents[slot].tick_seen = UINT64_MAX; /* out of this tick */
            some_bad = true;
        }
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

/* The budget of one turn: the session's or the request's, within what is left of the shared totals. */
static struct tp_budget turn_budget(const struct tp_agent_budget *own, struct turn *turn,
                                    uint64_t expansions_left, uint64_t guide_left, uint64_t total_end_us)
{
    struct tp_budget budget = tp_agent_budget_for_check(own);
    budget.expired = own->kind == TP_BUDGET_DEADLINE || total_end_us != UINT64_MAX ? turn_over_cb
                     : turn->is_over != NULL                                       ? given_up_cb
                                                                                   : NULL;
    budget.context = turn;
    budget.expansions_max = expansions_left;
    budget.caps_guide = true;
    budget.guide_max = guide_left;
    turn->end_us = total_end_us;
    if (own->kind == TP_BUDGET_DEADLINE) {
        uint64_t end_us = turn->clock->now_us(turn->clock->context) + own->deadline_us;
        if (end_us < turn->end_us)
            turn->end_us = end_us;
    }
    return budget;
}

/* Whether a session that got no expansion would have used one. */
static bool wanted_to_search(const struct tp_tick_reply *reply)
{
    return reply->status != TP_STATUS_ARRIVED && reply->status != TP_STATUS_UNREACHABLE &&
           (reply->flags & TP_FLAG_PATH_COMPLETE) == 0;
}

/* What the sessions after the i-th will read is fetched while it is served. */
static void fetch_ahead(const struct tp_schedule *schedule, size_t i)
{
    for (unsigned ahead = 1; ahead <= TP_PREFETCH_AHEAD && i + ahead < schedule->served; ahead++)
        tp_session_prefetch(schedule->sessions->agents[schedule->slots[i + ahead]].session, ahead);
}

static void serve(struct tp_schedule *schedule)
{
    struct tp_clock *clock = &schedule->clock;
    uint64_t expansions_left =
        schedule->total_expansions == TP_TOTAL_NONE ? UINT64_MAX : schedule->total_expansions;
    uint64_t guide_left = schedule->total_guide_units == TP_TOTAL_NONE ? UINT64_MAX : schedule->total_guide_units;
    uint64_t total_end_us = UINT64_MAX;
    if (schedule->total_us != TP_TOTAL_NONE)
        total_end_us = clock->now_us(clock->context) + schedule->total_us;

    for (size_t i = 0; i < schedule->served; i++) {
        struct tp_agent *agent = &schedule->sessions->agents[schedule->slots[i]];
        struct turn turn = {.clock = clock, .is_over = schedule->is_over};
        bool is_spent = expansions_left == 0 ||
                        (total_end_us != UINT64_MAX && clock->now_us(clock->context) >= total_end_us);
        const struct tp_agent_budget *own = schedule->each != NULL ? schedule->each : &agent->budget;
        struct tp_budget budget = turn_budget(own, &turn, is_spent ? 0 : expansions_left, guide_left, total_end_us);
        struct tp_tick_reply *reply = &schedule->replies[i];
        fetch_ahead(schedule, i);
        tp_session_tick(agent->session, map_of(schedule, schedule->slots[i]), &budget, reply);
        schedule->expansions += reply->work.expansions;
        if (expansions_left != UINT64_MAX)
            expansions_left -=
                reply->work.expansions < expansions_left ? reply->work.expansions : expansions_left;
        if (guide_left != UINT64_MAX)
            guide_left -= reply->work.guide < guide_left ? reply->work.guide : guide_left;
        if (is_spent && wanted_to_search(reply))
            schedule->starved++;
    }
}

int tp_schedule_serve(struct tp_schedule *schedule, struct tp_refusal *refusal)
{
    schedule->served = schedule->refused_count = 0;
    schedule->starved = 0;
    schedule->expansions = 0;
    select_sessions(schedule);
    int error = check(schedule, refusal);
    if (error != 0)
        return error;
    drop_late(schedule);
    apply_positions(schedule);
    serve(schedule);
    return 0;
}
