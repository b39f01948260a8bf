/* tick: the message to a schedule, the schedule's answers to the message. */
#include "daemon/commands.h"

#include "daemon/refusal.h"

#include <string.h>

/* The most bytes of a reply: what every tick has, each session served (id 10, cell 5, status 1, flags 2,
 * version 10, cost 10, velocity 2, bound 5; with work 5 numbers of 10) and each refused. */
enum {
    REPLY_BYTES = 128,
    SERVED_BYTES = 45,
    WORK_BYTES = 50,
    REFUSED_BYTES = 42,
    PATH_BYTES = 12,
    CELL_BYTES = 5
};

static void *take(const struct tp_call *call, size_t count, size_t size)
{
    return tp_arena_take(&call->shard->arena, (count + 1) * size);
}

/* Checks what the scheduler does not. *each is filled when the request brings a budget. */
static int check(const struct tp_call *call, const Tickpath__Tick *tick, struct tp_agent_budget *each,
                 struct tp_refusal *refusal)
{
    bool all = tick->has_all && tick->all;
    if (all && tick->n_session > 0)
        return tp_refuse_value(refusal, "session", "give either sessions or all");
    if (!all && tick->n_session == 0)
        return tp_refuse_value(refusal, "session", "give sessions, or all");
    if (tick->n_session > call->shard->config->sessions_max)
        return tp_refuse(refusal, TP_ERR_RESOURCE_EXHAUSTED, "session", "more than sessions_max");
    if (tick->n_at_session != tick->n_at_cell)
        return tp_refuse_value(refusal, "at_cell", "at_session and at_cell must be of the same length");
    if (tick->n_at_vx != 0 && tick->n_at_vx != tick->n_at_session)
        return tp_refuse_value(refusal, "at_vx", "must be as many as at_session, or none");
    if (tick->n_at_vy != tick->n_at_vx)
        return tp_refuse_value(refusal, "at_vy", "must be as many as at_vx");
    if (tick->n_at_session > call->shard->config->sessions_max)
        return tp_refuse(refusal, TP_ERR_RESOURCE_EXHAUSTED, "at_session", "more than sessions_max");
    if (tick->has_total_expansions && tick->total_expansions == 0)
        return tp_refuse_value(refusal, "total_expansions", "must be at least 1");
    if (tick->has_total_guide_units && tick->total_guide_units == 0)
        return tp_refuse_value(refusal, "total_guide_units", "must be at least 1");
    if (tick->has_total_us && (tick->total_us == 0 || tick->total_us > TP_TICK_US_MAX))
        return tp_refuse_value(refusal, "total_us", "must lie in 1..10000000");
    if (tick->each != NULL)
        return tp__budget_read(each, tick->each, refusal);
    return 0;
}

