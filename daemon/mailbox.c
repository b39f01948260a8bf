#include "daemon/mailbox.h"

#include <stddef.h>

void tp_mailbox_init(struct tp_mailbox *box)
{
    pthread_mutex_init(&box->lock, NULL);
    pthread_cond_init(&box->arrived, NULL);
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

struct tp_mail *tp_mailbox_wait(struct tp_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    while (box->first == NULL)
        pthread_cond_wait(&box->arrived, &box->lock);
    struct tp_mail *first = take_locked(box);
    pthread_mutex_unlock(&box->lock);
    return first;
}
