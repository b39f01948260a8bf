/* What stands on a connection with failover: enough of it to stand it up again on another.
 *
 * Every answer comes by here on its way to the caller (tp__book_answer): a session opened, a move, a goal, a version told. What is
 * not answered is not in the book: it is sent again (tickets.c). Sessions have the caller's name, the handle, and the daemon's; requests are
 * translated when they go out, answers when they come. A handle that stands for no session goes out with its highest bit
 * set, which no daemon's name has, so that the refusal can be translated back.
 */
#include "client/internal.h"

#include <stdlib.h>
#include <string.h>

#define NO_SESSION (UINT64_C(1) << 63)

/* Makes room for one more element. false: out of memory. */
static bool grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room == 0 ? 16 : *room * 2;
    void *grown = realloc(*(void **)array, more * size);
    if (grown == NULL)
        return false;
    *(void **)array = grown;
    *room = more;
    return true;
}

/* ---- maps ---- */

static struct tp__map *find_map(const struct tp__book *book, const char *name)
{
    for (size_t i = 0; i < book->map_count; i++)
        if (strcmp(book->maps[i]->name, name) == 0)
            return book->maps[i];
    return NULL;
}

/* Finds the map, or makes it. NULL: out of memory. */
static struct tp__map *note_map(struct tp__book *book, const char *name)
{
    struct tp__map *map = find_map(book, name);
    if (map != NULL)
        return map;
    map = calloc(1, sizeof *map);
    if (map == NULL || (map->name = strdup(name)) == NULL ||
        !grow(&book->maps, book->map_count, &book->map_room, sizeof(struct tp__map *))) {
        free(map != NULL ? map->name : NULL);
        free(map);
        return NULL;
    }
    book->maps[book->map_count++] = map;
    return map;
}

/* The caller is told that the map is there. */
static void tell(struct tp__map *map, uint64_t epoch, uint64_t version)
{
    if (map->epoch != epoch || map->version < version)
        map->version = version;
    map->epoch = epoch;
}

/* Tells of a map's new epoch, if it is one to the caller; *map is then where it stands. */
static void tell_epoch(struct tp_client *client, struct tp__map *map, uint64_t epoch, uint64_t version)
{
    const struct tp_client_event event = {.kind = TP_CLIENT_NEW_EPOCH,
                                          .map = map->name,
                                          .old_epoch = map->epoch,
                                          .old_version = map->version,
                                          .epoch = epoch,
                                          .version = version};
    tell(map, epoch, version);
    if (event.old_epoch != epoch)
        tp__event(client, event);
}

static bool note_version(struct tp__book *book, const char *name, uint64_t epoch, uint64_t version)
{
    if (name == NULL)
        return true; /* a reply without: there is nothing to note */
    struct tp__map *map = note_map(book, name);
    if (map != NULL)
        tell(map, epoch, version);
    return map != NULL;
}

/* ---- sessions ---- */

