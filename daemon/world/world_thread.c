#include "daemon/world/world_thread.h"

#include "daemon/log.h"

enum {
    MAIL_STOP = TP_WORLD_MAIL_OWN,
    LOOK_MS = 50, /* between looks at what versions nobody holds any more */
};

void tp_world_thread_init(struct tp_world_thread *thread)
{
    tp_mailbox_init(&thread->box);
    thread->stop.kind = MAIL_STOP;
}

void tp_world_thread_fini(struct tp_world_thread *thread)
{
    tp_mailbox_fini(&thread->box);
}

static void *run(void *argument)
{
    struct tp_world_thread *thread = argument;
    bool is_stopping = false;
    tp_log_thread_name("world");
    tp_world_load_all(thread->world);
    while (!is_stopping || tp_world_busy(thread->world) > 0) {
        struct tp_mail *mail = tp_mailbox_wait(&thread->box, LOOK_MS);
        while (mail != NULL) {
            struct tp_mail *next = mail->next;
            if (mail->kind == MAIL_STOP)
                is_stopping = true;
            else
                tp_world_handle(thread->world, mail);
            mail = next;
        }
        if (is_stopping)
            continue;
        tp_world_look(thread->world);
    }
    return NULL;
}

int tp_world_thread_start(struct tp_world_thread *thread, struct tp_world *world)
{
    thread->world = world;
    return pthread_create(&thread->thread, NULL, run, thread) == 0 ? 0 : TP_ERR_IO;
}

void tp_world_thread_stop(struct tp_world_thread *thread)
{
    tp_mailbox_push(&thread->box, &thread->stop);
    pthread_join(thread->thread, NULL);
}

void tp_world_thread_discard(struct tp_world_thread *thread)
{
    for (struct tp_mail *mail = tp_mailbox_take(&thread->box), *next; mail != NULL; mail = next) {
        next = mail->next;
        tp_world_discard(thread->world, mail);
    }
}

void tp_world_thread_post(struct tp_world_thread *thread, struct tp_mail *mail)
{
    tp_mailbox_push(&thread->box, mail);
}
