/* Happy path: bunch (one pass over all answers) -> measure (what is rare) -> add (the frame's prefix) -> push the bunched arrays
 * together, write what is rare between and behind them. Fields are in the order of their numbers, as protobuf-c has them. */
#include "daemon/serve/ticked.h"

#include "base/check.h"
#include "daemon/varint.h"

#include "proto/tickpath.pb-c.h"

/* Field numbers of Reply, Ticked, Refused and Path (proto/tickpath.proto). */
enum {
    REPLY_ID = 1,
    REPLY_TICKED = 10,
    TICK = 1,
    SESSION,
    CELL,
    STATUS,
    FLAGS,
    VERSION,
    COST,
    REFUSED,
    EXPANSIONS,
    TRACED,
    GENERATED,
    LEARNED,
    PATH,
    STARVED,
    VX,
    VY,
    GUIDE_EXPANSIONS,
    BOUND_MILLI,
    STARVED_LONGEST,
    REFUSED_SESSION = 1,
    REFUSED_CODE,
    REFUSED_EPOCH,
    REFUSED_VERSION,
    PATH_CELL = 1,
};

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* The arrays that every tick has, and the most bytes of one of their numbers. */
enum { BUNCHED = 6 };
static const uint8_t bunched_bytes[BUNCHED] = {10, 5, 1, 2, 10, 10};

/* The most bytes of a reply: what every tick has, each session served (the above, velocity 2, bound 5; with work 5 numbers of 10)
 * and each refused. */
enum { REPLY_BYTES = 128, SERVED_BYTES = 45, WORK_BYTES = 50, REFUSED_BYTES = 42, PATH_BYTES = 12 };

_Static_assert(TP_STATUS_UNREACHABLE < 0x80 && TP_FLAG_DEAD_END < 0x2000, "bytes of a status and of flags");

size_t tp_ticked_bytes_most(size_t served, size_t refused, bool wants_work, bool wants_path)
{
    return REPLY_BYTES + served * (SERVED_BYTES + (wants_work ? WORK_BYTES : 0) + (wants_path ? PATH_BYTES : 0)) +
           refused * REFUSED_BYTES;
}

/* ---- Fields ---- */

static size_t tag_size(uint32_t field)
{
    return field < 16 ? 1 : 2;
}

static uint8_t *put_tag(uint8_t *at, uint32_t field, uint32_t wire)
{
    return tp_varint_put(at, field << 3 | wire);
}

static size_t number_size(uint32_t field, uint64_t value)
{
    return tag_size(field) + tp_varint_size(value);
}

static uint8_t *put_number(uint8_t *at, uint32_t field, uint64_t value)
{
    return tp_varint_put(put_tag(at, field, WIRE_VARINT), value);
}

/* Of a message, or a packed array: tag, length, content. */
static size_t bytes_size(uint32_t field, size_t content)
{
    return number_size(field, content) + content;
}

static uint8_t *put_bytes(uint8_t *at, uint32_t field, size_t content)
{
    return tp_varint_put(put_tag(at, field, WIRE_BYTES), content);
}

/* A packed array without elements is left out. */
static size_t array_size(uint32_t field, size_t content)
{
    return content == 0 ? 0 : bytes_size(field, content);
}

/* ---- What every tick has ---- */

/* The arrays under way: each begins where the one before can't reach. */
struct bunch {
    uint8_t *from[BUNCHED], *to[BUNCHED];
    bool some_vehicle, some_bounded;
};

static void bunch_place(struct bunch *bunch, uint8_t *at, size_t served)
{
    for (int i = 0; i < BUNCHED; i++) {
        bunch->from[i] = at;
        at += served * bunched_bytes[i] + TP_VARINT_SLACK;
    }
}

