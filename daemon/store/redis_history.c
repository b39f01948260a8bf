#include "daemon/store/redis_history.h"

#include "daemon/log.h"

#include <stdlib.h>

void tp__redis_history_init(struct tp_redis_history *history)
{
    *history = (struct tp_redis_history){0};
    history->last = &history->first;
}

/* ---- The entries kept ---- */

static void kept_drop_first(struct tp_redis_history *history)
{
    struct tp_redis_entry *entry = history->first;
    history->first = entry->next;
    if (history->first == NULL)
        history->last = &history->first;
    history->kept_count--;
    history->kept_bytes -= entry->bytes;
    free(entry);
}

static void keep(struct tp_redis_history *history, struct tp_redis_entry *entry)
{
    entry->next = NULL;
    *history->last = entry;
    history->last = &entry->next;
    history->kept_count++;
    history->kept_bytes += entry->bytes;
    while (history->kept_count > 1 &&
           (history->kept_count > TP_REDIS_KEPT_MAX || history->kept_bytes > TP_REDIS_KEPT_BYTES_MAX))
        kept_drop_first(history);
}

const struct tp_redis_entry *tp__redis_history_kept(const struct tp_redis_history *history, struct tp_log_place place)
{
    for (const struct tp_redis_entry *entry = history->first; entry != NULL; entry = entry->next)
        if (tp_log_place_compare(entry->place, place) == 0)
            return entry;
    return NULL;
}

void tp__redis_history_fini(struct tp_redis_history *history)
{
    tp_tip_fini(&history->tip);
    while (history->first != NULL)
        kept_drop_first(history);
    tp__redis_history_init(history);
}

void tp__redis_history_move(struct tp_redis_history *to, struct tp_redis_history *from)
{
    tp__redis_history_fini(to);
    *to = *from;
    if (to->first == NULL)
        to->last = &to->first;
    tp__redis_history_init(from);
}

/* ---- Reading ---- */

/* The place was read, under the newest tag or a new one. */
static void move_on(struct tp_redis_history *history, struct tp_redis_entry *entry)
{
    struct tp_lineage *lineage = &history->lineage;
    history->place = entry->place;
    if (entry->kind == TP_REDIS_MARK || entry->kind == TP_REDIS_PUT)
        tp_lineage_note(lineage, entry->tag, entry->place);
    else if (lineage->count > 0)
        lineage->tags[lineage->count - 1].last = entry->place;
    keep(history, entry);
}

static void tell_bad_entry(const struct tp_redis_entry *entry, const char *name, const char *what)
{
    char place[TP_LOG_PLACE_TEXT_BYTES];
    tp_log_place_print(place, entry->place);
    tp_log(TP_LOG_WARN, "log entry passed over", "map=\"%s\" entry=%s reason=\"%s\"", name, place, what);
}

static enum tp_redis_step decide(struct tp_redis_history *history, struct tp_redis_entry *entry, struct tp_batch *own,
                                 struct tp_redis_decided *decided, const char *name)
{
    if (entry->epoch != history->tip.map->epoch && (own == NULL || !own->has_epoch))
        return TP_REDIS_STEP_ELSEWHERE;
    struct tp_batch batch = {0}, *applied = own != NULL ? own : &batch;
    int error = own != NULL ? 0 : tp__redis_entry_batch(&batch, entry);
    if (error == TP_ERR_CORRUPT) {
        tell_bad_entry(entry, name, "its batch can't be read");
        return TP_REDIS_STEP_NOTHING;
    }
    if (error == 0)
        error = tp_tip_apply(&history->tip, applied, &decided->repeated, &decided->refused);
    free(batch.changes);
    decided->error = error;
    if (error == 0 && decided->repeated == 0)
        entry->made = history->tip.map->version;
    return error == TP_ERR_NO_MEMORY ? TP_REDIS_STEP_NO_MEMORY : TP_REDIS_STEP_DECIDED;
}

enum tp_redis_step tp__redis_history_read(struct tp_redis_history *history, struct tp_redis_entry *entry, struct tp_batch *own,
                                          struct tp_redis_decided *decided, const char *name)
{
    enum tp_redis_step step = TP_REDIS_STEP_NOTHING;
    *decided = (struct tp_redis_decided){0};
    switch (entry->kind) {
    case TP_REDIS_BATCH:
        step = decide(history, entry, own, decided, name);
        break;
    case TP_REDIS_PUT:
        step = entry->epoch == history->tip.map->epoch ? TP_REDIS_STEP_NOTHING : TP_REDIS_STEP_PUT;
        break;
    case TP_REDIS_DROP:
        return TP_REDIS_STEP_DROP;
    case TP_REDIS_MARK:
        break;
    case TP_REDIS_UNKNOWN:
        tell_bad_entry(entry, name, "it is of a type that this program does not know, or malformed");
        break;
    }
    if (step != TP_REDIS_STEP_PUT && step != TP_REDIS_STEP_NO_MEMORY)
        move_on(history, entry);
    return step;
}

void tp__redis_history_stand(struct tp_redis_history *history, struct tp_redis_entry *entry)
{
    history->place = entry->place;
    keep(history, entry);
}

int tp__redis_history_begin(struct tp_redis_history *history, const struct tp_map *map, const struct tp_keys *keys,
                            const struct tp_lineage *lineage, struct tp_redis_entry *entry)
{
    struct tp_keys copy = {0};
    if (keys != NULL && tp_keys_copy(&copy, keys) != 0)
        return TP_ERR_NO_MEMORY;
    tp_tip_begin(&history->tip, map);
    history->tip.keys = copy;
    history->lineage = lineage != NULL ? *lineage : (struct tp_lineage){0};
    move_on(history, entry);
    return 0;
}
