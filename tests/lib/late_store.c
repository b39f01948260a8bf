#include "tests/lib/late_store.h"

#include "tests/lib/harness.h"

#include <stdio.h>
#include <string.h>

static struct late_map *find(struct late_store *late, const char *name)
{
    for (size_t i = 0; i < LATE_MAPS; i++)
        if (strcmp(late->maps[i].name, name) == 0)
            return &late->maps[i];
    return NULL;
}

static struct late_map *find_or_add(struct late_store *late, const char *name)
{
    struct late_map *at = find(late, name);
    if (at == NULL) {
        at = find(late, "");
        ck_assert_ptr_nonnull(at);
        tp_world_name_copy(at->name, name);
    }
    return at;
}

static void forget(struct late_map *at)
{
    tp_tip_fini(&at->tip);
    at->name[0] = '\0';
}

const struct tp_map *late_store_kept(struct late_store *late, const char *name)
{
    struct late_map *at = find(late, name);
    return at == NULL ? NULL : at->tip.map;
}

static void tell(struct late_store *late, struct tp_store_event event)
{
    if (event.map != NULL)
        tp_map_ref(event.map);
    ck_assert_int_eq(late->store.event(late->store.event_context, &event), 0);
}

static void refuse(struct late_store *late, const struct late_call *call, int error)
{
    tell(late, (struct tp_store_event){.kind = TP_STORE_REFUSED,
                                       .name = call->name,
                                       .context = call->context,
                                       .map = late_store_kept(late, call->name),
                                       .error = error});
}

static void answer_load(struct late_store *late, const struct late_call *call)
{
    if (late->load_error != 0)
        refuse(late, call, late->load_error);
    else if (find(late, call->name) == NULL)
        refuse(late, call, TP_ERR_NOT_FOUND);
    else
        tell(late, (struct tp_store_event){.kind = TP_STORE_LOADED,
                                           .name = call->name,
                                           .context = call->context,
                                           .map = late_store_kept(late, call->name)});
}

static void answer_put(struct late_store *late, const struct late_call *call)
{
    if (!call->replace && find(late, call->name) != NULL) {
        refuse(late, call, TP_ERR_ALREADY_EXISTS);
        return;
    }
    if (call->map->epoch <= late->epoch_last)
        ((struct tp_map *)call->map)->epoch = late->epoch_last + 1;
    late->epoch_last = call->map->epoch;
    tp_tip_begin(&find_or_add(late, call->name)->tip, call->map);
    tell(late, (struct tp_store_event){
                   .kind = TP_STORE_BEGUN, .name = call->name, .context = call->context, .map = call->map});
}

static void answer_submit(struct late_store *late, const struct late_call *call)
{
    struct late_map *at = find(late, call->name);
    if (at == NULL) {
        refuse(late, call, TP_ERR_NOT_FOUND);
        return;
    }
    struct tp_store_event event = {.name = call->name, .context = call->context};
    event.error = tp_tip_apply(&at->tip, call->batch, &event.version, &event.refused);
    event.kind = event.error != 0     ? TP_STORE_REFUSED
                 : event.version != 0 ? TP_STORE_REPEATED
                                      : TP_STORE_VERSION;
    event.map = at->tip.map;
    tell(late, event);
}

static void answer_drop(struct late_store *late, const struct late_call *call)
{
    struct late_map *at = find(late, call->name);
    if (at != NULL && call->has_epoch && at->tip.map->epoch != call->epoch) {
        refuse(late, call, TP_ERR_FAILED_PRECONDITION);
        return;
    }
    if (at != NULL)
        forget(at);
    tell(late, (struct tp_store_event){.kind = TP_STORE_DROPPED, .name = call->name, .context = call->context});
}