static void count(const struct tp_call *call, const struct tp_schedule *schedule, uint64_t tick_us)
{
    struct tp_metrics *metrics = call->shard->metrics;
    struct tp_tick_work work = {0};
    uint64_t by_status[TP_STATUS_UNREACHABLE + 1] = {0};
    uint64_t moves = 0, back_moves = 0, restarts = 0, caps = 0, arrivals = 0, flips = 0, looping = 0, pauses = 0;
    for (size_t i = 0; i < schedule->served; i++) {
        const struct tp_tick_reply *reply = &schedule->replies[i];
        bool has_moved = reply->from != reply->to;
        by_status[reply->status]++;
        moves += has_moved;
        arrivals += has_moved && reply->status == TP_STATUS_ARRIVED;
        bool is_paused = reply->status == TP_STATUS_BLOCKED && reply->flags & TP_FLAG_BACK_MOVE;
        back_moves += (reply->flags & TP_FLAG_BACK_MOVE) != 0 && !is_paused;
        pauses += is_paused;
        flips += reply->flips;
        looping += (reply->flags & TP_FLAG_LOOPING) != 0;
        restarts += (reply->flags & TP_FLAG_RESTARTED) != 0;
        caps += (reply->flags & TP_FLAG_NODE_CAP) != 0;
        work.expansions += reply->work.expansions;
        work.traced += reply->work.traced;
        work.generated += reply->work.generated;
        work.learned += reply->work.learned;
        work.guide += reply->work.guide;
    }
    tp_metric_add(&metrics->ticks, 1);
    tp_metric_add(&metrics->agent_ticks, schedule->served);
    tp_metric_add(&metrics->agent_ticks_refused, schedule->refused_count);
    tp_metric_add(&metrics->agent_ticks_starved, schedule->starved);
    tp_metric_add(&metrics->moves, moves);
    tp_metric_add(&metrics->back_moves, back_moves);
    tp_metric_add(&metrics->pauses, pauses);
    tp_metric_add(&metrics->flips, flips);
    tp_metric_add(&metrics->looping, looping);
    tp_metric_add(&metrics->arrivals, arrivals);
    tp_metric_add(&metrics->status_searching, by_status[TP_STATUS_SEARCHING]);
    tp_metric_add(&metrics->status_blocked, by_status[TP_STATUS_BLOCKED]);
    tp_metric_add(&metrics->status_unreachable, by_status[TP_STATUS_UNREACHABLE]);
    tp_metric_add(&metrics->restarts, restarts);
    tp_metric_add(&metrics->node_cap, caps);
    tp_metric_add(&metrics->expansions, work.expansions);
    tp_metric_add(&metrics->traced, work.traced);
    tp_metric_add(&metrics->generated, work.generated);
    tp_metric_add(&metrics->learned, work.learned);
    tp_metric_add(&metrics->guide_expansions, work.guide);
    tp_shard_count_fields(call->shard);
    tp_metric_observe(&metrics->tick_us, tick_us);
    tp_metric_observe(&metrics->tick_expansions, work.expansions);
    tp_metric_observe(&metrics->tick_sessions, schedule->served);
}

/* Room for every array of the reply, taken before anything moves: a tick that moved agents is always
 * answered. */
static bool take_reply(const struct tp_call *call, const Tickpath__Tick *tick, Tickpath__Ticked *reply,
                       size_t served, size_t refused, uint32_t path_cells)
{
    bool has_room = (reply->session = take(call, served, sizeof(uint64_t))) != NULL &&
                    (reply->cell = take(call, served, sizeof(uint32_t))) != NULL &&
                    (reply->status = take(call, served, sizeof(uint32_t))) != NULL &&
                    (reply->flags = take(call, served, sizeof(uint32_t))) != NULL &&
                    (reply->version = take(call, served, sizeof(uint64_t))) != NULL &&
                    (reply->cost = take(call, served, sizeof(uint64_t))) != NULL &&
                    (reply->vx = take(call, served, sizeof(int32_t))) != NULL &&
                    (reply->vy = take(call, served, sizeof(int32_t))) != NULL &&
                    (reply->bound_milli = take(call, served, sizeof(uint32_t))) != NULL;
    if (has_room && tick->has_want_work && tick->want_work)
        has_room = (reply->expansions = take(call, served, sizeof(uint64_t))) != NULL &&
                   (reply->traced = take(call, served, sizeof(uint64_t))) != NULL &&
                   (reply->generated = take(call, served, sizeof(uint64_t))) != NULL &&
                   (reply->learned = take(call, served, sizeof(uint64_t))) != NULL &&
                   (reply->guide_expansions = take(call, served, sizeof(uint64_t))) != NULL;
    Tickpath__Refused *rows = NULL;
    if (has_room)
        has_room = (reply->refused = take(call, refused, sizeof(Tickpath__Refused *))) != NULL &&
                   (rows = take(call, refused, sizeof *rows)) != NULL;
    for (size_t i = 0; has_room && i < refused; i++)
        reply->refused[i] = &rows[i];
    if (has_room && tick->has_want_path && tick->want_path) {
        Tickpath__Path *paths = NULL;
        uint32_t *cells = NULL;
        has_room = (reply->path = take(call, served, sizeof(Tickpath__Path *))) != NULL &&
                   (paths = take(call, served, sizeof *paths)) != NULL &&
                   (cells = take(call, served * path_cells, sizeof *cells)) != NULL;
        for (size_t i = 0; has_room && i < served; i++) {
            tickpath__path__init(&paths[i]);
            paths[i].cell = cells + i * path_cells;
            reply->path[i] = &paths[i];
        }
    }
    return has_room;
}

