/* Happy path: a signal makes SERVING LEAVING; from then on `look` comes every POLL_MS and moves on when the state's time is over or nothing is
 * left. STOPPING is entered once; whoever ends the threads then stops this one too.
 *
 * Failure modes: a loop that searches without end hears of no state; DROPPING sets is_over, which it looks at, so that it comes back.
 * A store that does not answer keeps a connection, or the end itself: that is for the server's own alarm, from DROPPING or STOPPING on.
 */
#include "daemon/life.h"

#include "base/check.h"
#include "base/error.h"
#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/supervisor.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>

enum {
    POLL_MS = 10,           /* from the first signal on */
    LAST_CALL_PERCENT = 75, /* of drain_ms */
};

#define TO(state) (1u << TP_LIFE_##state)
static const struct {
    const char *name;
    unsigned next; /* the states that may follow, a bit each */
} states[TP_LIFE_STATES] = {
    [TP_LIFE_STARTING] = {"starting", TO(SERVING)},
    [TP_LIFE_SERVING] = {"serving", TO(LEAVING)},
    [TP_LIFE_LEAVING] = {"leaving", TO(DRAINING)},
    [TP_LIFE_DRAINING] = {"draining", TO(LAST_CALL) | TO(DROPPING) | TO(STOPPING)},
    [TP_LIFE_LAST_CALL] = {"last call", TO(DROPPING) | TO(STOPPING)},
    [TP_LIFE_DROPPING] = {"dropping", TO(STOPPING)},
    [TP_LIFE_STOPPING] = {"stopping", 0},
};

const char *tp_life_state_name(enum tp_life_state state)
{
    return states[state].name;
}

enum tp_life_state tp_life_state(const struct tp_life *life)
{
    return (enum tp_life_state)atomic_load(&life->state);
}

/* The one place where the state changes. */
static void move(struct tp_life *life, enum tp_life_state to)
{
    TP_CHECK((states[tp_life_state(life)].next & 1u << to) != 0);
    atomic_store(&life->state, to);
}

/* Moves, and tells the server. The life's own thread. */
static void enter(struct tp_life *life, enum tp_life_state to)
{
    move(life, to);
    life->enter(life->context, to);
}

/* ---- A signal ---- */

static void leave(struct tp_life *life)
{
    uint64_t delay_ms = life->config->drain_delay_ms;
    life->drain_ms = life->config->drain_ms;
    life->until_ms = tp_clock_now_ms() + delay_ms;
    tp_log(TP_LOG_INFO, "draining", "left=%" PRId64 " drain_delay_ms=%" PRIu64 " drain_ms=%" PRIu64,
           life->left(life->context), delay_ms, life->drain_ms);
    enter(life, TP_LIFE_LEAVING);
}

static void drop(struct tp_life *life, const char *because)
{
    int64_t left = life->left(life->context);
    if (left > 0)
        tp_log(TP_LOG_WARN, "connections are dropped", "because=\"%s\" left=%" PRId64, because, left);
    atomic_store(&life->is_over, true);
    if (tp_life_state(life) == TP_LIFE_LEAVING)
        enter(life, TP_LIFE_DRAINING); /* it takes no connection */
    enter(life, TP_LIFE_DROPPING);
}

static void act_on_signals(struct tp_life *life)
{
    for (; life->signals > 0 && tp_life_state(life) != TP_LIFE_STARTING; life->signals--) {
        enum tp_life_state state = tp_life_state(life);
        if (state == TP_LIFE_SERVING)
            leave(life);
        else if (state < TP_LIFE_DROPPING)
            drop(life, "a second signal");
    }
}

static void act_on_hangup(struct tp_life *life)
{
    enum tp_life_state state = tp_life_state(life);
    if (!life->is_hung_up || state == TP_LIFE_STARTING)
        return;
    life->is_hung_up = false;
    if (state < TP_LIFE_STOPPING)
        life->hung_up(life->context);
}

/* ---- Time ---- */

/* One move, where it is due. Returns whether another may be. */
static bool move_on(struct tp_life *life)
{
    uint64_t now_ms = tp_clock_now_ms();
    enum tp_life_state state = tp_life_state(life);
    if (state == TP_LIFE_LEAVING) {
        if (now_ms < life->until_ms)
            return false;
        life->until_ms += life->drain_ms * LAST_CALL_PERCENT / 100;
        enter(life, TP_LIFE_DRAINING);
        return true;
    }
    if (state < TP_LIFE_DRAINING || state == TP_LIFE_STOPPING)
        return false;
    if (life->left(life->context) == 0) {
        enter(life, TP_LIFE_STOPPING);
        return false;
    }
    if (state == TP_LIFE_DROPPING || now_ms < life->until_ms)
        return false;
    if (state == TP_LIFE_DRAINING) {
        life->until_ms += life->drain_ms - life->drain_ms * LAST_CALL_PERCENT / 100;
        enter(life, TP_LIFE_LAST_CALL);
    } else {
        drop(life, "the drain's time is over");
    }
    return true;
}

