#include "tests/lib/ticker.h"

#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TICK_PAUSE_US = 2000, BUDGET_K = 20, START_MS = 3 * WIRE_TIMEOUT_MS };

static void take_breath(void)
{
    nanosleep(&(struct timespec){.tv_nsec = TICK_PAUSE_US * 1000}, NULL);
}

/* Keeps the first thing that was amiss. */
static void go_wrong(struct ticker *ticker, const char *words, const Tickpath__Reply *reply)
{
    const Tickpath__Error *error =
        reply && reply->body_case == TICKPATH__REPLY__BODY_ERROR ? reply->error : NULL;
    snprintf(ticker->failure, sizeof ticker->failure, "%s%s%.100s", words, error ? ": " : "",
             error && error->message ? error->message : "");
}

static Tickpath__Reply *ask(struct ticker *ticker, struct wire *wire, Tickpath__Request__BodyCase kind,
                            void *message, Tickpath__Reply__BodyCase want)
{
    wire_send(wire, kind, message);
    Tickpath__Reply *reply = NULL;
    enum wire_got got = wire_poll(wire, &reply, WIRE_TIMEOUT_MS);
    if (got != WIRE_GOT_FRAME)
        go_wrong(ticker, got == WIRE_GOT_CLOSE ? "the daemon ended the connection" : "no answer in time",
                 NULL);
    else if (reply->body_case != want)
        go_wrong(ticker, "another answer than one of its kind", reply);
    else
        return reply;
    wire_reply_free(reply);
    return NULL;
}

/* Gives the session, 0 where it came to nothing. */
static uint64_t open_session(struct ticker *ticker, struct wire *wire, uint32_t from, uint32_t to)
{
    Tickpath__Budget budget = TICKPATH__BUDGET__INIT;
    budget.has_k = 1;
    budget.k = BUDGET_K;
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    open.map = ticker->map;
    open.has_start = open.has_goal = 1;
    open.start = from;
    open.goal = to;
    open.budget = &budget;
    Tickpath__Reply *reply =
        ask(ticker, wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open, TICKPATH__REPLY__BODY_SESSION_OPENED);
    if (!reply)
        return 0;
    uint64_t session = reply->session_opened->session;
    ticker->epoch = reply->session_opened->epoch;
    ticker->version = reply->session_opened->version;
    wire_reply_free(reply);
    return session;
}

static void turn_round(struct ticker *ticker, struct wire *wire, uint64_t session, uint32_t to)
{
    Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
    set.has_session = set.has_goal = 1;
    set.session = session;
    set.goal = to;
    wire_reply_free(
        ask(ticker, wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set, TICKPATH__REPLY__BODY_GOAL_SET));
}

/* One tick; false once something is wrong. */
static bool step(struct ticker *ticker, struct wire *wire, uint64_t *session, bool *is_back)
{
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.n_session = 1;
    tick.session = session;
    uint64_t from_ms = wire_now_ms();
    Tickpath__Reply *reply =
        ask(ticker, wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    if (!reply)
        return false;
    uint64_t took_ms = wire_now_ms() - from_ms;
    if (took_ms > ticker->longest_ms)
        ticker->longest_ms = took_ms;
    const Tickpath__Ticked *ticked = reply->ticked;
    if (ticked->n_session == 1) {
        atomic_fetch_add(&ticker->ticks, 1);
        if (ticked->version[0] < ticker->version)
            go_wrong(ticker, "a tick named an earlier version than the one before", NULL);
        ticker->version = ticked->version[0];
        if (ticked->status[0] == TICKPATH__STATUS__ARRIVED) {
            *is_back = !*is_back;
            turn_round(ticker, wire, *session, *is_back ? ticker->from : ticker->to);
        }
    } else if (ticked->n_refused == 1) { /* the session has gone with its epoch: that is how it is told */
        atomic_fetch_add(&ticker->told, 1);
        *session = open_session(ticker, wire, *is_back ? ticker->to : ticker->from,
                                *is_back ? ticker->from : ticker->to);
    } else {
        go_wrong(ticker, "a tick answered neither the session nor why not", NULL);
    }
    wire_reply_free(reply);
    return !ticker->failure[0];
}

static void *ticker_main(void *context)
{
    struct ticker *ticker = context;
    struct wire wire;
    wire_open_greeted(&wire, ticker->port);
    bool is_back = false;
    uint64_t session = open_session(ticker, &wire, ticker->from, ticker->to);
    while (session && !atomic_load(&ticker->is_ending) && step(ticker, &wire, &session, &is_back))
        take_breath();
    wire_close(&wire);
    return NULL;
}

void ticker_start(struct ticker *ticker, uint16_t port, const char *map, uint32_t from, uint32_t to)
{
    ck_assert(!ticker->is_running);
    *ticker = (struct ticker){.is_running = true, .port = port, .from = from, .to = to};
    snprintf(ticker->map, sizeof ticker->map, "%s", map);
    ck_assert_int_eq(pthread_create(&ticker->thread, NULL, ticker_main, ticker), 0);
    for (uint64_t until = wire_now_ms() + START_MS; ticker->ticks == 0 && ticker->told == 0; take_breath()) {
        if (wire_now_ms() < until)
            continue;
        ticker_stop(ticker);
        ck_abort_msg("no first tick: %s", ticker->failure);
    }
}

void ticker_stop(struct ticker *ticker)
{
    if (!ticker->is_running)
        return;
    atomic_store(&ticker->is_ending, true);
    pthread_join(ticker->thread, NULL);
    ticker->is_running = false;
}
