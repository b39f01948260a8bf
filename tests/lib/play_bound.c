/* A second opinion on the bound that a session tells of its walk's cost (search/bound.h): by a plain Dijkstra on the version that the reply
 * names, from where the proof began, which is kept here by the words of the header alone. */
#include "tests/lib/distances.h"
#include "tests/lib/play.h"

#include <stdlib.h>

#define SAY(...) PLAY_SAY(play, __VA_ARGS__)

void play_bound_begin(struct play *play)
{
    const struct tp_map *map = play->served; /* a batch that opens a cell and closes it again is no fall of a layer */
    bool holds = play->proof.begun && map->epoch == play->proof.epoch && map->version >= play->proof.version &&
                 map->fell_version <= play->proof.version;
    play->proof.epoch = map->epoch;
    play->proof.version = map->version;
    if (!play->params.bounded || (holds && play->plain.weight[play->proof.from]))
        return;
    play->proof.begun = play->plain.weight[play->cell];
    play->proof.from = play->cell;
    play->proof.cost = play->cost;
    play->proof.told = 0;
    play->proof.least_version = 0;
}

/* The least cost of a way to a goal from where the proof began; UINT64_MAX: there is none. */
static uint64_t least_cost(struct play *play)
{
    if (play->proof.least_version == play->map->version)
        return play->proof.least;
    uint64_t *costs = malloc((size_t)play->map->width * play->map->height * sizeof *costs), least = UINT64_MAX;
    ck_assert_ptr_nonnull(costs);
    ref_costs_to(&play->plain, play->proof.from, costs); /* a way leads back as it leads forth */
    for (uint32_t i = 0; i < play->goal_count; i++)
        if (play->plain.weight[play->goals[i]] && costs[play->goals[i]] < least)
            least = costs[play->goals[i]];
    free(costs);
    play->proof.least = least;
    play->proof.least_version = play->map->version;
    return least;
}

/* What is left of the path to a goal; UINT64_MAX where it is not legal any more, or ends elsewhere. */
static uint64_t path_left(const struct play *play)
{
    uint32_t room = play->map->width * play->map->height;
    uint32_t *cells = malloc(room * sizeof *cells);
    ck_assert_ptr_nonnull(cells);
    uint32_t count = tp_session_path(play->session, cells, room);
    uint64_t left = !count || !play->ends[cells[count - 1]] ? UINT64_MAX
                    : count == 1                            ? 0
                                                            : ref_walk_cost(&play->plain, cells, count);
    free(cells);
    return left;
}

/* Whether a bound must be told: nothing stands in the way of it under k, where following a path to its end costs nothing. */
static bool must_tell(const struct play *play, const struct tp_tick_reply *r, const struct tp_budget *budget)
{
    bool on_path = r->status == TP_STATUS_MOVING && !(r->flags & (TP_FLAG_BACK_MOVE | TP_FLAG_PARTIAL)) && !play->params.shortcut;
    return play->proof.begun && budget->kind == TP_BUDGET_K && !budget->expired && on_path && r->flags & TP_FLAG_PATH_COMPLETE &&
           path_left(play) != UINT64_MAX && play_h(play, play->proof.from) > 0 && play->params.heuristic == TP_HEURISTIC_DEFAULT;
}

void play_bound_check(struct play *play, const struct tp_tick_reply *r, const struct tp_budget *budget)
{
    uint64_t bound = r->bound_milli;
    if (!play->params.bounded) {
        SAY(!bound, "a bound that was not asked for");
        return;
    }
    if (!bound) {
        SAY(!must_tell(play, r, budget), "no bound");
        bool stays = play->proof.told_version == r->version && !(r->flags & TP_FLAG_RESTARTED);
        SAY(!play->proof.told || !stays, "no bound any more, on a map that stays");
        play->proof.told = 0;
        return;
    }
    bool arrived = r->status == TP_STATUS_ARRIVED;
    SAY(play->proof.begun, "a bound, but nothing could be proved");
    SAY(bound >= 1000 && (arrived || r->flags & TP_FLAG_PATH_COMPLETE) && !(r->flags & TP_FLAG_PARTIAL), "a bound of %llu, flags %x",
        (unsigned long long)bound, r->flags);
    uint64_t walked = play->cost - play->proof.cost, left = arrived ? 0 : path_left(play), least = least_cost(play);
    SAY(left != UINT64_MAX, "a bound, but the path can't be walked");
    uint64_t cost = walked + left, h = play_h(play, play->proof.from);
    if (least != UINT64_MAX && bound < UINT32_MAX)
        SAY(cost * 1000 <= bound * least, "bound %llu, but %llu are walked and %llu left, and the cheapest way from %u costs %llu",
            (unsigned long long)bound, (unsigned long long)walked, (unsigned long long)left, play->proof.from,
            (unsigned long long)least);
    if (play->params.heuristic == TP_HEURISTIC_DEFAULT && h && cost > h)
        SAY((bound - 1) * h < cost * 1000, "bound %llu is above that by h: %llu of %llu", (unsigned long long)bound,
            (unsigned long long)cost, (unsigned long long)h);
    if (play->proof.told && play->proof.told_version == r->version && !(r->flags & TP_FLAG_RESTARTED))
        SAY(bound <= play->proof.told, "a bound of %llu after one of %u, on a map that stays", (unsigned long long)bound,
            play->proof.told);
    play->proof.told = r->bound_milli;
    play->proof.told_version = r->version;
}
