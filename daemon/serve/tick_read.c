#include "daemon/serve/tick_read.h"

#include "daemon/varint.h"

#include <stdbool.h>

/* Field numbers of Request and Tick (proto/tickpath.proto) and wire types, as the one byte that they are together. */
#define NUMBER(field) ((field) << 3)
#define BYTES(field) ((field) << 3 | 2)

enum {
    REQUEST_ID = NUMBER(1),
    REQUEST_TICK = BYTES(9),
    SESSION = BYTES(1),
    ALL = NUMBER(2),
    TOTAL_EXPANSIONS = NUMBER(4),
    TOTAL_US = NUMBER(5),
    AT_SESSION = BYTES(6),
    AT_CELL = BYTES(7),
    MIN_VERSION = NUMBER(8),
    WANT_WORK = NUMBER(9),
    WANT_PATH = NUMBER(10),
    EPOCH = NUMBER(13),
    TOTAL_GUIDE_UNITS = NUMBER(14),
};

/* Bytes being read. `is_odd`: they are not what is read here; everything stops then. */
struct reader {
    struct tp_arena *arena;
    const uint8_t *at, *end;
    bool is_odd;
};

static uint64_t read_number(struct reader *reader)
{
    uint64_t value;
    const uint8_t *next = tp_varint_get(reader->at, reader->end, &value);
    reader->is_odd |= next == NULL;
    if (next != NULL)
        reader->at = next;
    return value;
}

/* Of a number as it is most often written: 0 or 1. */
static int read_bool(struct reader *reader)
{
    uint64_t value = read_number(reader);
    reader->is_odd |= value > 1;
    return (int)value;
}

/* The reader of what a length says is inside; the outer one goes on behind it. */
static struct reader read_inside(struct reader *reader)
{
    uint64_t length = read_number(reader);
    struct reader inside = *reader;
    if (reader->is_odd || length > (uint64_t)(reader->end - reader->at)) {
        reader->is_odd = inside.is_odd = true;
        return inside;
    }
    reader->at += length;
    inside.end = reader->at;
    return inside;
}

/* A packed array, of one number at least; gives how many. */
static size_t read_numbers(struct reader *reader, uint64_t **out)
{
    struct reader inside = read_inside(reader);
    size_t count = inside.is_odd ? 0 : tp_varint_count(inside.at, inside.end), read = 0;
    uint64_t *numbers = count > 0 ? tp_arena_take(inside.arena, count * sizeof numbers[0]) : NULL;
    const uint8_t *at = inside.at;
    while (read < count && numbers != NULL && at != NULL)
        at = tp_varint_get_fast(at, inside.end, &numbers[read++]);
    reader->is_odd |= numbers == NULL || at != inside.end; /* the last does not end */
    *out = numbers;
    return read;
}

static size_t read_cells(struct reader *reader, uint32_t **out)
{
    uint64_t *numbers;
    size_t count = read_numbers(reader, &numbers);
    uint32_t *cells = numbers != NULL ? tp_arena_take(reader->arena, count * sizeof cells[0]) : NULL;
    for (size_t i = 0; cells != NULL && i < count; i++) {
        reader->is_odd |= numbers[i] > UINT32_MAX;
        cells[i] = (uint32_t)numbers[i];
    }
    reader->is_odd |= cells == NULL;
    *out = cells;
    return count;
}

/* Reads one field of a tick. */
static void read_field(struct reader *reader, uint8_t tag, Tickpath__Tick *tick)
{
    switch (tag) {
    case SESSION:
        tick->n_session = read_numbers(reader, &tick->session);
        break;
    case ALL:
        tick->has_all = 1;
        tick->all = read_bool(reader);
        break;
    case TOTAL_EXPANSIONS:
        tick->has_total_expansions = 1;
        tick->total_expansions = read_number(reader);
        break;
    case TOTAL_US:
        tick->has_total_us = 1;
        tick->total_us = read_number(reader);
        break;
    case AT_SESSION:
        tick->n_at_session = read_numbers(reader, &tick->at_session);
        break;
    case AT_CELL:
        tick->n_at_cell = read_cells(reader, &tick->at_cell);
        break;
    case MIN_VERSION:
        tick->has_min_version = 1;
        tick->min_version = read_number(reader);
        break;
    case WANT_WORK:
        tick->has_want_work = 1;
        tick->want_work = read_bool(reader);
        break;
    case WANT_PATH:
        tick->has_want_path = 1;
        tick->want_path = read_bool(reader);
        break;
    case EPOCH:
        tick->has_epoch = 1;
        tick->epoch = read_number(reader);
        break;
    case TOTAL_GUIDE_UNITS:
        tick->has_total_guide_units = 1;
        tick->total_guide_units = read_number(reader);
        break;
    default:
        reader->is_odd = true;
    }
}

static void read_tick(struct reader *reader, Tickpath__Tick *tick)
{
    uint32_t seen = 0;
    while (reader->at < reader->end && !reader->is_odd) {
        uint8_t tag = *reader->at++;
        reader->is_odd = tag >= 0x80 || (seen >> (tag >> 3) & 1) != 0;
        seen |= 1u << (tag >> 3 & 31);
        if (!reader->is_odd)
            read_field(reader, tag, tick);
    }
}

Tickpath__Request *tp_tick_read(struct tp_arena *arena, const uint8_t *payload, size_t size)
{
    struct reader reader = {.arena = arena, .at = payload, .end = payload + size};
    uint64_t id = 0;
    bool has_id = size > 0 && payload[0] == REQUEST_ID;
    if (has_id) {
        reader.at++;
        id = read_number(&reader);
    }
    if (reader.is_odd || reader.at == reader.end || *reader.at++ != REQUEST_TICK)
        return NULL;
    struct reader inside = read_inside(&reader);
    if (reader.is_odd || reader.at != reader.end)
        return NULL;
    Tickpath__Request *request = tp_arena_take(arena, sizeof *request);
    Tickpath__Tick *tick = tp_arena_take(arena, sizeof *tick);
    if (request == NULL || tick == NULL)
        return NULL;
    tickpath__request__init(request);
    tickpath__tick__init(tick);
    request->has_id = has_id;
    request->id = id;
    request->body_case = TICKPATH__REQUEST__BODY_TICK;
    request->tick = tick;
    read_tick(&inside, tick);
    return inside.is_odd ? NULL : request;
}
