/* The happy path of a batch: embedded_append() queues it; the thread takes all that is queued, commit() sorts
 * the appends by map, writes and syncs one record per map, then calls every completion. After that logs that
 * have grown long are folded. While degraded the thread looks every RETRY_MS whether the disk works again, however
 * busy it is. */
#include "daemon/store_embedded.h"

#include "daemon/clock.h"
#include "daemon/folder.h"
#include "daemon/log.h"
#include "daemon/mailbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_MS = 1000 };

enum call_kind { CALL_PUT, CALL_APPEND, CALL_LOAD, CALL_LIST, CALL_DROP, CALL_STOP };

struct call {
    struct tp_mail mail; /* kind: enum call_kind */
    char name[TP_WORLD_NAME_MAX + 1];
    const struct tp_map *map; /* a reference */
    uint8_t *bytes;           /* the batch */
    struct tp_folder_batch batch;
    bool is_sorted; /* while commit sorts by map */
    tp_store_done_cb done;
    tp_store_loaded_cb loaded;
    tp_store_listed_cb listed;
    void *context;
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
    free(call->bytes);
    free(call);
}

static struct call *behind(const struct call *call)
{
    return (struct call *)call->mail.next;
}

/* ---- The thread ---- */

/* Gathers the batches of first's map among the calls up to `end`; returns how many. */
static uint32_t gather(struct call *first, const struct call *end, struct tp_folder_batch **same)
{
    uint32_t count = 0;
    for (struct call *call = first; call != end; call = behind(call)) {
        if (strcmp(call->name, first->name) == 0) {
            call->is_sorted = true;
            same[count++] = &call->batch;
        }
    }
    return count;
}

/* Commits all appends of a chain (count calls, linked by mail.next), calls the completions in their order,
 * folds. */
static void commit(struct embedded *embedded, struct call *first, size_t count)
{
    struct tp_folder_batch **same = malloc(count * sizeof(struct tp_folder_batch *));
    struct call *end = first;
    for (size_t i = 0; i < count; i++, end = behind(end))
        end->batch.error = TP_ERR_NO_MEMORY;
    for (struct call *call = first; same != NULL && call != end; call = behind(call))
        if (!call->is_sorted)
            tp_folder_append(&embedded->folder, same, gather(call, end, same));
    free(same);
    for (struct call *call = first, *next; call != end; call = next) {
        next = behind(call);
        call->done(call->batch.error, call->context);
        free_call(call);
    }
    tp_folder_fold(&embedded->folder);
}

static void load(struct embedded *embedded, struct call *call)
{
    struct tp_map *map;
    const char *reason;
    struct tp_keys keys;
    int error = tp_folder_load(&embedded->folder, call->name, &map, &keys, &reason);
    call->loaded(error, map, &keys, reason, call->context);
    tp_keys_fini(&keys);
}

static void list(struct embedded *embedded, struct call *call)
{
    struct tp_names names;
    int error = tp_folder_list(&embedded->folder, &names);
    call->listed(error, (const char *const *)names.name, names.count, call->context);
    tp_names_fini(&names);
}

/* Does one call, or all appends that stand together. Gives the mail behind; NULL with *stops set at the end.
 */
static struct tp_mail *serve(struct embedded *embedded, struct tp_mail *mail, bool *stops)
{
    struct call *call = (struct call *)mail;
    struct tp_mail *next = mail;
    size_t appends = 0;
    for (; next != NULL && next->kind == CALL_APPEND; next = next->next)
        appends++;
    if (appends > 0) {
        commit(embedded, call, appends);
        return next;
    }
    next = mail->next;
    switch (mail->kind) {
    case CALL_PUT:
        call->done(tp_folder_put(&embedded->folder, call->name, call->map), call->context);
        break;
    case CALL_DROP:
        call->done(tp_folder_drop(&embedded->folder, call->name), call->context);
        break;
    case CALL_LOAD:
        load(embedded, call);
        break;
    case CALL_LIST:
        list(embedded, call);
        break;
    default:
        *stops = true;
        return NULL;
    }
    free_call(call);
    return next;
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
            tp_folder_retry(&embedded->folder);
            retry_us = tp_clock_now_us() + RETRY_MS * 1000;
            continue;
        }
        int wait_ms = is_degraded ? (int)((retry_us - now_us) / 1000) + 1 : -1;
        struct tp_mail *mail = tp_mailbox_wait(&embedded->box, wait_ms);
        while (mail != NULL)
            mail = serve(embedded, mail, &stops);
    }
    return NULL;
}

/* ---- The interface ---- */

static struct call *call_new(enum call_kind kind, const char *name, const struct tp_map *map, void *context)
{
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    call->mail.kind = kind;
    snprintf(call->name, sizeof call->name, "%s", name);
    call->map = map == NULL ? NULL : tp_map_ref(map);
    call->context = context;
    return call;
}

static void queue(struct tp_store *store, struct call *call)
{
    tp_mailbox_push(&((struct embedded *)store)->box, &call->mail);
}

static int embedded_put(struct tp_store *store, const char *name, const struct tp_map *map,
                        tp_store_done_cb done, void *context)
{
    struct call *call = call_new(CALL_PUT, name, map, context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    call->done = done;
    queue(store, call);
    return 0;
}

static int embedded_drop(struct tp_store *store, const char *name, const struct tp_map *map,
                         tp_store_done_cb done, void *context)
{
    (void)map; /* the folder has it */
    struct call *call = call_new(CALL_DROP, name, NULL, context);
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    call->done = done;
    queue(store, call);
    return 0;
}

static int embedded_append(struct tp_store *store, const char *name, const struct tp_map *after,
                           const void *batch, size_t batch_bytes, tp_store_done_cb done, void *context)
{
    struct call *call = call_new(CALL_APPEND, name, after, context);
    if (call != NULL && (call->bytes = malloc(batch_bytes + 1)) == NULL) {
        free_call(call);
        call = NULL;
    }
    if (call == NULL)
        return TP_ERR_NO_MEMORY;
    memcpy(call->bytes, batch, batch_bytes);
    call->batch = (struct tp_folder_batch){
        .name = call->name, .after = call->map, .bytes = call->bytes, .size = batch_bytes};
    call->done = done;
    queue(store, call);
    return 0;
}

static void embedded_load(struct tp_store *store, const char *name, tp_store_loaded_cb loaded, void *context)
{
    struct call *call = call_new(CALL_LOAD, name, NULL, context);
    if (call == NULL) {
        loaded(TP_ERR_NO_MEMORY, NULL, NULL, NULL, context);
        return;
    }
    call->loaded = loaded;
    queue(store, call);
}

static void embedded_list(struct tp_store *store, tp_store_listed_cb listed, void *context)
{
    struct call *call = call_new(CALL_LIST, "", NULL, context);
    if (call == NULL) {
        listed(TP_ERR_NO_MEMORY, NULL, 0, context);
        return;
    }
    call->listed = listed;
    queue(store, call);
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
    .append = embedded_append,
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
