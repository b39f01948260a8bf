#include "daemon/net/mailbox.h"

#include <stddef.h>
#include <time.h>

void tp_mailbox_init(struct tp_mailbox *box)
{
    pthread_mutex_init(&box->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&box->arrived, &attributes);
    pthread_condattr_destroy(&attributes);
    box->first = box->last = NULL;
}

void tp_mailbox_fini(struct tp_mailbox *box)
{
    pthread_mutex_destroy(&box->lock);
    pthread_cond_destroy(&box->arrived);
}

bool tp_mailbox_push(struct tp_mailbox *box, struct tp_mail *mail)
{
    mail->next = NULL;
    pthread_mutex_lock(&box->lock);
    bool was_empty = box->first == NULL;
    if (was_empty)
        box->first = mail;
    else
        box->last->next = mail;
    box->last = mail;
    pthread_cond_signal(&box->arrived);
    pthread_mutex_unlock(&box->lock);
    return was_empty;
}

static struct tp_mail *take_locked(struct tp_mailbox *box)
{
    struct tp_mail *first = box->first;
    box->first = box->last = NULL;
    return first;
}

struct tp_mail *tp_mailbox_take(struct tp_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    struct tp_mail *first = take_locked(box);
    pthread_mutex_unlock(&box->lock);
    return first;
}

struct tp_mail *tp_mailbox_wait(struct tp_mailbox *box, int wait_ms)
{
    struct timespec end = {0};
    if (wait_ms >= 0) {
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += wait_ms / 1000;
        end.tv_nsec += (long)(wait_ms % 1000) * 1000000;
        if (end.tv_nsec >= 1000000000) {
            end.tv_sec++;
            end.tv_nsec -= 1000000000;
        }
    }
    pthread_mutex_lock(&box->lock);
    while (box->first == NULL)
        if (wait_ms < 0)
            pthread_cond_wait(&box->arrived, &box->lock);
        else if (pthread_cond_timedwait(&box->arrived, &box->lock, &end) != 0)
            break;
    struct tp_mail *first = take_locked(box);
    pthread_mutex_unlock(&box->lock);
    return first;
}
