#include "tests/lib/reference_learning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define FAR UINT64_MAX

enum { UNMET, OPEN, CLOSED, REOPENED };
enum { QUEUE_MAX = 100 }; /* plrta: states that wait for an update */

static void *must_calloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "reference: out of memory\n");
        abort();
    }
    return memory;
}

static uint32_t arcs_out(const struct ref_agent *a, uint32_t state, struct ref_arc *out)
{
    return a->space->successors(a->space->context, state, out);
}

static uint64_t distance(const struct ref_agent *a, uint32_t from, uint32_t to)
{
    return a->space->distance(a->space->context, from, to);
}

/* The cost of the arc, FAR if there is none. */
static uint64_t arc_cost(const struct ref_agent *a, uint32_t from, uint32_t to)
{
    struct ref_arc out[REF_ARCS_MAX];
    uint32_t count = arcs_out(a, from, out);
    for (uint32_t i = 0; i < count; i++) {
        if (out[i].state == to)
            return out[i].cost;
    }
    return FAR;
}

static uint64_t plus(uint64_t x, uint64_t y)
{
    return x == FAR || y == FAR ? FAR : x + y;
}

/* ---- best-first search ---- */

static void search_begin(struct ref_agent *a)
{
    for (uint32_t s = 0; s < a->space->n; s++) {
        a->g[s] = FAR;
        a->parent[s] = NONE;
        a->mark[s] = UNMET;
    }
    a->g[a->cell] = 0;
    a->mark[a->cell] = OPEN;
    a->goal_found = a->cost_fell = false;
    a->path_count = 0;
}

static uint64_t f_of(const struct ref_agent *a, uint32_t s)
{
    return a->h[s] == FAR ? FAR : 1000 * a->g[s] + a->w_milli * a->h[s];
}

/* Whether open state s goes before open state t. */
static bool before(const struct ref_agent *a, uint32_t s, uint32_t t)
{
    if (f_of(a, s) != f_of(a, t))
        return f_of(a, s) < f_of(a, t);
    if (a->g[s] != a->g[t])
        return a->g[s] > a->g[t];
    return s < t;
}

static uint32_t best_open(const struct ref_agent *a)
{
    uint32_t best = NONE;
    for (uint32_t s = 0; s < a->space->n; s++) {
        if (a->mark[s] == OPEN && (best == NONE || before(a, s, best)))
            best = s;
    }
    return best;
}

static void expand(struct ref_agent *a, uint32_t s)
{
    struct ref_arc out[REF_ARCS_MAX];
    uint32_t count = arcs_out(a, s, out);
    a->mark[s] = CLOSED;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = out[i].state;
        if (a->mark[t] == CLOSED && a->w_milli > 1000)
            continue;
        if (a->g[t] > a->g[s] + out[i].cost) {
            a->g[t] = a->g[s] + out[i].cost;
            a->parent[t] = s;
            a->mark[t] = OPEN;
        }
    }
}

/* At most `limit` expansions; stops at the goal and at an empty list. Gives how many. */
static uint64_t search(struct ref_agent *a, uint64_t limit)
{
    uint64_t expansions = 0;
    uint32_t s;
    while (expansions < limit && (s = best_open(a)) != NONE && s != a->goal) {
        expand(a, s);
        expansions++;
    }
    return expansions;
}

/* The branch of the tree from the root to `last`. */
static void path_set(struct ref_agent *a, uint32_t last)
{
    a->path_count = 0;
    for (uint32_t s = last; s != NONE; s = a->parent[s])
        a->path_count++;
    uint32_t i = a->path_count;
    for (uint32_t s = last; s != NONE; s = a->parent[s])
        a->path[--i] = s;
}

/* The place of a state on the path, NONE if it isn't there. */
static uint32_t path_place(const struct ref_agent *a, uint32_t state)
{
    for (uint32_t i = 0; i < a->path_count; i++) {
        if (a->path[i] == state)
            return i;
    }
    return NONE;
}

/* ---- learning ---- */

