/* The happy path of a batch: embedded_submit() queues it; the thread takes all that is queued, submit() sorts
 * the batches by map, has those of one map decided, written and synced together, then tells the event of each in the order of the calls.
 * After that logs that have grown long are folded. While degraded the thread looks every RETRY_MS whether the disk works again, however
 * busy it is. */
#include "daemon/store/store_embedded.h"

#include "daemon/clock.h"
#include "daemon/store/folder.h"
#include "daemon/log.h"
#include "daemon/net/mailbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_MS = 1000 };

enum call_kind { CALL_PUT, CALL_SUBMIT, CALL_LOAD, CALL_LIST, CALL_DROP, CALL_STOP };

struct call {
    struct tp_mail mail; /* kind: enum call_kind */
    char name[TP_WORLD_NAME_MAX + 1];
    struct tp_folder_batch asked; /* its event answers every kind of call but a list */
    const struct tp_map *map;     /* put: a reference */
    bool replace;                 /* put */
    bool has_epoch;               /* drop */
    uint64_t epoch;
    tp_store_listed_cb listed;
    bool is_sorted; /* while submit() sorts by map */
};

struct embedded {
    struct tp_store store; /* first */
    struct tp_mailbox box;
    pthread_t thread;
    struct tp_mail stop;
    struct tp_folder folder;
};

static void free_call(struct call *call)
{
    tp_map_unref(call->map);
    free(call);
}

static struct call *behind(const struct call *call)
{
    return (struct call *)call->mail.next;
}

/* ---- The thread ---- */

/* Tells what came of a call, and forgets it. */
static void tell(struct embedded *embedded, struct call *call)
{
    if (embedded->store.event(embedded->store.event_context, &call->asked.event) != 0)
        tp_map_unref(call->asked.event.map);
    free_call(call);
}

/* Gathers the batches of first's map among the calls up to `end`; returns how many. */
static uint32_t gather(struct call *first, const struct call *end, struct tp_folder_batch **same)
{
    uint32_t count = 0;
    for (struct call *call = first; call != end; call = behind(call)) {
        if (strcmp(call->name, first->name) == 0) {
            call->is_sorted = true;
            same[count++] = &call->asked;
        }
    }
    return count;
}

/* Does all batches of a chain (count calls, linked by mail.next), tells in their order, folds. */
static void submit(struct embedded *embedded, struct call *first, size_t count)
{
    struct tp_folder_batch **same = malloc(count * sizeof(struct tp_folder_batch *));
    struct call *end = first;
    for (size_t i = 0; i < count; i++, end = behind(end)) {
        end->asked.event.kind = TP_STORE_REFUSED;
        end->asked.event.error = TP_ERR_NO_MEMORY;
    }
    for (struct call *call = first; same != NULL && call != end; call = behind(call))
        if (!call->is_sorted)
            tp_folder_submit(&embedded->folder, same, gather(call, end, same));
    free(same);
    for (struct call *call = first, *next; call != end; call = next) {
        next = behind(call);
        tell(embedded, call);
    }
    tp_folder_fold(&embedded->folder);
}

static void list(struct embedded *embedded, struct call *call)
{
    struct tp_names names;
    int error = tp_folder_list(&embedded->folder, &names);
    call->listed(error, (const char *const *)names.name, names.count, call->asked.event.context);
    tp_names_fini(&names);
    free_call(call);
}

/* Does one call, or all batches that stand together. Gives the mail behind; NULL with *stops set at the end.
 */
static struct tp_mail *serve(struct embedded *embedded, struct tp_mail *mail, bool *stops)
{
    struct call *call = (struct call *)mail;
    struct tp_folder *folder = &embedded->folder;
    struct tp_mail *next = mail;
    size_t batches = 0;
    for (; next != NULL && next->kind == CALL_SUBMIT; next = next->next)
        batches++;
    if (batches > 0) {
        submit(embedded, call, batches);
        return next;
    }
    next = mail->next;
    switch (mail->kind) {
    case CALL_PUT:
        tp_folder_put(folder, call->map, call->replace, &call->asked.event);
        break;
    case CALL_DROP:
        tp_folder_drop(folder, call->has_epoch, call->epoch, &call->asked.event);
        break;
    case CALL_LOAD:
        tp_folder_load(folder, &call->asked.event);
        break;
    case CALL_LIST:
        list(embedded, call);
        return next;
    default:
        *stops = true;
        return NULL;
    }
    tell(embedded, call);
    return next;
}

/* A drop that was in doubt is done. */
static bool gone_cb(void *context, const char *name)
{
    struct embedded *embedded = context;
    const struct tp_store_event event = {.kind = TP_STORE_DROPPED, .name = name};
    return embedded->store.event(embedded->store.event_context, &event) == 0;
}

