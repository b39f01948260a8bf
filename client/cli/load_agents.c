#include "client/cli/load_internal.h"

#include "client/cli/agents.h"
#include "client/cli/play.h"

#include <stdlib.h>

enum {
    FAR_OF = 8,           /* cells drawn for a goal that is to be far */
    CLOSED_FRAMES = 10,   /* frames' worth of closed cells after which some open again */
    CHUNK = 256,          /* agents in one request that completes paths */
    COMPLETE_K = 1000000, /* expansions each may spend on it in a tick */
    ROUNDS_MAX = 2000,    /* ticks until all paths are complete at the beginning */
};

static bool walks_complete(const struct tp_cli_load *load)
{
    return load->options.workload == TP_CLI_LOAD_FINISHED || load->options.workload == TP_CLI_LOAD_SINGLE;
}

/* ---- Goals ---- */

/* Chebyshev distance; 0 on graphs, where every goal is as far as another. */
static uint32_t distance(const struct tp_cli_load *load, uint32_t a, uint32_t b)
{
    uint32_t width = load->space.map.grid.width;
    if (load->space.map.map->graph != NULL)
        return 0;
    uint32_t dx = a % width > b % width ? a % width - b % width : b % width - a % width;
    uint32_t dy = a / width > b / width ? a / width - b / width : b / width - a / width;
    return dx > dy ? dx : dy;
}

static uint32_t draw_goal(struct tp_cli_load *load, uint32_t from)
{
    int tries = walks_complete(load) ? FAR_OF : 1;
    uint32_t goal = from;
    do {
        for (int i = 0; i < tries; i++) {
            uint32_t cell = load->ground[tp_cli_random_below(&load->random, load->place_count)];
            if (goal == from || distance(load, from, cell) > distance(load, from, goal))
                goal = cell;
        }
    } while (goal == from);
    return goal;
}

uint32_t tp_cli__load_goal(struct tp_cli_load *load, size_t agent)
{
    struct tp_cli_agent *who = &load->fleet.agents[agent];
    load->figures.goals++;
    return who->goal = draw_goal(load, who->at.cell);
}

/* On a grid the largest part that hangs together; else, and with a scenario, the agents' own starts and goals. */
static int find_ground(struct tp_cli_load *load, const struct tp_cli_agents *from)
{
    if (load->options.scen_path == NULL && load->space.map.map->graph == NULL && load->track.start_count == 0)
        return tp_cli_agents_ground(from, &load->ground, &load->ground_count);
    load->ground = calloc(2 * load->fleet.count, sizeof *load->ground);
    if (load->ground == NULL)
        return tp_cli_fail(&tp_cli__load_usage, "out of memory");
    for (size_t i = 0; i < load->fleet.count; i++) {
        load->ground[load->ground_count++] = load->fleet.agents[i].start;
        load->ground[load->ground_count++] = load->fleet.agents[i].goal;
    }
    for (uint32_t i = 1; i < load->ground_count; i++)
        if (load->ground[i] != load->ground[0])
            return TP_CLI_OK;
    return tp_cli_fail(&tp_cli__load_usage, "%s: there is only one place to go to", load->space.path);
}

/* The places that goals are drawn from come first in the ground: a shuffle's beginning. */
static void draw_places(struct tp_cli_load *load)
{
    load->place_count = load->ground_count;
    if (load->options.goals == 0 || load->options.goals >= load->ground_count)
        return;
    load->place_count = (uint32_t)load->options.goals;
    for (uint32_t i = 0; i < load->place_count; i++) {
        uint32_t j = i + tp_cli_random_below(&load->random, load->ground_count - i), cell = load->ground[i];
        load->ground[i] = load->ground[j];
        load->ground[j] = cell;
    }
}

