/* The frames of the live view: whatever the loops copy, a reader that applies every frame has what was copied last, and so has one
 * that comes later and begins with a key. */
#include "daemon/view/view_agents.h"
#include "tests/lib/harness.h"
#include "tests/lib/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 40, HEIGHT = 30, LOOPS = 3, AGENTS = 200, ROUNDS = 400, INDICES = 1024 };

/* ---- A reader ---- */

struct seen {
    bool is_there;
    struct tp_view_agent agent;
};

struct reader {
    struct seen by_index[INDICES];
    const uint8_t *at, *end;
    const char *fault; /* the first found; NULL: none */
};

static void expect(struct reader *reader, bool holds, const char *words)
{
    if (!holds && reader->fault == NULL)
        reader->fault = words;
}

static uint8_t read_byte(struct reader *reader)
{
    expect(reader, reader->at < reader->end, "a frame is cut short");
    return reader->at < reader->end ? *reader->at++ : 0;
}

static uint64_t read_varint(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = read_byte(reader);
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

static struct seen *read_index(struct reader *reader, uint64_t *next)
{
    *next += read_varint(reader) + 1;
    expect(reader, *next <= INDICES, "an index is too large");
    return &reader->by_index[(*next - 1) % INDICES];
}

static void read_new(struct reader *reader, struct tp_view_agent *agent)
{
    agent->id = 0;
    for (unsigned i = 0; i < 8; i++)
        agent->id |= (uint64_t)read_byte(reader) << (8 * i);
    agent->cell = (uint32_t)read_varint(reader);
    agent->goal = (uint32_t)read_varint(reader);
    agent->status = read_byte(reader);
    agent->flags = (uint16_t)read_varint(reader);
}

static void read_changed(struct reader *reader, struct tp_view_agent *agent)
{
    uint8_t what = read_byte(reader), step = what & 15;
    if (step == 9)
        agent->cell = (uint32_t)read_varint(reader);
    else
        agent->cell = (uint32_t)((int)agent->cell + (step / 3 - 1) * WIDTH + step % 3 - 1);
    if (what & 16) {
        agent->status = read_byte(reader);
        agent->flags = (uint16_t)read_varint(reader);
    }
    if (what & 32)
        agent->goal = (uint32_t)read_varint(reader);
}

/* Applies a frame; gives how many agents it says are there. */
static uint64_t apply(struct reader *reader, const struct tp_text *frame)
{
    ck_assert(!frame->failed);
    reader->at = (const uint8_t *)frame->bytes;
    reader->end = reader->at + frame->size;
    read_varint(reader);
    read_varint(reader);
    uint64_t there = read_varint(reader), next = 0;
    ck_assert_uint_eq(read_varint(reader), 0);
    for (uint64_t left = read_varint(reader); left > 0 && reader->fault == NULL; left--) {
        struct seen *seen = read_index(reader, &next);
        expect(reader, seen->is_there, "one is gone that was not there");
        seen->is_there = false;
    }
    next = 0;
    for (uint64_t left = read_varint(reader); left > 0 && reader->fault == NULL; left--) {
        struct seen *seen = read_index(reader, &next);
        expect(reader, !seen->is_there, "a new one has a taken index");
        seen->is_there = true;
        read_new(reader, &seen->agent);
    }
    next = 0;
    for (uint64_t left = read_varint(reader); left > 0 && reader->fault == NULL; left--) {
        struct seen *seen = read_index(reader, &next);
        expect(reader, seen->is_there, "one changes that is not there");
        read_changed(reader, &seen->agent);
    }
    expect(reader, reader->at == reader->end, "bytes after a frame");
    return there;
}

/* ---- What is to be seen ---- */

/* Agents by id; each on a loop, or on none. */
struct truth {
    struct tp_view_agent agent[AGENTS];
    int loop[AGENTS];
};

static void change(struct truth *truth, struct tp_test_rng *rng)
{
    for (unsigned i = 0; i < AGENTS; i++) {
        struct tp_view_agent *agent = &truth->agent[i];
        uint32_t dice = tp_test_below(rng, 100);
        if (dice < 3)
            truth->loop[i] = (int)tp_test_below(rng, LOOPS + 1) - 1;
        else if (dice < 6)
            agent->cell = tp_test_below(rng, WIDTH * HEIGHT);
        else if (dice < 60 && agent->cell % WIDTH > 0 && agent->cell % WIDTH < WIDTH - 1)
            agent->cell += dice & 1 ? 1u : UINT32_MAX;
        else if (dice < 64)
            agent->goal = tp_test_below(rng, WIDTH * HEIGHT);
        else if (dice < 70)
            agent->status = (uint8_t)tp_test_below(rng, 6);
        else if (dice < 74)
            agent->flags = TP_FLAG_LOOPING;
    }
}

static void take(struct tp_view_agents *agents, const struct truth *truth, unsigned loop)
{
    struct tp_view_agent room[AGENTS];
    struct tp_view_copy copy = {.loop = loop, .agents = room, .capacity = AGENTS};
    for (unsigned i = 0; i < AGENTS; i++)
        if (truth->loop[i] == (int)loop)
            room[copy.count++] = truth->agent[i];
    tp_view_agents_take(agents, &copy);
}

/* What differs from the truth, in words; NULL: nothing. */
static const char *differs(const struct reader *reader, const struct truth *truth, uint64_t there)
{
    uint64_t seen = 0, wanted = 0;
    if (reader->fault != NULL)
        return reader->fault;
    for (unsigned i = 0; i < AGENTS; i++)
        wanted += truth->loop[i] >= 0;
    for (unsigned i = 0; i < INDICES; i++) {
        if (!reader->by_index[i].is_there)
            continue;
        const struct tp_view_agent *agent = &reader->by_index[i].agent, *of = &truth->agent[((agent->id >> 20) - 1) % AGENTS];
        seen++;
        if (agent->id != of->id || agent->cell != of->cell || agent->goal != of->goal || agent->status != of->status ||
            agent->flags != of->flags || truth->loop[of - truth->agent] < 0)
            return "an agent is not as it is";
    }
    return seen != wanted ? "agents are missing, or too many" : there != wanted ? "the count is another" : NULL;
}

START_TEST(test_frames_add_up)
{
    uint64_t seed = tp_test_seed();
    struct tp_test_rng rng = tp_test_rng("view_agents");
    struct tp_view_agents agents;
    ck_assert_int_eq(tp_view_agents_init(&agents, LOOPS), 0);
    struct truth truth;
    memset(&truth, 0, sizeof truth);
    for (unsigned i = 0; i < AGENTS; i++) {
        truth.agent[i] = (struct tp_view_agent){.id = (uint64_t)(i + 1) << 20 | i, .cell = i, .goal = i};
        truth.loop[i] = -1;
    }
    struct reader *reader = calloc(1, sizeof *reader), *later = calloc(1, sizeof *later);
    ck_assert(reader != NULL && later != NULL);
    struct tp_text frame = {0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        change(&truth, &rng);
        if (round % 50 == 49) { /* the map is gone, and there again */
            tp_view_agents_end(&agents);
            for (unsigned i = 0; i < AGENTS; i++)
                truth.loop[i] = -1;
        }
        for (unsigned loop = 0; loop < LOOPS; loop++)
            take(&agents, &truth, loop);
        tp_text_clear(&frame);
        tp_view_agents_frame(&agents, WIDTH, round, &frame);
        const char *words = differs(reader, &truth, apply(reader, &frame));
        ck_assert_msg(words == NULL, "round %u: %s (seed %" PRIu64 ")", round, words, seed);
        tp_text_clear(&frame);
        tp_view_agents_key(&agents, round, &frame);
        memset(later, 0, sizeof *later);
        words = differs(later, &truth, apply(later, &frame));
        ck_assert_msg(words == NULL, "round %u, key: %s (seed %" PRIu64 ")", round, words, seed);
    }
    tp_text_fini(&frame);
    tp_view_agents_fini(&agents);
    free(reader);
    free(later);
}
END_TEST

static Suite *view_agents_suite(void)
{
    Suite *suite = suite_create("view_agents");
    TCase *tcase = tcase_create("frames");
    tcase_add_test(tcase, test_frames_add_up);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_view_agents", view_agents_suite);
}
