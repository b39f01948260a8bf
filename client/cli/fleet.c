#include "client/cli/fleet.h"

#include "client/cli/play.h"
#include "client/cli/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPENS_AHEAD = 256 };

int tp_cli_fleet_init(struct tp_cli_fleet *fleet, size_t count)
{
    fleet->agents = calloc(count + 1, sizeof *fleet->agents);
    fleet->cells = calloc(count + 1, sizeof *fleet->cells);
    fleet->count = count;
    if (fleet->agents != NULL && fleet->cells != NULL)
        return 0;
    tp_cli_fleet_fini(fleet);
    return TP_ERR_NO_MEMORY;
}

void tp_cli_fleet_fini(struct tp_cli_fleet *fleet)
{
    for (size_t i = 0; fleet->agents != NULL && i < fleet->count; i++)
        free(fleet->agents[i].trail);
    free(fleet->agents);
    free(fleet->cells);
    free(fleet->round_trip_us);
    memset(fleet, 0, sizeof *fleet);
}

/* Notes where the agent stands now. */
static bool stand(struct tp_cli_fleet *fleet, size_t i, struct tp_cli_stand at)
{
    struct tp_cli_agent *agent = &fleet->agents[i];
    agent->at = at;
    fleet->cells[i] = at.cell;
    if (!fleet->keep_trails)
        return true;
    if (agent->trail_count == agent->trail_room) {
        size_t room = agent->trail_room == 0 ? 64 : agent->trail_room * 2;
        uint32_t *trail = realloc(agent->trail, room * sizeof *trail);
        if (trail == NULL)
            return false;
        agent->trail = trail;
        agent->trail_room = room;
    }
    agent->trail[agent->trail_count++] = at.cell;
    return true;
}

static int collect_opened(struct tp_cli_fleet *fleet, const struct tp_cli_search *search, size_t i,
                          uint64_t ticket)
{
    struct tp_client_reply reply;
    int error = tp_client_collect(fleet->client, ticket, &reply, TP_CLI_CALL_MS);
    if (error != 0) {
        const struct tp_client_error *why = tp_client_error(fleet->client);
        if (!why->from_server)
            return tp_cli_client_failed(fleet->usage, "cannot open a session", why);
        return tp_cli_search_refused(fleet->usage, search, error, why->field, why->message);
    }
    fleet->agents[i].session = reply.session.id;
    struct tp_session_params params;
    tp_cli_search_params(search, &params);
    const struct tp_cli_stand at = {fleet->agents[i].start, params.start_vx, params.start_vy};
    if (!stand(fleet, i, at))
        return tp_cli_fail(fleet->usage, "out of memory");
    return TP_CLI_OK;
}

int tp_cli_fleet_open(struct tp_cli_fleet *fleet, const struct tp_cli_search *search, const char *map)
{
    struct tp_client_session_params params;
    tp_cli_search_client_params(search, &params);
    params.map = map;
    fleet->exact = search->goal_policy == TP_GOAL_EXACT;
    uint64_t tickets[OPENS_AHEAD];
    int result = TP_CLI_OK;
    size_t sent = 0, opened = 0;
    while (result == TP_CLI_OK && opened < fleet->count) {
        if (sent < fleet->count && sent - opened < OPENS_AHEAD) {
            params.start = fleet->agents[sent].start;
            params.goal = fleet->agents[sent].goal;
            if (tp_client_send_open_session(fleet->client, &params, &tickets[sent % OPENS_AHEAD],
                                            TP_CLI_CALL_MS) != 0)
                result = tp_cli_client_failed(fleet->usage, "cannot open a session",
                                              tp_client_error(fleet->client));
            sent++;
        } else {
            result = collect_opened(fleet, search, opened, tickets[opened % OPENS_AHEAD]);
            opened++;
        }
    }
    return result;
}

