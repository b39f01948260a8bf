/* A tick's reply as it is packed straight from a schedule's answers, held byte for byte against what protobuf-c makes of the same
 * answers: every field from none to its most, few and many answers, behind other frames. And varints against their definition. */
#include "daemon/serve/ticked.h"
#include "daemon/varint.h"
#include "proto/tickpath.pb-c.h"
#include "tests/lib/harness.h"

#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 300, REFUSALS = 40, CELLS = 9 };

struct answers {
    struct tp_sessions sessions;
    struct tp_agent agents[SESSIONS];
    uint32_t slots[SESSIONS];
    struct tp_tick_reply replies[SESSIONS];
    struct tp_schedule_refused refused[REFUSALS];
    struct tp_map *maps[REFUSALS];
    uint32_t cells[SESSIONS * CELLS], counts[SESSIONS];
    struct tp_schedule schedule;
    struct tp_ticked ticked;
    uint64_t id;
};

/* A number of any length: as often short as long. */
static uint64_t any(struct tp_test_rng *rng, uint32_t bits_max)
{
    uint32_t bits = tp_test_below(rng, bits_max + 1);
    uint64_t value = bits == 0 ? 0 : tp_test_next(rng) >> (64 - bits);
    return tp_test_percent(rng, 10) && bits > 0 ? UINT64_MAX >> (64 - bits) : value;
}

static void draw_reply(struct tp_test_rng *rng, struct tp_tick_reply *reply)
{
    *reply = (struct tp_tick_reply){
        .to = (uint32_t)any(rng, 32),
        .status = (enum tp_status)tp_test_between(rng, TP_STATUS_MOVING, TP_STATUS_UNREACHABLE),
        .flags = (uint32_t)any(rng, 10),
        .version = any(rng, 64),
        .cost = any(rng, 64),
        .work = {any(rng, 64), any(rng, 64), any(rng, 64), any(rng, 64), any(rng, 64), any(rng, 64)},
        .vx = (int8_t)(any(rng, 8)),
        .vy = (int8_t)(any(rng, 8)),
        .bound_milli = (uint32_t)any(rng, 32),
    };
}

static void answers_init(struct answers *answers)
{
    for (uint32_t i = 0; i < REFUSALS; i++) {
        answers->maps[i] = calloc(1, sizeof *answers->maps[i]);
        ck_assert_ptr_nonnull(answers->maps[i]);
    }
}

static void answers_fini(struct answers *answers)
{
    for (uint32_t i = 0; i < REFUSALS; i++)
        free(answers->maps[i]);
}

static void draw(struct tp_test_rng *rng, struct answers *answers)
{
    struct tp_schedule *schedule = &answers->schedule;
    bool has_vehicles = tp_test_percent(rng, 30), has_bounded = tp_test_percent(rng, 30);
    uint32_t most = tp_test_percent(rng, 50) ? 3 : SESSIONS;
    *schedule = (struct tp_schedule){.sessions = &answers->sessions,
                                     .slots = answers->slots,
                                     .replies = answers->replies,
                                     .refused = answers->refused,
                                     .served = tp_test_between(rng, 0, most),
                                     .refused_count = tp_test_percent(rng, 60) ? 0 : tp_test_below(rng, REFUSALS),
                                     .starved = (uint32_t)any(rng, 32),
                                     .starved_longest = tp_test_percent(rng, 50) ? 0 : (uint32_t)any(rng, 32)};
    answers->sessions = (struct tp_sessions){.agents = answers->agents, .capacity = SESSIONS};
    for (uint32_t i = 0; i < SESSIONS; i++) {
        answers->slots[i] = tp_test_below(rng, SESSIONS);
        answers->agents[i] = (struct tp_agent){.salt = (uint32_t)any(rng, 32),
                                               .is_vehicle = has_vehicles && tp_test_percent(rng, 2),
                                               .is_bounded = has_bounded && tp_test_percent(rng, 2)};
        draw_reply(rng, &answers->replies[i]);
        answers->counts[i] = tp_test_below(rng, CELLS + 1);
    }
    for (uint32_t i = 0; i < REFUSALS; i++) {
        answers->maps[i]->epoch = any(rng, 64);
        answers->maps[i]->version = any(rng, 64);
        answers->refused[i] = (struct tp_schedule_refused){
            any(rng, 64), -(int)tp_test_between(rng, 1, 200), tp_test_percent(rng, 50) ? answers->maps[i] : NULL};
    }
    for (uint32_t i = 0; i < SESSIONS * CELLS; i++)
        answers->cells[i] = (uint32_t)any(rng, 32);
    bool wants_path = tp_test_percent(rng, 30);
    answers->ticked = (struct tp_ticked){.schedule = schedule,
                                         .tick = any(rng, 64),
                                         .wants_work = tp_test_percent(rng, 40),
                                         .path_cells = wants_path ? answers->cells : NULL,
                                         .path_counts = answers->counts,
                                         .path_stride = CELLS};
    answers->id = any(rng, 64);
}

