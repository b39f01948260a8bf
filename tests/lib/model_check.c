/* Each reply against the model, in the order of its connection, once the versions are known. */
#include "tests/lib/model.h"

#include <stdlib.h>
#include <string.h>

/* A reply of this connection names a version. */
static void check_named(struct connection *connection, int map, uint64_t version)
{
    SAY(version >= connection->floor[map], "%s: version %llu, after %llu on the same connection",
        model.grids[map].name, ULL(version), ULL(connection->floor[map]));
    SAY(!connection->subscribed[map] || version <= connection->told[map],
        "%s: version %llu, the subscriber was told of %llu", model.grids[map].name, ULL(version),
        ULL(connection->told[map]));
    connection->floor[map] = version;
}

static bool can_leave(const struct ref_problem *problem, uint32_t cell)
{
    int64_t width = problem->width, height = problem->height, x = cell % width, y = cell / width;
    for (int64_t b = y - 2; b <= y + 2; b++)
        for (int64_t a = x - 2; a <= x + 2; a++) {
            uint64_t cost;
            if (a >= 0 && b >= 0 && a < width && b < height &&
                ref_step(problem, cell, (uint32_t)(b * width + a), &cost))
                return true;
        }
    return false;
}

/* No goal can be reached, and with PARTIAL nothing that is nearer to one. */
static void check_gave_up(struct session *s, const struct ref_problem *problem, uint64_t version,
                          bool partial, const char *who)
{
    uint8_t reached[CELLS_MAX];
    if (s->proved.version == version && s->proved.cell == s->cell)
        return;
    ref_flood(problem, s->cell, reached);
    for (uint32_t cell = 0; cell < model_cells_of(s->map); cell++) {
        if (!reached[cell])
            continue;
        SAY(!model_is_end(s, problem, cell), "%s: no way from %u in version %llu, but %u can be reached", who,
            s->cell, ULL(version), cell);
        SAY(!partial || model_h_of(s, problem, cell) >= model_h_of(s, problem, s->cell),
            "%s: PARTIAL on %u, but %u is nearer", who, s->cell, cell);
    }
    s->proved.version = version;
    s->proved.cell = s->cell;
}

static void check_served(struct connection *connection, const struct entry *entry, struct session *s,
                         size_t i)
{
    const Tickpath__Ticked *t = entry->reply->ticked;
    char who[160];
    uint32_t to = t->cell[i], status = t->status[i], flags = t->flags[i];
    uint64_t version = t->version[i];
    snprintf(who, sizeof who,
             "%s on %s, %d moves, corners %d, profile %d, size %d, policy %d, k %llu, %u to %u of %u goals",
             s->algorithm->name, model.grids[s->map].name, s->neighbours, (int)s->corners, s->profile,
             s->size, s->policy, ULL(s->k), s->cell, s->goal[0], s->goal_count);
    check_named(connection, s->map, version);
    SAY(version >= entry->min_version, "%s: version %llu below min_version %llu", who, ULL(version),
        ULL(entry->min_version));
    struct ref_problem problem = model_problem_of(s, version);
    uint32_t from = s->cell;
    SAY(to < model_cells_of(s->map), "%s: to %u", who, to);
    bool moves = to != from;
    uint64_t cost = 0;
    if (moves) {
        SAY(ref_step(&problem, from, to, &cost), "%s: the move %u to %u is not legal in version %llu", who,
            from, to, ULL(version));
        model.seen.moves++;
    }
    s->cost += cost;
    SAY(t->cost[i] == s->cost, "%s: cost %llu, the moves add up to %llu", who, ULL(t->cost[i]), ULL(s->cost));
    bool partial = flags & TICKPATH__FLAG__PARTIAL, arrived = status == TICKPATH__STATUS__ARRIVED;
    s->cell = to;
    SAY(status >= TICKPATH__STATUS__MOVING && status <= TICKPATH__STATUS__UNREACHABLE, "%s: status %u", who,
        status);
    SAY(arrived || moves == (status == TICKPATH__STATUS__MOVING), "%s: status %u, %u to %u", who, status,
        from, to);
    SAY(!model_is_end(s, &problem, to) || arrived, "%s: on the goal with status %u", who, status);
    SAY(!partial || s->policy == TICKPATH__GOAL_POLICY__NEAREST, "%s: PARTIAL", who);
    if (arrived && !partial)
        SAY(model_is_end(s, &problem, to), "%s: ARRIVED on %u", who, to);
    bool gave_up = status == TICKPATH__STATUS__UNREACHABLE || (arrived && partial);
    if (status == TICKPATH__STATUS__UNREACHABLE)
        SAY(s->algorithm->capabilities & TP_CAN_DETECT_UNREACHABLE &&
                s->policy != TICKPATH__GOAL_POLICY__NEAREST,
            "%s: UNREACHABLE", who);
    if (gave_up)
        check_gave_up(s, &problem, version, arrived, who);
    bool proves =
        s->algorithm->capabilities & TP_CAN_DETECT_UNREACHABLE; /* who can't says it while it searches */
    bool stays = gave_up || (status == TICKPATH__STATUS__SEARCHING && !proves);
    if (!stays || !moves)
        SAY(!(flags & TICKPATH__FLAG__DEAD_END) == !(stays && !can_leave(&problem, to)), "%s: flags %x on %u",
            who, flags, to);
    SAY(!(flags & TICKPATH__FLAG__CONTINUED && flags & TICKPATH__FLAG__RESTARTED),
        "%s: CONTINUED and RESTARTED", who);
    SAY(!(flags & TICKPATH__FLAG__CONTINUED) || version != s->version, "%s: CONTINUED in the same version",
        who);
    if (problem.weight[from] || !moves)
        SAY(!(flags & TICKPATH__FLAG__START_BLOCKED) == (problem.weight[from] != 0),
            "%s: flags %x, where it stood weighs %u", who, flags, problem.weight[from]);
    SAY(t->expansions[i] <= (entry->k ? entry->k : s->k), "%s: %llu expansions, k of the tick %llu", who,
        ULL(t->expansions[i]), ULL(entry->k));
    s->version = version;
    s->ticks++;
    model.seen.unreachable += status == TICKPATH__STATUS__UNREACHABLE;
    model.seen.arrived += arrived && !partial;
    model.seen.partial += arrived && partial;
    model.seen.blocked += status == TICKPATH__STATUS__BLOCKED;
    model.seen.restarted += (flags & TICKPATH__FLAG__RESTARTED) != 0;
    model.seen.continued += (flags & TICKPATH__FLAG__CONTINUED) != 0;
    model.seen.repaired += (flags & TICKPATH__FLAG__REPAIRED) != 0;
    model.seen.start_blocked += (flags & TICKPATH__FLAG__START_BLOCKED) != 0;
}