/* Tells the watchdog four times in its interval, as long as every loop was heard of in half of it. */
static void tell_watchdog(struct tp_life *life, uint64_t now_ms)
{
    enum tp_life_state state = tp_life_state(life);
    if (life->watchdog_ms == 0 || state == TP_LIFE_STARTING || now_ms - life->told_ms < life->watchdog_ms / 4)
        return;
    bool was_stuck = life->is_stuck;
    life->is_stuck = !life->answers(life->context, life->watchdog_ms / 2);
    if (life->is_stuck && !was_stuck)
        tp_log(TP_LOG_ERROR, "a loop does not answer: the watchdog is not told", "watchdog_ms=%" PRIu64, life->watchdog_ms);
    if (life->is_stuck)
        return;
    life->told_ms = now_ms;
    tp_supervisor_tell("WATCHDOG=1");
}

static void life_look_cb(uv_timer_t *timer)
{
    struct tp_life *life = timer->data;
    uint64_t now_ms = tp_clock_now_ms();
    if (now_ms - life->trim_ms >= TP_TRIM_MS) {
        life->trim_ms = now_ms;
        tp_trim_look(&life->trim);
        tp_log_tell_suppressed(false);
    }
    tell_watchdog(life, now_ms);
    while (move_on(life)) {
    }
}

/* A signal came, or SERVING has begun. */
static void look_closely(struct tp_life *life)
{
    act_on_signals(life);
    act_on_hangup(life);
    if (tp_life_state(life) > TP_LIFE_SERVING)
        uv_timer_start(&life->look, life_look_cb, 0, POLL_MS);
}

static void life_signal_cb(uv_signal_t *handle, int number)
{
    struct tp_life *life = handle->data;
    tp_log(TP_LOG_INFO, "signal", "number=%d state=\"%s\"", number, tp_life_state_name(tp_life_state(life)));
    life->signals++;
    look_closely(life);
}

/* Many that come at once are one. */
static void life_hangup_cb(uv_signal_t *handle, int number)
{
    struct tp_life *life = handle->data;
    (void)number;
    life->is_hung_up = true;
    uv_async_send(&life->wake);
}

static void life_wake_cb(uv_async_t *async)
{
    look_closely(async->data);
}

/* ---- Start and stop ---- */

static void life_stop_cb(uv_async_t *async)
{
    struct tp_life *life = async->data;
    uv_close((uv_handle_t *)&life->sigterm, NULL);
    uv_close((uv_handle_t *)&life->sigint, NULL);
    uv_close((uv_handle_t *)&life->sighup, NULL);
    uv_close((uv_handle_t *)&life->look, NULL);
    uv_close((uv_handle_t *)&life->wake, NULL);
    uv_close((uv_handle_t *)&life->stop, NULL);
}

static void run(void *argument)
{
    struct tp_life *life = argument;
    sigset_t hangup;
    tp_log_thread_name("life");
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &hangup, NULL);
    uv_run(&life->uv, UV_RUN_DEFAULT);
}

int tp_life_start(struct tp_life *life)
{
    if (uv_loop_init(&life->uv) != 0)
        return TP_ERR_IO;
    if (uv_async_init(&life->uv, &life->stop, life_stop_cb) != 0) {
        uv_loop_close(&life->uv);
        return TP_ERR_IO;
    }
    life->stop.data = life->wake.data = life->sigterm.data = life->sigint.data = life->sighup.data = life->look.data = life;
    uv_signal_init(&life->uv, &life->sigterm);
    uv_signal_init(&life->uv, &life->sigint);
    uv_signal_init(&life->uv, &life->sighup);
    uv_timer_init(&life->uv, &life->look);
    life->watchdog_ms = tp_supervisor_watchdog_ms();
    uint64_t look_ms = life->watchdog_ms > 0 && life->watchdog_ms / 8 < TP_TRIM_MS ? life->watchdog_ms / 8 + 1 : TP_TRIM_MS;
    uv_timer_start(&life->look, life_look_cb, look_ms, look_ms);
    if (uv_async_init(&life->uv, &life->wake, life_wake_cb) == 0) {
        if (uv_signal_start(&life->sigterm, life_signal_cb, SIGTERM) == 0 &&
            uv_signal_start(&life->sigint, life_signal_cb, SIGINT) == 0 &&
            uv_signal_start(&life->sighup, life_hangup_cb, SIGHUP) == 0 &&
            uv_thread_create(&life->thread, run, life) == 0) {
            life->has_thread = true;
            return 0;
        }
        uv_close((uv_handle_t *)&life->wake, NULL);
    }
    uv_close((uv_handle_t *)&life->sigterm, NULL);
    uv_close((uv_handle_t *)&life->sigint, NULL);
    uv_close((uv_handle_t *)&life->sighup, NULL);
    uv_close((uv_handle_t *)&life->look, NULL);
    uv_close((uv_handle_t *)&life->stop, NULL);
    uv_run(&life->uv, UV_RUN_DEFAULT);
    uv_loop_close(&life->uv);
    return TP_ERR_IO;
}

void tp_life_serving(struct tp_life *life)
{
    move(life, TP_LIFE_SERVING);
    uv_async_send(&life->wake);
}

void tp_life_stop(struct tp_life *life)
{
    if (!life->has_thread)
        return;
    uv_async_send(&life->stop);
    uv_thread_join(&life->thread);
    uv_loop_close(&life->uv);
    life->has_thread = false;
}