/* Where a session of that handle, or of that wire name, is in its sorted array, or should be. */
static size_t place_of(struct tp__session *const *sessions, size_t count, uint64_t id, bool by_wire)
{
    size_t low = 0, high = count;
    if (count > 0 && (by_wire ? sessions[count - 1]->wire : sessions[count - 1]->handle) < id)
        return count; /* the daemon counts upwards, mostly */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((by_wire ? sessions[middle]->wire : sessions[middle]->handle) < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct tp__session *find_handle(const struct tp__book *book, uint64_t handle)
{
    size_t at = place_of(book->sessions, book->session_count, handle, false);
    return at < book->session_count && book->sessions[at]->handle == handle ? book->sessions[at] : NULL;
}

static struct tp__session *find_wire(const struct tp__book *book, uint64_t wire)
{
    size_t at = place_of(book->wires, book->wire_count, wire, true);
    return at < book->wire_count && book->wires[at]->wire == wire ? book->wires[at] : NULL;
}

static uint64_t handle_of(const struct tp__book *book, uint64_t wire)
{
    const struct tp__session *session = find_wire(book, wire);
    return session != NULL ? session->handle : wire & ~NO_SESSION;
}

static uint64_t wire_of(const struct tp__book *book, uint64_t handle)
{
    const struct tp__session *session = find_handle(book, handle);
    return session != NULL && session->bound ? session->wire : handle | NO_SESSION;
}

void tp__book_unbind(struct tp__book *book, struct tp__session *session)
{
    if (!session->bound)
        return;
    size_t at = place_of(book->wires, book->wire_count, session->wire, true);
    memmove(&book->wires[at], &book->wires[at + 1], (--book->wire_count - at) * sizeof(struct tp__session *));
    session->bound = false;
}

static bool bind_wire(struct tp__book *book, struct tp__session *session, uint64_t wire)
{
    struct tp__session *former = find_wire(book, wire);
    tp__book_unbind(book, session);
    if (former != NULL && former != session)
        tp__book_unbind(book, former); /* the daemon gave its name to another */
    if (!grow(&book->wires, book->wire_count, &book->wire_room, sizeof(struct tp__session *)))
        return false;
    size_t at = place_of(book->wires, book->wire_count, wire, true);
    memmove(&book->wires[at + 1], &book->wires[at], (book->wire_count++ - at) * sizeof(struct tp__session *));
    book->wires[at] = session;
    session->wire = wire;
    session->bound = true;
    return true;
}

static void free_session(struct tp__session *session)
{
    free(session->open);
    free(session->error);
    free(session);
}

void tp__book_sweep(struct tp__book *book)
{
    size_t kept = 0;
    for (size_t i = 0; i < book->session_count; i++) {
        if (book->sessions[i]->bound || book->sessions[i]->stale)
            book->sessions[kept++] = book->sessions[i];
        else
            free_session(book->sessions[i]);
    }
    book->session_count = kept;
}

static bool keep_open(struct tp__session *session, const Tickpath__OpenSession *open)
{
    size_t size = tickpath__open_session__get_packed_size(open);
    uint8_t *packed = malloc(size + 1);
    if (packed == NULL)
        return false;
    tickpath__open_session__pack(open, packed);
    free(session->open);
    session->open = packed;
    session->open_size = size;
    return true;
}

Tickpath__OpenSession *tp__book_open(const struct tp__session *session)
{
    Tickpath__OpenSession *open = tickpath__open_session__unpack(NULL, session->open_size, session->open);
    if (open == NULL)
        return NULL;
    open->start = session->cell;
    open->has_start_vx = open->has_start_vx || session->vx != 0;
    open->has_start_vy = open->has_start_vy || session->vy != 0;
    open->start_vx = session->vx;
    open->start_vy = session->vy;
    open->has_epoch = 0; /* the caller is told of another one */
    return open;
}

/* A session of the caller's was opened. */
static bool note_session(struct tp__book *book, const Tickpath__OpenSession *open, const Tickpath__SessionOpened *opened,
                         uint64_t *handle)
{
    struct tp__session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return false;
    session->map = note_map(book, open->map);
    if (session->map == NULL || (open->known_map != NULL && note_map(book, open->known_map) == NULL) ||
        !keep_open(session, open) ||
        !grow(&book->sessions, book->session_count, &book->session_room, sizeof(struct tp__session *)) ||
        !bind_wire(book, session, opened->session)) {
        free_session(session);
        return false;
    }
    session->handle = *handle = ++book->handle_last;
    session->cell = open->start;
    session->vx = open->start_vx;
    session->vy = open->start_vy;
    session->epoch = opened->epoch;
    tell(session->map, opened->epoch, opened->version);
    book->sessions[book->session_count++] = session;
    return true;
}

/* Whether a refusal may be none a little later. */
static bool is_for_now(const Tickpath__Reply *reply)
{
    if (reply->body_case != TICKPATH__REPLY__BODY_ERROR)
        return false;
    Tickpath__ErrorCode code = reply->error->code;
    return code == TICKPATH__ERROR_CODE__UNAVAILABLE || code == TICKPATH__ERROR_CODE__MAP_NOT_READY ||
           code == TICKPATH__ERROR_CODE__RESOURCE_EXHAUSTED || code == TICKPATH__ERROR_CODE__NO_MEMORY;
}

/* A session was opened again on the connection that it was on before, or not. */
static bool note_reopened(struct tp_client *client, uint64_t handle, const Tickpath__Reply *reply)
{
    struct tp__book *book = &client->failover->book;
    struct tp__session *session = find_handle(book, handle);
    if (session == NULL)
        return true; /* closed meanwhile */
    session->asked = false;
    session->stale = is_for_now(reply);
    if (reply->body_case == TICKPATH__REPLY__BODY_SESSION_OPENED) {
        session->epoch = reply->session_opened->epoch;
        session->cost_before = session->cost;
        tell_epoch(client, session->map, reply->session_opened->epoch, reply->session_opened->version);
        return bind_wire(book, session, reply->session_opened->session);
    }
    if (session->stale)
        return true;
    struct tp_client_error error;
    tp__error_take(&error, reply->error);
    tp__event(client, (struct tp_client_event){.kind = TP_CLIENT_SESSION_GONE,
                                               .session = handle,
                                               .map = session->map->name,
                                               .error = &error});
    return true;
}

static bool note_goals(struct tp__book *book, const Tickpath__SetGoal *set)
{
    struct tp__session *session = find_handle(book, set->session);
    if (session == NULL)
        return true;
    Tickpath__OpenSession *open = tickpath__open_session__unpack(NULL, session->open_size, session->open);
    if (open == NULL)
        return false;
    uint32_t *goals = open->more_goals;
    size_t count = open->n_more_goals;
    open->goal = set->goal;
    open->more_goals = set->more_goals; /* borrowed while it is packed */
    open->n_more_goals = set->n_more_goals;
    bool kept = keep_open(session, open);
    open->more_goals = goals;
    open->n_more_goals = count;
    tickpath__open_session__free_unpacked(open, NULL);
    return kept;
}

static void note_closed(struct tp__book *book, const Tickpath__CloseSession *close)
{
    if (close->all) {
        while (book->wire_count > 0)
            book->wires[--book->wire_count]->bound = false;
    }
    for (size_t i = 0; !close->all && i < close->n_session; i++) {
        struct tp__session *session = find_handle(book, close->session[i]);
        if (session != NULL) {
            tp__book_unbind(book, session);
            session->stale = false;
        }
    }
    tp__book_sweep(book);
}

/* ---- ticks ---- */

static void note_refused(struct tp_client *client, Tickpath__Refused *refused)
{
    struct tp__book *book = &client->failover->book;
    struct tp__session *session = find_wire(book, refused->session);
    refused->session = handle_of(book, refused->session);
    if (session == NULL)
        return;
    bool is_gone = refused->code == TICKPATH__ERROR_CODE__NOT_FOUND;
    bool is_other = refused->code == TICKPATH__ERROR_CODE__VERSION_MISMATCH && refused->epoch != session->epoch;
    if (!is_gone && !is_other)
        return;
    session->stale = book->any_stale = true;
    if (is_other && refused->epoch != 0) /* else the session's opening will tell */
        tell_epoch(client, session->map, refused->epoch, refused->version);
}

static void note_ticked(struct tp_client *client, Tickpath__Ticked *ticked)
{
    struct tp__book *book = &client->failover->book;
    size_t n = ticked->n_session, guess = 0;
    bool whole = ticked->n_cell == n && ticked->n_cost == n && ticked->n_version == n;
    bool drives = ticked->n_vx == n && ticked->n_vy == n;
    for (size_t i = 0; i < n && whole; i++) { /* else it is refused as it is shown */
        struct tp__session *session = guess < book->wire_count ? book->wires[guess] : NULL;
        if (session == NULL || session->wire != ticked->session[i]) {
            guess = place_of(book->wires, book->wire_count, ticked->session[i], true);
            session = find_wire(book, ticked->session[i]);
        }
        guess++;
        if (session == NULL)
            continue;
        session->cell = ticked->cell[i];
        session->vx = drives ? ticked->vx[i] : 0;
        session->vy = drives ? ticked->vy[i] : 0;
        session->cost = ticked->cost[i] += session->cost_before;
        if (session->map->epoch == session->epoch && session->map->version < ticked->version[i])
            session->map->version = ticked->version[i];
        ticked->session[i] = session->handle;
    }
    for (size_t i = 0; i < ticked->n_refused; i++)
        note_refused(client, ticked->refused[i]);
    book->ticks = ticked->tick;
    ticked->tick += book->ticks_before;
}

/* ---- profiles and subscriptions ---- */

static bool note_profile(struct tp__book *book, const Tickpath__PutProfile *put)
{
    size_t at = 0, size = tickpath__put_profile__get_packed_size(put);
    const char *name = put->name != NULL ? put->name : "";
    while (at < book->profile_count &&
           (strcmp(book->profiles[at].map, put->map) != 0 || strcmp(book->profiles[at].name, name) != 0))
        at++;
    if (at < book->profile_count)
        return true; /* the same: another one of that name is refused, unless the map was put anew */
    struct tp__profile profile = {.map = strdup(put->map), .name = strdup(name), .put = malloc(size + 1), .put_size = size};
    if (profile.map == NULL || profile.name == NULL || profile.put == NULL ||
        !grow(&book->profiles, book->profile_count, &book->profile_room, sizeof profile)) {
        free(profile.map);
        free(profile.name);
        free(profile.put);
        return false;
    }
    tickpath__put_profile__pack(put, profile.put);
    book->profiles[book->profile_count++] = profile;
    return true;
}

static struct tp__subscription *find_subscription(struct tp__book *book, const char *map)
{
    for (size_t i = 0; i < book->subscription_count; i++)
        if (strcmp(book->subscriptions[i].map->name, map) == 0)
            return &book->subscriptions[i];
    return NULL;
}

static void end_subscription(struct tp__book *book, struct tp__subscription *subscription)
{
    if (subscription != NULL)
        *subscription = book->subscriptions[--book->subscription_count];
}

static bool note_subscribed(struct tp__book *book, const Tickpath__Subscribe *subscribe, const Tickpath__Subscribed *subscribed)
{
    struct tp__subscription *subscription = find_subscription(book, subscribe->map);
    if (subscribe->off) {
        end_subscription(book, subscription);
        return true;
    }
    struct tp__map *map = note_map(book, subscribe->map);
    if (map == NULL)
        return false;
    if (subscription == NULL) {
        if (!grow(&book->subscriptions, book->subscription_count, &book->subscription_room, sizeof *subscription))
            return false;
        subscription = &book->subscriptions[book->subscription_count++];
    }
    *subscription = (struct tp__subscription){.map = map,
                                              .want_cells = subscribe->want_cells,
                                              .epoch = subscribed->epoch,
                                              .version = subscribed->version};
    tell(map, subscribed->epoch, subscribed->version);
    return true;
}

void tp__book_push(struct tp_client *client, const Tickpath__MapChanged *changed)
{
    struct tp__book *book = &client->failover->book;
    struct tp__subscription *subscription = find_subscription(book, changed->map);
    if (subscription == NULL)
        return;
    if (changed->dropped) {
        end_subscription(book, subscription);
        return;
    }
    subscription->epoch = changed->epoch;
    subscription->version = changed->version;
    tell_epoch(client, subscription->map, changed->epoch, changed->version);
}

/* A map that is put anew, or dropped, has no profiles. */
static void forget_profiles(struct tp__book *book, const char *map)
{
    for (size_t i = 0; i < book->profile_count;) {
        if (strcmp(book->profiles[i].map, map) != 0) {
            i++;
            continue;
        }
        free(book->profiles[i].map);
        free(book->profiles[i].name);
        free(book->profiles[i].put);
        book->profiles[i] = book->profiles[--book->profile_count];
    }
}

/* A map is no longer the caller's business, unless sessions or a subscription still say so. */
static void forget_map(struct tp__book *book, const char *name)
{
    size_t at = 0;
    while (at < book->map_count && strcmp(book->maps[at]->name, name) != 0)
        at++;
    bool needed = at == book->map_count || find_subscription(book, name) != NULL;
    for (size_t i = 0; !needed && i < book->session_count; i++)
        needed = book->sessions[i]->map == book->maps[at];
    forget_profiles(book, name);
    if (needed)
        return;
    free(book->maps[at]->name);
    free(book->maps[at]);
    book->maps[at] = book->maps[--book->map_count];
}

/* ---- an answer ---- */

/* A request that had an effect before, its answer lost, says so when it is sent again. */
static bool forgive_drop(Tickpath__Reply *reply)
{
    Tickpath__MapDropped *dropped = malloc(sizeof *dropped);
    if (dropped == NULL)
        return false;
    tickpath__map_dropped__init(dropped);
    tickpath__error__free_unpacked(reply->error, NULL);
    reply->body_case = TICKPATH__REPLY__BODY_MAP_DROPPED;
    reply->map_dropped = dropped;
    return true;
}

/* Goals for a session that ended with its map's epoch: it gets them when it is opened again. */
static bool forgive_goals(struct tp_client *client, const struct tp__ticket *ticket, Tickpath__Reply *reply)
{
    struct tp__book *book = &client->failover->book;
    Tickpath__Request *request = tickpath__request__unpack(NULL, ticket->copy_size, ticket->copy);
    Tickpath__GoalSet *set = malloc(sizeof *set);
    struct tp__session *session = request != NULL ? find_handle(book, request->set_goal->session) : NULL;
    bool noted = request != NULL && set != NULL;
    if (noted && session != NULL && note_goals(book, request->set_goal)) {
        session->stale = book->any_stale = true;
        tickpath__goal_set__init(set);
        set->has_session = 1;
        set->session = session->handle;
        tickpath__error__free_unpacked(reply->error, NULL);
        reply->body_case = TICKPATH__REPLY__BODY_GOAL_SET;
        reply->goal_set = set;
        set = NULL;
    }
    free(set);
    if (request != NULL)
        tickpath__request__free_unpacked(request, NULL);
    return noted;
}

static bool forgive(struct tp_client *client, const struct tp__ticket *ticket, Tickpath__Reply *reply)
{
    Tickpath__ErrorCode code = reply->error->code;
    if (ticket->resent && ticket->request == TICKPATH__REQUEST__BODY_DROP_MAP && code == TICKPATH__ERROR_CODE__NOT_FOUND)
        return forgive_drop(reply);
    if (ticket->request == TICKPATH__REQUEST__BODY_SET_GOAL &&
        (code == TICKPATH__ERROR_CODE__NOT_FOUND || code == TICKPATH__ERROR_CODE__VERSION_MISMATCH))
        return forgive_goals(client, ticket, reply);
    return true;
}

static bool note_answer(struct tp_client *client, const Tickpath__Request *request, Tickpath__Reply *reply)
{
    struct tp__book *book = &client->failover->book;
    switch (reply->body_case) {
    case TICKPATH__REPLY__BODY_MAP_INFO:
        return note_version(book, reply->map_info->map, reply->map_info->epoch, reply->map_info->version);
    case TICKPATH__REPLY__BODY_CHANGED:
        return note_version(book, request->change_costs->map, reply->changed->epoch, reply->changed->version);
    case TICKPATH__REPLY__BODY_SUBSCRIBED:
        return note_subscribed(book, request->subscribe, reply->subscribed);
    case TICKPATH__REPLY__BODY_SESSION_OPENED:
        reply->session_opened->has_session = 1;
        return note_session(book, request->open_session, reply->session_opened, &reply->session_opened->session);
    case TICKPATH__REPLY__BODY_GOAL_SET:
        return note_goals(book, request->set_goal);
    case TICKPATH__REPLY__BODY_SESSIONS_CLOSED:
        note_closed(book, request->close_session);
        return true;
    case TICKPATH__REPLY__BODY_PROFILE_PUT:
        return note_profile(book, request->put_profile);
    case TICKPATH__REPLY__BODY_MAP_DROPPED:
        forget_map(book, request->drop_map->map);
        return true;
    default:
        return true;
    }
}

int tp__book_answer(struct tp_client *client, struct tp__ticket *ticket, Tickpath__Reply *reply)
{
    struct tp__book *book = &client->failover->book;
    bool is_error = reply->body_case == TICKPATH__REPLY__BODY_ERROR, noted = true;
    if (is_error && reply->error->code == TICKPATH__ERROR_CODE__SHUTTING_DOWN) { /* another will do it */
        struct tp_client_error why;
        tp__error_take(&why, reply->error);
        return tp__break(client, &why);
    }
    client->failover->lost_ms = 0; /* something is answered again */
    client->failover->attempts = 0;
    if (ticket->reopens != 0) {
        noted = note_reopened(client, ticket->reopens, reply);
    } else if (is_error) {
        noted = forgive(client, ticket, reply);
    } else if (reply->body_case == TICKPATH__REPLY__BODY_TICKED) {
        note_ticked(client, reply->ticked);
    } else if (reply->body_case == TICKPATH__REPLY__BODY_SESSION_DUMP) {
        reply->session_dump->session = handle_of(book, reply->session_dump->session);
    } else if (reply->body_case == TICKPATH__REPLY__BODY_LISTING) {
        for (size_t i = 0; i < reply->listing->n_session; i++)
            reply->listing->session[i]->session = handle_of(book, reply->listing->session[i]->session);
    }
    if (noted && ticket->copy != NULL && reply->body_case != TICKPATH__REPLY__BODY_TICKED && !is_error) {
        Tickpath__Request *request = tickpath__request__unpack(NULL, ticket->copy_size, ticket->copy);
        noted = request != NULL && note_answer(client, request, reply);
        if (request != NULL)
            tickpath__request__free_unpacked(request, NULL);
    } else if (noted && ticket->copy == NULL && reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO) {
        forget_profiles(book, reply->map_info->map != NULL ? reply->map_info->map : ""); /* the end of an upload */
        noted = note_answer(client, NULL, reply);
    }
    return noted ? 0 : tp__break_with(client, TP_CLIENT_NO_MEMORY, "out of memory for what a reply says");
}

void tp__book_translate(const struct tp__book *book, Tickpath__Request *request)
{
    uint64_t *sessions = NULL, *at_sessions = NULL;
    size_t count = 0, at_count = 0;
    if (request->body_case == TICKPATH__REQUEST__BODY_TICK) {
        sessions = request->tick->session;
        count = request->tick->n_session;
        at_sessions = request->tick->at_session;
        at_count = request->tick->n_at_session;
    } else if (request->body_case == TICKPATH__REQUEST__BODY_CLOSE_SESSION) {
        sessions = request->close_session->session;
        count = request->close_session->n_session;
    } else if (request->body_case == TICKPATH__REQUEST__BODY_SET_GOAL) {
        sessions = &request->set_goal->session;
        count = 1;
    } else if (request->body_case == TICKPATH__REQUEST__BODY_DUMP_SESSION) {
        sessions = &request->dump_session->session;
        count = 1;
    }
    for (size_t i = 0; i < count; i++)
        sessions[i] = wire_of(book, sessions[i]);
    for (size_t i = 0; i < at_count; i++)
        at_sessions[i] = wire_of(book, at_sessions[i]);
}

/* ---- a new connection ---- */

int tp__book_prepare(struct tp_client *client)
{
    struct tp__book *book = &client->failover->book;
    while (book->wire_room < book->session_count)
        if (!grow(&book->wires, book->wire_room, &book->wire_room, sizeof(struct tp__session *)))
            return tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory");
    return 0;
}

static int compare_wires(const void *a, const void *b)
{
    uint64_t x = (*(struct tp__session *const *)a)->wire, y = (*(struct tp__session *const *)b)->wire;
    return (x > y) - (x < y);
}

void tp__book_commit(struct tp_client *client)
{
    struct tp__book *book = &client->failover->book;
    book->wire_count = 0;
    book->any_stale = false;
    book->ticks_before += book->ticks;
    book->ticks = 0;
    for (size_t i = 0; i < book->map_count; i++) {
        struct tp__map *map = book->maps[i];
        if (map->next_epoch != 0)
            tell_epoch(client, map, map->next_epoch, map->next_version);
    }
    for (size_t i = 0; i < book->session_count; i++) {
        struct tp__session *session = book->sessions[i];
        session->stale = session->asked = false;
        session->bound = session->next_wire != 0;
        session->wire = session->next_wire;
        session->epoch = session->map->epoch;
        session->cost_before = session->cost;
        if (session->bound)
            book->wires[book->wire_count++] = session;
        else
            tp__event(client, (struct tp_client_event){.kind = TP_CLIENT_SESSION_GONE,
                                                       .session = session->handle,
                                                       .map = session->map->name,
                                                       .error = session->error});
        free(session->error);
        session->error = NULL;
    }
    if (book->wire_count > 1)
        qsort(book->wires, book->wire_count, sizeof(struct tp__session *), compare_wires);
    tp__book_sweep(book);
}

void tp__book_fini(struct tp__book *book)
{
    for (size_t i = 0; i < book->session_count; i++)
        free_session(book->sessions[i]);
    for (size_t i = 0; i < book->map_count; i++) {
        free(book->maps[i]->name);
        free(book->maps[i]);
    }
    for (size_t i = 0; i < book->profile_count; i++) {
        free(book->profiles[i].map);
        free(book->profiles[i].name);
        free(book->profiles[i].put);
    }
    free(book->sessions);
    free(book->wires);
    free(book->maps);
    free(book->profiles);
    free(book->subscriptions);
}
