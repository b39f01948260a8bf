/* The closed loop: each connection ticks one session, waits for the answer, and ticks the next. Sessions walk on complete paths; who
 * arrives is passed over until the end of the slice, when all get new goals off the clock.
 */
#include "client/cli/load_internal.h"

#include <poll.h>
#include <stdlib.h>

enum { SECOND_NS = 1000000000, SETTLE_MS = 2, ANSWER_MS = 5000 };

/* One connection and its agents, a range of the fleet's. */
struct line {
    struct tp_client *client;
    size_t first, count, at; /* the one to be ticked next, from 0 */
    size_t asked;            /* the agent whose answer is awaited */
    uint64_t ticket, sent_ns;
    bool waits; /* for an answer */
};

struct closed_loop {
    struct tp_cli_load *load;
    struct line *lines;
    struct pollfd *fds;
    size_t count, waiting; /* lines that wait */
};

/* The next agent of a line that still walks; false if all have arrived. */
static bool find_walker(const struct tp_cli_load *load, struct line *line)
{
    for (size_t i = 0; i < line->count; i++) {
        size_t agent = line->first + (line->at + i) % line->count;
        if (load->agents[agent].waits)
            continue;
        line->at = (line->at + i + 1) % line->count;
        line->asked = agent;
        return true;
    }
    return false;
}

static int ask(struct closed_loop *loop, struct line *line)
{
    struct tp_cli_load *load = loop->load;
    if (!find_walker(load, line))
        return TP_CLI_OK;
    const struct tp_client_tick tick = {.sessions = &load->fleet.agents[line->asked].session,
                                        .session_count = 1};
    line->sent_ns = tp_cli__load_now_ns();
    if (tp_client_send_tick(line->client, &tick, &line->ticket, TP_CLI_CALL_MS) != 0)
        return tp_cli__load_broken(load, line->client, "cannot tick");
    line->waits = true;
    loop->waiting++;
    load->figures.sent++;
    return TP_CLI_OK;
}

static int take(struct closed_loop *loop, struct line *line)
{
    struct tp_cli_load *load = loop->load;
    struct tp_cli_load_figures *f = &load->figures;
    struct tp_client_reply reply;
    int error = tp_client_collect(line->client, line->ticket, &reply, 0);
    if (error == TP_CLIENT_TIMEOUT && !tp_client_error(line->client)->from_server)
        return TP_CLI_OK;
    if (error != 0)
        return tp_cli__load_broken(load, line->client, "cannot tick");
    line->waits = false;
    loop->waiting--;
    if (reply.ticked.count != 1) {
        f->end = TP_CLI_LOAD_FAILED;
        return tp_cli_fail(&tp_cli__load_usage, "a tick of one session was refused");
    }
    uint32_t status = reply.ticked.statuses[0], flags = reply.ticked.flags[0];
    f->answered++;
    f->agent_ticks++;
    f->statuses[status <= TP_CLIENT_UNREACHABLE ? status : 0]++;
    f->complete += (flags & TP_CLIENT_PATH_COMPLETE) != 0;
    tp_cli_histogram_note(&f->latency, tp_cli__load_now_ns() - line->sent_ns);
    tp_cli__load_answer(load, 0, line->asked, reply.ticked.cells[0], status, flags);
    return TP_CLI_OK;
}

/* Ticks until that time, or until every agent has arrived, and takes the last answers. */
static int run_slice(struct closed_loop *loop, uint64_t end_ns)
{
    int result = TP_CLI_OK;
    for (size_t i = 0; result == TP_CLI_OK && i < loop->count; i++)
        result = ask(loop, &loop->lines[i]);
    while (result == TP_CLI_OK && loop->waiting > 0) {
        int ready = poll(loop->fds, loop->count, ANSWER_MS);
        if (ready == 0) {
            loop->load->figures.end = TP_CLI_LOAD_DAEMON_GONE;
            return tp_cli_fail(&tp_cli__load_usage,
                               "the daemon answers no more: %zu requests are unanswered after %d ms",
                               loop->waiting, ANSWER_MS);
        }
        bool goes_on = tp_cli__load_now_ns() < end_ns;
        for (size_t i = 0; ready > 0 && result == TP_CLI_OK && i < loop->count; i++) {
            struct line *line = &loop->lines[i];
            if (loop->fds[i].revents == 0 || !line->waits)
                continue;
            result = take(loop, line);
            if (result == TP_CLI_OK && goes_on && !line->waits)
                result = ask(loop, line);
        }
    }
    return result;
}

static void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

static int run(struct closed_loop *loop)
{
    struct tp_cli_load *load = loop->load;
    struct tp_cli_load_figures *f = &load->figures;
    uint64_t all_ns = (uint64_t)(load->options.seconds * 1e9), shown_ns = tp_cli__load_now_ns();
    uint64_t stop_ns = shown_ns + 10 * all_ns; /* where agents arrive all the time */
    int result = TP_CLI_OK;
    while (result == TP_CLI_OK && f->measured_ns < all_ns && tp_cli__load_now_ns() < stop_ns) {
        uint64_t began_ns = tp_cli__load_now_ns(), left_ns = all_ns - f->measured_ns;
        uint64_t spent_ns = tp_cli_threads_cpu_ns(&load->loops);
        result = run_slice(loop, began_ns + (left_ns < SECOND_NS ? left_ns : SECOND_NS));
        uint64_t ended_ns = tp_cli__load_now_ns();
        f->measured_ns += ended_ns - began_ns;
        sleep_ms(SETTLE_MS);
        f->loop_ns += tp_cli_threads_cpu_ns(&load->loops) - spent_ns;
        if (ended_ns >= shown_ns + SECOND_NS) {
            shown_ns = ended_ns;
            tp_cli__load_progress(load, (double)f->measured_ns / 1e9);
        }
        if (result == TP_CLI_OK && tp_cli_remote_interrupted(&tp_cli__load_usage) != TP_CLI_OK) {
            f->end = TP_CLI_LOAD_INTERRUPTED;
            result = TP_CLI_FAILED;
        }
        if (result == TP_CLI_OK)
            result = tp_cli__load_complete_all(load, false);
        sleep_ms(SETTLE_MS);
        f->off_clock_ns += tp_cli__load_now_ns() - ended_ns;
    }
    f->intended = f->sent;
    return result;
}

int tp_cli__load_single(struct tp_cli_load *load)
{
    struct closed_loop loop = {.load = load, .count = load->client_count};
    loop.lines = calloc(loop.count, sizeof *loop.lines);
    loop.fds = calloc(loop.count, sizeof *loop.fds);
    int result = loop.lines == NULL || loop.fds == NULL ? tp_cli_fail(&tp_cli__load_usage, "out of memory")
                                                        : TP_CLI_OK;
    for (size_t i = 0; result == TP_CLI_OK && i < load->fleet.count; i++) {
        struct line *line = &loop.lines[tp_cli__load_client_of(load, i)];
        line->first = line->count == 0 ? i : line->first;
        line->count++;
    }
    for (size_t i = 0; result == TP_CLI_OK && i < loop.count; i++) {
        loop.lines[i].client = load->clients[i];
        loop.fds[i] = (struct pollfd){.fd = tp_client_socket(load->clients[i]), .events = POLLIN};
    }
    if (result == TP_CLI_OK)
        result = tp_cli__load_complete_all(load, true);
    load->figures.goals = 0;
    if (result == TP_CLI_OK)
        result = run(&loop);
    free(loop.lines);
    free(loop.fds);
    return result;
}
