#include "search/dump.h"

#include <stdlib.h>
#include <string.h>

/* ---- The copy ---- */

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

/* How much of a side lies within the map. */
static uint32_t within(uint32_t from, uint32_t size, uint32_t side)
{
    uint32_t left = from < side ? side - from : 0;
    return size < left ? size : left;
}

void tp_dump_session(struct tp_dump *dump, const struct tp_session *session, const struct tp_inspect_scan *rectangle, uint32_t states_max)
{
    dump->id = 0;
    dump->map[0] = 0;
    dump->starved_ticks = 0;
    dump->algorithm = tp_session_algorithm(session);
    tp_session_inspect(session, &dump->whole);
    dump->scan = *rectangle;
    dump->scan.width = within(rectangle->x, rectangle->width, dump->whole.width);
    dump->scan.height = within(rectangle->y, rectangle->height, dump->whole.height);
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

static const struct {
    const char *words, *means;
} holds[] = {
#define X(name, number, words, means) [number] = {words, means},
    TP_HOLDS(X)
#undef X
};

const char *tp_dump_hold_name(enum tp_hold hold)
{
    return (size_t)hold < sizeof holds / sizeof *holds ? holds[hold].words : "?";
}

const char *tp_dump_hold_means(enum tp_hold hold)
{
    return (size_t)hold < sizeof holds / sizeof *holds ? holds[hold].means : "?";
}

/* Text in memory that was made large enough before. */
struct text {
    char *bytes;
    size_t size;
};

static void put(struct text *text, const char *words)
{
    size_t size = strlen(words);
    memcpy(text->bytes + text->size, words, size);
    text->size += size;
}

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

static void put_key(struct text *text, const char *name)
{
    put(text, "\"");
    put(text, name);
    put(text, "\":");
}

static void put_count(struct text *text, const char *name, uint64_t value)
{
    put_key(text, name);
    put_number(text, value);
    put(text, ",");
}

static void put_words(struct text *text, const char *name, const char *words)
{
    put_key(text, name);
    put(text, "\"");
    put(text, words);
    put(text, "\",");
}

/* A number of 64 bits that is a name: as text, for readers whose numbers are of 53. */
static void put_id(struct text *text, const char *name, uint64_t value)
{
    put_key(text, name);
    put(text, "\"");
    put_number(text, value);
    put(text, "\",");
}

static void put_truth(struct text *text, const char *name, bool is)
{
    put_key(text, name);
    put(text, is ? "true," : "false,");
}

static void put_cell(struct text *text, const char *name, uint32_t cell)
{
    if (cell != TP_INSPECT_NO_CELL) {
        put_count(text, name, cell);
        return;
    }
    put_key(text, name);
    put(text, "null,");
}

static void put_cells(struct text *text, const char *name, const uint32_t *cells, uint32_t count)
{
    put_key(text, name);
    put(text, "[");
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            put(text, ",");
        put_number(text, cells[i]);
    }
    put(text, "],");
}

static void put_signed(struct text *text, int value)
{
    if (value < 0)
        put(text, "-");
    put_number(text, (uint64_t)(value < 0 ? -value : value));
}

enum part { PART_CELL, PART_G, PART_RAISED };

/* One number of each state that is `what`. */
static void put_states(struct text *text, const char *name, const struct tp_dump *dump, uint32_t what, enum part part)
{
    bool is_first = true;
    put_key(text, name);
    put(text, "[");
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
        put(text, is_first ? "\"" : ",\"");
        put(text, names[i]);
        put(text, "\"");
        is_first = false;
    }
    put(text, "],");
}

static void put_whole(struct text *text, const struct tp_dump *dump)
{
    const struct tp_inspection *whole = &dump->whole;
    put_id(text, "id", dump->id);
    put_words(text, "map", dump->map);
    put_words(text, "kind", whole->is_graph ? "graph" : "grid");
    put_count(text, "width", whole->width);
    put_count(text, "height", whole->height);
    put_id(text, "epoch", whole->epoch);
    put_count(text, "version", whole->version);
    put_words(text, "algorithm", dump->algorithm->name);
    put_words(text, "engine", tp_engine_name(dump->algorithm->engine));
    put_words(text, "status", tp_status_name(whole->status));
    put_flags(text, whole->flags);
    put_words(text, "why", tp_dump_hold_name(whole->hold));
    put_words(text, "why_words", tp_dump_hold_means(whole->hold));
    put_count(text, "starved_ticks", dump->starved_ticks);
    put_cell(text, "step_cell", whole->step_cell);
    put_cell(text, "cell", whole->cell);
    put_cells(text, "goals", whole->goals, whole->goal_count);
    if (whole->is_vehicle) {
        put(text, "\"velocity\":[");
        put_signed(text, whole->vx);
        put(text, ",");
        put_signed(text, whole->vy);
        put(text, "],");
    }
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
    put_count(text, "touched", whole->stats.touched);
    put_count(text, "queued", whole->queued);
}

static void put_stats(struct text *text, const struct tp_session_stats *stats)
{
#define PUT(field) put_count(text, #field, (uint64_t)stats->field)
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
    struct text text = {.bytes = malloc(room_for(dump))};
    if (!text.bytes)
        return NULL;
    const struct tp_inspect_scan *scan = &dump->scan;
    const uint32_t rectangle[] = {scan->x, scan->y, scan->width, scan->height};
    put(&text, "{");
    put_whole(&text, dump);
    put_stats(&text, &dump->whole.stats);
    put_cells(&text, "rectangle", rectangle, 4);
    put_truth(&text, "path_cut", dump->path_cut);
    put_truth(&text, "fresh_cut", dump->fresh_cut);
    put_cells(&text, "path", dump->path, dump->path_count);
    put_cells(&text, "fresh", dump->fresh, dump->fresh_count);
    put_states(&text, "open", dump, TP_INSPECT_OPEN, PART_CELL);
    put_states(&text, "open_g", dump, TP_INSPECT_OPEN, PART_G);
    put_states(&text, "closed", dump, TP_INSPECT_CLOSED, PART_CELL);
    put_states(&text, "closed_g", dump, TP_INSPECT_CLOSED, PART_G);
    put_states(&text, "raised", dump, TP_INSPECT_RAISED, PART_CELL);
    put_states(&text, "raised_by", dump, TP_INSPECT_RAISED, PART_RAISED);
    put_truth(&text, "cut", !scan->done);
    put_key(&text, "next");
    if (scan->done)
        put(&text, "null");
    else
        put_number(&text, scan->cursor);
    put(&text, "}\n");
    text.bytes[text.size] = 0;
    *size = text.size;
    return text.bytes;
}
