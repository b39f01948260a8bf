/* tick: the message to a schedule, the schedule's answers to the message. */
#include "daemon/serve/commands.h"

#include "daemon/log.h"
#include "daemon/stats/probes.h"
#include "daemon/serve/refusal.h"

#include <inttypes.h>
#include <stdio.h>

enum { CELL_BYTES = 5 }; /* the most of a path's cell */

/* Of the sessions served: counts[i] cells, from i * most on. */
struct paths {
    uint32_t *cells, *counts;
    uint32_t most;
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
    if (tick->n_session > call->peer->sessions.count_max)
        return tp_refuse(refusal, TP_ERR_RESOURCE_EXHAUSTED, "session", "more than sessions_max");
    if (tick->n_at_session != tick->n_at_cell)
        return tp_refuse_value(refusal, "at_cell", "at_session and at_cell must be of the same length");
    if (tick->n_at_vx != 0 && tick->n_at_vx != tick->n_at_session)
        return tp_refuse_value(refusal, "at_vx", "must be as many as at_session, or none");
    if (tick->n_at_vy != tick->n_at_vx)
        return tp_refuse_value(refusal, "at_vy", "must be as many as at_vx");
    if (tick->n_at_session > call->peer->sessions.count_max)
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

/* Before a tick, what is compared after it. */
struct before {
    uint64_t pool_bytes, queued_us;
};

static struct before look_before(const struct tp_call *call, const struct tp_schedule *schedule)
{
    return (struct before){call->shard->pool.slab_bytes, tp_peer_waited_us(call->peer, schedule->began_us)};
}

/* Counts and logs one that is slower than it may be. */
static void tell_slow(struct tp_metrics *metrics, const struct tp_slow_tick *tick, uint64_t waited_us)
{
    enum tp_slow_cause causes[TP_SLOW_CAUSES];
    char words[128] = "";
    size_t count = tp_slow_why(tick, causes), size = 0;
    tp_metric_add(&metrics->ticks_slow, 1);
    for (size_t i = 0; i < count; i++) {
        tp_metric_add(&metrics->slow_causes[causes[i]], 1);
        size += (size_t)snprintf(words + size, sizeof words - size, "%s%s", i ? "," : "", tp_slow_cause_name(causes[i]));
    }
    tp_log(TP_LOG_WARN, "slow tick",
           "us=%" PRIu64 " queued_us=%" PRIu64 " world_us=%" PRIu64 " sessions=%" PRIu64 " expansions=%" PRIu64 " restarts=%" PRIu64
           " versions=%" PRIu64 " memory_bytes=%" PRIu64 " why=%s",
           waited_us, tick->queued_us, tick->world_us, tick->sessions, tick->expansions, tick->restarts, tick->versions,
           tick->memory_bytes, words);
}

/* Keeps a tick that is among the slowest, and tells of one that is slower than it may be. Apart from the rest: few ticks come here. */
__attribute__((noinline)) static void keep_slow(const struct tp_call *call, const struct tp_schedule *schedule, struct before before,
                                                uint64_t served_us)
{
    struct tp_metrics *metrics = call->shard->metrics;
    uint64_t pool_bytes = call->shard->pool.slab_bytes, world_us = tp_peer_world_us(call->peer);
    struct tp_slow_tick tick = {
        .at_us = served_us,
        .queued_us = before.queued_us,
        .world_us = world_us < before.queued_us ? world_us : before.queued_us,
        .took_us = served_us - schedule->began_us,
        .sessions = schedule->served,
        .refused = schedule->refused_count,
        .expansions = schedule->expansions,
        .traced = schedule->traced,
        .guide_expansions = schedule->guide_units,
        .restarts = schedule->restarts,
        .versions = call->shard->versions - call->peer->versions_seen,
        .memory_bytes = pool_bytes > before.pool_bytes ? pool_bytes - before.pool_bytes : 0,
        .starved = schedule->starved,
        .total_us = schedule->total_us != TP_TOTAL_NONE ? schedule->total_us : 0,
    };
    tp_slow_offer(&metrics->slow, &tick);
    if (tp_slow_is_over(&metrics->slow, tp_slow_waited_us(&tick)))
        tell_slow(metrics, &tick, tp_slow_waited_us(&tick));
}

/* Counts the part of a tick request that most have not. Apart from the rest, as few come here. */
__attribute__((noinline)) static void count_more(const struct tp_call *call, const struct tp_schedule *schedule, uint64_t took_us)
{
    struct tp_metrics *metrics = call->shard->metrics;
    tp_metric_add(&metrics->agent_ticks_refused, schedule->refused_count);
    tp_metric_add(&metrics->agent_ticks_starved, schedule->starved);
    tp_metric_add(&metrics->ticks_starved, schedule->starved > 0);
    tp_metric_add(&metrics->ticks_deadline_missed, schedule->total_us != TP_TOTAL_NONE && took_us > schedule->total_us);
    if (schedule->restarts != 0)
        TP_PROBE2(search__restart, schedule->restarts, schedule->tick);
    tp_shard_count_memory(call->shard);
}

/* What came of a tick request; of each session tp__schedule_note has counted it. */
static void count(const struct tp_call *call, const struct tp_schedule *schedule, struct before before, uint64_t served_us)
{
    if (!TP_METRICS)
        return;
    struct tp_shard *shard = call->shard;
    struct tp_metrics *metrics = shard->metrics;
    uint64_t took_us = served_us - schedule->began_us, waited_us = before.queued_us + took_us;
    tp_metric_tick(metrics, took_us, before.queued_us, schedule->expansions, schedule->served);
    if (!schedule->is_usual || shard->pool.used_bytes != shard->used_counted)
        count_more(call, schedule, took_us);
    if (tp_slow_wants(&metrics->slow, waited_us))
        keep_slow(call, schedule, before, served_us);
    call->peer->versions_seen = shard->versions;
}

/* Room for the paths, taken before anything moves: a tick that moved agents is always answered. */
static bool take_paths(const struct tp_call *call, struct paths *paths, size_t served)
{
    return (paths->cells = take(call, served * paths->most, sizeof paths->cells[0])) != NULL &&
           (paths->counts = take(call, served, sizeof paths->counts[0])) != NULL;
}

static void fill_paths(const struct tp_schedule *schedule, const struct paths *paths)
{
    const struct tp_agent *agents = schedule->sessions->agents;
    for (size_t i = 0; i < schedule->served; i++)
        paths->counts[i] = tp_session_path(agents[schedule->slots[i]].session, paths->cells + i * paths->most, paths->most);
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
        ((schedule->order = take(call, 2 * served, sizeof schedule->order[0])) == NULL ||
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
    bool wants_work = tick->has_want_work && tick->want_work, wants_path = tick->has_want_path && tick->want_path;
    size_t bytes = tp_ticked_bytes_most(served, refused, wants_work, wants_path);
    if (bytes > call->shard->config->frame_bytes_max) {
        tp__call_refuse(call, TP_ERR_RESOURCE_EXHAUSTED, "session",
                        "the reply would not fit into one frame: tick fewer sessions at a time");
        return;
    }
    struct paths paths = {.most = path_cells_of(call->shard->config, bytes, served)};
    if (!take_schedule(call, &schedule, served, refused) || (wants_path && !take_paths(call, &paths, served)) ||
        !tp_ticked_reserve(&call->peer->output, bytes)) {
        tp__call_refuse(call, TP_ERR_RESOURCE_EXHAUSTED, "session", "too many sessions for one tick");
        return;
    }
    struct tp_clock *clock = &call->shard->clock;
    struct before before = look_before(call, &schedule);
    TP_PROBE2(tick__begin, schedule.tick, served);
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
    TP_PROBE4(tick__end, schedule.tick, schedule.served, schedule.expansions, served_us - schedule.began_us);
    count(call, &schedule, before, served_us);
    if (wants_path)
        fill_paths(&schedule, &paths);
    struct tp_ticked ticked = {.schedule = &schedule,
                               .tick = ++call->peer->tick,
                               .wants_work = wants_work,
                               .path_cells = paths.cells,
                               .path_counts = paths.counts,
                               .path_stride = paths.most};
    tp_peer_reply_ticked(call->peer, call->id, &ticked);
    if (schedule.total_us != TP_TOTAL_NONE)
        tp_schedule_answered(&schedule, clock->now_us(clock->context) - served_us);
}
