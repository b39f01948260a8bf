#include "tests/lib/distances.h"

#include <check.h>
#include <stdlib.h>

struct item {
    uint64_t cost;
    uint32_t cell;
};

struct heap {
    struct item *items;
    size_t count, room;
};

static void push(struct heap *heap, struct item item)
{
    if (heap->count == heap->room) {
        heap->room = heap->room ? 2 * heap->room : 64;
        heap->items = realloc(heap->items, heap->room * sizeof *heap->items);
        ck_assert_ptr_nonnull(heap->items);
    }
    size_t i = heap->count++;
    for (; i > 0 && heap->items[(i - 1) / 2].cost > item.cost; i = (i - 1) / 2)
        heap->items[i] = heap->items[(i - 1) / 2];
    heap->items[i] = item;
}

static struct item pop(struct heap *heap)
{
    struct item least = heap->items[0], last = heap->items[--heap->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && heap->items[child + 1].cost < heap->items[child].cost)
            child++;
        if (heap->items[child].cost >= last.cost)
            break;
        heap->items[i] = heap->items[child];
    }
    heap->items[i] = last;
    return least;
}

/* Calls for each cell at most two away from `cell`, itself excepted. */
#define EACH_NEAR(problem, cell, near)                                                                                \
    for (int64_t near##_y = (int64_t)((cell) / (problem)->width) - 2; near##_y <= (int64_t)((cell) / (problem)->width) + 2; \
         near##_y++)                                                                                                  \
        for (int64_t near##_x = (int64_t)((cell) % (problem)->width) - 2, near = near##_y * (problem)->width + near##_x;    \
             near##_x <= (int64_t)((cell) % (problem)->width) + 2; near##_x++, near++)                                \
            if (near##_x >= 0 && near##_y >= 0 && near##_x < (int64_t)(problem)->width &&                             \
                near##_y < (int64_t)(problem)->height && near != (int64_t)(cell))

void ref_costs_to(const struct ref_problem *problem, uint32_t goal, uint64_t *costs)
{
    uint32_t cells = problem->width * problem->height;
    struct heap heap = {NULL, 0, 0};
    for (uint32_t i = 0; i < cells; i++)
        costs[i] = UINT64_MAX;
    costs[goal] = 0;
    if (problem->weight[goal])
        push(&heap, (struct item){0, goal});
    while (heap.count) {
        struct item best = pop(&heap);
        if (best.cost != costs[best.cell])
            continue;
        EACH_NEAR (problem, best.cell, near) {
            uint64_t cost;
            if (!problem->weight[near] || !ref_step(problem, (uint32_t)near, best.cell, &cost) ||
                best.cost + cost >= costs[near])
                continue;
            costs[near] = best.cost + cost;
            push(&heap, (struct item){costs[near], (uint32_t)near});
        }
    }
    free(heap.items);
    for (uint32_t cell = 0; cell < cells; cell++) {
        if (problem->weight[cell] || cell == goal)
            continue;
        EACH_NEAR (problem, cell, near) {
            uint64_t cost;
            if (problem->weight[near] && costs[near] != UINT64_MAX && ref_step(problem, cell, (uint32_t)near, &cost) &&
                costs[near] + cost < costs[cell])
                costs[cell] = costs[near] + cost;
        }
    }
}

uint64_t ref_walk_cost(const struct ref_problem *problem, const uint32_t *cells, uint32_t count)
{
    uint64_t sum = 0, cost;
    for (uint32_t i = 1; i < count; i++) {
        if (!ref_step(problem, cells[i - 1], cells[i], &cost))
            return UINT64_MAX;
        sum += cost;
    }
    return sum;
}
