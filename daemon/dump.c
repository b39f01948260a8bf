#include "daemon/dump.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- On the session's loop ---- */

/* Up to `max` cells of the path followed; whether there are more. */
static bool copy_path(struct tp_dump *dump, const struct tp_session *session)
{
    dump->path_count = tp_session_path(session, dump->path, TP_DUMP_PATH_MAX);
    return dump->path_count == TP_DUMP_PATH_MAX;
}

static bool copy_fresh(struct tp_dump *dump, const struct tp_session *session)
{
    dump->fresh_count = tp_session_inspect_fresh(session, dump->fresh, TP_DUMP_PATH_MAX);
    return dump->fresh_count == TP_DUMP_PATH_MAX;
}

void tp_dump_take(struct tp_dump *dump, const struct tp_agent *agent, uint64_t id, const struct tp_inspect_scan *rectangle, uint32_t states_max)
{
    const struct tp_session *session = agent->session;
    dump->id = id;
    tp_world_name_copy(dump->map, agent->map->name);
    dump->algorithm = tp_session_algorithm(session);
    tp_session_inspect(session, &dump->whole);
    dump->starved_ticks = agent->waited;
    if (agent->waited && dump->whole.status == TP_STATUS_SEARCHING)
        dump->whole.hold = TP_HOLD_STARVED;
    dump->scan = *rectangle;
    dump->scan.looks = TP_DUMP_LOOKS_MAX;
    dump->scan.done = false;
    dump->path_count = dump->fresh_count = 0;
    dump->path_cut = dump->fresh_cut = false;
    if (rectangle->cursor == 0) {
        dump->path_cut = copy_path(dump, session);
        dump->fresh_cut = copy_fresh(dump, session);
    }
    if (states_max > TP_DUMP_STATES_MAX)
        states_max = TP_DUMP_STATES_MAX;
    dump->state_count = tp_session_inspect_states(session, &dump->scan, dump->states, states_max);
}

/* ---- JSON ---- */

const char *tp_dump_hold_name(enum tp_hold hold)
{
    switch (hold) {
#define X(name, number, words, means) \
    case name:                        \
        return words;
        TP_HOLDS(X)
#undef X
    }
    return "?";
}

const char *tp_dump_hold_means(enum tp_hold hold)
{
    switch (hold) {
#define X(name, number, words, means) \
    case name:                        \
        return means;
        TP_HOLDS(X)
#undef X
    }
    return "?";
}

static const char *status_name(enum tp_status status)
{
    static const char *const names[] = {"NONE", "MOVING", "SEARCHING", "BLOCKED", "ARRIVED", "UNREACHABLE"};
    return (size_t)status < sizeof names / sizeof *names ? names[status] : "?";
}

/* Text in memory that was made large enough before. */
struct text {
    char *bytes;
    size_t size, room;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(text->bytes + text->size, text->room - text->size, format, arguments);
    va_end(arguments);
    text->size += bytes > 0 ? (size_t)bytes : 0;
}

/* Digits, as put would write them: lists are long. */
static void put_number(struct text *text, uint64_t value)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count)
        text->bytes[text->size++] = digits[--count];
}

static void put_cell(struct text *text, const char *name, uint32_t cell)
{
    if (cell == TP_INSPECT_NO_CELL)
        put(text, "\"%s\":null,", name);
    else
        put(text, "\"%s\":%" PRIu32 ",", name, cell);
}

static void put_cells(struct text *text, const char *name, const uint32_t *cells, uint32_t count)
{
    put(text, "\"%s\":[", name);
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            put(text, ",");
        put_number(text, cells[i]);
    }
    put(text, "],");
}

enum part { PART_CELL, PART_G, PART_RAISED };

/* One number of each state that is `what`. */
static void put_states(struct text *text, const char *name, const struct tp_dump *dump, uint32_t what, enum part part)
{
    bool is_first = true;
    put(text, "\"%s\":[", name);
    for (uint32_t i = 0; i < dump->state_count; i++) {
        const struct tp_inspect_state *state = &dump->states[i];
        if (!(state->what & what))
            continue;
        if (!is_first)
            text->bytes[text->size++] = ',';
        is_first = false;
        put_number(text, part == PART_CELL ? state->cell : part == PART_G ? state->g : state->raised);
    }
    put(text, "],");
}

static void put_flags(struct text *text, uint32_t flags)
{
    static const char *const names[] = {"BACK_MOVE", "PATH_COMPLETE", "CONTINUED", "REPAIRED",      "RESTARTED",
                                        "PARTIAL",   "LOOPING",       "NODE_CAP",  "START_BLOCKED", "DEAD_END"};
    bool is_first = true;
    put(text, "\"flags\":[");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(flags >> i & 1))
            continue;
        put(text, "%s\"%s\"", is_first ? "" : ",", names[i]);
        is_first = false;
    }
    put(text, "],");
}

