#include "tests/lib/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define FAR UINT64_MAX

enum { STRAIGHT = 3194, DIAGONAL = 4517, KNIGHT = 7142 };

static void *must_calloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "reference: out of memory\n");
        abort();
    }
    return memory;
}

/* ---- the grid ---- */

static bool free_at(const struct ref_problem *p, int64_t x, int64_t y)
{
    return x >= 0 && y >= 0 && x < p->width && y < p->height && p->weight[y * p->width + x] != 0;
}

bool ref_step(const struct ref_problem *p, uint32_t from, uint32_t to, uint64_t *cost)
{
    int64_t x = from % p->width, y = from / p->width;
    int64_t tx = to % p->width, ty = to / p->width;
    int64_t dx = tx - x, dy = ty - y;
    int64_t ax = dx < 0 ? -dx : dx, ay = dy < 0 ? -dy : dy;
    uint64_t length;

    if (!free_at(p, tx, ty))
        return false;
    if (ax + ay == 1) {
        length = STRAIGHT;
    } else if (ax == 1 && ay == 1 && p->neighbours >= 8) {
        bool a = free_at(p, x + dx, y), b = free_at(p, x, y + dy);
        if (p->corners == REF_BOTH_FREE && !(a && b))
            return false;
        if (p->corners == REF_ONE_FREE && !a && !b)
            return false;
        length = DIAGONAL;
    } else if (((ax == 2 && ay == 1) || (ax == 1 && ay == 2)) && p->neighbours == 16) {
        int64_t sx = dx > 0 ? 1 : -1, sy = dy > 0 ? 1 : -1;
        if (!free_at(p, x + sx, y + sy))
            return false;
        if (ax == 2 ? !free_at(p, x + sx, y) : !free_at(p, x, y + sy))
            return false;
        length = KNIGHT;
    } else {
        return false;
    }
    uint64_t wa = p->weight[from] ? p->weight[from] : 1, wb = p->weight[to] ? p->weight[to] : 1;
    *cost = length * (wa + wb) / 2;
    return true;
}

__extension__ typedef unsigned __int128 wide;

