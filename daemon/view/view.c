/* Happy path: the first stream wakes the thread. A round of its feed begins: the loops that have no mail of ours are asked for their
 * agents; each fills the copy between its frames and gives it back into our box; when all are back the feed composes a frame. A
 * session that is asked for goes the same way, before the feeds.
 *
 * Failure modes: a loop in a long tick keeps its mail, and is not sent another: rounds end without it after a while, and its agents
 * stand where they were. Out of memory leaves out a frame, and the next one is a key. At the end of the daemon nothing is
 * posted any more (tp_view_quiet); mails that loops still have are never read again, and freed after the loops.
 */
#include "daemon/view/view_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 1024 };

const struct tp_stats_source *tp_view_source(const struct tp_view *view)
{
    return view->config.source;
}

struct tp_world *tp_view_world(const struct tp_view *view)
{
    return view->config.world;
}

void tp__view_wake(struct tp_view *view)
{
    if (view->is_woken)
        return;
    view->is_woken = true;
    tp_mailbox_push(&view->box, &view->wake);
}

/* ---- Loops ---- */

/* On the loop's thread. */
static void copy_done_cb(struct tp_view_copy *copy)
{
    struct tp_view *view = copy->owner;
    tp_mailbox_push(&view->box, &copy->mail);
}

static void post(struct tp_view *view, struct tp__view_slot *slot)
{
    tp_view_copy_begin(&slot->copy);
    slot->is_out = true;
    view->config.post(view->config.context, slot->copy.loop, &slot->copy.mail);
}

/* More room for a loop that had more agents than there was room for. */
static void make_room(struct tp__view_slot *slot)
{
    uint32_t capacity = slot->copy.capacity == 0 ? ROOM_MIN : slot->copy.capacity;
    while (slot->copy.missed > 0 && capacity < slot->copy.count + slot->copy.missed && capacity < TP_VIEW_AGENTS_MAX)
        capacity *= 2;
    if (capacity == slot->copy.capacity)
        return;
    struct tp_view_agent *agents = realloc(slot->copy.agents, capacity * sizeof *agents);
    if (agents == NULL)
        return;
    slot->copy.agents = agents;
    slot->copy.capacity = capacity;
}

static bool post_for_ask(struct tp_view *view, struct tp__view_slot *slot)
{
    for (struct tp_view_ask *ask = view->asks; ask != NULL; ask = ask->next) {
        if (!ask->wanted[slot->copy.loop])
            continue;
        ask->wanted[slot->copy.loop] = false;
        if (slot->copy.dump == NULL && (slot->copy.dump = malloc(sizeof *slot->copy.dump)) == NULL)
            continue; /* it ends with a timeout, unless another loop has it */
        slot->ask = ask;
        slot->copy.session = ask->id;
        slot->copy.scan = ask->scan;
        post(view, slot);
        return true;
    }
    return false;
}

static void post_for_feed(struct tp_view *view, struct tp__view_slot *slot)
{
    for (struct tp__view_feed *feed = view->feeds; feed != NULL; feed = feed->next) {
        if (!feed->is_out || !feed->wanted[slot->copy.loop])
            continue;
        feed->wanted[slot->copy.loop] = false;
        make_room(slot);
        slot->feed = feed;
        slot->copy.session = 0;
        slot->copy.of = feed->of;
        post(view, slot);
        return;
    }
}

static void post_all(struct tp_view *view)
{
    for (unsigned i = 0; i < view->config.loops && !view->is_quiet; i++)
        if (!view->slots[i].is_out && !post_for_ask(view, &view->slots[i]))
            post_for_feed(view, &view->slots[i]);
}

/* ---- Sessions asked for ---- */

static void end_ask(struct tp_view_ask *ask, int error)
{
    struct tp_view *view = ask->view;
    struct tp_view_ask **link = &view->asks;
    while (*link != ask)
        link = &(*link)->next;
    *link = ask->next;
    for (unsigned i = 0; i < view->config.loops; i++)
        if (view->slots[i].ask == ask)
            view->slots[i].ask = NULL;
    ask->is_done = true;
    ask->error = error;
    view->config.resume(ask->waiting);
}

