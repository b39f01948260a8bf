#include "daemon/view/view_agents.h"

#include <stdlib.h>
#include <string.h>

/* What the page shows of an agent's flags; others change from tick to tick and would be sent for nothing. */
static const uint16_t FLAGS_SHOWN = TP_FLAG_BACK_MOVE | TP_FLAG_PATH_COMPLETE | TP_FLAG_PARTIAL | TP_FLAG_LOOPING |
                                    TP_FLAG_NODE_CAP | TP_FLAG_START_BLOCKED | TP_FLAG_DEAD_END;

enum { ROWS_MIN = 64, STEP_FAR = 9, WITH_STATUS = 1 << 4, WITH_GOAL = 1 << 5 };

int tp_view_agents_init(struct tp_view_agents *agents, unsigned loops)
{
    *agents = (struct tp_view_agents){.loops = loops};
    agents->left_out = calloc(loops, sizeof agents->left_out[0]);
    return agents->left_out != NULL ? 0 : TP_ERR_NO_MEMORY;
}

void tp_view_agents_fini(struct tp_view_agents *agents)
{
    free(agents->rows);
    free(agents->places);
    free(agents->left_out);
    *agents = (struct tp_view_agents){0};
}

/* ---- Rows by id ---- */

static uint32_t hash(uint64_t id)
{
    return (uint32_t)(id * 0x9e3779b97f4a7c15u >> 32);
}

/* The place of that id, or the free one where it would be. */
static uint32_t *place_of(const struct tp_view_agents *agents, uint64_t id)
{
    uint32_t at = hash(id) & agents->places_mask;
    while (agents->places[at] != 0 && agents->rows[agents->places[at] - 1].now.id != id)
        at = (at + 1) & agents->places_mask;
    return &agents->places[at];
}

static void place_all(struct tp_view_agents *agents)
{
    memset(agents->places, 0, ((size_t)agents->places_mask + 1) * sizeof agents->places[0]);
    for (uint32_t i = 0; i < agents->rows_used; i++)
        if (agents->rows[i].is_used)
            *place_of(agents, agents->rows[i].now.id) = i + 1;
}

/* Twice the rows, and places for twice as many as that. False when there is no memory, or enough rows. */
static bool grow(struct tp_view_agents *agents)
{
    uint32_t capacity = agents->rows_capacity == 0 ? ROWS_MIN : agents->rows_capacity * 2;
    if (capacity > TP_VIEW_AGENTS_MAX)
        return false;
    struct tp_view_row *rows = realloc(agents->rows, capacity * sizeof *rows);
    if (rows == NULL)
        return false;
    agents->rows = rows;
    uint32_t *places = realloc(agents->places, (size_t)capacity * 2 * sizeof *places);
    if (places == NULL)
        return false;
    agents->places = places;
    agents->places_mask = capacity * 2 - 1;
    agents->rows_capacity = capacity;
    place_all(agents);
    return true;
}

/* A row for an agent that has none; NULL: there is no room. */
static struct tp_view_row *add(struct tp_view_agents *agents, uint64_t id, uint32_t *hint)
{
    while (*hint < agents->rows_used && agents->rows[*hint].is_used)
        ++*hint;
    if (*hint == agents->rows_used) {
        if (agents->rows_used == agents->rows_capacity && !grow(agents))
            return NULL;
        agents->rows_used++;
    }
    struct tp_view_row *row = &agents->rows[*hint];
    *row = (struct tp_view_row){.now = {.id = id}, .is_used = true, .is_new = true};
    *place_of(agents, id) = *hint + 1;
    agents->count++;
    return row;
}

static struct tp_view_row *find(const struct tp_view_agents *agents, uint64_t id)
{
    uint32_t at = agents->places != NULL ? *place_of(agents, id) : 0;
    return at != 0 ? &agents->rows[at - 1] : NULL;
}

/* ---- Copies in ---- */

void tp_view_agents_take(struct tp_view_agents *agents, const struct tp_view_copy *copy)
{
    uint64_t seen = ++agents->copies;
    uint32_t hint = 0;
    agents->left_out[copy->loop] = copy->missed;
    for (uint32_t i = 0; i < copy->count; i++) {
        struct tp_view_row *row = find(agents, copy->agents[i].id);
        if (row == NULL)
            row = add(agents, copy->agents[i].id, &hint);
        if (row == NULL) {
            agents->left_out[copy->loop]++;
            continue;
        }
        row->now = copy->agents[i];
        row->now.flags &= FLAGS_SHOWN;
        row->loop = copy->loop;
        row->seen = seen;
        row->is_gone = false;
    }
    for (uint32_t i = 0; i < agents->rows_used; i++)
        if (agents->rows[i].is_used && agents->rows[i].loop == copy->loop && agents->rows[i].seen != seen)
            agents->rows[i].is_gone = true;
}

void tp_view_agents_end(struct tp_view_agents *agents)
{
    for (uint32_t i = 0; i < agents->rows_used; i++)
        agents->rows[i].is_gone = agents->rows[i].is_used;
    memset(agents->left_out, 0, agents->loops * sizeof agents->left_out[0]);
}

/* ---- Frames out ---- */