static void *run(void *argument)
{
    struct embedded *embedded = argument;
    bool stops = false, is_degraded = false;
    uint64_t retry_us = 0; /* while degraded: when to look again */
    tp_log_thread_name("store");
    while (!stops) {
        uint64_t now_us = tp_clock_now_us();
        bool was_degraded = is_degraded;
        is_degraded = tp_folder_is_degraded(&embedded->folder);
        if (is_degraded && !was_degraded) {
            retry_us = now_us + RETRY_MS * 1000;
        } else if (is_degraded && now_us >= retry_us) {
            tp_folder_retry(&embedded->folder, gone_cb, embedded);
            retry_us = tp_clock_now_us() + RETRY_MS * 1000;
            continue;
        }
        int wait_ms = is_degraded ? (int)((retry_us - now_us) / 1000) + 1 : -1;
        struct tp_mail *mail = tp_mailbox_wait(&embedded->box, wait_ms);
        embedded->folder.held = embedded->store.held; /* attached before the first call */
        while (mail != NULL)
            mail = serve(embedded, mail, &stops);
    }
    return NULL;
}

/* ---- The interface ---- */

static struct call *call_new(enum call_kind kind, const char *name, void *context)
{
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    call->mail.kind = kind;
    snprintf(call->name, sizeof call->name, "%s", name);
    call->asked.event.name = call->name;
    call->asked.event.context = context;
    return call;
}

static void queue(struct tp_store *store, struct call *call)
{
    tp_mailbox_push(&((struct embedded *)store)->box, &call->mail);
}

static int embedded_put(struct tp_store *store, const char *name, const struct tp_map *map, bool replace,
                        void *context)
{
    struct call *call = call_new(CALL_PUT, name, context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    call->map = tp_map_ref(map);
    call->replace = replace;
    queue(store, call);
    return 0;
}

static int embedded_submit(struct tp_store *store, const char *name, struct tp_batch *batch, void *context)
{
    struct call *call = call_new(CALL_SUBMIT, name, context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    call->asked.batch = batch;
    queue(store, call);
    return 0;
}

static int embedded_load(struct tp_store *store, const char *name, void *context)
{
    struct call *call = call_new(CALL_LOAD, name, context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    queue(store, call);
    return 0;
}

static int embedded_drop(struct tp_store *store, const char *name, bool has_epoch, uint64_t epoch, void *context)
{
    struct call *call = call_new(CALL_DROP, name, context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    call->has_epoch = has_epoch;
    call->epoch = epoch;
    queue(store, call);
    return 0;
}

static int embedded_list(struct tp_store *store, tp_store_listed_cb listed, void *context)
{
    struct call *call = call_new(CALL_LIST, "", context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    call->listed = listed;
    queue(store, call);
    return 0;
}

static void embedded_status(struct tp_store *store, struct tp_store_status *out)
{
    tp_folder_status(&((struct embedded *)store)->folder, out);
}

static void free_embedded(struct embedded *embedded)
{
    tp_folder_close(&embedded->folder);
    tp_mailbox_fini(&embedded->box);
    free(embedded);
}

static void embedded_close(struct tp_store *store)
{
    struct embedded *embedded = (struct embedded *)store;
    tp_mailbox_push(&embedded->box, &embedded->stop);
    pthread_join(embedded->thread, NULL);
    free_embedded(embedded);
}

static const struct tp_store_ops embedded_ops = {
    .name = "folder",
    .put = embedded_put,
    .submit = embedded_submit,
    .load = embedded_load,
    .drop = embedded_drop,
    .list = embedded_list,
    .status = embedded_status,
    .close = embedded_close,
};

int tp_store_embedded_open(struct tp_store **out, const char *path, uint64_t fold_batches,
                           struct tp_metrics *metrics, char reason[256])
{
    *out = NULL;
    struct embedded *embedded = calloc(1, sizeof *embedded);
    if (embedded == NULL)
        return TP_ERR_NO_MEMORY;
    embedded->store.ops = &embedded_ops;
    embedded->stop.kind = CALL_STOP;
    tp_mailbox_init(&embedded->box);
    int error = tp_folder_open(&embedded->folder, path, fold_batches, metrics, reason);
    if (error == 0 && pthread_create(&embedded->thread, NULL, run, embedded) != 0) {
        snprintf(reason, 256, "cannot start a thread");
        error = TP_ERR_IO;
    }
    if (error != 0) {
        free_embedded(embedded);
        return error;
    }
    *out = &embedded->store;
    return 0;
}
