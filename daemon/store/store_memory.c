/* The store without a place: a list of tips; everything is decided, and told, within the call. */
#include "daemon/store/store.h"

#include <stdlib.h>
#include <string.h>

struct memory_map {
    struct memory_map *next;
    char name[TP_WORLD_NAME_MAX + 1];
    struct tp_tip tip;
};

struct memory {
    struct tp_store store; /* first */
    struct memory_map *maps;
};

/* Where the link to the map is, or would be. */
static struct memory_map **find(struct tp_store *store, const char *name)
{
    struct memory_map **link = &((struct memory *)store)->maps;
    while (*link != NULL && strcmp((*link)->name, name) != 0)
        link = &(*link)->next;
    return link;
}

static void tell(struct tp_store *store, const struct tp_store_event *event)
{
    if (event->map != NULL)
        tp_map_ref(event->map);
    (void)store->event(store->event_context, event); /* it has a context, so it was taken */
}

static void refuse(struct tp_store *store, const char *name, int error, const struct tp_map *at, void *context)
{
    tell(store, &(struct tp_store_event){
                    .kind = TP_STORE_REFUSED, .name = name, .context = context, .map = at, .error = error});
}

static int memory_put(struct tp_store *store, const char *name, const struct tp_map *map, bool replace, void *context)
{
    struct memory_map **link = find(store, name);
    if (*link != NULL && !replace) {
        refuse(store, name, TP_ERR_ALREADY_EXISTS, (*link)->tip.map, context);
        return 0;
    }
    if (*link == NULL) {
        struct memory_map *new_map = calloc(1, sizeof *new_map);
        if (new_map == NULL)
            return TP_ERR_NO_MEMORY;
        tp_world_name_copy(new_map->name, name);
        *link = new_map;
    }
    tp_tip_begin(&(*link)->tip, map);
    tell(store, &(struct tp_store_event){.kind = TP_STORE_BEGUN, .name = name, .context = context, .map = map});
    return 0;
}

static int memory_submit(struct tp_store *store, const char *name, struct tp_batch *batch, void *context)
{
    struct memory_map *at = *find(store, name);
    if (at == NULL) {
        refuse(store, name, TP_ERR_NOT_FOUND, NULL, context);
        return 0;
    }
    struct tp_store_event event = {.name = name, .context = context};
    event.error = tp_tip_apply(&at->tip, batch, &event.version, &event.refused);
    event.kind = event.error != 0 ? TP_STORE_REFUSED : event.version != 0 ? TP_STORE_REPEATED : TP_STORE_VERSION;
    event.map = at->tip.map;
    tell(store, &event);
    return 0;
}

static int memory_load(struct tp_store *store, const char *name, void *context)
{
    const struct memory_map *at = *find(store, name);
    if (at == NULL)
        refuse(store, name, TP_ERR_NOT_FOUND, NULL, context);
    else
        tell(store, &(struct tp_store_event){
                        .kind = TP_STORE_LOADED, .name = name, .context = context, .map = at->tip.map});
    return 0;
}

static void free_map(struct memory_map **link)
{
    struct memory_map *gone = *link;
    *link = gone->next;
    tp_tip_fini(&gone->tip);
    free(gone);
}

static int memory_drop(struct tp_store *store, const char *name, bool has_epoch, uint64_t epoch, void *context)
{
    struct memory_map **link = find(store, name);
    if (*link != NULL && has_epoch && (*link)->tip.map->epoch != epoch) {
        refuse(store, name, TP_ERR_FAILED_PRECONDITION, (*link)->tip.map, context);
        return 0;
    }
    if (*link != NULL)
        free_map(link);
    tell(store, &(struct tp_store_event){.kind = TP_STORE_DROPPED, .name = name, .context = context});
    return 0;
}

static int memory_list(struct tp_store *store, tp_store_listed_cb listed, void *context)
{
    const struct memory_map *first = ((struct memory *)store)->maps;
    size_t count = 0;
    for (const struct memory_map *at = first; at != NULL; at = at->next)
        count++;
    const char **names = malloc((count + 1) * sizeof *names);
    if (names == NULL)
        return TP_ERR_NO_MEMORY;
    count = 0;
    for (const struct memory_map *at = first; at != NULL; at = at->next)
        names[count++] = at->name;
    listed(0, names, count, context);
    free(names);
    return 0;
}

static void memory_status(struct tp_store *store, struct tp_store_status *out)
{
    (void)store;
    *out = (struct tp_store_status){.state = TP_STORE_OK};
}

static void memory_close(struct tp_store *store)
{
    struct memory *memory = (struct memory *)store;
    while (memory->maps != NULL)
        free_map(&memory->maps);
    free(memory);
}

static const struct tp_store_ops memory_ops = {
    .name = "memory",
    .put = memory_put,
    .submit = memory_submit,
    .load = memory_load,
    .drop = memory_drop,
    .list = memory_list,
    .status = memory_status,
    .close = memory_close,
};

int tp_store_memory_open(struct tp_store **out)
{
    struct memory *memory = calloc(1, sizeof *memory);
    *out = NULL;
    if (memory == NULL)
        return TP_ERR_NO_MEMORY;
    memory->store.ops = &memory_ops;
    memory->store.is_volatile = true;
    *out = &memory->store;
    return 0;
}
