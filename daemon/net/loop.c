#include "daemon/net/loop.h"

#include "base/check.h"
#include "daemon/net/connection.h"
#include "daemon/log.h"

#include <stdio.h>
#include <stdlib.h>

static void close_handles(struct tp_loop *loop)
{
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->look, NULL);
    uv_close((uv_handle_t *)&loop->again, NULL);
}

static void give_view_back(struct tp_loop *loop)
{
    struct tp_view_copy *view = loop->view;
    loop->view = NULL;
    if (view != NULL)
        view->done(view);
}

static void handle_mail(struct tp_loop *loop, struct tp_mail *mail)
{
    switch (mail->kind) {
    case TP_SHARD_MAIL_MAP: {
        struct tp_world_publication *publication = (struct tp_world_publication *)mail;
        if (loop->view != NULL && (publication->ends || publication->map == NULL))
            tp_view_copy_forget(loop->view, publication->of);
        if (publication->ends) {
            tp_connection_end_sessions(loop, publication);
            tp_world_ended(loop->shard.world, publication);
            break;
        }
        tp_connection_published(loop, publication);
        tp_shard_publish(&loop->shard, publication);
        break;
    }
    case TP_SHARD_MAIL_ANSWER:
        tp_connection_answer((struct tp_world_request *)mail);
        break;
    case TP_LOOP_MAIL_ACCEPTED: {
        struct tp_loop_accepted *accepted = (struct tp_loop_accepted *)mail;
        tp_connection_open(loop, accepted->fd, accepted->is_refused);
        free(accepted);
        break;
    }
    case TP_LOOP_MAIL_DRAIN:
        loop->shard.is_draining = true;
        break;
    case TP_LOOP_MAIL_LAST_CALL:
        loop->is_last_call = true;
        break;
    case TP_LOOP_MAIL_DROP:
        loop->is_dropping = true;
        tp_connection_drop_all(loop, "shutdown");
        break;
    case TP_LOOP_MAIL_VIEW:
        TP_CHECK(loop->view == NULL);
        loop->view = (struct tp_view_copy *)mail;
        loop->view_at = loop->first;
        tp_loop_again(loop);
        break;
    case TP_LOOP_MAIL_STOP:
        give_view_back(loop);
        close_handles(loop);
        break;
    default:
        TP_CHECK(!"a mail of unknown kind");
    }
}

void tp_loop_take_mail(struct tp_loop *loop)
{
    struct tp_mail *mail = tp_mailbox_take(&loop->box);
    while (mail != NULL) {
        struct tp_mail *next = mail->next;
        handle_mail(loop, mail);
        mail = next;
    }
}

static void loop_wake_cb(uv_async_t *wake)
{
    tp_loop_take_mail(wake->data);
}

/* ---- Memory that will be needed ---- */

/* A thread of libuv's. */
static void loop_touch_cb(uv_work_t *work)
{
    struct tp_loop *loop = work->data;
    tp_slabs_touch(loop->ahead);
}

static void loop_touched_cb(uv_work_t *work, int error)
{
    struct tp_loop *loop = work->data;
    (void)error; /* it was not called off: nobody does */
    tp_slabs_touched(&loop->shard.slabs, loop->ahead);
}

static void loop_look_at_slabs(struct tp_loop *loop)
{
    void *ahead = tp_slabs_look(&loop->shard.slabs);
    if (ahead == NULL)
        return;
    loop->ahead = ahead;
    if (uv_queue_work(&loop->uv, &loop->touching, loop_touch_cb, loop_touched_cb) != 0)
        tp_slabs_touched(&loop->shard.slabs, ahead); /* the tick that needs it touches it */
}

/* ---- The loop ---- */

static void loop_look_cb(uv_timer_t *look)
{
    struct tp_loop *loop = look->data;
    atomic_store_explicit(&loop->looked_ms, tp_clock_now_ms(), memory_order_relaxed);
    tp_connection_look_all(loop);
    loop_look_at_slabs(loop);
    tp_slow_look(&loop->shard.metrics->slow, loop->shard.clock.now_us(loop->shard.clock.context));
    if (++loop->looks < TP_LOOP_TRIM_LOOKS)
        return;
    loop->looks = 0;
    tp_shard_trim(&loop->shard);
}

static void loop_again_cb(uv_idle_t *again)
{
    struct tp_loop *loop = again->data;
    tp_connection_run_again(loop);
    if (tp_shard_has_closed(&loop->shard))
        tp_shard_free_closed(&loop->shard);
    if (loop->view != NULL && tp_connection_view(loop))
        give_view_back(loop);
    if (loop->runnable == NULL && loop->view == NULL && !tp_shard_has_closed(&loop->shard))
        uv_idle_stop(again);
}

int tp_loop_init(struct tp_loop *loop, struct tp_pool_cap *cap, _Atomic int64_t *connections)
{
    int error = tp_shard_init(&loop->shard, cap);
    if (error != 0)
        return error;
    if (uv_loop_init(&loop->uv) != 0) {
        tp_shard_fini(&loop->shard);
        return TP_ERR_IO;
    }
    if (uv_async_init(&loop->uv, &loop->wake, loop_wake_cb) != 0) {
        uv_loop_close(&loop->uv);
        tp_shard_fini(&loop->shard);
        return TP_ERR_IO;
    }
    uv_timer_init(&loop->uv, &loop->look);
    uv_idle_init(&loop->uv, &loop->again);
    loop->wake.data = loop->look.data = loop->again.data = loop->touching.data = loop;
    uv_timer_start(&loop->look, loop_look_cb, TP_LOOP_LOOK_MS, TP_LOOP_LOOK_MS);
    atomic_store(&loop->looked_ms, tp_clock_now_ms());
    tp_mailbox_init(&loop->box);
    loop->connections = connections;
    loop->runnable_end = &loop->runnable;
    loop->drain.kind = TP_LOOP_MAIL_DRAIN;
    loop->last_call.kind = TP_LOOP_MAIL_LAST_CALL;
    loop->drop.kind = TP_LOOP_MAIL_DROP;
    loop->stop.kind = TP_LOOP_MAIL_STOP;
    return 0;
}

void tp_loop_fini(struct tp_loop *loop)
{
    TP_CHECK(loop->first == NULL);
    TP_CHECK(uv_loop_close(&loop->uv) == 0);
    tp_mailbox_fini(&loop->box);
    tp_shard_fini(&loop->shard);
}

void tp_loop_run(struct tp_loop *loop)
{
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

static void *loop_thread(void *argument)
{
    struct tp_loop *loop = argument;
    char name[16];
    snprintf(name, sizeof name, "loop%u", loop->shard.index);
    tp_log_thread_name(name);
    tp_loop_run(loop);
    return NULL;
}

int tp_loop_start(struct tp_loop *loop)
{
    loop->has_thread = pthread_create(&loop->thread, NULL, loop_thread, loop) == 0;
    return loop->has_thread ? 0 : TP_ERR_IO;
}

void tp_loop_join(struct tp_loop *loop)
{
    if (loop->has_thread)
        pthread_join(loop->thread, NULL);
    loop->has_thread = false;
}

void tp_loop_post(struct tp_loop *loop, struct tp_mail *mail)
{
    if (tp_mailbox_push(&loop->box, mail))
        uv_async_send(&loop->wake);
}

void tp_loop_again(struct tp_loop *loop)
{
    uv_idle_start(&loop->again, loop_again_cb);
}
