/* Wire messages to public structs. What they show stays in client->held and client->shown until the next
 * call. A reply that contradicts itself (arrays of different lengths) is malformed and breaks the connection.
 */
#include "client/internal.h"

#include <stdlib.h>

static const char *words(const char *text)
{
    return text != NULL ? text : "";
}

/* Memory for `count` elements that lives as long as the reply is shown; slot 0..2. NULL: out of memory. */
static void *show(struct tp_client *client, int slot, size_t count, size_t size)
{
    client->shown[slot] = calloc(count + 1, size);
    return client->shown[slot];
}

static int no_memory(struct tp_client *client)
{
    return tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a reply");
}

static struct tp_client_map map_of(const Tickpath__MapInfo *info)
{
    return (struct tp_client_map){
        .name = words(info->map),
        .width = info->width,
        .height = info->height,
        .epoch = info->epoch,
        .version = info->version,
        .passable_cells = info->passable_cells,
        .sessions = info->sessions,
        .kind = info->has_kind ? (enum tp_client_map_kind)info->kind : TP_CLIENT_GRID, /* of a server without graphs */
        .edges = info->edges,
    };
}

static bool same_or_none(size_t count, size_t expected)
{
    return count == 0 || count == expected;
}

static int show_ticked(struct tp_client *client, struct tp_client_ticked *out, const Tickpath__Ticked *ticked)
{
    size_t n = ticked->n_session;
    if (ticked->n_cell != n || ticked->n_status != n || ticked->n_flags != n || ticked->n_version != n ||
        ticked->n_cost != n || !same_or_none(ticked->n_expansions, n) || !same_or_none(ticked->n_traced, n) ||
        !same_or_none(ticked->n_generated, n) || !same_or_none(ticked->n_learned, n) ||
        !same_or_none(ticked->n_guide_expansions, n) ||
        !same_or_none(ticked->n_bound_milli, n) || !same_or_none(ticked->n_path, n) || !same_or_none(ticked->n_vx, n) || ticked->n_vy != ticked->n_vx)
        return tp__break_with(client, TP_CLIENT_MALFORMED_FRAME,
                              "the server sent a tick's answer whose arrays differ in length");
    struct tp_client_path *paths = NULL;
    struct tp_client_refused *refused = NULL;
    if (ticked->n_path > 0 && (paths = show(client, 0, n, sizeof *paths)) == NULL)
        return no_memory(client);
    if (ticked->n_refused > 0 && (refused = show(client, 1, ticked->n_refused, sizeof *refused)) == NULL)
        return no_memory(client);
    for (size_t i = 0; i < ticked->n_path; i++)
        paths[i] = (struct tp_client_path){.cells = ticked->path[i]->cell, .count = ticked->path[i]->n_cell};
    for (size_t i = 0; i < ticked->n_refused; i++)
        refused[i] = (struct tp_client_refused){.session = ticked->refused[i]->session,
                                                .code = -(int)ticked->refused[i]->code,
                                                .epoch = ticked->refused[i]->epoch,
                                                .version = ticked->refused[i]->version};
    *out = (struct tp_client_ticked){
        .tick = ticked->tick,
        .count = n,
        .sessions = ticked->session,
        .cells = ticked->cell,
        .statuses = ticked->status,
        .flags = ticked->flags,
        .versions = ticked->version,
        .costs = ticked->cost,
        .expansions = ticked->expansions,
        .traced = ticked->traced,
        .generated = ticked->generated,
        .learned = ticked->learned,
        .guide_expansions = ticked->guide_expansions,
        .paths = paths,
        .refused = refused,
        .refused_count = ticked->n_refused,
        .starved = ticked->starved,
        .starved_longest = ticked->starved_longest,
        .vx = ticked->n_vx > 0 ? ticked->vx : NULL,
        .vy = ticked->n_vy > 0 ? ticked->vy : NULL,
        .bounds_milli = ticked->n_bound_milli > 0 ? ticked->bound_milli : NULL,
    };
    return 0;
}

