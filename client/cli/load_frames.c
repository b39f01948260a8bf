/* The open loop: frame n is due at begin + n / hz, whatever is still unanswered.
 *
 * Happy path: at its time a frame's batch (the map's changes, new goals, one tick of all agents) goes out in one write; then the loop
 * waits for answers until the next frame is due. Latency counts from the intended time. What can go wrong:
 *   - as many frames as may be are unanswered: the next one waits for an answer, counts as late, and its latency still begins at
 *     its intended time; frames not sent until the end, or not answered soon after it, count with the time they had waited by then;
 *   - the daemon goes away: the frames that were to come are not counted, those unanswered are.
 */
#include "client/cli/load_internal.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

enum {
    SECOND_NS = 1000000000,
    SETTLE_NS = 1000000,   /* after an answer, until the loop that sent it sleeps */
    COMPLETE_NS = 4000000, /* before the next frame: less is too short to complete paths in */
    COMPLETE_AGENTS = 128, /* at a time */
    NAP_NS = 10000000,
};

/* Waited for answers after the last frame. */
static const uint64_t answers_ns = UINT64_C(5) * SECOND_NS;

/* A frame that was sent. */
struct flight {
    uint64_t frame, intended_ns, tick;
    uint64_t *before; /* tickets of the changes and goals in front of the tick */
    size_t before_count;
};

struct open_loop {
    struct tp_cli_load *load;
    struct tp_client *client;
    struct flight *flights; /* a ring, the oldest first */
    size_t first, count;
    uint64_t begin_ns, period_ns, frames, next; /* frames in all; the next to be sent */
    uint64_t answered_ns;                       /* the last answer */
    uint64_t loop_ns;                           /* of the loops, at the last reading */
    uint64_t unread;                            /* frames sent since */
    bool measures;                              /* what comes counts */
};

uint64_t tp_cli__load_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static struct flight *flight_at(struct open_loop *loop, size_t index)
{
    return &loop->flights[(loop->first + index) % loop->load->options.in_flight];
}

static uint64_t due_ns(const struct open_loop *loop, uint64_t frame)
{
    return loop->begin_ns + frame * loop->period_ns;
}

/* ---- The loops' CPU time ---- */

/* Shares what the loops spent since the last reading among the frames sent since. To be asked while nothing is unanswered. */
static void read_loops(struct open_loop *loop)
{
    if (loop->load->loops.count == 0)
        return;
    uint64_t now_ns = tp_cli_threads_cpu_ns(&loop->load->loops);
    uint64_t share_ns =
        now_ns > loop->loop_ns && loop->unread > 0 ? (now_ns - loop->loop_ns) / loop->unread : 0;
    if (loop->unread > 1)
        loop->load->figures.loop_shared += loop->unread;
    for (; loop->unread > 0; loop->unread--)
        tp_cli_histogram_note(&loop->load->figures.loop, share_ns);
    loop->loop_ns = now_ns;
}

/* ---- Sending ---- */