/* 2016, Equation 1: h(s) = min over open t of (cost from s to t through closed states + h(t)). */
static void learn_lss(struct ref_agent *a)
{
    struct ref_arc out[REF_ARCS_MAX];
    for (uint32_t s = 0; s < a->space->n; s++) {
        if (a->mark[s] == CLOSED)
            a->h[s] = FAR;
    }
    bool again = true;
    while (again) {
        again = false;
        for (uint32_t s = 0; s < a->space->n; s++) {
            if (a->mark[s] != CLOSED)
                continue;
            uint32_t count = arcs_out(a, s, out);
            for (uint32_t i = 0; i < count; i++) {
                uint64_t h = plus(out[i].cost, a->h[out[i].state]);
                if (a->mark[out[i].state] != UNMET && h < a->h[s]) {
                    a->h[s] = h;
                    again = true;
                }
            }
        }
    }
}

/* Real-Time Adaptive A*: h(s) := f(best) - g(s) of the closed states. */
static void learn_rtaa(struct ref_agent *a, uint64_t f_best)
{
    for (uint32_t s = 0; s < a->space->n; s++) {
        if (a->mark[s] == CLOSED && a->h[s] < f_best - a->g[s])
            a->h[s] = f_best - a->g[s];
    }
}

/* ---- the agent-centred rows ---- */

static void move_to(struct ref_agent *a, struct ref_agent_tick *tick, uint32_t to)
{
    uint64_t cost = arc_cost(a, a->cell, to);
    if (cost == FAR) {
        fprintf(stderr, "reference: no move from %u to %u\n", a->cell, to);
        abort();
    }
    a->cost += cost;
    a->cell = to;
    a->given_up_at = NONE;
    tick->to = to;
    if (to == a->goal)
        tick->end = REF_AT_GOAL;
}

/* The open state whose h was raised least, ties as in the open list. */
static uint32_t least_raised(const struct ref_agent *a)
{
    uint32_t best = NONE;
    uint64_t raised_least = FAR;
    for (uint32_t s = 0; s < a->space->n; s++) {
        if (a->mark[s] != OPEN)
            continue;
        uint64_t raised = a->h[s] - distance(a, s, a->goal);
        if (best == NONE || raised < raised_least || (raised == raised_least && before(a, s, best))) {
            best = s;
            raised_least = raised;
        }
    }
    return best;
}

static void tick_local(struct ref_agent *a, struct ref_agent_tick *tick)
{
    search_begin(a);
    tick->expansions = search(a, a->k);
    uint32_t best = best_open(a);
    if (best == NONE)
        return;
    uint32_t target = a->rule == REF_DARTAA ? least_raised(a) : best;
    if (a->rule == REF_LSS)
        learn_lss(a);
    else
        learn_rtaa(a, a->g[best] + a->h[best]);
    path_set(a, target);
    move_to(a, tick, a->path[1]);
}

/* ---- LRTA* ---- */

/* Reopened states first; then those of depth d, by the cost they were met with, then the lower state. NONE: no more. */
static uint32_t next_of_layer(const struct ref_agent *a, uint32_t d)
{
    uint32_t next = NONE;
    for (uint32_t s = 0; s < a->space->n; s++) {
        if (a->mark[s] != REOPENED && (a->mark[s] != OPEN || a->depth[s] != d))
            continue;
        if (next != NONE && a->mark[next] != a->mark[s]) {
            next = a->mark[s] == REOPENED ? s : next;
            continue;
        }
        if (next == NONE || a->entered[s] < a->entered[next])
            next = s;
    }
    return next;
}

static void expand_within_layers(struct ref_agent *a, uint32_t s)
{
    struct ref_arc out[REF_ARCS_MAX];
    uint32_t count = a->space->each_successor(a->space->context, s, out);
    a->mark[s] = CLOSED;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = out[i].state;
        if (a->g[t] <= a->g[s] + out[i].cost)
            continue;
        a->g[t] = a->g[s] + out[i].cost;
        a->parent[t] = s;
        if (a->mark[t] == UNMET) {
            a->mark[t] = OPEN;
            a->depth[t] = a->depth[s] + 1;
            a->entered[t] = a->g[t];
        } else if (a->mark[t] == CLOSED) {
            a->mark[t] = REOPENED;
            a->entered[t] = a->g[t];
        }
    }
}