int tp_cli__load_agents(struct tp_cli_load *load)
{
    const struct tp_cli_agents from = {
        .usage = &tp_cli__load_usage,
        .space = &load->space,
        .track = &load->track,
        .mirror = &load->mirror,
        .scen_path = load->options.scen_path,
        .first = load->options.first,
        .stride = load->options.stride,
        .count = load->options.agents,
        .seed = load->search.seed,
    };
    load->random.state = ~load->search.seed;
    int result = tp_cli_agents_make(&from, &load->fleet);
    if (result == TP_CLI_OK)
        result = find_ground(load, &from);
    if (result != TP_CLI_OK)
        return result;
    draw_places(load);
    load->agents = calloc(load->fleet.count, sizeof *load->agents);
    load->waiting = calloc(load->fleet.count, sizeof *load->waiting);
    load->change_cells = calloc(load->options.changes + 1, sizeof *load->change_cells);
    load->change_terrains = calloc(load->options.changes + 1, sizeof *load->change_terrains);
    load->closed_room = (CLOSED_FRAMES + 2) * load->options.changes + 1;
    load->closed = calloc(load->closed_room, sizeof *load->closed);
    if (load->agents == NULL || load->waiting == NULL || load->change_cells == NULL ||
        load->change_terrains == NULL || load->closed == NULL)
        return tp_cli_fail(&tp_cli__load_usage, "out of memory");
    bool draws = load->options.scen_path == NULL && (walks_complete(load) || load->options.goals > 0);
    for (size_t i = 0; draws && i < load->fleet.count; i++)
        load->fleet.agents[i].goal = draw_goal(load, load->fleet.agents[i].start);
    return TP_CLI_OK;
}

/* ---- Answers ---- */

void tp_cli__load_answer(struct tp_cli_load *load, uint64_t frame, size_t agent, uint32_t cell,
                         uint32_t status, uint32_t flags)
{
    struct tp_cli_load_agent *who = &load->agents[agent];
    bool is_complete = (flags & TP_CLIENT_PATH_COMPLETE) != 0;
    bool has_arrived = status == TP_CLIENT_ARRIVED || status == TP_CLIENT_UNREACHABLE;
    load->fleet.agents[agent].at.cell = cell;
    if (who->waits || frame < who->goal_frame)
        return;
    who->has_arrived = has_arrived || (load->options.workload == TP_CLI_LOAD_SEARCHING && is_complete);
    who->waits = who->has_arrived || (walks_complete(load) && !is_complete);
    if (who->waits)
        load->waiting[load->waiting_count++] = agent;
}

/* ---- The map ---- */

static void push_closed(struct tp_cli_load *load, uint32_t cell)
{
    load->closed[(load->closed_first + load->closed_count++) % load->closed_room] = cell;
}

static uint32_t pop_closed(struct tp_cli_load *load)
{
    uint32_t cell = load->closed[load->closed_first];
    load->closed_first = (load->closed_first + 1) % load->closed_room;
    load->closed_count--;
    return cell;
}

struct tp_client_changes tp_cli__load_changes(struct tp_cli_load *load)
{
    size_t count = load->options.changes, opened = 0;
    if (load->closed_count >= CLOSED_FRAMES * count)
        opened = count == 1 ? 1 : count / 2;
    for (size_t i = 0; i < count; i++) {
        uint32_t cell = i < opened ? pop_closed(load)
                                   : load->ground[tp_cli_random_below(&load->random, load->ground_count)];
        if (i >= opened)
            push_closed(load, cell);
        load->change_cells[i] = cell;
        load->change_terrains[i] = i < opened ? load->space.map.grid.cells[cell] : '@';
    }
    load->figures.changed += count;
    return (struct tp_client_changes){.map = load->remote.name,
                                      .cells = load->change_cells,
                                      .cell_terrains = load->change_terrains,
                                      .cell_count = count,
                                      .cell_terrain_count = count};
}

/* ---- Completing paths off the clock ---- */

size_t tp_cli__load_client_of(const struct tp_cli_load *load, size_t agent)
{
    return agent * load->client_count / load->fleet.count;
}

/* Whether an agent has nothing left to do but walk: a guided one that has a path may still look for a better way. */
static bool is_settled(const struct tp_client_ticked *ticked, size_t i)
{
    uint64_t work =
        ticked->expansions[i] + (ticked->guide_expansions != NULL ? ticked->guide_expansions[i] : 0);
    return (ticked->flags[i] & TP_CLIENT_PATH_COMPLETE) != 0 && work == 0;
}

/* Agents of one connection, given new goals where they want them and ticked with much to spend; those whose paths are then complete leave
 * the chunk. Returns how many are left, in their order; SIZE_MAX after saying why. */