void late_store_answer(struct late_store *late, int error)
{
    struct late_call call = late->calls[0];
    ck_assert_uint_gt(late->count, 0);
    memmove(late->calls, late->calls + 1, --late->count * sizeof call);
    if (error != 0)
        refuse(late, &call, error);
    else if (call.kind == LATE_PUT)
        answer_put(late, &call);
    else if (call.kind == LATE_SUBMIT)
        answer_submit(late, &call);
    else if (call.kind == LATE_LOAD)
        answer_load(late, &call);
    else
        answer_drop(late, &call);
    tp_map_unref(call.map);
}

/* ---- The interface ---- */

static int queue(struct tp_store *store, const char *name, struct late_call call)
{
    struct late_store *late = (struct late_store *)store;
    if (late->takes != 0)
        return late->takes;
    ck_assert_uint_lt(late->count, LATE_CALLS);
    tp_world_name_copy(call.name, name);
    if (call.map != NULL)
        tp_map_ref(call.map);
    late->calls[late->count++] = call;
    return 0;
}

static int late_put(struct tp_store *store, const char *name, const struct tp_map *map, bool replace, void *context)
{
    return queue(store, name,
                 (struct late_call){.kind = LATE_PUT, .map = map, .replace = replace, .context = context});
}

static int late_submit(struct tp_store *store, const char *name, struct tp_batch *batch, void *context)
{
    return queue(store, name, (struct late_call){.kind = LATE_SUBMIT, .batch = batch, .context = context});
}

static int late_load(struct tp_store *store, const char *name, void *context)
{
    struct late_store *late = (struct late_store *)store;
    struct late_call call = {.kind = LATE_LOAD, .context = context};
    tp_world_name_copy(call.name, name);
    if (late->loads_late)
        return queue(store, name, call);
    answer_load(late, &call);
    return 0;
}

static int late_drop(struct tp_store *store, const char *name, bool has_epoch, uint64_t epoch, void *context)
{
    return queue(store, name,
                 (struct late_call){.kind = LATE_DROP, .has_epoch = has_epoch, .epoch = epoch, .context = context});
}

static int late_list(struct tp_store *store, tp_store_listed_cb listed, void *context)
{
    (void)store;
    listed(0, NULL, 0, context);
    return 0;
}

static const struct tp_store_ops late_ops = {
    .name = "late", .put = late_put, .submit = late_submit, .load = late_load, .drop = late_drop, .list = late_list};

void late_store_init(struct late_store *late)
{
    *late = (struct late_store){.store = {.ops = &late_ops}};
}

void late_store_fini(struct late_store *late)
{
    ck_assert_uint_eq(late->count, 0);
    for (size_t i = 0; i < LATE_MAPS; i++)
        if (late->maps[i].name[0] != '\0')
            forget(&late->maps[i]);
}

/* ---- Another daemon ---- */

int late_store_elsewhere_submit(struct late_store *late, const char *name, struct tp_batch *batch)
{
    struct late_map *at = find(late, name);
    if (at == NULL)
        return TP_ERR_NOT_FOUND;
    uint64_t repeated;
    struct tp_tip_refused refused;
    int error = tp_tip_apply(&at->tip, batch, &repeated, &refused);
    if (error == 0 && repeated == 0)
        tell(late, (struct tp_store_event){.kind = TP_STORE_VERSION, .name = name, .map = at->tip.map});
    return error;
}

void late_store_elsewhere_put(struct late_store *late, const char *name, const struct tp_map *map)
{
    ck_assert_uint_gt(map->epoch, late->epoch_last);
    late->epoch_last = map->epoch;
    tp_tip_begin(&find_or_add(late, name)->tip, map);
    tell(late, (struct tp_store_event){.kind = TP_STORE_BEGUN, .name = name, .map = map});
}

void late_store_elsewhere_drop(struct late_store *late, const char *name)
{
    struct late_map *at = find(late, name);
    if (at == NULL)
        return;
    forget(at);
    tell(late, (struct tp_store_event){.kind = TP_STORE_DROPPED, .name = name});
}
