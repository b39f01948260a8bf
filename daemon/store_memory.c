/* The store without a place: every put and append succeeds at once, on the caller's own thread; nothing is
 * found. */
#include "daemon/store.h"

#include <stdlib.h>

static int memory_put(struct tp_store *store, const char *name, const struct tp_map *map,
                      tp_store_done_cb done, void *context)
{
    (void)store, (void)name, (void)map;
    done(0, context);
    return 0;
}

static int memory_append(struct tp_store *store, const char *name, const struct tp_map *after,
                         const void *batch, size_t batch_bytes, tp_store_done_cb done, void *context)
{
    (void)store, (void)name, (void)after, (void)batch, (void)batch_bytes;
    done(0, context);
    return 0;
}

static int memory_drop(struct tp_store *store, const char *name, const struct tp_map *map,
                       tp_store_done_cb done, void *context)
{
    return memory_put(store, name, map, done, context);
}

static void memory_load(struct tp_store *store, const char *name, tp_store_loaded_cb loaded, void *context)
{
    (void)store, (void)name;
    loaded(TP_ERR_NOT_FOUND, NULL, NULL, NULL, context);
}

static void memory_list(struct tp_store *store, tp_store_listed_cb listed, void *context)
{
    (void)store;
    listed(0, NULL, 0, context);
}

static void memory_status(struct tp_store *store, struct tp_store_status *out)
{
    (void)store;
    *out = (struct tp_store_status){.state = TP_STORE_OK};
}

static void memory_close(struct tp_store *store)
{
    free(store);
}

static const struct tp_store_ops memory_ops = {
    .name = "memory",
    .put = memory_put,
    .append = memory_append,
    .load = memory_load,
    .drop = memory_drop,
    .list = memory_list,
    .status = memory_status,
    .close = memory_close,
};

int tp_store_memory_open(struct tp_store **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return TP_ERR_NO_MEMORY;
    (*out)->ops = &memory_ops;
    (*out)->is_volatile = true;
    return 0;
}