static bool is_awaited(const struct tp_view_ask *ask)
{
    for (unsigned i = 0; i < ask->view->config.loops; i++)
        if (ask->wanted[i] || ask->view->slots[i].ask == ask)
            return true;
    return false;
}

static void take_session(struct tp__view_slot *slot)
{
    struct tp_view_ask *ask = slot->ask;
    slot->ask = NULL;
    if (ask == NULL)
        return;
    if (slot->copy.is_found) {
        struct tp_dump *other = ask->dump;
        ask->dump = slot->copy.dump;
        slot->copy.dump = other;
        end_ask(ask, 0);
    } else if (!is_awaited(ask)) {
        end_ask(ask, TP_ERR_NOT_FOUND);
    }
}

static void look_at_asks(struct tp_view *view, uint64_t now_ms)
{
    struct tp_view_ask *next;
    for (struct tp_view_ask *ask = view->asks; ask != NULL; ask = next) {
        next = ask->next;
        if (view->is_quiet)
            end_ask(ask, TP_ERR_SHUTTING_DOWN);
        else if (now_ms - ask->begun_ms >= TP_VIEW_ASK_MS)
            end_ask(ask, TP_ERR_TIMEOUT);
    }
}

int tp_view_ask_open(struct tp_view *view, uint64_t id, const struct tp_inspect_scan *scan, void *connection,
                     struct tp_view_ask **out)
{
    *out = NULL;
    struct tp_view_ask *ask = calloc(1, sizeof *ask);
    bool *wanted = malloc(view->config.loops * sizeof *wanted);
    struct tp_dump *dump = malloc(sizeof *dump);
    int error = ask == NULL || wanted == NULL || dump == NULL ? TP_ERR_NO_MEMORY : 0;
    pthread_mutex_lock(&view->lock);
    if (error == 0 && (view->is_quiet || view->is_over))
        error = TP_ERR_SHUTTING_DOWN;
    if (error == 0 && view->asks_count >= TP_VIEW_ASKS_MAX)
        error = TP_ERR_RESOURCE_EXHAUSTED;
    if (error == 0) {
        memset(wanted, true, view->config.loops);
        *ask = (struct tp_view_ask){.view = view,
                                    .next = view->asks,
                                    .id = id,
                                    .begun_ms = tp_clock_now_ms(),
                                    .wanted = wanted,
                                    .scan = *scan,
                                    .dump = dump,
                                    .waiting = connection};
        view->asks = ask;
        view->asks_count++;
        view->config.suspend(connection);
        tp__view_wake(view);
    }
    pthread_mutex_unlock(&view->lock);
    if (error != 0) {
        free(dump);
        free(wanted);
        free(ask);
        return error;
    }
    *out = ask;
    return 0;
}

int tp_view_ask_answer(const struct tp_view_ask *ask, const struct tp_dump **dump)
{
    pthread_mutex_lock(&ask->view->lock);
    int error = ask->is_done ? ask->error : TP_ERR_SHUTTING_DOWN;
    *dump = error == 0 ? ask->dump : NULL;
    pthread_mutex_unlock(&ask->view->lock);
    return error;
}

void tp_view_ask_close(struct tp_view_ask *ask)
{
    struct tp_view *view = ask->view;
    pthread_mutex_lock(&view->lock);
    view->asks_count--;
    pthread_mutex_unlock(&view->lock);
    free(ask->dump);
    free(ask->wanted);
    free(ask);
}

/* ---- The thread ---- */

static void take_mail(struct tp_view *view, struct tp_mail *mail)
{
    while (mail != NULL) {
        struct tp_mail *next = mail->next;
        if (mail == &view->wake) {
            view->is_woken = false;
        } else {
            struct tp__view_slot *slot = (struct tp__view_slot *)mail;
            slot->is_out = false;
            if (slot->copy.session != 0)
                take_session(slot);
            else if (slot->feed != NULL)
                tp_view_agents_take(&slot->feed->agents, &slot->copy);
            slot->feed = NULL;
        }
        mail = next;
    }
}

static bool is_round_whole(const struct tp_view *view, const struct tp__view_feed *feed)
{
    for (unsigned i = 0; i < view->config.loops; i++)
        if (feed->wanted[i] || view->slots[i].feed == feed)
            return false;
    return true;
}