static void bunch_fill(struct bunch *bunch, const struct tp_schedule *schedule)
{
    const struct tp_agent *agents = schedule->sessions->agents;
    uint8_t *session = bunch->from[0], *cell = bunch->from[1], *status = bunch->from[2];
    uint8_t *flags = bunch->from[3], *version = bunch->from[4], *cost = bunch->from[5];
    bool some_vehicle = false, some_bounded = false;
    for (size_t i = 0; i < schedule->served; i++) {
        const struct tp_tick_reply *reply = &schedule->replies[i];
        const struct tp_agent *agent = &agents[schedule->slots[i]];
        session = tp_varint_put_fast(session, tp_sessions_id(schedule->sessions, schedule->slots[i]));
        cell = tp_varint_put_short(cell, reply->to);
        *status++ = (uint8_t)reply->status;
        flags = tp_varint_put(flags, reply->flags);
        version = tp_varint_put_short(version, reply->version);
        cost = tp_varint_put_short(cost, reply->cost);
        some_vehicle |= agent->is_vehicle;
        some_bounded |= agent->is_bounded;
    }
    bunch->to[0] = session;
    bunch->to[1] = cell;
    bunch->to[2] = status;
    bunch->to[3] = flags;
    bunch->to[4] = version;
    bunch->to[5] = cost;
    bunch->some_vehicle = some_vehicle;
    bunch->some_bounded = some_bounded;
}

static size_t bunch_size(const struct bunch *bunch)
{
    size_t size = 0;
    for (uint32_t i = 0; i < BUNCHED; i++)
        size += array_size(SESSION + i, (size_t)(bunch->to[i] - bunch->from[i]));
    return size;
}

/* Pushes the arrays together. `at` is before the first: none is written over before it is moved. */
static uint8_t *bunch_put(const struct bunch *bunch, uint8_t *at)
{
    for (uint32_t i = 0; i < BUNCHED; i++) {
        size_t size = (size_t)(bunch->to[i] - bunch->from[i]);
        if (size == 0)
            continue;
        at = put_bytes(at, SESSION + i, size);
        TP_CHECK(at <= bunch->from[i]);
        memmove(at, bunch->from[i], size);
        at += size;
    }
    return at;
}

/* ---- What some have ---- */

/* A number of an answer, by its field. */
static uint64_t number_of(const struct tp_tick_reply *reply, uint32_t field)
{
    switch (field) {
    case EXPANSIONS:
        return reply->work.expansions;
    case TRACED:
        return reply->work.traced;
    case GENERATED:
        return reply->work.generated;
    case LEARNED:
        return reply->work.learned;
    case GUIDE_EXPANSIONS:
        return reply->work.guide;
    case VX:
        return reply->vx < 0 ? 2 * (uint32_t)-reply->vx - 1 : 2 * (uint32_t)reply->vx; /* zigzag */
    case VY:
        return reply->vy < 0 ? 2 * (uint32_t)-reply->vy - 1 : 2 * (uint32_t)reply->vy;
    default:
        TP_CHECK(field == BOUND_MILLI);
        return reply->bound_milli;
    }
}

static size_t numbers_size(const struct tp_schedule *schedule, uint32_t field)
{
    size_t size = 0;
    for (size_t i = 0; i < schedule->served; i++)
        size += tp_varint_size(number_of(&schedule->replies[i], field));
    return size;
}

/* The arrays that this reply has of these fields, a bit each. */
static uint32_t rare_fields(const struct tp_ticked *ticked, const struct bunch *bunch)
{
    uint32_t fields = 0;
    if (ticked->wants_work)
        fields |= 1u << EXPANSIONS | 1u << TRACED | 1u << GENERATED | 1u << LEARNED | 1u << GUIDE_EXPANSIONS;
    if (bunch->some_vehicle)
        fields |= 1u << VX | 1u << VY;
    if (bunch->some_bounded)
        fields |= 1u << BOUND_MILLI;
    return fields;
}

static uint8_t *put_rare(uint8_t *at, const struct tp_schedule *schedule, uint32_t fields, uint32_t first, uint32_t last)
{
    for (fields &= (2u << last) - (1u << first); fields != 0 && schedule->served > 0; fields &= fields - 1) {
        uint32_t field = (uint32_t)__builtin_ctz(fields);
        at = put_bytes(at, field, numbers_size(schedule, field));
        for (size_t i = 0; i < schedule->served; i++)
            at = tp_varint_put(at, number_of(&schedule->replies[i], field));
    }
    return at;
}

static size_t refused_size(const struct tp_schedule_refused *refused)
{
    size_t size = number_size(REFUSED_SESSION, refused->id) + number_size(REFUSED_CODE, (uint64_t)-refused->error);
    if (refused->map != NULL)
        size += number_size(REFUSED_EPOCH, refused->map->epoch) + number_size(REFUSED_VERSION, refused->map->version);
    return size;
}