static int show_listing(struct tp_client *client, struct tp_client_listing *out,
                        const Tickpath__Listing *listing)
{
    struct tp_client_map *maps = show(client, 0, listing->n_map, sizeof *maps);
    struct tp_client_session_info *sessions = show(client, 1, listing->n_session, sizeof *sessions);
    struct tp_client_algorithm *algorithms = show(client, 2, listing->n_algorithm, sizeof *algorithms);
    if (maps == NULL || sessions == NULL || algorithms == NULL)
        return no_memory(client);
    for (size_t i = 0; i < listing->n_map; i++)
        maps[i] = map_of(listing->map[i]);
    for (size_t i = 0; i < listing->n_session; i++) {
        const Tickpath__SessionInfo *s = listing->session[i];
        sessions[i] = (struct tp_client_session_info){
            .id = s->session,
            .map = words(s->map),
            .algorithm = words(s->algorithm),
            .cell = s->cell,
            .goal = s->goal,
            .ticks = s->ticks,
            .moves = s->moves,
            .back_moves = s->back_moves,
            .cost = s->cost,
            .expansions = s->expansions,
            .generated = s->generated,
            .traced = s->traced,
            .restarts = s->restarts,
            .expansions_max = s->expansions_max,
            .bytes = s->bytes,
            .bytes_peak = s->bytes_peak,
            .move_hash = s->move_hash,
            .flips = s->flips,
            .guide_expansions = s->guide_expansions,
        };
    }
    for (size_t i = 0; i < listing->n_algorithm; i++) {
        const Tickpath__AlgorithmInfo *a = listing->algorithm[i];
        algorithms[i] = (struct tp_client_algorithm){
            .name = words(a->name),
            .title = words(a->title),
            .citation = words(a->citation),
            .engine = words(a->engine),
            .capabilities = a->capabilities,
        };
    }
    *out = (struct tp_client_listing){
        .maps = maps,
        .map_count = listing->n_map,
        .sessions = sessions,
        .session_count = listing->n_session,
        .algorithms = algorithms,
        .algorithm_count = listing->n_algorithm,
    };
    return 0;
}

static void show_dump(struct tp_client_dump *out, const Tickpath__SessionDump *dump)
{
    const ProtobufCEnumValue *hold = protobuf_c_enum_descriptor_get_value(&tickpath__hold__descriptor, (int)dump->hold);
    size_t states = dump->n_state_cell;
    *out = (struct tp_client_dump){
        .session = dump->session,
        .epoch = dump->epoch,
        .version = dump->version,
        .ticks = dump->ticks,
        .cell = dump->cell,
        .goals = dump->goal,
        .goal_count = dump->n_goal,
        .status = dump->status,
        .flags = dump->flags,
        .hold = (uint32_t)dump->hold,
        .hold_name = hold != NULL ? hold->name : "?",
        .step_cell = dump->has_step_cell ? dump->step_cell : TP_CLIENT_NO_CELL,
        .root = dump->has_root ? dump->root : TP_CLIENT_NO_CELL,
        .best = dump->has_best ? dump->best : TP_CLIENT_NO_CELL,
        .starved_ticks = dump->starved_ticks,
        .searches = dump->searches,
        .found = dump->found,
        .exhausted = dump->exhausted,
        .partial = dump->partial,
        .backward = dump->backward,
        .packed = dump->packed,
        .rests = dump->rests,
        .led = dump->led,
        .touched = dump->touched,
        .queued = dump->queued,
        .vx = dump->vx,
        .vy = dump->vy,
        .path = dump->path,
        .path_count = dump->n_path,
        .fresh = dump->fresh,
        .fresh_count = dump->n_fresh,
        .path_cut = dump->path_cut,
        .fresh_cut = dump->fresh_cut,
        .state_cells = dump->state_cell,
        .state_whats = dump->state_what,
        .state_gs = dump->state_g,
        .state_raised = dump->n_state_raised > 0 ? dump->state_raised : NULL,
        .state_count = states,
        .has_next = dump->has_next_cursor,
        .next_cursor = dump->next_cursor,
    };
}

