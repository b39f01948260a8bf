/* Problems played through a daemon: some sessions at a time, ticked together, a few ticks ahead of their
 * answers.
 *
 * A session that has arrived waits, so the ticks that were already on their way when it did change nothing;
 * its ticks are counted here, up to the one that arrived. All other measures are the daemon's own, from its
 * listing. Any refusal ends the run with its words.
 */
#include "client/cli/play.h"
#include "client/cli/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_MAX = 16, TICKS_AHEAD = 4 };

struct group {
    struct tp_cli_play *play;
    struct tp_client *client;
    struct tp_cli_problem *problems;
    size_t count, active;
    uint64_t session[GROUP_MAX];
    uint32_t cell[GROUP_MAX];     /* where each agent stands */
    uint64_t ticket[TICKS_AHEAD]; /* on their way, a ring */
    size_t first, ahead;
};

static void watch(const struct group *group, size_t i, const struct tp_client_ticked *ticked, size_t j,
                  bool moved)
{
    const struct tp_cli_step step = {
        .tick = group->problems[i].ticks,
        .cell = ticked->cells[j],
        .moved = moved,
        .vx = ticked->vx != NULL ? ticked->vx[j] : 0,
        .vy = ticked->vy != NULL ? ticked->vy[j] : 0,
        .status = ticked->statuses[j],
        .flags = ticked->flags[j],
        .expansions = ticked->expansions != NULL ? ticked->expansions[j] : 0,
        .traced = ticked->traced != NULL ? ticked->traced[j] : 0,
        .guide = ticked->guide_expansions != NULL ? ticked->guide_expansions[j] : 0,
        .bound_milli = group->problems[i].bound_milli,
        .version = ticked->versions[j],
    };
    group->play->step_cb(&step, group->play->context);
}

static int open_sessions(struct group *group, const char *map, const char *known, uint64_t version)
{
    struct tp_client_session_params params;
    tp_cli_search_client_params(group->play->search, &params);
    params.map = map;
    params.known_map = known;
    group->active = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct tp_cli_problem *problem = &group->problems[i];
        struct tp_client_session session;
        params.start = problem->start;
        params.goal = problem->goal;
        int error = tp_client_open_session(group->client, &params, &session, TP_CLI_CALL_MS);
        if (error != 0) {
            const struct tp_client_error *why = tp_client_error(group->client);
            if (!why->from_server)
                return tp_cli_client_failed(group->play->usage, "cannot open a session", why);
            return tp_cli_search_refused(group->play->usage, group->play->search, error, why->field,
                                         why->message);
        }
        group->session[i] = session.id;
        group->cell[i] = problem->start;
        problem->outcome = problem->start == problem->goal ? TP_CLI_ARRIVED : TP_CLI_NOT_PLAYED;
        problem->ticks = 0;
        problem->bound_milli = 0;
        group->active += problem->outcome == TP_CLI_NOT_PLAYED;
        if (group->play->step_cb != NULL) {
            const struct tp_cli_step start = {
                .cell = problem->start,
                .vx = params.start_vx,
                .vy = params.start_vy,
                .status = problem->outcome == TP_CLI_ARRIVED ? TP_STATUS_ARRIVED : TP_STATUS_SEARCHING,
                .version = version,
            };
            group->play->step_cb(&start, group->play->context);
        }
    }
    return TP_CLI_OK;
}