int tp_cli_fleet_send(struct tp_cli_fleet *fleet, uint64_t *ticket)
{
    struct tp_client_tick tick = {.all = true, .want_work = true};
    if (tp_client_send_tick(fleet->client, &tick, ticket, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(fleet->usage, "cannot tick", tp_client_error(fleet->client));
    return TP_CLI_OK;
}

/* ---- checking an answer ---- */

static int accuse(const struct tp_cli_fleet *fleet, size_t i, uint32_t cell, uint64_t version,
                  const char *words)
{
    const struct tp_cli_agent *agent = &fleet->agents[i];
    const struct tp_map *map = fleet->mirror->versions[0];
    uint32_t from = agent->at.cell;
    char places[96];
    if (map->graph != NULL)
        snprintf(places, sizeof places, "node %u to node %u", from, cell);
    else
        snprintf(places, sizeof places, "(%u, %u) to (%u, %u)", from % map->width, from / map->width,
                 cell % map->width, cell / map->width);
    return tp_cli_fail(fleet->usage, "tick %llu, agent %zu (session %llu) from %s, version %llu: %s",
                       (unsigned long long)fleet->ticks, i, (unsigned long long)agent->session, places,
                       (unsigned long long)version, words);
}

/* What is wrong with the status, NULL if nothing. The agent stands where it stood before the move. */
static const char *wrong_status(struct tp_cli_fleet *fleet, struct tp_cli_agent *agent, struct tp_cli_stand to,
                                uint32_t status)
{
    bool moved = tp_cli_stand_moved(agent->at, to, agent->goal);
    switch (status) {
    case TP_STATUS_MOVING:
        return moved ? NULL : "MOVING, and the agent stayed";
    case TP_STATUS_ARRIVED:
        return to.cell == agent->goal || !fleet->exact ? NULL : "ARRIVED, and the agent is not at its goal";
    case TP_STATUS_SEARCHING:
    case TP_STATUS_BLOCKED:
        return moved ? "the agent moved, and the status says that it stays" : NULL;
    case TP_STATUS_UNREACHABLE:
        if (moved)
            return "the agent moved, and the status says UNREACHABLE";
        if (agent->unreachable_version == fleet->mirror->newest)
            return NULL;
        agent->unreachable_version = fleet->mirror->newest;
        return tp_cli_mirror_connected(fleet->mirror, to.cell, agent->goal) ? "UNREACHABLE, and there is a way"
                                                                       : NULL;
    default:
        return "the status is none of the protocol's";
    }
}

static int take_answer(struct tp_cli_fleet *fleet, const struct tp_client_ticked *ticked, size_t i)
{
    struct tp_cli_agent *agent = &fleet->agents[i];
    uint32_t status = ticked->statuses[i];
    const struct tp_cli_stand to = {ticked->cells[i], ticked->vx != NULL ? ticked->vx[i] : 0,
                                    ticked->vy != NULL ? ticked->vy[i] : 0};
    uint64_t version = ticked->versions[i];
    const char *wrong = NULL;
    if (ticked->sessions[i] != agent->session)
        wrong = "the answers are not in the order the sessions were opened";
    else if (version != fleet->mirror->newest)
        wrong = "the version named is not the one that the last change made";
    else if (ticked->costs[i] < agent->cost)
        wrong = "the cost fell";
    if (wrong == NULL)
        wrong = tp_cli_wrong_move(fleet->mirror, tp_cli_mirror_at(fleet->mirror, version), agent->at, to,
                                  agent->goal, ticked->costs[i] - agent->cost);
    if (wrong == NULL)
        wrong = wrong_status(fleet, agent, to, status);
    if (wrong != NULL)
        return accuse(fleet, i, to.cell, version, wrong);
    if (tp_cli_stand_moved(agent->at, to, agent->goal)) {
        agent->moves++;
        agent->back_moves += (ticked->flags[i] & TP_FLAG_BACK_MOVE) != 0;
        if (!stand(fleet, i, to))
            return tp_cli_fail(fleet->usage, "out of memory");
    }
    agent->at = to; /* a vehicle that began on its goal stands now */
    agent->cost = ticked->costs[i];
    agent->status = status;
    fleet->arrived += status == TP_STATUS_ARRIVED;
    fleet->unreachable += status == TP_STATUS_UNREACHABLE;
    return TP_CLI_OK;
}

static int note_round_trip(struct tp_cli_fleet *fleet, double seconds)
{
    if (fleet->ticks == fleet->round_trip_room) {
        size_t room = fleet->round_trip_room == 0 ? 1024 : fleet->round_trip_room * 2;
        float *round_trip = realloc(fleet->round_trip_us, room * sizeof *round_trip);
        if (round_trip == NULL)
            return tp_cli_fail(fleet->usage, "out of memory");
        fleet->round_trip_us = round_trip;
        fleet->round_trip_room = room;
    }
    fleet->round_trip_us[fleet->ticks++] = (float)(seconds * 1e6);
    return TP_CLI_OK;
}

int tp_cli_fleet_collect(struct tp_cli_fleet *fleet, uint64_t ticket, double sent_at)
{
    struct tp_client_reply reply;
    if (tp_client_collect(fleet->client, ticket, &reply, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(fleet->usage, "cannot tick", tp_client_error(fleet->client));
    int result = note_round_trip(fleet, tp_cli_now() - sent_at);
    const struct tp_client_ticked *ticked = &reply.ticked;
    if (ticked->count != fleet->count || ticked->refused_count > 0)
        return tp_cli_fail(fleet->usage, "a tick of %zu sessions answered %zu and refused %zu", fleet->count,
                           ticked->count, ticked->refused_count);
    if (ticked->expansions == NULL)
        return tp_cli_fail(fleet->usage, "a tick that asked for the work done did not get it");
    fleet->ticks_under_way += fleet->count - fleet->arrived;
    fleet->arrived = fleet->unreachable = 0;
    uint64_t expansions = 0, guide = 0;
    for (size_t i = 0; result == TP_CLI_OK && i < ticked->count; i++) {
        expansions += ticked->expansions[i];
        guide += ticked->guide_expansions != NULL ? ticked->guide_expansions[i] : 0;
        result = take_answer(fleet, ticked, i);
    }
    fleet->expansions += expansions;
    if (expansions > fleet->expansions_max)
        fleet->expansions_max = expansions;
    fleet->guide += guide;
    if (guide > fleet->guide_max)
        fleet->guide_max = guide;
    return result;
}

/* What the answers have said so far. */
static struct tp_cli_fleet_sums sum(const struct tp_cli_fleet *fleet)
{
    struct tp_cli_fleet_sums sums = {.expansions = fleet->expansions, .guide = fleet->guide};
    for (size_t i = 0; i < fleet->count; i++) {
        sums.moves += fleet->agents[i].moves;
        sums.back_moves += fleet->agents[i].back_moves;
        sums.cost += fleet->agents[i].cost;
    }
    return sums;
}

void tp_cli_fleet_moved(struct tp_cli_fleet *fleet)
{
    fleet->before = sum(fleet);
    for (size_t i = 0; i < fleet->count; i++)
        fleet->agents[i].unreachable_version = 0; /* of another epoch */
}

int tp_cli_fleet_compare(struct tp_cli_fleet *fleet, uint64_t *restarts)
{
    struct tp_client_listing listing;
    *restarts = 0;
    if (tp_client_list(fleet->client, TP_CLIENT_LIST_SESSIONS, &listing, TP_CLI_CALL_MS) != 0)
        return tp_cli_client_failed(fleet->usage, "cannot list the sessions", tp_client_error(fleet->client));
    if (listing.session_count != fleet->count)
        return tp_cli_fail(fleet->usage, "the server lists %zu of %zu sessions", listing.session_count,
                           fleet->count);
    const struct tp_cli_fleet_sums seen = sum(fleet), *before = &fleet->before;
    uint64_t expansions = before->expansions, guide = before->guide, moves = before->moves, back_moves = before->back_moves,
             cost = before->cost;
    for (size_t i = 0; i < fleet->count; i++) {
        expansions += listing.sessions[i].expansions;
        guide += listing.sessions[i].guide_expansions;
        moves += listing.sessions[i].moves;
        back_moves += listing.sessions[i].back_moves;
        cost += listing.sessions[i].cost;
        *restarts += listing.sessions[i].restarts;
    }
    if (moves != seen.moves || back_moves != seen.back_moves || cost != seen.cost || expansions != seen.expansions ||
        guide != seen.guide)
        return tp_cli_fail(
            fleet->usage,
            "the server's own sums of moves, back-moves, cost, expansions or guide units are not those of its answers");
    return TP_CLI_OK;
}
