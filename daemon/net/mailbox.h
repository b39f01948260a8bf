/* A queue between threads: any number push, one takes all. The link lies inside what is queued, so pushing
 * never allocates and cannot fail.
 *
 * Order: what one thread pushes comes out in the order it was pushed, and a push that happened after another
 * thread's push was seen comes out after it.
 */
#ifndef TP_DAEMON_MAILBOX_H
#define TP_DAEMON_MAILBOX_H

#include "base/line.h"

#include <pthread.h>
#include <stdbool.h>

struct tp_mail {
    struct tp_mail *next;
    int kind; /* the receiver's own numbering */
};

/* Whoever pushes writes here: on cache lines of its own. */
struct tp_mailbox {
    _Alignas(TP_LINE_BYTES) pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct tp_mail *first, *last;
};
_Static_assert(sizeof(struct tp_mailbox) % TP_LINE_BYTES == 0, "a mailbox ends a cache line");

void tp_mailbox_init(struct tp_mailbox *box);
void tp_mailbox_fini(struct tp_mailbox *box);

/* Puts `mail` at the end. Any thread. Returns whether the box was empty (the receiver needs a wake-up call;
 * one that waits in tp_mailbox_wait gets it by itself). */
bool tp_mailbox_push(struct tp_mailbox *box, struct tp_mail *mail);

/* Takes all, oldest first; NULL if there is nothing. */
struct tp_mail *tp_mailbox_take(struct tp_mailbox *box);

/* Likewise, but waits until there is something, or wait_ms have passed (negative: for ever). */
struct tp_mail *tp_mailbox_wait(struct tp_mailbox *box, int wait_ms);

#endif
