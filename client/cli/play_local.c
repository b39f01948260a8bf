/* Problems played in-process: one session after the other, all from one pool. */
#include "client/cli/play.h"

#include "guide/field.h"

static bool deadline_expired(void *context)
{
    return tp_cli_now() >= *(const double *)context;
}

static void watch(const struct tp_cli_play *play, uint64_t tick, const struct tp_tick_reply *reply)
{
    const struct tp_cli_step step = {
        .tick = tick,
        .cell = reply->to,
        .moved = reply->to != reply->from,
        .vx = reply->vx,
        .vy = reply->vy,
        .status = reply->status,
        .flags = reply->flags,
        .expansions = reply->work.expansions,
        .traced = reply->work.traced,
        .guide = reply->work.guide,
        .bound_milli = reply->bound_milli,
        .version = reply->version,
    };
    play->step_cb(&step, play->context);
}

static void play_one(struct tp_cli_play *play, const struct tp_map *map, struct tp_session *session,
                     struct tp_cli_problem *problem, const struct tp_session_params *start,
                     struct tp_budget *budget)
{
    struct tp_tick_reply reply = {
        .from = problem->start,
        .to = problem->start,
        .vx = start->start_vx,
        .vy = start->start_vy,
        .status = problem->start == problem->goal ? TP_STATUS_ARRIVED : TP_STATUS_SEARCHING,
        .version = map->version,
    };
    if (play->step_cb != NULL)
        watch(play, 0, &reply);
    double begin = tp_cli_now(), deadline = 0;
    uint64_t ticks = 0;
    budget->context = &deadline;
    while (reply.status != TP_STATUS_ARRIVED && reply.status != TP_STATUS_UNREACHABLE &&
           ticks < play->ticks_max) {
        if (budget->kind == TP_BUDGET_DEADLINE)
            deadline = tp_cli_now() + (double)play->search->deadline_us / 1e6;
        tp_session_tick(session, map, budget, &reply);
        ticks++;
        if (play->step_cb != NULL)
            watch(play, ticks, &reply);
    }
    play->seconds += tp_cli_now() - begin;
    budget->context = NULL;
    struct tp_session_stats stats;
    tp_session_stats(session, &stats);
    problem->outcome = reply.status == TP_STATUS_ARRIVED       ? TP_CLI_ARRIVED
                       : reply.status == TP_STATUS_UNREACHABLE ? TP_CLI_UNREACHABLE
                                                               : TP_CLI_GAVE_UP;
    problem->ticks = ticks;
    problem->moves = stats.moves;
    problem->back_moves = stats.back_moves;
    problem->restarts = stats.restarts;
    problem->flips = stats.flips;
    problem->expansions = stats.expansions;
    problem->guide = stats.guide;
    problem->bound_milli = reply.bound_milli;
    problem->expansions_max = stats.expansions_max;
    problem->cost = stats.cost;
    problem->bytes_peak = stats.bytes_peak;
    problem->touched = stats.touched;
    problem->move_hash = stats.move_hash;
}

enum { FIELD_BYTES_MAX = 256 << 20 };

/* The map as the agents meet it, a reference. */
static int take_map(const struct tp_cli_play *play, const struct tp_map **out)
{
    struct tp_layer_kind kind;
    if (!tp_cli_search_layer(play->search, play->map->map, &kind)) {
        *out = tp_map_ref(play->map->map);
        return TP_CLI_OK;
    }
    struct tp_map *layer;
    int error = tp_layer_build(&layer, play->map->map, &kind);
    *out = layer;
    if (error == TP_ERR_UNSUPPORTED)
        return tp_cli_refuse(play->usage, kind.size > 1 ? "agent-size" : "profile", "is for grids");
    return error == 0 ? TP_CLI_OK : tp_cli_fail(play->usage, "%s", tp_error_text(error));
}

int tp_cli__play_local(struct tp_cli_play *play, struct tp_cli_problem *problems, size_t count)
{
    struct tp_session_params params;
    tp_cli_search_params(play->search, &params);
    if (params.budget.kind == TP_BUDGET_DEADLINE)
        params.budget.expired = deadline_expired;
    const struct tp_map *map;
    int result = take_map(play, &map);
    if (result != TP_CLI_OK)
        return result;
    int told = play->known != NULL ? tp_cli_search_tell(play->search, map, play->known->map, &params.known) : 0;
    if (told != 0) {
        tp_map_unref(map);
        return tp_cli_fail(play->usage, "%s", tp_error_text(told));
    }
    if (map->graph != NULL)
        params.goal_radius /= TP_COST_UNIT; /* in the graph's own unit */
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    params.fields = tp_field_cache_open(&pool, FIELD_BYTES_MAX);
    for (size_t i = 0; i < count && result == TP_CLI_OK; i++) {
        struct tp_session *session;
        struct tp_refusal refusal = {NULL, NULL};
        params.start = problems[i].start;
        params.goal = problems[i].goal;
        int error = tp_session_open(&session, &params, map, &pool, &refusal);
        if (error != 0) {
            result = tp_cli_search_refused(play->usage, play->search, error, refusal.field, refusal.reason);
        } else {
            play_one(play, map, session, &problems[i], &params, &params.budget);
            if (play->over_cb != NULL)
                play->over_cb(session, play->context);
            tp_session_close(session);
        }
    }
    tp_field_cache_close(params.fields);
    tp_pool_fini(&pool);
    tp_map_unref(params.known);
    tp_map_unref(map);
    return result;
}

int tp_cli_play(struct tp_cli_play *play, struct tp_cli_problem *problems, size_t count)
{
    play->seconds = 0;
    if (play->ticks_max == 0)
        play->ticks_max = TP_CLI_TICKS_MAX;
    return play->via != NULL && play->via->host[0] != '\0' ? tp_cli__play_remote(play, problems, count)
                                                           : tp_cli__play_local(play, problems, count);
}