/* The largest g + h on the way to a state of the frontier, the agent's own left out. */
static uint64_t f_on_the_way(const struct ref_agent *a, uint32_t t)
{
    uint64_t f = 0;
    for (uint32_t s = t; s != a->cell; s = a->parent[s]) {
        uint64_t here = plus(a->g[s], a->h[s]);
        f = here > f ? here : f;
    }
    return f;
}

static void tick_lrta(struct ref_agent *a, struct ref_agent_tick *tick)
{
    search_begin(a);
    a->depth[a->cell] = 0;
    a->entered[a->cell] = 0;
    uint32_t d = 0;
    while (tick->expansions < a->k) {
        uint32_t s = next_of_layer(a, d);
        if (s == NONE) {
            uint64_t layer = 0;
            for (uint32_t t = 0; t < a->space->n; t++)
                layer += a->mark[t] == OPEN;
            if (layer == 0 || layer > a->k - tick->expansions)
                break;
            d++;
            continue;
        }
        if (s == a->goal)
            break;
        expand_within_layers(a, s);
        tick->expansions++;
    }
    uint32_t best = NONE;
    uint64_t f_best = FAR;
    for (uint32_t s = 0; s < a->space->n; s++) {
        if (a->mark[s] != OPEN && a->mark[s] != REOPENED)
            continue;
        uint64_t f = f_on_the_way(a, s);
        if (best == NONE || f < f_best || (f == f_best && a->g[s] > a->g[best])) {
            best = s;
            f_best = f;
        }
    }
    if (best == NONE)
        return;
    if (f_best > a->h[a->cell] && f_best <= a->space->dearest_way)
        a->h[a->cell] = f_best;
    path_set(a, best);
    move_to(a, tick, a->path[1]);
}

/* ---- P-LRTA* ---- */

static void offer(struct ref_agent *a, uint32_t state, uint64_t priority)
{
    if (state == a->goal)
        return;
    if (a->priority[state]) {
        if (a->priority[state] < priority)
            a->priority[state] = priority;
        return;
    }
    a->priority[state] = priority;
    uint32_t count = 0, least = NONE; /* of equal ones the higher state goes first */
    for (uint32_t s = 0; s < a->space->n; s++) {
        if (!a->priority[s])
            continue;
        count++;
        if (least == NONE || a->priority[s] <= a->priority[least])
            least = s;
    }
    if (count > QUEUE_MAX)
        a->priority[least] = 0;
}

static void update(struct ref_agent *a, uint32_t state)
{
    struct ref_arc arcs[REF_ARCS_MAX];
    uint32_t count = arcs_out(a, state, arcs);
    uint64_t f = FAR, old = a->h[state];
    for (uint32_t i = 0; i < count; i++) {
        uint64_t through = plus(arcs[i].cost, a->h[arcs[i].state]);
        f = through < f ? through : f;
    }
    if (f <= old || f == FAR || f > a->space->dearest_way)
        return;
    a->h[state] = f;
    count = a->space->predecessors(a->space->context, state, arcs);
    for (uint32_t i = 0; i < count; i++)
        offer(a, arcs[i].state, f - old);
}

static void tick_plrta(struct ref_agent *a, struct ref_agent_tick *tick)
{
    update(a, a->cell);
    tick->expansions = 1;
    uint64_t most = 64ull * a->space->n;
    while (tick->expansions < (a->k < most ? a->k : most)) {
        uint32_t top = NONE;
        for (uint32_t s = 0; s < a->space->n; s++) {
            if (a->priority[s] && (top == NONE || a->priority[s] > a->priority[top]))
                top = s;
        }
        if (top == NONE)
            break;
        a->priority[top] = 0;
        update(a, top);
        tick->expansions++;
    }
    struct ref_arc out[REF_ARCS_MAX], *best = NULL;
    uint32_t count = arcs_out(a, a->cell, out);
    for (uint32_t i = 0; i < count; i++) {
        struct ref_arc *arc = &out[i];
        if (!best) {
            best = arc;
            continue;
        }
        uint64_t f = arc->cost + a->h[arc->state], f_best = best->cost + a->h[best->state];
        if (f < f_best || (f == f_best &&
                           (arc->cost > best->cost || (arc->cost == best->cost && arc->state < best->state))))
            best = arc;
    }
    if (best)
        move_to(a, tick, best->state);
}