/* The message, its arrays in memory to be freed with free_message. */
struct message {
    Tickpath__Ticked ticked;
    Tickpath__Refused refused[REFUSALS], *refused_rows[REFUSALS];
    Tickpath__Path paths[SESSIONS], *path_rows[SESSIONS];
    uint64_t session[SESSIONS], version[SESSIONS], cost[SESSIONS], work[5][SESSIONS];
    uint32_t cell[SESSIONS], status[SESSIONS], flags[SESSIONS], bound_milli[SESSIONS];
    int32_t vx[SESSIONS], vy[SESSIONS];
};

static void fill_work(Tickpath__Ticked *to, struct message *message, const struct answers *answers)
{
    size_t n = answers->schedule.served;
    to->n_expansions = to->n_traced = to->n_generated = to->n_learned = to->n_guide_expansions = n;
    to->expansions = message->work[0];
    to->traced = message->work[1];
    to->generated = message->work[2];
    to->learned = message->work[3];
    to->guide_expansions = message->work[4];
    for (size_t i = 0; i < n; i++) {
        const struct tp_tick_work *work = &answers->replies[i].work;
        to->expansions[i] = work->expansions;
        to->traced[i] = work->traced;
        to->generated[i] = work->generated;
        to->learned[i] = work->learned;
        to->guide_expansions[i] = work->guide;
    }
}

static void fill(struct message *message, struct answers *answers)
{
    const struct tp_schedule *schedule = &answers->schedule;
    Tickpath__Ticked *to = &message->ticked;
    size_t n = schedule->served;
    bool some_vehicle = false, some_bounded = false;
    tickpath__ticked__init(to);
    to->has_tick = to->has_starved = 1;
    to->tick = answers->ticked.tick;
    to->starved = schedule->starved;
    to->has_starved_longest = schedule->starved_longest > 0;
    to->starved_longest = schedule->starved_longest;
    to->n_session = to->n_cell = to->n_status = to->n_flags = to->n_version = to->n_cost = n;
    to->session = message->session;
    to->cell = message->cell;
    to->status = message->status;
    to->flags = message->flags;
    to->version = message->version;
    to->cost = message->cost;
    to->vx = message->vx;
    to->vy = message->vy;
    to->bound_milli = message->bound_milli;
    for (size_t i = 0; i < n; i++) {
        const struct tp_tick_reply *from = &answers->replies[i];
        to->session[i] = tp_sessions_id(&answers->sessions, answers->slots[i]);
        to->cell[i] = from->to;
        to->status[i] = from->status;
        to->flags[i] = from->flags;
        to->version[i] = from->version;
        to->cost[i] = from->cost;
        to->vx[i] = from->vx;
        to->vy[i] = from->vy;
        to->bound_milli[i] = from->bound_milli;
        some_vehicle |= answers->agents[answers->slots[i]].is_vehicle;
        some_bounded |= answers->agents[answers->slots[i]].is_bounded;
        message->path_rows[i] = &message->paths[i];
        tickpath__path__init(&message->paths[i]);
        message->paths[i].n_cell = answers->counts[i];
        message->paths[i].cell = answers->cells + i * CELLS;
    }
    to->n_vx = to->n_vy = some_vehicle ? n : 0;
    to->n_bound_milli = some_bounded ? n : 0;
    if (answers->ticked.wants_work)
        fill_work(to, message, answers);
    to->n_path = answers->ticked.path_cells != NULL ? n : 0;
    to->path = message->path_rows;
    to->n_refused = schedule->refused_count;
    to->refused = message->refused_rows;
    for (size_t i = 0; i < schedule->refused_count; i++) {
        const struct tp_schedule_refused *from = &schedule->refused[i];
        Tickpath__Refused *row = to->refused[i] = &message->refused[i];
        tickpath__refused__init(row);
        row->has_session = row->has_code = 1;
        row->session = from->id;
        row->code = (Tickpath__ErrorCode)-from->error;
        row->has_epoch = row->has_version = from->map != NULL;
        row->epoch = from->map != NULL ? from->map->epoch : 0;
        row->version = from->map != NULL ? from->map->version : 0;
    }
}

/* What protobuf-c makes of it, as a frame behind what is in the buffer. */
static void append_by_protobuf(struct tp_frame_buffer *output, struct answers *answers)
{
    static struct message message;
    fill(&message, answers);
    Tickpath__Reply reply = TICKPATH__REPLY__INIT;
    reply.has_id = 1;
    reply.id = answers->id;
    reply.body_case = TICKPATH__REPLY__BODY_TICKED;
    reply.ticked = &message.ticked;
    uint8_t *room = tp_frame_buffer_add(output, tickpath__reply__get_packed_size(&reply));
    ck_assert_ptr_nonnull(room);
    tickpath__reply__pack(&reply, room);
}