static void fill_reply(const struct tp_call *call, const struct tp_schedule *schedule,
                       Tickpath__Ticked *reply, uint32_t path_cells)
{
    const struct tp_sessions *sessions = &call->peer->sessions;
    size_t n = schedule->served;
    reply->n_session = reply->n_cell = reply->n_status = reply->n_flags = reply->n_version = reply->n_cost =
        n;
    reply->n_expansions = reply->expansions != NULL ? n : 0;
    reply->n_traced = reply->n_generated = reply->n_learned = reply->n_guide_expansions = reply->n_expansions;
    reply->n_path = reply->path != NULL ? n : 0;
    bool some_vehicle = false, some_bounded = false;
    for (size_t i = 0; i < n; i++) {
        const struct tp_tick_reply *from = &schedule->replies[i];
        reply->session[i] = tp_sessions_id(sessions, schedule->slots[i]);
        reply->cell[i] = from->to;
        reply->status[i] = from->status;
        reply->flags[i] = from->flags;
        reply->version[i] = from->version;
        reply->cost[i] = from->cost;
        reply->vx[i] = from->vx;
        reply->vy[i] = from->vy;
        reply->bound_milli[i] = from->bound_milli;
        some_vehicle |= sessions->agents[schedule->slots[i]].is_vehicle;
        some_bounded |= sessions->agents[schedule->slots[i]].is_bounded;
        if (reply->expansions != NULL) {
            reply->expansions[i] = from->work.expansions;
            reply->traced[i] = from->work.traced;
            reply->generated[i] = from->work.generated;
            reply->learned[i] = from->work.learned;
            reply->guide_expansions[i] = from->work.guide;
        }
        if (reply->path != NULL)
            reply->path[i]->n_cell = tp_session_path(sessions->agents[schedule->slots[i]].session,
                                                     reply->path[i]->cell, path_cells);
    }
    reply->n_vx = reply->n_vy = some_vehicle ? n : 0;
    reply->n_bound_milli = some_bounded ? n : 0;
    reply->n_refused = schedule->refused_count;
    for (size_t i = 0; i < schedule->refused_count; i++) {
        Tickpath__Refused *row = reply->refused[i];
        tickpath__refused__init(row);
        row->has_session = row->has_code = 1;
        row->session = schedule->refused[i].id;
        row->code = (Tickpath__ErrorCode)-schedule->refused[i].error;
        row->has_epoch = row->has_version = schedule->refused[i].map != NULL;
        if (row->has_epoch) {
            row->epoch = schedule->refused[i].map->epoch;
            row->version = schedule->refused[i].map->version;
        }
    }
    reply->has_tick = reply->has_starved = 1;
    reply->tick = ++call->peer->tick;
    reply->starved = schedule->starved;
    reply->has_starved_longest = schedule->starved_longest > 0;
    reply->starved_longest = schedule->starved_longest;
}

/* The most bytes that the reply's frame can take, paths' cells left out. */
static size_t reply_bytes(const Tickpath__Tick *tick, size_t served, size_t refused)
{
    size_t bytes = REPLY_BYTES + served * SERVED_BYTES + refused * REFUSED_BYTES;
    if (tick->has_want_work && tick->want_work)
        bytes += served * WORK_BYTES;
    if (tick->has_want_path && tick->want_path)
        bytes += served * PATH_BYTES;
    return bytes;
}

/* Cells of each path: paths share what is left of the frame evenly. */
static uint32_t path_cells_of(const struct tp_config *config, size_t bytes, size_t served)
{
    size_t cells = config->path_cells_max;
    if (served > 0 && cells > (config->frame_bytes_max - bytes) / served / CELL_BYTES)
        cells = (config->frame_bytes_max - bytes) / served / CELL_BYTES;
    return (uint32_t)cells;
}