/* ---- costs that change ---- */

static void arcs_then_init(struct ref_arcs_then *then, size_t n)
{
    then->arcs = must_calloc(n * REF_ARCS_MAX, sizeof *then->arcs);
    then->count = must_calloc(n, sizeof *then->count);
}

static void arcs_then_fini(struct ref_arcs_then *then)
{
    free(then->arcs);
    free(then->count);
}

static void remember(const struct ref_agent *a, struct ref_arcs_then *then)
{
    for (uint32_t s = 0; s < a->space->n; s++)
        then->count[s] = arcs_out(a, s, &then->arcs[(size_t)s * REF_ARCS_MAX]);
}

static uint64_t cost_then(const struct ref_arcs_then *then, uint32_t from, uint32_t to)
{
    const struct ref_arc *arcs = &then->arcs[(size_t)from * REF_ARCS_MAX];
    for (uint32_t i = 0; i < then->count[from]; i++) {
        if (arcs[i].state == to)
            return arcs[i].cost;
    }
    return FAR;
}

/* The way that the agent is going to take: along the path, or first back along its parents until it meets the
 * path. Gives the number of states, the agent's own first. */
static uint32_t way_ahead(const struct ref_agent *a, uint32_t *way)
{
    uint32_t count = 0, s = a->cell;
    if (a->path_count == 0)
        return 0;
    while (path_place(a, s) == NONE) {
        way[count++] = s;
        s = a->parent[s];
    }
    for (uint32_t i = path_place(a, s); i < a->path_count; i++)
        way[count++] = a->path[i];
    return count;
}

/* 2014, Algorithm 3: whether what fell since it was last looked for calls for a new search; what is left of the path. No way costs less
 * than h, which is rounded: two pieces of it and a move may be a unit short of the whole. */
static bool shorter_way_may_be(const struct ref_agent *a, uint64_t *left)
{
    uint32_t *way = must_calloc(2 * (size_t)a->space->n + 2, sizeof *way);
    uint32_t count = way_ahead(a, way);
    uint64_t suffix = 0;
    bool maybe = false;
    for (uint32_t i = 0; i + 1 < count; i++)
        suffix = plus(suffix, arc_cost(a, way[i], way[i + 1]));
    if (count && !a->goal_found)
        suffix = plus(suffix, distance(a, way[count - 1], a->goal));
    *left = suffix;
    struct ref_arc out[REF_ARCS_MAX];
    for (uint32_t u = 0; u < a->space->n && count; u++) {
        uint32_t arcs = arcs_out(a, u, out);
        for (uint32_t i = 0; i < arcs; i++) {
            uint32_t v = out[i].state;
            if (out[i].cost < cost_then(&a->weighed, u, v)) {
                uint64_t through = distance(a, a->cell, u) + out[i].cost + distance(a, v, a->goal);
                maybe |= suffix == FAR || a->w_milli * through < 1000 * suffix;
            }
        }
    }
    free(way);
    return maybe && (suffix == FAR || a->w_milli * distance(a, a->cell, a->goal) < 1000 * suffix);
}

/* Whether the way that the agent is going to take is blocked by now, or dearer than the search found it. */
static bool dearer_ahead(const struct ref_agent *a)
{
    uint32_t *way = must_calloc(2 * (size_t)a->space->n + 2, sizeof *way);
    uint32_t count = way_ahead(a, way);
    bool dearer = false;
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint64_t from = a->g[way[i]], to = a->g[way[i + 1]];
        dearer |= arc_cost(a, way[i], way[i + 1]) > (to > from ? to - from : from - to);
    }
    free(way);
    return dearer;
}

/* Whether a cost on the way that the agent is going to take rose since then. */
static bool rose_ahead(const struct ref_agent *a, const struct ref_arcs_then *then)
{
    uint32_t *way = must_calloc(2 * (size_t)a->space->n + 2, sizeof *way);
    uint32_t count = way_ahead(a, way);
    bool rose = false;
    for (uint32_t i = 0; i + 1 < count; i++)
        rose |= arc_cost(a, way[i], way[i + 1]) > cost_then(then, way[i], way[i + 1]);
    free(way);
    return rose;
}