/* floor(3194 (1 - 10^-6) sqrt(d2)), without rounding: the largest h with (10^6 h)^2 <= (3194 999999)^2 d2. */
static uint64_t euclid(uint64_t d2)
{
    const wide scale = 3194ull * 999999ull;
    const wide bound = scale * scale * d2;
    uint64_t low = 0, high = 1ull << 40;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        wide value = (wide)middle * 1000000u;
        if (value * value <= bound)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t ref_distance(const struct ref_problem *p, uint32_t from, uint32_t to)
{
    int64_t dx = (int64_t)(from % p->width) - (int64_t)(to % p->width);
    int64_t dy = (int64_t)(from / p->width) - (int64_t)(to / p->width);
    uint64_t ax = (uint64_t)(dx < 0 ? -dx : dx), ay = (uint64_t)(dy < 0 ? -dy : dy);
    uint64_t low = ax < ay ? ax : ay, high = ax < ay ? ay : ax;
    uint64_t distance;
    if (p->neighbours == 4)
        distance = STRAIGHT * (ax + ay);
    else if (p->neighbours == 8)
        distance = STRAIGHT * (high - low) + DIAGONAL * low;
    else
        distance = euclid(ax * ax + ay * ay);
    return distance * p->least_weight;
}

/* Calls for every cell in reach of one move; the order does not matter to any result. */
static int successors(const struct ref_problem *p, uint32_t cell, uint32_t *to, uint64_t *cost)
{
    int count = 0;
    int64_t x = cell % p->width, y = cell / p->width;
    for (int64_t dy = -2; dy <= 2; dy++) {
        for (int64_t dx = -2; dx <= 2; dx++) {
            if (!free_at(p, x + dx, y + dy))
                continue;
            uint32_t t = (uint32_t)((y + dy) * p->width + x + dx);
            if (ref_step(p, cell, t, &cost[count]))
                to[count++] = t;
        }
    }
    return count;
}

void ref_flood(const struct ref_problem *p, uint32_t from, uint8_t *reached)
{
    size_t cells = (size_t)p->width * p->height;
    uint32_t *stack = must_calloc(cells, sizeof *stack);
    size_t depth = 0;
    memset(reached, 0, cells);
    reached[from] = 1;
    stack[depth++] = from;
    while (depth) {
        uint32_t to[24];
        uint64_t cost[24];
        int count = successors(p, stack[--depth], to, cost);
        for (int i = 0; i < count; i++) {
            if (!reached[to[i]]) {
                reached[to[i]] = 1;
                stack[depth++] = to[i];
            }
        }
    }
    free(stack);
}

/* ---- the best-first search: f = 1000 g + (1000 w) h, ties the larger g, then the lower cell ---- */

struct entry {
    uint64_t f, g;
    uint32_t cell;
};

struct search {
    const struct ref_problem *p;
    uint64_t *g;      /* FAR: not met */
    uint32_t *parent; /* NONE at the root */
    uint32_t *depth;  /* moves from the root along the parents */
    uint8_t *closed;
    struct entry *heap;
    size_t heap_count, heap_room;
    uint32_t depth_max; /* of any state given a g so far */
};

static bool before(const struct entry *a, const struct entry *b)
{
    if (a->f != b->f)
        return a->f < b->f;
    if (a->g != b->g)
        return a->g > b->g;
    return a->cell < b->cell;
}

static void heap_push(struct search *s, struct entry entry)
{
    if (s->heap_count == s->heap_room) {
        s->heap_room = s->heap_room ? 2 * s->heap_room : 64;
        s->heap = realloc(s->heap, s->heap_room * sizeof *s->heap);
        if (!s->heap)
            abort();
    }
    size_t i = s->heap_count++;
    while (i > 0 && before(&entry, &s->heap[(i - 1) / 2])) {
        s->heap[i] = s->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->heap[i] = entry;
}

static void heap_pop(struct search *s)
{
    struct entry last = s->heap[--s->heap_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= s->heap_count)
            break;
        if (child + 1 < s->heap_count && before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!before(&s->heap[child], &last))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
}

static uint64_t priority(const struct search *s, uint32_t cell)
{
    const struct ref_problem *p = s->p;
    uint64_t h = ref_distance(p, cell, p->goal);
    if (p->algorithm == REF_TBGBFS)
        return h;
    return 1000 * s->g[cell] + (p->algorithm == REF_TBWA ? p->w_milli : 1000) * h;
}

static void put(struct search *s, uint32_t cell, uint64_t g, uint32_t parent)
{
    s->g[cell] = g;
    s->parent[cell] = parent;
    s->depth[cell] = parent == NONE ? 0 : s->depth[parent] + 1;
    if (s->depth[cell] > s->depth_max)
        s->depth_max = s->depth[cell];
    heap_push(s, (struct entry){priority(s, cell), g, cell});
}

/* The best open state, NONE if there is none. */
static uint32_t best(struct search *s)
{
    while (s->heap_count) {
        const struct entry *top = &s->heap[0];
        if (!s->closed[top->cell] && s->g[top->cell] == top->g)
            return top->cell;
        heap_pop(s);
    }
    return NONE;
}

static void expand(struct search *s, uint32_t cell)
{
    uint32_t to[24];
    uint64_t cost[24];
    s->closed[cell] = 1;
    int count = successors(s->p, cell, to, cost);
    for (int i = 0; i < count; i++) {
        uint32_t t = to[i];
        if (s->closed[t])
            continue;
        if (s->p->algorithm == REF_TBGBFS ? s->g[t] != FAR : s->g[t] <= s->g[cell] + cost[i])
            continue;
        put(s, t, s->g[cell] + cost[i], cell);
    }
}

/* Expands up to `limit` states; stops at the goal, at an empty list, and once a path has depth_stop moves.
 * Returns how many were expanded. */
static uint64_t search(struct search *s, uint64_t limit, uint64_t depth_stop)
{
    uint64_t expansions = 0;
    uint32_t cell;
    while (expansions < limit && s->depth_max < depth_stop && (cell = best(s)) != NONE &&
           cell != s->p->goal) {
        expand(s, cell);
        expansions++;
    }
    return expansions;
}

static void search_init(struct search *s, const struct ref_problem *p)
{
    size_t cells = (size_t)p->width * p->height;
    memset(s, 0, sizeof *s);
    s->p = p;
    s->g = must_calloc(cells, sizeof *s->g);
    s->parent = must_calloc(cells, sizeof *s->parent);
    s->depth = must_calloc(cells, sizeof *s->depth);
    s->closed = must_calloc(cells, 1);
    memset(s->g, 0xff, cells * sizeof *s->g);
    put(s, p->start, 0, NONE);
}

static void search_fini(struct search *s)
{
    free(s->g);
    free(s->parent);
    free(s->depth);
    free(s->closed);
    free(s->heap);
}

/* ---- paths: cells from the front (nearest the agent) to the back (the most promising state) ---- */

struct path {
    uint32_t *cells; /* written from the end of the array towards its start, as tracing goes */
    size_t room, front;
};

static void path_init(struct path *path, size_t room)
{
    path->cells = must_calloc(room, sizeof *path->cells);
    path->room = path->front = room;
}

static void path_begin(struct path *path, uint32_t cell)
{
    path->front = path->room;
    path->cells[--path->front] = cell;
}

/* Adds parents to the front until `stop` or the start is there, at most `steps` of them. Whether it is done.
 */
static bool path_trace(struct path *path, const struct search *s, uint32_t stop, uint64_t steps)
{
    for (;;) {
        uint32_t front = path->cells[path->front];
        if (front == stop || s->parent[front] == NONE)
            return true;
        if (steps-- == 0)
            return false;
        path->cells[--path->front] = s->parent[front];
    }
}

/* The cell after `cell`, NONE if `cell` is not on the path or is its end. Cells already walked stay on the
 * path: an agent that waits at its end for a longer one to be traced steps back and forth there. */
static uint32_t path_next(const struct path *path, uint32_t cell)
{
    for (size_t i = path->front; i + 1 < path->room; i++) {
        if (path->cells[i] == cell)
            return path->cells[i + 1];
    }
    return NONE;
}

/* ---- the runs ---- */

struct run {
    struct ref_run *out;
    const struct ref_problem *p;
    struct search s;
    uint32_t agent;
    size_t room;
};

static void end_tick(struct run *run, uint32_t to, bool back, uint64_t expansions)
{
    struct ref_run *out = run->out;
    if (out->tick_count == run->room) {
        run->room = run->room ? 2 * run->room : 64;
        out->ticks = realloc(out->ticks, run->room * sizeof *out->ticks);
        if (!out->ticks)
            abort();
    }
    bool moved = to != run->agent;
    if (moved) {
        uint64_t cost;
        if (!ref_step(run->p, run->agent, to, &cost)) {
            fprintf(stderr, "reference: illegal move %u to %u\n", run->agent, to);
            abort();
        }
        out->moves++;
        out->cost += cost;
        out->back_moves += back;
    }
    out->ticks[out->tick_count++] =
        (struct ref_tick){.cell = to, .moved = moved, .back = moved && back, .expansions = expansions};
    out->expansions += expansions;
    if (expansions > out->expansions_max)
        out->expansions_max = expansions;
    run->agent = to;
}

static bool over(const struct run *run)
{
    return run->p->ticks_max && run->out->tick_count >= run->p->ticks_max;
}

/* A*: nothing moves before the goal is found; then the path is followed. */
static enum ref_outcome play_replan(struct run *run)
{
    struct search *s = &run->s;
    struct path path;
    path_init(&path, (size_t)run->p->width * run->p->height);
    bool found = false;
    enum ref_outcome outcome = REF_ARRIVED;
    while (run->agent != run->p->goal && outcome == REF_ARRIVED) {
        uint64_t expansions = 0;
        if (!found) {
            expansions = search(s, run->p->k, UINT64_MAX);
            found = best(s) == run->p->goal;
            if (found) {
                path_begin(&path, run->p->goal);
                path_trace(&path, s, run->p->start, UINT64_MAX);
            }
        }
        end_tick(run, found ? path_next(&path, run->agent) : run->agent, false, expansions);
        if (!found && best(s) == NONE)
            outcome = REF_UNREACHABLE;
        else if (over(run))
            outcome = REF_GAVE_UP;
    }
    free(path.cells);
    run->out->goal_g = found ? s->g[run->p->goal] : FAR;
    return outcome;
}

/* Time-bounded under k: the path to the best open state is known at once, each tick (2014, Algorithm 1). */
static enum ref_outcome play_lookahead(struct run *run)
{
    struct search *s = &run->s;
    struct path path;
    path_init(&path, (size_t)run->p->width * run->p->height);
    bool found = false;
    enum ref_outcome outcome = REF_ARRIVED;
    while (run->agent != run->p->goal && outcome == REF_ARRIVED) {
        uint64_t expansions = found ? 0 : search(s, run->p->k, UINT64_MAX);
        uint32_t top = best(s);
        if (top == NONE) {
            end_tick(run, run->agent, false, expansions);
            outcome = REF_UNREACHABLE;
            break;
        }
        found = top == run->p->goal;
        path_begin(&path, top);
        path_trace(&path, s, NONE, UINT64_MAX);
        uint32_t to = path_next(&path, run->agent);
        if (to != NONE)
            end_tick(run, to, false, expansions);
        else
            end_tick(run, s->parent[run->agent], true, expansions);
        if (over(run) && run->agent != run->p->goal)
            outcome = REF_GAVE_UP;
    }
    free(path.cells);
    run->out->goal_g = found ? s->g[run->p->goal] : FAR;
    return outcome;
}

/* TBA* under R (2009, Algorithm 1 and section 3.3). Where the text leaves a choice, the one that gives the
 * published figures: R c steps of tracing only in ticks that expand nothing because the goal was found
 * before; at most one trace completes in a tick; a trace under way when the goal is found is finished first.
 */
static enum ref_outcome play_tba(struct run *run)
{
    const struct ref_problem *p = run->p;
    struct search *s = &run->s;
    const uint64_t expand_max = p->R * p->r_milli / 1000;  /* N_E */
    const uint64_t trace_max = (p->R - expand_max) * p->c; /* N_T */
    struct path follow, fresh;
    path_init(&follow, (size_t)p->width * p->height);
    path_init(&fresh, (size_t)p->width * p->height);
    bool found = false, found_and_traced = false, trace_done = true;
    uint32_t came_from = run->agent;
    uint64_t followed_g = 0;
    enum ref_outcome outcome = REF_ARRIVED;

    while (run->agent != p->goal && outcome == REF_ARRIVED) {
        uint64_t expansions = 0, trace_budget = p->R * p->c;
        if (!found) {
            bool first = run->out->tick_count == 0;
            uint64_t limit =
                first && !p->longest_path_rule && trace_max < expand_max ? trace_max : expand_max;
            expansions = search(s, limit, first && p->longest_path_rule ? trace_max : UINT64_MAX);
            found = best(s) == p->goal;
            trace_budget = trace_max;
        }
        if (best(s) == NONE) {
            end_tick(run, run->agent, false, expansions);
            outcome = REF_UNREACHABLE;
            break;
        }
        if (!found_and_traced) {
            if (trace_done)
                path_begin(&fresh, best(s));
            trace_done = path_trace(&fresh, s, run->agent, trace_budget);
            uint32_t end = fresh.cells[fresh.room - 1];
            if (trace_done && (!p->path_switch || end == p->goal || s->g[end] >= followed_g)) {
                struct path swap = follow;
                follow = fresh;
                fresh = swap;
                followed_g = s->g[end];
                found_and_traced = end == p->goal;
            }
        }
        uint32_t here = run->agent;
        uint32_t to = path_next(&follow, here);
        if (to != NONE)
            end_tick(run, to, false, expansions);
        else if (here != p->start)
            end_tick(run, s->parent[here], true, expansions);
        else
            end_tick(run, came_from, false, expansions);
        came_from = here;
        if (over(run) && run->agent != p->goal)
            outcome = REF_GAVE_UP;
    }
    free(follow.cells);
    free(fresh.cells);
    run->out->goal_g = found ? s->g[p->goal] : FAR;
    return outcome;
}

void ref_run_play(struct ref_run *out, const struct ref_problem *problem)
{
    struct run run = {.out = out, .p = problem, .agent = problem->start};
    memset(out, 0, sizeof *out);
    search_init(&run.s, problem);
    if (problem->algorithm == REF_ASTAR)
        out->outcome = play_replan(&run);
    else if (problem->algorithm == REF_TBA && problem->k == 0)
        out->outcome = play_tba(&run);
    else
        out->outcome = play_lookahead(&run);
    search_fini(&run.s);
}

void ref_run_fini(struct ref_run *run)
{
    free(run->ticks);
    run->ticks = NULL;
}