/* The message as a schedule; `each` is borrowed. */
static struct tp_schedule schedule_of(const struct tp_call *call, const Tickpath__Tick *tick,
                                      const struct tp_agent_budget *each)
{
    return (struct tp_schedule){
        .sessions = &call->peer->sessions,
        .current = call->shard->current,
        .layers = call->shard->layers,
        .ids = tick->session,
        .id_count = tick->n_session,
        .all = tick->has_all && tick->all,
        .each = tick->each != NULL ? each : NULL,
        .total_expansions = tick->has_total_expansions ? tick->total_expansions : TP_TOTAL_NONE,
        .total_us = tick->has_total_us ? tick->total_us : TP_TOTAL_NONE,
        .total_guide_units = tick->has_total_guide_units ? tick->total_guide_units : TP_TOTAL_NONE,
        .at_ids = tick->at_session,
        .at_cells = tick->at_cell,
        .at_vx = tick->n_at_vx > 0 ? tick->at_vx : NULL,
        .at_vy = tick->n_at_vy > 0 ? tick->at_vy : NULL,
        .at_count = tick->n_at_session,
        .min_version = tick->has_min_version ? tick->min_version : 0,
        .has_epoch = tick->has_epoch,
        .epoch = tick->epoch,
        .tick = ++call->peer->tick_stamp,
        .clock = call->shard->clock,
        .has_begun = true,
        .began_us = call->shard->clock.now_us(call->shard->clock.context),
        .waits = &call->shard->metrics->starved_ticks,
        .is_over = call->shard->is_over,
    };
}

/* Room for the schedule's answers. */
static bool take_schedule(const struct tp_call *call, struct tp_schedule *schedule, size_t served,
                          size_t refused)
{
    schedule->capacity = served;
    if (tp_schedule_is_shared(schedule) &&
        ((schedule->order = take(call, served, sizeof schedule->order[0])) == NULL ||
         (schedule->claims = take(call, 2 * served, sizeof schedule->claims[0])) == NULL))
        return false;
    return (schedule->slots = take(call, served, sizeof schedule->slots[0])) != NULL &&
           (schedule->replies = take(call, served, sizeof schedule->replies[0])) != NULL &&
           (schedule->refused = take(call, refused, sizeof schedule->refused[0])) != NULL;
}

void tp__command_tick(const struct tp_call *call)
{
    const Tickpath__Tick *tick = call->request->tick;
    struct tp_agent_budget each;
    struct tp_refusal refusal = {0};
    int error = check(call, tick, &each, &refusal);
    if (error != 0) {
        tp__call_refuse(call, error, refusal.field, refusal.reason);
        return;
    }
    struct tp_schedule schedule = schedule_of(call, tick, &each);
    size_t served = tp_schedule_most(&schedule), refused = tp_schedule_most_refused(&schedule);
    size_t bytes = reply_bytes(tick, served, refused);
    if (bytes > call->shard->config->frame_bytes_max) {
        tp__call_refuse(call, TP_ERR_RESOURCE_EXHAUSTED, "session",
                        "the reply would not fit into one frame: tick fewer sessions at a time");
        return;
    }
    uint32_t path_cells = path_cells_of(call->shard->config, bytes, served);
    Tickpath__Ticked reply = TICKPATH__TICKED__INIT;
    if (!take_schedule(call, &schedule, served, refused) ||
        !take_reply(call, tick, &reply, served, refused, path_cells)) {
        tp__call_refuse(call, TP_ERR_RESOURCE_EXHAUSTED, "session", "too many sessions for one tick");
        return;
    }
    struct tp_clock *clock = &call->shard->clock;
    error = tp_schedule_serve(&schedule, &refusal);
    if (error != 0) {
        tp__call_refuse(call, error, refusal.field, refusal.reason);
        return;
    }
    if (schedule.is_over != NULL && atomic_load(schedule.is_over)) { /* perhaps cut: its moves are nobody's */
        tp__call_refuse(call, TP_ERR_SHUTTING_DOWN, NULL, "the drain's time is over");
        return;
    }
    uint64_t served_us = clock->now_us(clock->context);
    count(call, &schedule, served_us - schedule.began_us);
    fill_reply(call, &schedule, &reply, path_cells);
    tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_TICKED, &reply);
    if (schedule.total_us != TP_TOTAL_NONE)
        tp_schedule_answered(&schedule, clock->now_us(clock->context) - served_us);
}
