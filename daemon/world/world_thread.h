/* The thread that the world runs on: takes mails from its box, hands them to the world one by one. */
#ifndef TP_DAEMON_WORLD_THREAD_H
#define TP_DAEMON_WORLD_THREAD_H

#include "daemon/net/mailbox.h"
#include "daemon/world/world.h"

struct tp_world_thread {
    struct tp_mailbox box;
    struct tp_world *world; /* borrowed */
    struct tp_mail stop;
    pthread_t thread;
};

void tp_world_thread_init(struct tp_world_thread *thread);
void tp_world_thread_fini(struct tp_world_thread *thread);

/* Begins with asking the store for all its maps. TP_ERR_IO: no thread. */
int tp_world_thread_start(struct tp_world_thread *thread, struct tp_world *world) TP_MUST_CHECK;

/* Handles what was posted before, waits until the store has answered all, ends and joins the thread. */
void tp_world_thread_stop(struct tp_world_thread *thread);

/* Throws away what came after tp_world_thread_stop; nobody posts any more, and the world is still there. */
void tp_world_thread_discard(struct tp_world_thread *thread);

/* Gives a mail to the world. Any thread. */
void tp_world_thread_post(struct tp_world_thread *thread, struct tp_mail *mail);

#endif
