#include "tests/lib/drive.h"

#include "tests/lib/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool drive_same(struct drive_place a, struct drive_place b)
{
    return a.x == b.x && a.y == b.y && a.vx == b.vx && a.vy == b.vy;
}

/* When a point that goes from 0 by `d` in the time 1 is within half a cell of `i`. */
static void when_within(int i, int d, double *from, double *to)
{
    if (d == 0) {
        *from = i == 0 ? -INFINITY : INFINITY;
        *to = i == 0 ? INFINITY : -INFINITY;
        return;
    }
    double a = (i - 0.5) / d, b = (i + 0.5) / d;
    *from = a < b ? a : b;
    *to = a < b ? b : a;
}

/* The cells whose inside the line to (dx, dy) crosses, by the time it enters them, its first one left out. */
static int line_cells(int dx, int dy, int cells[16][2])
{
    double entered[16];
    int count = 0;
    for (int y = -3; y <= 3; y++)
        for (int x = -3; x <= 3; x++) {
            double x_from, x_to, y_from, y_to;
            when_within(x, dx, &x_from, &x_to);
            when_within(y, dy, &y_from, &y_to);
            double from = fmax(fmax(x_from, y_from), 0), to = fmin(fmin(x_to, y_to), 1);
            if (to - from < 1e-9 || (x == 0 && y == 0))
                continue;
            int at = count++;
            for (; at > 0 && entered[at - 1] > from; at--) {
                entered[at] = entered[at - 1];
                memcpy(cells[at], cells[at - 1], sizeof cells[at]);
            }
            entered[at] = from;
            cells[at][0] = x;
            cells[at][1] = y;
        }
    return count;
}

/* The same, worked out once for each velocity. */
struct cells {
    int count, cells[16][2];
};
static const struct cells *line_of(int vx, int vy)
{
    static struct cells lines[7][7];
    struct cells *line = &lines[vy + 3][vx + 3];
    if (!line->count && (vx || vy))
        line->count = line_cells(vx, vy, line->cells);
    return line;
}

bool drive_move(const struct tp_map *map, uint32_t goal, struct drive_place from, int ax, int ay,
                  struct drive_place *to)
{
    int vx = from.vx + ax, vy = from.vy + ay;
    if (abs(vx) > 3 || abs(vy) > 3)
        return false;
    *to = (struct drive_place){from.x, from.y, vx, vy};
    const struct cells *line = line_of(vx, vy);
    for (int i = 0; i < line->count; i++) {
        int x = from.x + line->cells[i][0], y = from.y + line->cells[i][1];
        bool wall = !tp_map_passable(map, x, y);
        if (!wall) {
            to->x = x;
            to->y = y;
        }
        if (wall || (uint32_t)y * map->width + (uint32_t)x == goal) {
            to->vx = to->vy = 0;
            break;
        }
    }
    return !drive_same(*to, from);
}

tp_state drive_state(const struct tp_map *map, struct drive_place place)
{
    return ((uint32_t)place.y * map->width + (uint32_t)place.x) * 49 + (uint32_t)(place.vy + 3) * 7 +
           (uint32_t)(place.vx + 3);
}

struct drive_place drive_place_of(const struct tp_map *map, tp_state state)
{
    uint32_t cell = state / 49, velocity = state % 49;
    return (struct drive_place){(int)(cell % map->width), (int)(cell / map->width), (int)(velocity % 7) - 3,
                          (int)(velocity / 7) - 3};
}

uint32_t *drive_moves_to_goal(const struct tp_map *map, uint32_t goal)
{
    uint32_t states = map->width * map->height * 49, head = 0, tail = 0;
    uint32_t *left = malloc(states * sizeof *left), *queue = malloc(states * sizeof *queue),
             (*next)[9] = malloc(states * sizeof *next), *first = calloc(states + 2, sizeof *first),
             *from = malloc(states * 9 * sizeof *from);
    ck_assert(left && queue && next && first && from);
    for (tp_state state = 0; state < states; state++) {
        left[state] = UINT32_MAX;
        for (int move = 0; move < 9; move++) {
            struct drive_place to;
            bool legal = drive_move(map, goal, drive_place_of(map, state), move % 3 - 1, move / 3 - 1, &to);
            next[state][move] = legal ? drive_state(map, to) : state;
            first[next[state][move] + 2]++;
        }
    }
    for (tp_state state = 0; state < states; state++)
        first[state + 2] += first[state + 1];
    for (tp_state state = 0; state < states; state++)
        for (int move = 0; move < 9; move++)
            from[first[next[state][move] + 1]++] = state;
    for (tp_state state = goal * 49; state < goal * 49 + 49; state++) {
        left[state] = 0;
        queue[tail++] = state;
    }
    while (head < tail) {
        tp_state state = queue[head++];
        for (uint32_t i = first[state]; i < first[state + 1]; i++)
            if (left[from[i]] == UINT32_MAX) {
                left[from[i]] = left[state] + 1;
                queue[tail++] = from[i];
            }
    }
    free(queue);
    free(next);
    free(first);
    free(from);
    return left;
}