/* Where the agent stands, for the client; false: outside, the session is refused. */
static bool take_position(const struct entry *entry, struct session *session)
{
    for (size_t i = 0; i < entry->at_count; i++)
        if (entry->at_session[i] == session->id) {
            if (entry->at_cell[i] >= model_cells_of(session->map))
                return false;
            session->cell = entry->at_cell[i];
        }
    return true;
}

static void check_tick(struct connection *connection, const struct entry *entry)
{
    model.seen.ticks++;
    bool behind = false;
    size_t live = 0;
    for (size_t i = 0; i < entry->id_count; i++)
        live += model_session_of(connection, entry->ids[i]) != NULL;
    behind = entry->min_version == 1000000000 && live > 0;
    if (entry->reply->body_case == TICKPATH__REPLY__BODY_ERROR) {
        SAY(behind && entry->reply->error->code == TICKPATH__ERROR_CODE__MAP_NOT_READY,
            "a tick refused with %d: %s", (int)entry->reply->error->code, entry->reply->error->message);
        return;
    }
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_TICKED && !behind, "reply %d to a tick%s",
        (int)entry->reply->body_case, behind ? " of the future" : "");
    const Tickpath__Ticked *t = entry->reply->ticked;
    SAY(t->tick == ++connection->tick, "tick %llu, it is number %llu", ULL(t->tick), ULL(connection->tick));
    size_t wanted = entry->all ? connection->session_count : entry->id_count, served = 0, refused = 0;
    uint64_t expansions = 0;
    for (size_t i = 0; i < wanted; i++) {
        uint64_t id = entry->all ? connection->sessions[i].id : entry->ids[i];
        struct session *session = model_session_of(connection, id);
        bool twice = false;
        for (size_t j = 0; !entry->all && j < i; j++)
            twice |= entry->ids[j] == id;
        if (!session || twice || !take_position(entry, session)) {
            refused++;
            continue;
        }
        SAY(served < t->n_session && t->session[served] == id,
            "the tick served %llu where %llu was due: %zu of %zu served",
            served < t->n_session ? ULL(t->session[served]) : 0, ULL(id), t->n_session, wanted);
        check_served(connection, entry, session, served);
        expansions += t->expansions[served++];
    }
    SAY(t->n_session == served, "%zu sessions served, %zu known", t->n_session, served);
    for (size_t i = 0; i < entry->at_count; i++)
        refused += !model_session_of(
            connection, entry->at_session[i]); /* a second row: no such session to stand anywhere */
    SAY(t->n_refused == refused, "%zu sessions refused instead of %zu", t->n_refused, refused);
    SAY(!entry->total || expansions <= entry->total, "%llu expansions of a total of %llu", ULL(expansions),
        ULL(entry->total));
}