/* Holds small writes back until they are let go, so that a frame's requests leave as one. */
static void cork(const struct open_loop *loop, int on)
{
    setsockopt(tp_client_socket(loop->client), IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

static bool renews_in_frames(const struct tp_cli_load *load)
{
    return load->options.workload == TP_CLI_LOAD_SEARCHING || load->options.workload == TP_CLI_LOAD_GUIDED;
}

static int send_goals(struct open_loop *loop, struct flight *flight)
{
    struct tp_cli_load *load = loop->load;
    for (size_t i = 0; i < load->waiting_count; i++) {
        size_t agent = load->waiting[i];
        load->agents[agent] = (struct tp_cli_load_agent){.goal_frame = flight->frame};
        if (tp_client_send_set_goal(loop->client, load->fleet.agents[agent].session,
                                    tp_cli__load_goal(load, agent), &flight->before[flight->before_count++],
                                    TP_CLI_CALL_MS) != 0)
            return tp_cli__load_broken(load, loop->client, "cannot renew a goal");
    }
    load->waiting_count = 0;
    return TP_CLI_OK;
}

static int send_batch(struct open_loop *loop, struct flight *flight)
{
    struct tp_cli_load *load = loop->load;
    const struct tp_cli_load_options *options = &load->options;
    struct tp_client_tick tick = {.all = true};
    if (loop->measures) { /* before that agents may set off as they can */
        tick.has_total_expansions = options->total_expansions > 0;
        tick.total_expansions = options->total_expansions;
        tick.has_total_us = options->total_us > 0;
        tick.total_us = options->total_us;
        tick.total_guide_units = options->total_guide_units;
    }
    flight->before_count = 0;
    if (options->changes > 0) {
        const struct tp_client_changes changes = tp_cli__load_changes(load);
        if (tp_client_send_change(loop->client, &changes, &flight->before[flight->before_count++],
                                  TP_CLI_CALL_MS) != 0)
            return tp_cli__load_broken(load, loop->client, "cannot change the map");
    }
    if (renews_in_frames(load) && send_goals(loop, flight) != TP_CLI_OK)
        return TP_CLI_FAILED;
    if (tp_client_send_tick(loop->client, &tick, &flight->tick, TP_CLI_CALL_MS) != 0)
        return tp_cli__load_broken(load, loop->client, "cannot tick");
    return TP_CLI_OK;
}

static int send_frame(struct open_loop *loop, uint64_t intended_ns, uint64_t now_ns)
{
    if (loop->count == 0)
        read_loops(loop);
    struct flight *flight = flight_at(loop, loop->count);
    flight->frame = loop->next++;
    flight->intended_ns = intended_ns;
    cork(loop, 1);
    int result = send_batch(loop, flight);
    cork(loop, 0);
    if (result != TP_CLI_OK)
        return result;
    loop->count++;
    if (!loop->measures)
        return TP_CLI_OK;
    loop->unread++;
    loop->load->figures.sent++;
    tp_cli_histogram_note(&loop->load->figures.delay, now_ns - intended_ns);
    return TP_CLI_OK;
}

/* ---- Answers ---- */

static int take_ticked(struct open_loop *loop, const struct flight *flight,
                       const struct tp_client_ticked *ticked)
{
    struct tp_cli_load *load = loop->load;
    struct tp_cli_load_figures *f = &load->figures;
    if (ticked->count + ticked->refused_count != load->fleet.count || ticked->refused_count > 0) {
        f->end = TP_CLI_LOAD_FAILED;
        return tp_cli_fail(&tp_cli__load_usage, "a tick of %zu sessions answered %zu and refused %zu",
                           load->fleet.count, ticked->count, ticked->refused_count);
    }
    uint64_t statuses[TP_CLIENT_UNREACHABLE + 1] = {0}, complete = 0;
    for (size_t i = 0; i < ticked->count; i++) {
        uint32_t status = ticked->statuses[i];
        statuses[status <= TP_CLIENT_UNREACHABLE ? status : 0]++;
        complete += (ticked->flags[i] & TP_CLIENT_PATH_COMPLETE) != 0;
        tp_cli__load_answer(load, flight->frame, i, ticked->cells[i], status, ticked->flags[i]);
    }
    if (!loop->measures)
        return TP_CLI_OK;
    f->agent_ticks += ticked->count;
    f->complete += complete;
    f->starved += ticked->starved;
    if (ticked->starved_longest > f->starved_longest)
        f->starved_longest = ticked->starved_longest;
    for (size_t i = 0; i <= TP_CLIENT_UNREACHABLE; i++)
        f->statuses[i] += statuses[i];
    return TP_CLI_OK;
}

/* Takes the oldest frame's answer if it has come. */
static int take_answer(struct open_loop *loop, int timeout_ms, bool *taken)
{
    struct tp_cli_load *load = loop->load;
    struct flight *flight = flight_at(loop, 0);
    struct tp_client_reply reply;
    *taken = false;
    /* Replies come in order: with the tick's all before it have come. Those are collected first, for the tick's is valid until the next call. */
    for (size_t i = 0; i < flight->before_count; i++) {
        int error = tp_client_collect(loop->client, flight->before[i], &reply, timeout_ms);
        if (error == TP_CLIENT_TIMEOUT && !tp_client_error(loop->client)->from_server) {
            for (size_t j = 0; j < flight->before_count - i; j++)
                flight->before[j] = flight->before[i + j];
            flight->before_count -= i;
            return TP_CLI_OK;
        }
        if (error != 0)
            return tp_cli__load_broken(load, loop->client, "a change or a new goal");
    }
    flight->before_count = 0;
    int error = tp_client_collect(loop->client, flight->tick, &reply, timeout_ms);
    if (error == TP_CLIENT_TIMEOUT && !tp_client_error(loop->client)->from_server)
        return TP_CLI_OK;
    if (error != 0)
        return tp_cli__load_broken(load, loop->client, "cannot tick");
    loop->answered_ns = tp_cli__load_now_ns();
    loop->first = (loop->first + 1) % load->options.in_flight;
    loop->count--;
    *taken = true;
    if (loop->measures) {
        load->figures.answered++;
        tp_cli_histogram_note(&load->figures.latency, loop->answered_ns - flight->intended_ns);
    }
    return take_ticked(loop, flight, &reply.ticked);
}

static int take_answers(struct open_loop *loop)
{
    bool taken = true;
    int result = TP_CLI_OK;
    while (result == TP_CLI_OK && taken && loop->count > 0)
        result = take_answer(loop, 0, &taken);
    return result;
}

/* Sleeps until something comes, or that time. */
static void wait_until(struct open_loop *loop, uint64_t at_ns)
{
    uint64_t now_ns = tp_cli__load_now_ns();
    uint64_t left_ns = at_ns > now_ns ? at_ns - now_ns : 0;
    left_ns = left_ns < NAP_NS ? left_ns : NAP_NS; /* what the socket did not take is sent by the way */
    const struct timespec left = {.tv_nsec = (long)left_ns};
    struct pollfd fd = {.fd = tp_client_socket(loop->client), .events = loop->count > 0 ? POLLIN : 0};
    ppoll(&fd, 1, &left, NULL);
}

/* ---- The run ---- */

/* Between two frames: whether there is time, and need, to complete paths off the clock. */
static int complete_between(struct open_loop *loop, uint64_t now_ns)
{
    struct tp_cli_load *load = loop->load;
    if (renews_in_frames(load) || loop->count > 0 || load->waiting_count == 0 ||
        now_ns < loop->answered_ns + SETTLE_NS || now_ns + COMPLETE_NS > due_ns(loop, loop->next))
        return TP_CLI_OK;
    read_loops(loop);
    int result = tp_cli__load_complete(load, COMPLETE_AGENTS, 1);
    struct timespec settle = {.tv_nsec = SETTLE_NS};
    nanosleep(&settle, NULL);
    if (load->loops.count > 0)
        loop->loop_ns = tp_cli_threads_cpu_ns(&load->loops);
    return result;
}

static int interrupted(struct tp_cli_load *load)
{
    int result = tp_cli_remote_interrupted(&tp_cli__load_usage);
    if (result != TP_CLI_OK)
        load->figures.end = TP_CLI_LOAD_INTERRUPTED;
    return result;
}

/* Sends what is due. */
static int send_due(struct open_loop *loop)
{
    struct tp_cli_load *load = loop->load;
    int result = TP_CLI_OK;
    uint64_t now_ns = tp_cli__load_now_ns(), end_ns = due_ns(loop, loop->frames);
    while (result == TP_CLI_OK && loop->next < loop->frames && due_ns(loop, loop->next) <= now_ns &&
           now_ns < end_ns && loop->count < load->options.in_flight) {
        result = send_frame(loop, due_ns(loop, loop->next), now_ns);
        now_ns = tp_cli__load_now_ns();
    }
    return result;
}

/* What is due and cannot be sent counts as late, once. */
static void count_late(struct open_loop *loop, uint64_t *counted)
{
    struct tp_cli_load *load = loop->load;
    uint64_t now_ns = tp_cli__load_now_ns();
    if (loop->count < load->options.in_flight)
        return;
    if (*counted < loop->next)
        *counted = loop->next;
    for (; *counted < loop->frames && due_ns(loop, *counted) <= now_ns; ++*counted)
        load->figures.late++;
}

static int run(struct open_loop *loop)
{
    struct tp_cli_load *load = loop->load;
    int result = TP_CLI_OK;
    uint64_t end_ns = due_ns(loop, loop->frames), shown_ns = loop->begin_ns, late = 0;
    while (result == TP_CLI_OK) {
        uint64_t now_ns = tp_cli__load_now_ns();
        bool sends = loop->next < loop->frames && now_ns < end_ns;
        if (!sends && (loop->count == 0 || now_ns > end_ns + answers_ns) && now_ns >= end_ns)
            break;
        result = interrupted(load);
        if (result == TP_CLI_OK)
            result = send_due(loop);
        if (result == TP_CLI_OK)
            wait_until(loop, sends && loop->count < load->options.in_flight ? due_ns(loop, loop->next)
                                                                            : end_ns + answers_ns);
        count_late(loop, &late);
        if (result == TP_CLI_OK)
            result = take_answers(loop);
        if (result == TP_CLI_OK)
            result = complete_between(loop, tp_cli__load_now_ns());
        now_ns = tp_cli__load_now_ns();
        if (now_ns >= shown_ns + SECOND_NS && now_ns < end_ns + SECOND_NS) {
            shown_ns += SECOND_NS;
            load->figures.measured_ns = now_ns - loop->begin_ns;
            tp_cli__load_progress(load, (double)(now_ns - loop->begin_ns) / 1e9);
        }
    }
    return result;
}

/* After the last frame: what was never answered counts with the time it has waited. */
static void settle(struct open_loop *loop)
{
    struct tp_cli_load *load = loop->load;
    struct tp_cli_load_figures *f = &load->figures;
    uint64_t now_ns = tp_cli__load_now_ns(), end_ns = due_ns(loop, loop->frames);
    f->measured_ns = (now_ns < end_ns ? now_ns : end_ns) - loop->begin_ns;
    f->intended = now_ns < end_ns ? loop->next : loop->frames;
    if (loop->count == 0 && f->end == TP_CLI_LOAD_IN_TIME)
        read_loops(loop);
    for (size_t i = 0; i < loop->count; i++)
        tp_cli_histogram_note(&f->latency, now_ns - flight_at(loop, i)->intended_ns);
    for (; loop->next < f->intended; loop->next++)
        tp_cli_histogram_note(&f->latency, now_ns - due_ns(loop, loop->next));
}

/* Frames one after the other, unmeasured. */
static int warm_up(struct open_loop *loop)
{
    int result = TP_CLI_OK;
    bool taken;
    for (uint64_t i = 0; result == TP_CLI_OK && i < loop->load->options.warm_frames; i++) {
        result = interrupted(loop->load);
        if (result == TP_CLI_OK)
            result = send_frame(loop, 0, 0);
        for (taken = false; result == TP_CLI_OK && !taken;)
            result = take_answer(loop, TP_CLI_CALL_MS, &taken);
        if (result == TP_CLI_OK && !renews_in_frames(loop->load))
            result = tp_cli__load_complete_all(loop->load, false);
    }
    return result;
}

static int flights_init(struct open_loop *loop)
{
    size_t in_flight = loop->load->options.in_flight;
    loop->flights = calloc(in_flight, sizeof *loop->flights);
    for (size_t i = 0; loop->flights != NULL && i < in_flight; i++) {
        loop->flights[i].before = calloc(loop->load->fleet.count + 1, sizeof *loop->flights[i].before);
        if (loop->flights[i].before == NULL)
            return tp_cli_fail(&tp_cli__load_usage, "out of memory");
    }
    return loop->flights != NULL ? TP_CLI_OK : tp_cli_fail(&tp_cli__load_usage, "out of memory");
}

static void flights_fini(struct open_loop *loop)
{
    for (size_t i = 0; loop->flights != NULL && i < loop->load->options.in_flight; i++)
        free(loop->flights[i].before);
    free(loop->flights);
}

int tp_cli__load_frames(struct tp_cli_load *load)
{
    struct open_loop loop = {.load = load, .client = load->clients[0]};
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* frames are due to the microsecond */
    int result = flights_init(&loop);
    if (result == TP_CLI_OK && !renews_in_frames(load))
        result = tp_cli__load_complete_all(load, true);
    if (result == TP_CLI_OK)
        result = warm_up(&loop);
    if (result == TP_CLI_OK) {
        for (size_t i = 0; i < load->fleet.count; i++)
            load->agents[i].goal_frame = 0; /* frames count anew */
        load->figures.goals = load->figures.changed = 0;
        loop.measures = true;
        loop.next = 0;
        loop.period_ns = (uint64_t)llround(1e9 / load->options.hz);
        loop.frames = (uint64_t)ceil(load->options.seconds * load->options.hz);
        loop.begin_ns = tp_cli__load_now_ns() + loop.period_ns;
        loop.loop_ns = load->loops.count > 0 ? tp_cli_threads_cpu_ns(&load->loops) : 0;
        result = run(&loop);
        settle(&loop);
    }
    flights_fini(&loop);
    return result;
}