START_TEST(test_packs_as_protobuf)
{
    static struct answers answers;
    struct tp_test_rng rng = tp_test_rng("packs_as_protobuf");
    struct tp_frame_buffer direct = {0}, by_protobuf = {0};
    answers_init(&answers);
    for (int round = tp_test_long() ? 60000 : 3000; round > 0; round--) {
        draw(&rng, &answers);
        if (direct.size > 200000 || tp_test_percent(&rng, 30))
            direct.size = by_protobuf.size = 0;
        if (tp_test_percent(&rng, 5))
            tp_frame_buffer_fini(&direct);
        if (direct.bytes == NULL)
            direct.size = by_protobuf.size = 0;
        size_t before = direct.size;
        ck_assert(tp_ticked_append(&direct, answers.id, &answers.ticked));
        append_by_protobuf(&by_protobuf, &answers);
        ck_assert_uint_eq(direct.size, by_protobuf.size);
        ck_assert_mem_eq(direct.bytes, by_protobuf.bytes, direct.size);
        size_t most = tp_ticked_bytes_most(answers.schedule.served, answers.schedule.refused_count,
                                           answers.ticked.wants_work, answers.ticked.path_cells != NULL);
        if (answers.ticked.path_cells == NULL)
            ck_assert_uint_le(direct.size - before, most);
    }
    tp_frame_buffer_fini(&direct);
    tp_frame_buffer_fini(&by_protobuf);
    answers_fini(&answers);
}
END_TEST

/* What was reserved is enough: nothing is taken any more when the reply is packed. */
START_TEST(test_reserved_is_enough)
{
    static struct answers answers;
    struct tp_test_rng rng = tp_test_rng("reserved_is_enough");
    answers_init(&answers);
    for (int round = 0; round < 300; round++) {
        struct tp_frame_buffer output = {0};
        draw(&rng, &answers);
        answers.ticked.path_cells = NULL;
        ck_assert(tp_ticked_reserve(&output, tp_ticked_bytes_most(answers.schedule.served, answers.schedule.refused_count,
                                                                  answers.ticked.wants_work, false)));
        size_t capacity = output.capacity;
        const uint8_t *bytes = output.bytes;
        ck_assert(tp_ticked_append(&output, answers.id, &answers.ticked));
        ck_assert(output.capacity == capacity && output.bytes == bytes);
        tp_frame_buffer_fini(&output);
    }
    answers_fini(&answers);
}
END_TEST

static void check_varint(uint64_t value)
{
    uint8_t plain[TP_VARINT_MAX + TP_VARINT_SLACK] = {0}, fast[TP_VARINT_MAX + TP_VARINT_SLACK] = {0};
    uint8_t brief[TP_VARINT_MAX + TP_VARINT_SLACK] = {0};
    size_t size = (size_t)(tp_varint_put(plain, value) - plain);
    ck_assert_uint_eq(size, tp_varint_size(value));
    ck_assert_uint_eq((size_t)(tp_varint_put_fast(fast, value) - fast), size);
    ck_assert_mem_eq(fast, plain, size);
    ck_assert_uint_eq((size_t)(tp_varint_put_short(brief, value) - brief), size);
    ck_assert_mem_eq(brief, plain, size);
    uint64_t read = 0;
    ck_assert(tp_varint_get(plain, plain + size, &read) == plain + size);
    ck_assert(read == value);
    ck_assert(tp_varint_get(plain, plain + size - 1, &read) == NULL);
    for (uint8_t more = 0; more < 4; more++) { /* whatever lies behind it */
        memset(plain + size, more * 0x55, sizeof plain - size);
        ck_assert(tp_varint_get_fast(plain, plain + size, &read) == plain + size && read == value);
        ck_assert(tp_varint_get_fast(plain, plain + sizeof plain, &read) == plain + size && read == value);
        ck_assert_uint_eq(tp_varint_count(plain, plain + size), 1);
    }
    read = 0;
    for (size_t i = 0; i < size; i++) {
        read |= (uint64_t)(plain[i] & 0x7f) << (7 * i);
        ck_assert((plain[i] >= 0x80) == (i + 1 < size));
    }
    ck_assert(read == value);
}

START_TEST(test_varints)
{
    struct tp_test_rng rng = tp_test_rng("varints");
    for (uint32_t bit = 0; bit < 64; bit++)
        for (uint64_t by = 0; by < 3; by++)
            check_varint((UINT64_C(1) << bit) - 1 + by);
    check_varint(UINT64_MAX);
    for (int i = 0; i < 4000; i++)
        check_varint(any(&rng, 64));
}
END_TEST

static Suite *ticked_suite(void)
{
    Suite *suite = suite_create("ticked");
    TCase *tests = tcase_create("ticked");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_packs_as_protobuf);
    tcase_add_test(tests, test_reserved_is_enough);
    tcase_add_test(tests, test_varints);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return tp_test_main("test_ticked", ticked_suite);
}