static void check_change(struct connection *connection, const struct entry *entry)
{
    const struct grid *grid = &model.grids[entry->map];
    if (entry->reply->body_case == TICKPATH__REPLY__BODY_CHANGED) {
        const Tickpath__Changed *changed = entry->reply->changed;
        bool sent_elsewhere =
            entry->key &&
            changed->applied_before; /* another connection was first with a proper batch of that key */
        SAY(entry->wanted != REFUSED || sent_elsewhere,
            "%s: a batch was taken as version %llu that is to be refused with %d, change %u at (%u, %u), key "
            "%llu",
            grid->name, ULL(changed->version), entry->code, entry->bad_index, entry->bad_x, entry->bad_y,
            ULL(entry->key));
        SAY(entry->wanted != MAYBE || changed->version == entry->base_version + 1,
            "version %llu from base_version %llu", ULL(changed->version), ULL(entry->base_version));
        if (changed->applied_before)
            return;
        SAY(changed->version > connection->floor[entry->map],
            "%s: a batch made version %llu after %llu was named", grid->name, ULL(changed->version),
            ULL(connection->floor[entry->map]));
        check_named(connection, entry->map, changed->version);
        return;
    }
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_ERROR && entry->wanted != TAKEN,
        "reply %d to a batch: %s", (int)entry->reply->body_case, entry->reply->error->message);
    const Tickpath__Error *error = entry->reply->error;
    int code = entry->wanted == MAYBE ? TICKPATH__ERROR_CODE__VERSION_MISMATCH : entry->code;
    SAY((int)error->code == code, "a batch refused with %d instead of %d: %s", (int)error->code, code,
        error->message);
    SAY(entry->wanted != MAYBE || entry->base_version != connection->floor[entry->map] ||
            entry->base_version < grid->version || grid->lost_count > 0,
        "%s stood at %llu all the time", grid->name, ULL(grid->version));
    if (entry->names_cell)
        SAY(error->has_change_index && error->change_index == entry->bad_index &&
                error->bad_x == entry->bad_x && error->bad_y == entry->bad_y,
            "change %u at (%u, %u) is named, it is %u at (%u, %u)", error->change_index, error->bad_x,
            error->bad_y, entry->bad_index, entry->bad_x, entry->bad_y);
    model.seen.refused++;
    model.seen.mismatch += entry->wanted == MAYBE;
}

static void check_goal(struct connection *connection, const struct entry *entry)
{
    const struct session *next = &entry->session;
    struct session *session = model_session_of(connection, next->id);
    int wanted = entry->wanted == REFUSED ? entry->code : session ? 0 : TICKPATH__ERROR_CODE__NOT_FOUND;
    if (!session)
        wanted = TICKPATH__ERROR_CODE__NOT_FOUND;
    int code = entry->reply->body_case == TICKPATH__REPLY__BODY_ERROR ? (int)entry->reply->error->code : 0;
    SAY(code == wanted, "a goal answered with %d instead of %d", code, wanted);
    if (code)
        return;
    memcpy(session->goal, next->goal, sizeof session->goal);
    session->goal_count = next->goal_count;
    session->proved.version = 0;
}

static void check_open(struct connection *connection, const struct entry *entry)
{
    if (entry->reply->body_case == TICKPATH__REPLY__BODY_ERROR) {
        SAY(entry->wanted == MAYBE && entry->reply->error->code == TICKPATH__ERROR_CODE__UNSUPPORTED,
            "a session refused with %d: %s: %s", (int)entry->reply->error->code, entry->reply->error->field,
            entry->reply->error->message);
        model.seen.unsupported++;
        return;
    }
    const Tickpath__SessionOpened *opened = entry->reply->session_opened;
    SAY(!model_session_of(connection, opened->session), "the id %llu again", ULL(opened->session));
    check_named(connection, entry->map, opened->version);
    struct session *session = &connection->sessions[connection->session_count++];
    *session = entry->session;
    session->id = opened->session;
    model.seen.opened++;
}

