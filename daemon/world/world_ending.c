/* Epochs that end under sessions: another daemon of the fleet put the map anew or dropped it, or the store had to begin it anew.
 *
 *     event (BEGUN or DROPPED, nobody here asked) -> nobody may enter -> a publication with `ends` to every shard
 *             -> each ends its sessions on the map, gives the publication back -> the event, and those behind it, are applied
 *
 * What waits meanwhile: later events of the map, in entry->deferred; requests about it, parked. A session is refused from then on
 * (daemon/serve/sessions.h), so that its client hears of it. Where no session and no layer is in use there is nothing to wait for. */
#include "base/check.h"
#include "daemon/world/world_internal.h"

/* Taken off tp_world_map.sessions while an epoch ends: nobody enters a map whose count is below 0. */
#define ENDING ((int64_t)1 << 40)

static bool ends_epoch(const struct tp__world_op *op)
{
    return tp__world_op_is_strange(op) && (op->event.kind == TP_STORE_BEGUN || op->event.kind == TP_STORE_DROPPED);
}

/* Whether the map is closed to all, and nothing of it is in use: from then on only this thread opens it again. */
static bool close_unused(struct tp__world_entry *entry)
{
    for (size_t i = 0; i < TP_WORLD_LAYERS_MAX; i++)
        if (entry->layer[i] != NULL)
            return false;
    int64_t sessions = 0;
    return atomic_compare_exchange_strong(&entry->shared.sessions, &sessions, TP_WORLD_MAP_REPLACING) ||
           sessions == TP_WORLD_MAP_REPLACING;
}

bool tp__world_defer(struct tp_world *world, struct tp__world_op *op)
{
    struct tp__world_entry *entry = op->entry;
    bool is_first = entry->ending_shards == 0;
    if (is_first && (!ends_epoch(op) || close_unused(entry)))
        return false;
    op->deferred_next = NULL;
    *entry->deferred_end = op;
    entry->deferred_end = &op->deferred_next;
    if (!is_first)
        return true;
    entry->ending_shards = world->config.shards;
    world->busy++;
    atomic_fetch_sub(&entry->shared.sessions, ENDING);
    tp__world_tell_shards(op, true, op->event.kind == TP_STORE_BEGUN ? TP_ERR_VERSION_MISMATCH : TP_ERR_NOT_FOUND);
    return true;
}

void tp_world_ended(struct tp_world *world, struct tp_world_publication *publication)
{
    publication->mail.kind = TP_WORLD_MAIL_ENDED;
    world->config.post_self(world->config.context, &publication->mail);
}

/* All shards are done: applies what waited, then handles the requests that did. */
static void end(struct tp_world *world, struct tp__world_entry *entry)
{
    struct tp__world_op *deferred = entry->deferred;
    char name[TP_WORLD_NAME_MAX + 1];
    tp_world_name_copy(name, entry->shared.name);
    entry->deferred = NULL;
    entry->deferred_end = &entry->deferred;
    world->busy--;
    int64_t sessions = atomic_exchange(&entry->shared.sessions, TP_WORLD_MAP_REPLACING) + ENDING;
    TP_CHECK(sessions == 0 || sessions == TP_WORLD_MAP_REPLACING);
    struct tp__world_op *next = deferred->deferred_next;
    tp__world_apply_event(world, deferred);
    while ((deferred = next) != NULL) {
        next = deferred->deferred_next;
        tp__world_event(world, &deferred->mail);
    }
    entry = tp__world_find(world, name);
    if (entry != NULL && !tp__world_is_closed(entry))
        tp__world_resume(world, tp__world_take_parked(entry));
}

void tp__world_shard_ended(struct tp_world *world, struct tp_mail *mail)
{
    struct tp_world_publication *publication = (struct tp_world_publication *)mail;
    struct tp__world_entry *entry = (struct tp__world_entry *)publication->of;
    entry->deferred->publication[--entry->ending_shards] = publication; /* it is wanted again */
    if (entry->ending_shards == 0)
        end(world, entry);
}
