#include "daemon/store/tip.h"

#include "base/check.h"

void tp_batch_place(struct tp_batch *batch, uint32_t width)
{
    if (batch->is_placed)
        return;
    batch->is_placed = true;
    for (size_t i = 0; i < batch->count; i++) {
        struct tp_change *change = &batch->changes[i];
        if (change->kind == TP_CHANGE_CELL || i >= batch->count - batch->unplaced_count) {
            uint32_t cell = change->x;
            change->x = cell % width;
            change->y = cell / width;
        }
    }
}

void tp_tip_fini(struct tp_tip *tip)
{
    tp_map_unref(tip->map);
    tp_keys_fini(&tip->keys);
    *tip = (struct tp_tip){0};
}

void tp_tip_begin(struct tp_tip *tip, const struct tp_map *map)
{
    const struct tp_map *before = tip->map;
    tip->map = tp_map_ref(map);
    tp_map_unref(before);
    tp_keys_fini(&tip->keys);
}

int tp_tip_apply(struct tp_tip *tip, struct tp_batch *batch, uint64_t *repeated, struct tp_tip_refused *refused)
{
    const struct tp_map *base = tip->map;
    TP_CHECK(base != NULL);
    *repeated = 0;
    *refused = (struct tp_tip_refused){0};
    if (batch->has_epoch && batch->epoch != base->epoch) {
        refused->why = TP_TIP_EPOCH;
        return TP_ERR_VERSION_MISMATCH;
    }
    if (tp_key_is_set(&batch->key)) {
        *repeated = tp_keys_find(&tip->keys, &batch->key);
        if (*repeated != 0)
            return 0;
        int error = tp_keys_reserve(&tip->keys);
        if (error != 0)
            return error;
    }
    if (batch->has_base_version && batch->base_version != base->version) {
        refused->why = TP_TIP_BASE;
        return TP_ERR_VERSION_MISMATCH;
    }
    tp_batch_place(batch, base->width);
    struct tp_map *after;
    refused->bad = batch->count;
    int error = tp_map_apply(&after, base, batch->changes, batch->count, &refused->bad, &refused->bad_x, &refused->bad_y);
    if (error != 0) {
        refused->why = TP_TIP_CHANGE;
        return error;
    }
    if (tp_key_is_set(&batch->key))
        tp_keys_add(&tip->keys, &batch->key, after->version);
    tip->map = after;
    tp_map_unref(base);
    return 0;
}