/* ---- the rows that keep a search from tick to tick ---- */

static void begin_again(struct ref_agent *a, struct ref_agent_tick *tick)
{
    tick->restarted = true;
    search_begin(a);
    remember(a, &a->at_begin);
    remember(a, &a->weighed);
    if (!a->for_fall)
        a->h_bar = a->left_bar = FAR;
    a->fell_since = a->at_once = a->for_fall = false;
    a->begun = a->ticks;
    a->restarts++;
}

/* Searches and finds the path to the best open state, unless the goal was found. With an empty list: begins again if
 * some cost fell since the search began (what is closed may lead on now), else false. */
static bool search_to_path(struct ref_agent *a, struct ref_agent_tick *tick)
{
    if (a->goal_found)
        return true;
    tick->expansions += search(a, a->k - tick->expansions);
    uint32_t best = best_open(a);
    if (best == NONE && a->cost_fell) {
        begin_again(a, tick);
        tick->expansions += search(a, a->k - tick->expansions);
        best = best_open(a);
    }
    if (best == NONE)
        return false;
    a->goal_found = best == a->goal;
    path_set(a, best);
    return true;
}

/* The body of 2014, Algorithm 2, and of 2016, Algorithm 5. */
static void tick_time_bounded(struct ref_agent *a, struct ref_agent_tick *tick)
{
    if (!search_to_path(a, tick)) {
        tick->end = REF_NO_WAY;
        return;
    }
    if (a->rule == REF_RTBWA && a->given_up_at != a->cell && dearer_ahead(a)) { /* as 2012, Algorithm 2, line 22: it costs the move */
        a->given_up_at = a->cell;
        begin_again(a, tick);
        return;
    }
    uint32_t place = path_place(a, a->cell);
    if (place != NONE && place + 1 == a->path_count) /* a new search that had nothing left to spend */
        return;
    uint32_t to = place != NONE ? a->path[place + 1] : a->parent[a->cell];
    if (arc_cost(a, a->cell, to) == FAR) { /* tbrwa: no edge back */
        learn_lss(a);
        begin_again(a, tick);
        return;
    }
    tick->back = place == NONE;
    move_to(a, tick, to);
}

/* Nothing moves before the goal is found. */
static void tick_replan(struct ref_agent *a, struct ref_agent_tick *tick)
{
    if (!search_to_path(a, tick)) {
        tick->end = REF_NO_WAY;
        return;
    }
    if (!a->goal_found)
        return;
    uint32_t to = a->path[path_place(a, a->cell) + 1];
    if (arc_cost(a, a->cell, to) == FAR)
        begin_again(a, tick);
    else
        move_to(a, tick, to);
}

struct ref_agent_tick ref_agent_tick(struct ref_agent *a)
{
    struct ref_agent_tick tick = {.to = a->cell, .end = REF_GOES_ON};
    if (a->cell == a->goal) {
        tick.end = REF_AT_GOAL;
        return tick;
    }
    if (a->due)
        begin_again(a, &tick);
    a->due = false;
    switch (a->rule) {
    case REF_LRTA:
        tick_lrta(a, &tick);
        break;
    case REF_PLRTA:
        tick_plrta(a, &tick);
        break;
    case REF_LSS:
    case REF_RTAA:
    case REF_DARTAA:
        tick_local(a, &tick);
        break;
    case REF_RTBWA:
    case REF_TBRWA:
        tick_time_bounded(a, &tick);
        break;
    case REF_WASTAR:
        tick_replan(a, &tick);
        break;
    }
    a->ticks++;
    return tick;
}

/* The lazy rule, for what fell. */
static void weigh_falls(struct ref_agent *a, bool fell)
{
    a->fell_since |= fell;
    if (a->ticks == a->begun + 1)
        a->at_once = a->goal_found;
    if (!a->fell_since || !a->path_count)
        return;
    uint64_t left, h = distance(a, a->cell, a->goal);
    bool maybe = shorter_way_may_be(a, &left);
    if (a->goal_found ? !a->at_once && left >= a->left_bar : h >= a->h_bar)
        return; /* it is looked for again when the agent is nearer */
    if (maybe && a->goal_found)
        a->left_bar = left;
    else if (maybe)
        a->h_bar = h;
    a->due = a->for_fall = maybe;
    a->fell_since = false;
    remember(a, &a->weighed);
}