/* Whether its lists of states are as long as each other. */
static bool dump_is_even(const Tickpath__SessionDump *dump)
{
    size_t states = dump->n_state_cell;
    return dump->n_state_what == states && dump->n_state_g == states && (dump->n_state_raised == states || dump->n_state_raised == 0);
}

int tp__reply_show(struct tp_client *client, struct tp_client_reply *reply)
{
    const Tickpath__Reply *held = client->held;
    *reply = (struct tp_client_reply){.kind = TP_CLIENT_REPLY_NONE};
    switch (held->body_case) {
    case TICKPATH__REPLY__BODY_PONG:
        reply->kind = TP_CLIENT_REPLY_PONG;
        return 0;
    case TICKPATH__REPLY__BODY_MAP_CHUNK:
        reply->kind = TP_CLIENT_REPLY_MAP_CHUNK;
        return 0;
    case TICKPATH__REPLY__BODY_MAP_INFO:
        reply->kind = TP_CLIENT_REPLY_MAP;
        reply->map = map_of(held->map_info);
        return 0;
    case TICKPATH__REPLY__BODY_CHANGED:
        reply->kind = TP_CLIENT_REPLY_CHANGED;
        reply->changed = (struct tp_client_changed){
            .epoch = held->changed->epoch,
            .version = held->changed->version,
            .applied_before = held->changed->applied_before,
        };
        return 0;
    case TICKPATH__REPLY__BODY_SUBSCRIBED:
        reply->kind = TP_CLIENT_REPLY_SUBSCRIBED;
        reply->subscribed = (struct tp_client_subscribed){
            .epoch = held->subscribed->epoch,
            .version = held->subscribed->version,
        };
        return 0;
    case TICKPATH__REPLY__BODY_SESSION_OPENED:
        reply->kind = TP_CLIENT_REPLY_SESSION;
        reply->session = (struct tp_client_session){
            .id = held->session_opened->session,
            .epoch = held->session_opened->epoch,
            .version = held->session_opened->version,
            .width = held->session_opened->width,
            .height = held->session_opened->height,
        };
        return 0;
    case TICKPATH__REPLY__BODY_GOAL_SET:
        reply->kind = TP_CLIENT_REPLY_GOAL_SET;
        return 0;
    case TICKPATH__REPLY__BODY_TICKED:
        reply->kind = TP_CLIENT_REPLY_TICKED;
        return show_ticked(client, &reply->ticked, held->ticked);
    case TICKPATH__REPLY__BODY_SESSIONS_CLOSED:
        reply->kind = TP_CLIENT_REPLY_CLOSED;
        reply->closed = held->sessions_closed->count;
        return 0;
    case TICKPATH__REPLY__BODY_LISTING:
        reply->kind = TP_CLIENT_REPLY_LISTING;
        return show_listing(client, &reply->listing, held->listing);
    case TICKPATH__REPLY__BODY_SESSION_DUMP:
        if (!dump_is_even(held->session_dump))
            return tp__break_with(client, TP_CLIENT_MALFORMED_FRAME, "the server sent a dump whose lists are not as long as each other");
        reply->kind = TP_CLIENT_REPLY_DUMP;
        show_dump(&reply->dump, held->session_dump);
        return 0;
    case TICKPATH__REPLY__BODY_MAP_DROPPED:
        reply->kind = TP_CLIENT_REPLY_MAP_DROPPED;
        return 0;
    case TICKPATH__REPLY__BODY_PROFILE_PUT:
        reply->kind = TP_CLIENT_REPLY_PROFILE_PUT;
        return 0;
    default:
        return tp__break_with(client, TP_CLIENT_MALFORMED_FRAME, "the server sent a reply of unknown kind");
    }
}

int tp_client_collect(struct tp_client *client, uint64_t ticket, struct tp_client_reply *reply,
                      int timeout_ms)
{
    struct tp_client_reply ignored;
    tp__begin(client);
    int result = tp__tickets_wait(client, ticket, tp__deadline(timeout_ms));
    return result != 0 ? result : tp__reply_show(client, reply != NULL ? reply : &ignored);
}