static uint8_t *put_refused(uint8_t *at, const struct tp_schedule_refused *refused)
{
    at = put_bytes(at, REFUSED, refused_size(refused));
    at = put_number(at, REFUSED_SESSION, refused->id);
    at = put_number(at, REFUSED_CODE, (uint64_t)-refused->error);
    if (refused->map == NULL)
        return at;
    return put_number(put_number(at, REFUSED_EPOCH, refused->map->epoch), REFUSED_VERSION, refused->map->version);
}

/* Of answer i: the bytes of its path's cells. */
static size_t cells_size(const struct tp_ticked *ticked, size_t i)
{
    const uint32_t *cells = ticked->path_cells + i * ticked->path_stride;
    size_t size = 0;
    for (uint32_t cell = 0; cell < ticked->path_counts[i]; cell++)
        size += tp_varint_size(cells[cell]);
    return size;
}

static uint8_t *put_path(uint8_t *at, const struct tp_ticked *ticked, size_t i)
{
    const uint32_t *cells = ticked->path_cells + i * ticked->path_stride;
    size_t size = cells_size(ticked, i);
    at = put_bytes(at, PATH, array_size(PATH_CELL, size));
    if (size > 0)
        at = put_bytes(at, PATH_CELL, size);
    for (uint32_t cell = 0; cell < ticked->path_counts[i]; cell++)
        at = tp_varint_put(at, cells[cell]);
    return at;
}

static size_t rare_size(const struct tp_ticked *ticked, uint32_t fields)
{
    const struct tp_schedule *schedule = ticked->schedule;
    size_t size = 0;
    for (; fields != 0; fields &= fields - 1) {
        uint32_t field = (uint32_t)__builtin_ctz(fields);
        size += array_size(field, numbers_size(schedule, field));
    }
    for (size_t i = 0; i < schedule->refused_count; i++)
        size += bytes_size(REFUSED, refused_size(&schedule->refused[i]));
    for (size_t i = 0; ticked->path_cells != NULL && i < schedule->served; i++)
        size += bytes_size(PATH, array_size(PATH_CELL, cells_size(ticked, i)));
    return size;
}

/* ---- The frame ---- */

static size_t paths_bytes_most(const struct tp_ticked *ticked)
{
    size_t cells = 0;
    for (size_t i = 0; ticked->path_cells != NULL && i < ticked->schedule->served; i++)
        cells += ticked->path_counts[i];
    return cells * 5;
}

bool tp_ticked_reserve(struct tp_frame_buffer *output, size_t bytes_most)
{
    return tp_frame_buffer_reserve(output, bytes_most + BUNCHED * TP_VARINT_SLACK);
}

bool tp_ticked_append(struct tp_frame_buffer *output, uint64_t id, const struct tp_ticked *ticked)
{
    const struct tp_schedule *schedule = ticked->schedule;
    size_t most = tp_ticked_bytes_most(schedule->served, schedule->refused_count, ticked->wants_work, ticked->path_cells != NULL);
    if (!tp_ticked_reserve(output, most + paths_bytes_most(ticked)))
        return false;
    struct bunch bunch;
    bunch_place(&bunch, output->bytes + output->size + REPLY_BYTES, schedule->served);
    bunch_fill(&bunch, schedule);
    uint32_t rare = rare_fields(ticked, &bunch);
    size_t body = number_size(TICK, ticked->tick) + bunch_size(&bunch) + rare_size(ticked, rare) +
                  number_size(STARVED, schedule->starved) +
                  (schedule->starved_longest > 0 ? number_size(STARVED_LONGEST, schedule->starved_longest) : 0);
    size_t size = number_size(REPLY_ID, id) + bytes_size(REPLY_TICKED, body);
    uint8_t *at = tp_frame_buffer_add(output, size), *end = at + size;
    at = put_number(at, REPLY_ID, id);
    at = put_bytes(at, REPLY_TICKED, body);
    at = put_number(at, TICK, ticked->tick);
    at = bunch_put(&bunch, at);
    for (size_t i = 0; i < schedule->refused_count; i++)
        at = put_refused(at, &schedule->refused[i]);
    at = put_rare(at, schedule, rare, EXPANSIONS, LEARNED);
    for (size_t i = 0; ticked->path_cells != NULL && i < schedule->served; i++)
        at = put_path(at, ticked, i);
    at = put_number(at, STARVED, schedule->starved);
    at = put_rare(at, schedule, rare, VX, BOUND_MILLI);
    if (schedule->starved_longest > 0)
        at = put_number(at, STARVED_LONGEST, schedule->starved_longest);
    TP_CHECK(at == end);
    return true;
}