static void put_head(const struct tp_view_agents *agents, uint64_t now_ms, struct tp_text *out)
{
    uint64_t left_out = 0;
    for (unsigned i = 0; i < agents->loops; i++)
        left_out += agents->left_out[i];
    tp_view_put_varint(out, agents->frame);
    tp_view_put_varint(out, now_ms);
    tp_view_put_varint(out, agents->count);
    tp_view_put_varint(out, left_out);
}

static void put_gap(struct tp_text *out, uint32_t index, uint32_t *next)
{
    tp_view_put_varint(out, index - *next);
    *next = index + 1;
}

static void put_new(struct tp_text *out, const struct tp_view_agent *agent)
{
    tp_view_put_id(out, agent->id);
    tp_view_put_varint(out, agent->cell);
    tp_view_put_varint(out, agent->goal);
    tp_view_put_byte(out, agent->status);
    tp_view_put_varint(out, agent->flags);
}

static uint8_t step_of(const struct tp_view_row *row, uint32_t width)
{
    int64_t dx = (int64_t)(row->now.cell % width) - (int64_t)(row->told.cell % width);
    int64_t dy = (int64_t)(row->now.cell / width) - (int64_t)(row->told.cell / width);
    if (dx < -1 || dx > 1 || dy < -1 || dy > 1)
        return STEP_FAR;
    return (uint8_t)(3 * (dy + 1) + dx + 1);
}

static bool is_told(const struct tp_view_row *row)
{
    return row->now.cell == row->told.cell && row->now.goal == row->told.goal && row->now.status == row->told.status &&
           row->now.flags == row->told.flags;
}

static void put_changed(struct tp_text *out, const struct tp_view_row *row, uint32_t width)
{
    uint8_t step = step_of(row, width);
    bool with_status = row->now.status != row->told.status || row->now.flags != row->told.flags;
    bool with_goal = row->now.goal != row->told.goal;
    tp_view_put_byte(out, (uint8_t)(step | (with_status ? WITH_STATUS : 0) | (with_goal ? WITH_GOAL : 0)));
    if (step == STEP_FAR)
        tp_view_put_varint(out, row->now.cell);
    if (with_status) {
        tp_view_put_byte(out, row->now.status);
        tp_view_put_varint(out, row->now.flags);
    }
    if (with_goal)
        tp_view_put_varint(out, row->now.goal);
}

/* Takes the rows that are gone out of use. */
static void free_gone(struct tp_view_agents *agents)
{
    bool some = false;
    for (uint32_t i = 0; i < agents->rows_used; i++)
        if (agents->rows[i].is_gone) {
            some = true;
            agents->rows[i].is_used = agents->rows[i].is_gone = false;
        }
    if (!some)
        return;
    while (agents->rows_used > 0 && !agents->rows[agents->rows_used - 1].is_used)
        agents->rows_used--;
    place_all(agents);
}

void tp_view_agents_frame(struct tp_view_agents *agents, uint32_t width, uint64_t now_ms, struct tp_text *out)
{
    uint32_t gone = 0, never_told = 0, new = 0, changed = 0, next = 0;
    for (uint32_t i = 0; i < agents->rows_used; i++) {
        const struct tp_view_row *row = &agents->rows[i];
        gone += row->is_gone && !row->is_new;
        never_told += row->is_gone && row->is_new;
        new += row->is_used && !row->is_gone && row->is_new;
        changed += row->is_used && !row->is_gone && !row->is_new && !is_told(row);
    }
    agents->frame++;
    agents->count -= gone + never_told;
    put_head(agents, now_ms, out);
    tp_view_put_varint(out, gone);
    for (uint32_t i = 0; i < agents->rows_used; i++)
        if (agents->rows[i].is_gone && !agents->rows[i].is_new)
            put_gap(out, i, &next);
    free_gone(agents);

    tp_view_put_varint(out, new);
    next = 0;
    for (uint32_t i = 0; i < agents->rows_used; i++)
        if (agents->rows[i].is_used && agents->rows[i].is_new) {
            put_gap(out, i, &next);
            put_new(out, &agents->rows[i].now);
        }
    tp_view_put_varint(out, changed);
    next = 0;
    for (uint32_t i = 0; i < agents->rows_used; i++) {
        struct tp_view_row *row = &agents->rows[i];
        if (!row->is_used)
            continue;
        if (!row->is_new && !is_told(row)) {
            put_gap(out, i, &next);
            put_changed(out, row, width);
        }
        row->told = row->now;
        row->is_new = false;
    }
}

void tp_view_agents_key(const struct tp_view_agents *agents, uint64_t now_ms, struct tp_text *out)
{
    uint32_t next = 0, count = 0;
    for (uint32_t i = 0; i < agents->rows_used; i++)
        count += agents->rows[i].is_used && !agents->rows[i].is_new;
    put_head(agents, now_ms, out);
    tp_view_put_varint(out, 0);
    tp_view_put_varint(out, count);
    for (uint32_t i = 0; i < agents->rows_used; i++)
        if (agents->rows[i].is_used && !agents->rows[i].is_new) {
            put_gap(out, i, &next);
            put_new(out, &agents->rows[i].told);
        }
    tp_view_put_varint(out, 0);
}