static void put_truth(struct text *text, const char *name, bool is)
{
    put(text, "\"%s\":%s,", name, is ? "true" : "false");
}

static void put_whole(struct text *text, const struct tp_dump *dump)
{
    const struct tp_inspection *whole = &dump->whole;
    put(text, "\"id\":\"%" PRIu64 "\",\"map\":\"%s\",", dump->id, dump->map);
    put(text, "\"kind\":\"%s\",", whole->is_graph ? "graph" : "grid");
    put(text, "\"width\":%" PRIu32 ",\"height\":%" PRIu32 ",", whole->width, whole->height);
    put(text, "\"epoch\":\"%" PRIu64 "\",\"version\":%" PRIu64 ",", whole->epoch, whole->version);
    put(text, "\"algorithm\":\"%s\",\"engine\":\"%s\",", dump->algorithm->name, tp_engine_name(dump->algorithm->engine));
    put(text, "\"status\":\"%s\",", status_name(whole->status));
    put_flags(text, whole->flags);
    put(text, "\"why\":\"%s\",\"why_words\":\"%s\",", tp_dump_hold_name(whole->hold), tp_dump_hold_means(whole->hold));
    put(text, "\"starved_ticks\":%" PRIu32 ",", dump->starved_ticks);
    put_cell(text, "step_cell", whole->step_cell);
    put_cell(text, "cell", whole->cell);
    put_cells(text, "goals", whole->goals, whole->goal_count);
    if (whole->is_vehicle)
        put(text, "\"velocity\":[%d,%d],", whole->vx, whole->vy);
    put_cell(text, "root", whole->root);
    put_cell(text, "best", whole->best);
    put_truth(text, "searches", whole->searches);
    put_truth(text, "found", whole->found);
    put_truth(text, "exhausted", whole->exhausted);
    put_truth(text, "partial", whole->partial);
    put_truth(text, "backward", whole->is_backward);
    put_truth(text, "path_complete", whole->path_complete);
    put_truth(text, "packed", whole->is_packed);
    put_truth(text, "rests", whole->rests);
    put_truth(text, "led", whole->is_led);
    put_truth(text, "learns", whole->learns);
    put(text, "\"touched\":%" PRIu64 ",\"queued\":%" PRIu64 ",", whole->stats.touched, whole->queued);
}

static void put_stats(struct text *text, const struct tp_session_stats *stats)
{
#define PUT(field) put(text, "\"" #field "\":%" PRIu64 ",", (uint64_t)stats->field)
    PUT(ticks);
    PUT(moves);
    PUT(back_moves);
    PUT(cost);
    PUT(expansions);
    PUT(generated);
    PUT(traced);
    PUT(learned);
    PUT(restarts);
    PUT(flips);
    PUT(bytes);
#undef PUT
}

/* Bytes that are enough. */
static size_t room_for(const struct tp_dump *dump)
{
    enum { WHOLE = 4096, NUMBER = 21, CELL = 11 }; /* with a comma */
    size_t states = dump->state_count * (size_t)(3 * CELL + 3 * NUMBER); /* a cell may be open, closed (of a vehicle) and raised */
    return WHOLE + states + (size_t)CELL * (dump->path_count + dump->fresh_count);
}

char *tp_dump_json(const struct tp_dump *dump, size_t *size)
{
    struct text text = {.room = room_for(dump)};
    text.bytes = malloc(text.room);
    if (text.bytes == NULL)
        return NULL;
    const struct tp_inspect_scan *scan = &dump->scan;
    put(&text, "{");
    put_whole(&text, dump);
    put_stats(&text, &dump->whole.stats);
    put(&text, "\"rectangle\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 "],", scan->x, scan->y, scan->width, scan->height);
    put_cells(&text, "path", dump->path, dump->path_count);
    put_cells(&text, "fresh", dump->fresh, dump->fresh_count);
    put_truth(&text, "path_cut", dump->path_cut);
    put_truth(&text, "fresh_cut", dump->fresh_cut);
    put_states(&text, "open", dump, TP_INSPECT_OPEN, PART_CELL);
    put_states(&text, "open_g", dump, TP_INSPECT_OPEN, PART_G);
    put_states(&text, "closed", dump, TP_INSPECT_CLOSED, PART_CELL);
    put_states(&text, "closed_g", dump, TP_INSPECT_CLOSED, PART_G);
    put_states(&text, "raised", dump, TP_INSPECT_RAISED, PART_CELL);
    put_states(&text, "raised_by", dump, TP_INSPECT_RAISED, PART_RAISED);
    put_truth(&text, "cut", !scan->done);
    if (scan->done)
        put(&text, "\"next\":null}\n");
    else
        put(&text, "\"next\":%" PRIu64 "}\n", scan->cursor);
    *size = text.size;
    return text.bytes;
}