static void check_close(struct connection *connection, const struct entry *entry)
{
    size_t kept = 0, before = connection->session_count;
    for (size_t i = 0; i < before; i++)
        if (!entry->all && connection->sessions[i].id != entry->ids[0])
            connection->sessions[kept++] = connection->sessions[i];
    connection->session_count = kept;
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_SESSIONS_CLOSED &&
            entry->reply->sessions_closed->count == before - kept,
        "closed %u sessions, not %zu", entry->reply->sessions_closed->count, before - kept);
}

static void check_list(struct connection *connection, const struct entry *entry)
{
    const Tickpath__Listing *listing = entry->reply->listing;
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_LISTING &&
            listing->n_session == connection->session_count,
        "%zu sessions listed, %zu known", listing->n_session, connection->session_count);
    for (size_t i = 0; i < listing->n_session; i++) {
        const Tickpath__SessionInfo *info = listing->session[i];
        const struct session *s = model_session_of(connection, info->session);
        SAY(s && info->cell == s->cell && info->goal == s->goal[0] && info->cost == s->cost &&
                info->ticks == s->ticks && strcmp(info->map, model.grids[s->map].name) == 0 &&
                strcmp(info->algorithm, s->algorithm->name) == 0,
            "session %llu is listed on %u to %u after %llu ticks", ULL(info->session), info->cell, info->goal,
            ULL(info->ticks));
    }
}

static void check_map(struct connection *connection, const struct entry *entry)
{
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO, "reply %d to OpenMap",
        (int)entry->reply->body_case);
    const Tickpath__MapInfo *info = entry->reply->map_info;
    check_named(connection, entry->map, info->version);
    const uint8_t *cells = model_cells_at(entry->map, info->version);
    uint64_t passable = 0;
    for (uint32_t i = 0; i < model_cells_of(entry->map); i++)
        passable += model_weight_of(cells[i], 0) != 0;
    SAY(info->passable_cells == passable, "%s: %llu passable cells in version %llu, not %llu", info->map,
        ULL(passable), ULL(info->version), ULL(info->passable_cells));
}

static void check_subscribed(struct connection *connection, const struct entry *entry)
{
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_SUBSCRIBED, "reply %d to Subscribe",
        (int)entry->reply->body_case);
    uint64_t version = entry->reply->subscribed->version;
    SAY(version >= connection->floor[entry->map], "subscribed at %llu", ULL(version));
    connection->floor[entry->map] = version;
    connection->subscribed[entry->map] = true;
    connection->told[entry->map] = version;
    memcpy(connection->mirror[entry->map], model_cells_at(entry->map, version), CELLS_MAX);
}

/* A subscriber's map made of pushes alone is the model's. */
static void check_push(struct connection *connection, const Tickpath__MapChanged *push)
{
    int map = model_map_named(push->map);
    uint8_t *mirror = connection->mirror[map];
    SAY(connection->subscribed[map] && push->from_version == connection->told[map] &&
            push->version > push->from_version && !push->resync,
        "%s: a push from %llu to %llu, told last of %llu", push->map, ULL(push->from_version),
        ULL(push->version), ULL(connection->told[map]));
    for (size_t i = 0; i < push->n_cell; i++) {
        SAY(push->cell[i] < model_cells_of(map) && mirror[push->cell[i]] != push->terrain[i],
            "%s: a push of cell %u", push->map, push->cell[i]);
        mirror[push->cell[i]] = (uint8_t)push->terrain[i];
    }
    SAY(memcmp(mirror, model_cells_at(map, push->version), model_cells_of(map)) == 0,
        "%s: pushes make another map of version %llu", push->map, ULL(push->version));
    connection->told[map] = push->version;
    model.seen.pushes++;
}

void model_check_round(void)
{
    static void (*const check[])(struct connection *, const struct entry *) = {
        [CHANGE] = check_change, [TICK] = check_tick, [SET_GOAL] = check_goal, [OPEN] = check_open,
        [CLOSE] = check_close,   [LIST] = check_list, [OPEN_MAP] = check_map,  [SUBSCRIBE] = check_subscribed,
    };
    model_resolve();
    for (int c = 0; c < CONNECTIONS; c++) {
        struct connection *connection = &model.connections[c];
        size_t push = 0;
        for (size_t i = 0; i <= connection->answered; i++) {
            for (; push < connection->push_count && connection->pushes[push].before <= i; push++) {
                check_push(connection, connection->pushes[push].reply->map_changed);
                wire_reply_free(connection->pushes[push].reply);
            }
            if (i < connection->answered) {
                check[connection->entries[i].kind](connection, &connection->entries[i]);
                wire_reply_free(connection->entries[i].reply);
            }
        }
        connection->entry_count = connection->answered = connection->push_count = 0;
    }
}