static size_t complete_chunk(struct tp_cli_load *load, struct tp_client *client, size_t *agents, size_t count)
{
    uint64_t sessions[CHUNK], goals[CHUNK], ticket;
    size_t goal_count = 0, left = 0;
    struct tp_client_reply reply;
    for (size_t i = 0; i < count; i++) {
        sessions[i] = load->fleet.agents[agents[i]].session;
        if (!load->agents[agents[i]].has_arrived)
            continue;
        load->agents[agents[i]].has_arrived = false;
        if (tp_client_send_set_goal(client, sessions[i], tp_cli__load_goal(load, agents[i]),
                                    &goals[goal_count++], TP_CLI_CALL_MS) != 0)
            return tp_cli__load_broken(load, client, "cannot renew a goal"), SIZE_MAX;
    }
    const struct tp_client_tick tick = {.sessions = sessions,
                                        .session_count = count,
                                        .want_work = true,
                                        .each = {.kind = TP_CLIENT_BUDGET_K, .amount = COMPLETE_K}};
    if (tp_client_send_tick(client, &tick, &ticket, TP_CLI_CALL_MS) != 0)
        return tp_cli__load_broken(load, client, "cannot tick"), SIZE_MAX;
    for (size_t i = 0; i < goal_count; i++)
        if (tp_client_collect(client, goals[i], &reply, TP_CLI_CALL_MS) != 0)
            return tp_cli__load_broken(load, client, "cannot renew a goal"), SIZE_MAX;
    if (tp_client_collect(client, ticket, &reply, TP_CLI_CALL_MS) != 0)
        return tp_cli__load_broken(load, client, "cannot tick"), SIZE_MAX;
    if (reply.ticked.count != count || reply.ticked.expansions == NULL) {
        tp_cli_fail(&tp_cli__load_usage, "a tick of %zu sessions answered %zu", count, reply.ticked.count);
        load->figures.end = TP_CLI_LOAD_FAILED;
        return SIZE_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        struct tp_cli_load_agent *who = &load->agents[agents[i]];
        uint32_t status = reply.ticked.statuses[i];
        who->has_arrived = status == TP_CLIENT_ARRIVED || status == TP_CLIENT_UNREACHABLE;
        who->waits = who->has_arrived || !is_settled(&reply.ticked, i);
        load->fleet.agents[agents[i]].at.cell = reply.ticked.cells[i];
        if (who->waits)
            agents[left++] = agents[i];
    }
    return left;
}

/* As many agents of the list from `first` on as may go into one request: of one connection, and no more than a chunk. */
static size_t chunk_of(const struct tp_cli_load *load, size_t first, size_t end)
{
    size_t count = 1, client = tp_cli__load_client_of(load, load->waiting[first]);
    while (count < CHUNK && first + count < end &&
           tp_cli__load_client_of(load, load->waiting[first + count]) == client)
        count++;
    return count;
}

int tp_cli__load_complete(struct tp_cli_load *load, size_t agents_max, uint64_t rounds_max)
{
    size_t count = load->waiting_count < agents_max ? load->waiting_count : agents_max, left = count;
    for (uint64_t round = 0; round < rounds_max && left > 0; round++) {
        size_t kept = 0;
        for (size_t i = 0, n; i < left; i += n) {
            n = chunk_of(load, i, left);
            struct tp_client *client = load->clients[tp_cli__load_client_of(load, load->waiting[i])];
            size_t rest = complete_chunk(load, client, load->waiting + i, n);
            if (rest == SIZE_MAX)
                return TP_CLI_FAILED;
            for (size_t j = 0; j < rest; j++)
                load->waiting[kept++] = load->waiting[i + j];
        }
        left = kept;
        if (tp_cli_remote_interrupted(&tp_cli__load_usage) != TP_CLI_OK) {
            load->figures.end = TP_CLI_LOAD_INTERRUPTED;
            return TP_CLI_FAILED;
        }
    }
    for (size_t i = count; i < load->waiting_count; i++)
        load->waiting[left++] = load->waiting[i];
    load->waiting_count = left;
    return TP_CLI_OK;
}

int tp_cli__load_complete_all(struct tp_cli_load *load, bool all)
{
    for (size_t i = 0; all && i < load->fleet.count; i++) {
        load->agents[i].waits = true;
        load->waiting[i] = i;
    }
    load->waiting_count = all ? load->fleet.count : load->waiting_count;
    int result = tp_cli__load_complete(load, load->fleet.count, ROUNDS_MAX);
    if (result != TP_CLI_OK || load->waiting_count == 0)
        return result;
    load->figures.end = TP_CLI_LOAD_FAILED;
    return tp_cli_fail(&tp_cli__load_usage,
                       "%zu of %zu agents have no complete path after %d ticks of %d expansions",
                       load->waiting_count, load->fleet.count, ROUNDS_MAX, COMPLETE_K);
}