static int wait_ms(const struct tp_view *view, uint64_t now_ms)
{
    uint64_t end = UINT64_MAX;
    for (const struct tp__view_feed *feed = view->feeds; feed != NULL; feed = feed->next) {
        uint64_t at = feed->is_out ? feed->round_ms + tp__view_feed_patience_ms(feed) : feed->due_ms;
        end = at < end ? at : end;
    }
    for (const struct tp_view_ask *ask = view->asks; ask != NULL; ask = ask->next)
        end = ask->begun_ms + TP_VIEW_ASK_MS < end ? ask->begun_ms + TP_VIEW_ASK_MS : end;
    return end == UINT64_MAX ? -1 : end <= now_ms ? 0 : (int)(end - now_ms);
}

static void look(struct tp_view *view, uint64_t now_ms)
{
    tp__view_feeds_sweep(view);
    look_at_asks(view, now_ms);
    for (struct tp__view_feed *feed = view->feeds; feed != NULL; feed = feed->next)
        tp__view_feed_begin(view, feed, now_ms);
    post_all(view);
    for (struct tp__view_feed *feed = view->feeds; feed != NULL; feed = feed->next)
        if (feed->is_out &&
            (is_round_whole(view, feed) || now_ms - feed->round_ms >= tp__view_feed_patience_ms(feed)))
            tp__view_feed_compose(view, feed, now_ms);
}

static void *view_thread(void *argument)
{
    struct tp_view *view = argument;
    tp_log_thread_name("view");
    int wait = -1;
    bool goes_on = true;
    while (goes_on) {
        struct tp_mail *mail = tp_mailbox_wait(&view->box, wait);
        pthread_mutex_lock(&view->lock);
        take_mail(view, mail);
        uint64_t now_ms = tp_clock_now_ms();
        look(view, now_ms);
        wait = wait_ms(view, now_ms);
        goes_on = !view->is_over;
        pthread_mutex_unlock(&view->lock);
    }
    return NULL;
}

/* ---- Life ---- */

static void free_view(struct tp_view *view)
{
    for (unsigned i = 0; view->slots != NULL && i < view->config.loops; i++) {
        free(view->slots[i].copy.agents);
        free(view->slots[i].copy.dump);
    }
    free(view->slots);
    tp_text_fini(&view->frame);
    tp_text_fini(&view->key);
    tp_text_fini(&view->events);
    tp_text_fini(&view->scratch);
    tp_mailbox_fini(&view->box);
    pthread_mutex_destroy(&view->lock);
    free(view);
}

int tp_view_start(struct tp_view **out, const struct tp_view_config *config)
{
    *out = NULL;
    struct tp_view *view = tp_lines_alloc(sizeof *view);
    if (view == NULL)
        return TP_ERR_NO_MEMORY;
    view->config = *config;
    pthread_mutex_init(&view->lock, NULL);
    tp_mailbox_init(&view->box);
    view->slots = calloc(config->loops, sizeof view->slots[0]);
    int error = view->slots == NULL ? TP_ERR_NO_MEMORY : 0;
    for (unsigned i = 0; error == 0 && i < config->loops; i++) {
        view->slots[i].copy.done = copy_done_cb;
        view->slots[i].copy.owner = view;
        view->slots[i].copy.loop = i;
    }
    if (error == 0 && pthread_create(&view->thread, NULL, view_thread, view) != 0)
        error = TP_ERR_IO;
    if (error != 0) {
        free_view(view);
        return error;
    }
    *out = view;
    return 0;
}

void tp_view_quiet(struct tp_view *view)
{
    if (view == NULL)
        return;
    pthread_mutex_lock(&view->lock);
    view->is_quiet = true;
    tp__view_wake(view);
    pthread_mutex_unlock(&view->lock);
}

void tp_view_stop(struct tp_view *view)
{
    if (view == NULL)
        return;
    pthread_mutex_lock(&view->lock);
    view->is_quiet = view->is_over = true;
    tp__view_streams_end(view);
    tp__view_wake(view);
    pthread_mutex_unlock(&view->lock);
    pthread_join(view->thread, NULL);
}

void tp_view_close(struct tp_view *view)
{
    if (view != NULL)
        free_view(view);
}