static int send_tick(struct group *group)
{
    uint64_t sessions[GROUP_MAX];
    struct tp_client_tick tick = {.sessions = sessions, .want_work = group->play->step_cb != NULL};
    for (size_t i = 0; i < group->count; i++) {
        if (group->problems[i].outcome == TP_CLI_NOT_PLAYED)
            sessions[tick.session_count++] = group->session[i];
    }
    uint64_t *ticket = &group->ticket[(group->first + group->ahead) % TICKS_AHEAD];
    if (tp_client_send_tick(group->client, &tick, ticket, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(group->play->usage, "cannot tick", tp_client_error(group->client));
    group->ahead++;
    return TP_CLI_OK;
}

static void take_answer(struct group *group, const struct tp_client_ticked *ticked, size_t j)
{
    size_t i = 0;
    while (i < group->count && group->session[i] != ticked->sessions[j])
        i++;
    if (i == group->count || group->problems[i].outcome != TP_CLI_NOT_PLAYED)
        return; /* a tick that was on its way when the agent arrived */
    struct tp_cli_problem *problem = &group->problems[i];
    bool moved = ticked->cells[j] != group->cell[i];
    group->cell[i] = ticked->cells[j];
    problem->ticks++;
    problem->bound_milli = ticked->bounds_milli != NULL ? ticked->bounds_milli[j] : 0;
    if (ticked->statuses[j] == TP_CLIENT_ARRIVED)
        problem->outcome = TP_CLI_ARRIVED;
    else if (ticked->statuses[j] == TP_CLIENT_UNREACHABLE)
        problem->outcome = TP_CLI_UNREACHABLE;
    else if (problem->ticks >= group->play->ticks_max)
        problem->outcome = TP_CLI_GAVE_UP;
    if (problem->outcome != TP_CLI_NOT_PLAYED)
        group->active--;
    if (group->play->step_cb != NULL)
        watch(group, i, ticked, j, moved);
}

static int collect_tick(struct group *group)
{
    struct tp_client_reply reply;
    if (tp_client_collect(group->client, group->ticket[group->first], &reply, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(group->play->usage, "cannot tick", tp_client_error(group->client));
    group->first = (group->first + 1) % TICKS_AHEAD;
    group->ahead--;
    if (reply.ticked.refused_count > 0)
        return tp_cli_fail(group->play->usage, "the server refused to tick session %llu: %s",
                           (unsigned long long)reply.ticked.refused[0].session,
                           tp_client_code_name(reply.ticked.refused[0].code));
    for (size_t j = 0; j < reply.ticked.count; j++)
        take_answer(group, &reply.ticked, j);
    return TP_CLI_OK;
}

/* Takes the daemon's measures of the sessions, and closes them. */
static int take_measures(struct group *group)
{
    struct tp_client_listing listing;
    if (tp_client_list(group->client, TP_CLIENT_LIST_SESSIONS, &listing, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(group->play->usage, "cannot list the sessions",
                                    tp_client_error(group->client));
    size_t found = 0;
    for (size_t j = 0; j < listing.session_count; j++) {
        const struct tp_client_session_info *info = &listing.sessions[j];
        for (size_t i = 0; i < group->count; i++) {
            struct tp_cli_problem *problem = &group->problems[i];
            if (group->session[i] != info->id)
                continue;
            found++;
            problem->moves = info->moves;
            problem->back_moves = info->back_moves;
            problem->restarts = info->restarts;
            problem->flips = info->flips;
            problem->expansions = info->expansions;
            problem->expansions_max = info->expansions_max;
            problem->guide = info->guide_expansions;
            problem->cost = info->cost;
            problem->bytes_peak = info->bytes_peak;
            problem->move_hash = info->move_hash;
        }
    }
    if (found != group->count)
        return tp_cli_fail(group->play->usage, "the server lists %zu of %zu sessions", found, group->count);
    if (tp_client_close_sessions(group->client, group->session, group->count, NULL, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(group->play->usage, "cannot close the sessions",
                                    tp_client_error(group->client));
    return TP_CLI_OK;
}

static int play_group(struct group *group, const char *map, const char *known, uint64_t version)
{
    int result = open_sessions(group, map, known, version);
    double begin = tp_cli_now();
    while (result == TP_CLI_OK && (group->active > 0 || group->ahead > 0)) {
        result = tp_cli_remote_interrupted(group->play->usage);
        if (result != TP_CLI_OK)
            break;
        if (group->active > 0 && group->ahead < TICKS_AHEAD)
            result = send_tick(group);
        else
            result = collect_tick(group);
    }
    group->play->seconds += tp_cli_now() - begin;
    return result == TP_CLI_OK ? take_measures(group) : result;
}

int tp_cli__play_remote(struct tp_cli_play *play, struct tp_cli_problem *problems, size_t count)
{
    struct tp_client *client;
    int result = tp_cli_remote_open(play->usage, play->via, &client);
    if (result != TP_CLI_OK)
        return result;
    struct tp_cli_remote_map maps[2] = {{.name = ""}, {.name = ""}}, *map = &maps[0], *known = &maps[1];
    result = tp_cli_remote_put_map(play->usage, client, play->map, play->map_path, map);
    if (result == TP_CLI_OK)
        result = tp_cli_remote_put_profile(play->usage, client, play->search, map);
    if (result == TP_CLI_OK && play->known != NULL) {
        /* a name apart: it may be a file of the same name in another folder */
        const char *slash = strrchr(play->search->known, '/');
        char path[128];
        snprintf(path, sizeof path, "known-%s", slash != NULL ? slash + 1 : play->search->known);
        result = tp_cli_remote_put_map(play->usage, client, play->known, path, known);
    }
    size_t at_once = play->step_cb != NULL ? 1 : GROUP_MAX,
           sessions_max = tp_client_server(client)->sessions_max;
    if (sessions_max > 0 && at_once > sessions_max)
        at_once = sessions_max;
    for (size_t i = 0; i < count && result == TP_CLI_OK; i += at_once) {
        struct group group = {
            .play = play,
            .client = client,
            .problems = problems + i,
            .count = count - i < at_once ? count - i : at_once,
        };
        result = play_group(&group, map->name, play->known != NULL ? known->name : NULL, map->version);
    }
    tp_cli_remote_drop_maps(play->usage, client, maps, 2);
    tp_client_close(client);
    return result;
}