void ref_agent_see(struct ref_agent *a, bool rose, bool fell)
{
    if ((a->rule != REF_RTBWA && a->rule != REF_WASTAR) || a->cell == a->goal)
        return;
    bool lazy = a->rule == REF_RTBWA && a->restart == REF_LAZY, risen = lazy && (rose || fell) && rose_ahead(a, &a->before);
    if (risen)
        a->due = true;
    else if (lazy && !a->due)
        weigh_falls(a, fell);
    if (!rose && !fell)
        return;
    if (a->rule == REF_WASTAR)
        a->due |= a->goal_found && rose_ahead(a, &a->before) && dearer_ahead(a);
    else if (a->restart == REF_EAGER)
        a->due = true;
    a->cost_fell |= fell;
    remember(a, &a->before);
}

static void *copied(const void *from, size_t bytes)
{
    return memcpy(must_calloc(1, bytes), from, bytes);
}

struct ref_agent_tick ref_agent_peek(const struct ref_agent *a)
{
    size_t n = a->space->n;
    struct ref_agent b = *a;
    b.h = copied(a->h, n * sizeof *a->h);
    b.g = copied(a->g, n * sizeof *a->g);
    b.parent = copied(a->parent, n * sizeof *a->parent);
    b.mark = copied(a->mark, n);
    b.path = copied(a->path, n * sizeof *a->path);
    b.priority = copied(a->priority, n * sizeof *a->priority);
    b.depth = copied(a->depth, n * sizeof *a->depth);
    b.entered = copied(a->entered, n * sizeof *a->entered);
    arcs_then_init(&b.before, n);
    arcs_then_init(&b.at_begin, n);
    arcs_then_init(&b.weighed, n);
    memcpy(b.at_begin.arcs, a->at_begin.arcs, n * REF_ARCS_MAX * sizeof *a->at_begin.arcs);
    memcpy(b.at_begin.count, a->at_begin.count, n * sizeof *a->at_begin.count);
    struct ref_agent_tick tick = ref_agent_tick(&b);
    ref_agent_close(&b);
    return tick;
}

void ref_agent_open(struct ref_agent *a, const struct ref_space *space, enum ref_rule rule, uint32_t start,
                    uint32_t goal, uint64_t w_milli, uint64_t k, enum ref_restart_rule restart)
{
    size_t n = space->n;
    *a = (struct ref_agent){.space = space,
                            .rule = rule,
                            .restart = restart,
                            .goal = goal,
                            .w_milli = w_milli,
                            .k = k,
                            .cell = start,
                            .given_up_at = NONE,
                            .h_bar = FAR,
                            .left_bar = FAR,
                            .h = must_calloc(n, sizeof *a->h),
                            .g = must_calloc(n, sizeof *a->g),
                            .parent = must_calloc(n, sizeof *a->parent),
                            .mark = must_calloc(n, 1),
                            .path = must_calloc(n, sizeof *a->path),
                            .priority = must_calloc(n, sizeof *a->priority),
                            .depth = must_calloc(n, sizeof *a->depth),
                            .entered = must_calloc(n, sizeof *a->entered)};
    arcs_then_init(&a->before, n);
    arcs_then_init(&a->at_begin, n);
    arcs_then_init(&a->weighed, n);
    for (uint32_t s = 0; s < space->n; s++)
        a->h[s] = distance(a, s, goal);
    remember(a, &a->before);
    remember(a, &a->at_begin);
    remember(a, &a->weighed);
    search_begin(a);
}

void ref_agent_close(struct ref_agent *a)
{
    free(a->h);
    free(a->g);
    free(a->parent);
    free(a->mark);
    free(a->path);
    free(a->priority);
    free(a->depth);
    free(a->entered);
    arcs_then_fini(&a->before);
    arcs_then_fini(&a->at_begin);
    arcs_then_fini(&a->weighed);
}
