/* A connection lost, and all that stood on it stood up again on another address.
 *
 * Happy path: whoever sends or waits finds the connection broken and calls tp__recover. It opens a plain connection (a
 * struct tp_client of its own, without failover) to the next address, and by the public calls on it asks for the maps, puts the profiles,
 * subscribes and opens the sessions. Only when all of that stands does it take over the plain connection's socket and buffers, note the new names
 * of the sessions (book.c), and send again what was not answered (tickets.c). What can go wrong:
 *   - the address does not answer, or lacks a map, or is behind the version told: the plain connection is closed, nothing has changed, and the
 *     next address has its turn after a pause, until patience is over since anything was answered last;
 *   - the new connection is lost too, before or after it was taken over: the same, and the clock of the patience runs on, so
 *     that a request which ends every daemon does not go round for ever;
 *   - a session can't be opened again (its cell is outside of a smaller map): it is gone, the others go on.
 */
#include "client/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    CONNECT_MS = 2000,   /* for one address to say welcome */
    PAUSE_MS = 8,        /* before the first address that is turned to, at most; then twice that, and so on, */
    PAUSE_MS_MAX = 1000, /* up to this */
    BEHIND_MS = 10,      /* between two questions whether a map has come to the version told */
    OPENS_AHEAD = 256,
};

static int64_t now_ms(void)
{
    return tp__deadline(0);
}

static void sleep_ms(int64_t ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    if (ms > 0)
        nanosleep(&pause, NULL);
}

void tp__random_bytes(void *bytes, size_t size)
{
    static unsigned calls;
    if (getrandom(bytes, size, 0) == (ssize_t)size) /* up to 256 bytes come at once */
        return;
    struct timespec now; /* a kernel without it: still another key each time */
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t mix = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + (uintptr_t)bytes + calls++;
    for (size_t i = 0; i < size; i++) {
        mix = mix * 6364136223846793005u + 1442695040888963407u;
        ((uint8_t *)bytes)[i] = (uint8_t)(mix >> 56);
    }
}

void tp__event(struct tp_client *client, struct tp_client_event event)
{
    const struct tp_client_options *options = &client->failover->options;
    if (options->event_cb != NULL)
        options->event_cb(&event, options->context);
}

int64_t tp__stalled_at(const struct tp_client *client)
{
    if (client->failover == NULL || !tp__tickets_wait_for_some(client))
        return INT64_MAX;
    return client->heard_ms + client->failover->options.stall_ms;
}

int tp__break_stalled(struct tp_client *client)
{
    return tp__break_with(client, TP_CLIENT_TIMEOUT, "the server owes an answer and said nothing for %u ms",
                          client->failover->options.stall_ms);
}

/* Closes a stale session where it was and opens it again. */
static int reopen(struct tp_client *client, struct tp__session *session, int64_t deadline_ms)
{
    uint64_t connections = client->connections;
    Tickpath__OpenSession *open = tp__book_open(session);
    if (open == NULL)
        return tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory");
    int result = 0;
    if (session->bound) {
        Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
        close.session = &session->wire;
        close.n_session = 1;
        result = tp__tickets_send_own(client, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close, 0, deadline_ms);
        if (result == 0)
            tp__book_unbind(&client->failover->book, session);
    }
    if (result == 0)
        result = tp__tickets_send_own(client, TICKPATH__REQUEST__BODY_OPEN_SESSION, open, session->handle, deadline_ms);
    session->asked = result == 0 && client->connections == connections;
    tickpath__open_session__free_unpacked(open, NULL);
    return result;
}

int tp__reopen_stale(struct tp_client *client, int64_t *deadline_ms)
{
    struct tp__book *book = &client->failover->book;
    int result = 0;
    for (size_t i = 0; i < book->session_count && result == 0; i++)
        if (book->sessions[i]->stale && !book->sessions[i]->asked)
            result = reopen(client, book->sessions[i], *deadline_ms);
    if (result == 0)
        result = tp__tickets_settle(client, deadline_ms);
    if (result != 0)
        return result;
    book->any_stale = false;
    tp__book_sweep(book);
    for (size_t i = 0; i < book->session_count; i++)
        book->any_stale = book->any_stale || book->sessions[i]->stale;
    return 0;
}

/* ---- one address ---- */

/* An address that is being turned to. */
struct attempt {
    struct tp_client *client, *fresh;
    const char *address;
    int64_t deadline_ms; /* when patience is over */
    struct tp_client_error error;
};

/* The milliseconds that a call of the attempt may take. */
static int call_ms(const struct attempt *attempt)
{
    int64_t left = attempt->deadline_ms - now_ms(), stall = attempt->client->failover->options.stall_ms;
    return (int)(left < 0 ? 0 : left < stall ? left : stall);
}

/* The attempt fails with what the call on its connection said. */
static int give_up(struct attempt *attempt, const char *what)
{
    const struct tp_client_error *why = tp_client_error(attempt->fresh);
    char words[TP_CLIENT_MESSAGE_MAX];
    snprintf(words, sizeof words, "%s", why->message);
    return tp__error_set(&attempt->error, why->code != 0 ? why->code : TP_CLIENT_UNAVAILABLE, "%s: %s", what, words);
}

/* Whether a map that is nowhere may be taken for gone. */
static bool may_be_gone(const struct attempt *attempt)
{
    const struct tp__failover *failover = attempt->client->failover;
    return failover->attempts > failover->address_count && tp_client_server(attempt->fresh)->degraded[0] == '\0';
}

static int ask_map(struct attempt *attempt, const char *name, struct tp_client_map *there)
{
    for (;;) {
        int result = tp_client_open_map(attempt->fresh, name, 0, there, call_ms(attempt));
        if (result != TP_CLIENT_MAP_NOT_READY || tp__expired(attempt->deadline_ms))
            return result;
        sleep_ms(BEHIND_MS);
    }
}

/* Notes where the map stands there. */
static int stand_map(struct attempt *attempt, struct tp__map *map)
{
    const struct tp_client_options *options = &attempt->client->failover->options;
    struct tp_client_map there = {.name = NULL};
    int64_t behind_ms = now_ms() + options->patience_ms / 4;
    int result = ask_map(attempt, map->name, &there);
    bool is_other = result == 0 && map->epoch != 0 && there.epoch != map->epoch;
    if (options->map_cb != NULL && (is_other || result == TP_CLIENT_NOT_FOUND)) {
        if (options->map_cb(attempt->fresh, map->name, is_other ? &there : NULL, options->context) != 0)
            return tp__error_set(&attempt->error, TP_CLIENT_NOT_FOUND, "map %s: %s", map->name,
                                 is_other ? "another one is there" : "it is not there");
        result = ask_map(attempt, map->name, &there);
    }
    while (result == 0 && there.epoch == map->epoch && there.version < map->version) { /* it has not read so far yet */
        if (tp__expired(behind_ms))
            return tp__error_set(&attempt->error, TP_CLIENT_MAP_NOT_READY, "map %s: it is at version %llu, and %llu was told", map->name,
                                 (unsigned long long)there.version, (unsigned long long)map->version);
        sleep_ms(BEHIND_MS);
        result = ask_map(attempt, map->name, &there);
    }
    map->next_epoch = result == 0 ? there.epoch : 0;
    map->next_version = result == 0 ? there.version : 0;
    if (result == TP_CLIENT_NOT_FOUND && may_be_gone(attempt))
        return 0;
    return result == 0 ? 0 : give_up(attempt, map->name);
}

static int stand_profiles(struct attempt *attempt)
{
    const struct tp__book *book = &attempt->client->failover->book;
    for (size_t i = 0; i < book->profile_count; i++) {
        const struct tp__profile *profile = &book->profiles[i];
        Tickpath__PutProfile *put = tickpath__put_profile__unpack(NULL, profile->put_size, profile->put);
        if (put == NULL)
            return tp__error_set(&attempt->error, TP_CLIENT_NO_MEMORY, "out of memory");
        int64_t deadline_ms = tp__deadline(call_ms(attempt));
        uint64_t ticket;
        tp__begin(attempt->fresh);
        int result = tp__tickets_send(attempt->fresh, TICKPATH__REQUEST__BODY_PUT_PROFILE, put, &ticket, deadline_ms);
        if (result == 0)
            result = tp__tickets_wait(attempt->fresh, ticket, deadline_ms);
        tickpath__put_profile__free_unpacked(put, NULL);
        /* Another one of that name, or a map that is gone: the sessions that name it say so. */
        if (result != 0 && result != TP_CLIENT_NOT_FOUND && result != TP_CLIENT_ALREADY_EXISTS)
            return give_up(attempt, profile->name);
    }
    return 0;
}

static int stand_subscriptions(struct attempt *attempt)
{
    struct tp__book *book = &attempt->client->failover->book;
    for (size_t i = 0; i < book->subscription_count; i++) {
        struct tp__subscription *subscription = &book->subscriptions[i];
        struct tp_client_subscribed subscribed = {.epoch = 0};
        subscription->gone = subscription->map->next_epoch == 0;
        if (!subscription->gone && tp_client_subscribe(attempt->fresh, subscription->map->name, subscription->want_cells, &subscribed,
                                                       call_ms(attempt)) != 0)
            return give_up(attempt, subscription->map->name);
        subscription->next_epoch = subscribed.epoch;
        subscription->next_version = subscribed.version;
    }
    return 0;
}

static int send_open(struct attempt *attempt, const struct tp__session *session, uint64_t *ticket)
{
    Tickpath__OpenSession *open = tp__book_open(session);
    if (open == NULL)
        return tp__error_set(&attempt->error, TP_CLIENT_NO_MEMORY, "out of memory");
    tp__begin(attempt->fresh);
    int result = tp__tickets_send(attempt->fresh, TICKPATH__REQUEST__BODY_OPEN_SESSION, open, ticket, tp__deadline(call_ms(attempt)));
    tickpath__open_session__free_unpacked(open, NULL);
    return result == 0 ? 0 : give_up(attempt, "cannot open a session again");
}

static int collect_open(struct attempt *attempt, struct tp__session *session, uint64_t ticket)
{
    struct tp_client_reply reply;
    int result = tp_client_collect(attempt->fresh, ticket, &reply, call_ms(attempt));
    session->next_wire = result == 0 ? reply.session.id : 0;
    if (result == 0)
        return 0;
    bool is_final = result == TP_CLIENT_NOT_FOUND || result == TP_CLIENT_INVALID_ARGUMENT || result == TP_CLIENT_OUT_OF_RANGE ||
                    result == TP_CLIENT_UNSUPPORTED;
    if (!is_final || !tp_client_error(attempt->fresh)->from_server)
        return give_up(attempt, "cannot open a session again");
    if (session->error == NULL)
        session->error = malloc(sizeof *session->error);
    if (session->error == NULL)
        return tp__error_set(&attempt->error, TP_CLIENT_NO_MEMORY, "out of memory");
    *session->error = *tp_client_error(attempt->fresh);
    return 0;
}

/* Opens the sessions in the order they were opened in. */
static int stand_sessions(struct attempt *attempt)
{
    struct tp__book *book = &attempt->client->failover->book;
    uint64_t tickets[OPENS_AHEAD];
    size_t sent = 0, opened = 0;
    int result = 0;
    while (result == 0 && opened < book->session_count) {
        if (sent < book->session_count && sent - opened < OPENS_AHEAD) {
            result = send_open(attempt, book->sessions[sent], &tickets[sent % OPENS_AHEAD]);
            sent++;
        } else {
            result = collect_open(attempt, book->sessions[opened], tickets[opened % OPENS_AHEAD]);
            opened++;
        }
    }
    return result;
}

/* ---- taking over ---- */

/* Puts a push into the queue that the server does not send: from the version told last to the one found. */
static int push_gap(struct tp_client *client, const struct tp__subscription *subscription)
{
    Tickpath__Reply reply = TICKPATH__REPLY__INIT;
    Tickpath__MapChanged changed = TICKPATH__MAP_CHANGED__INIT;
    bool is_other = subscription->next_epoch != subscription->epoch;
    if (!subscription->gone && !is_other && subscription->next_version == subscription->version)
        return 0;
    reply.body_case = TICKPATH__REPLY__BODY_MAP_CHANGED;
    reply.map_changed = &changed;
    changed.map = subscription->map->name;
    changed.has_epoch = changed.has_from_version = changed.has_version = 1;
    changed.epoch = subscription->gone ? subscription->epoch : subscription->next_epoch;
    changed.from_version = subscription->version;
    changed.version = subscription->gone ? subscription->version : subscription->next_version;
    changed.has_dropped = changed.dropped = subscription->gone;
    changed.has_resync = changed.resync = !subscription->gone && (is_other || subscription->want_cells);
    size_t size = tickpath__reply__get_packed_size(&reply);
    uint8_t *packed = malloc(size);
    if (packed == NULL)
        return tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a push");
    tickpath__reply__pack(&reply, packed);
    Tickpath__Reply *copy = tickpath__reply__unpack(NULL, size, packed);
    free(packed);
    return copy != NULL ? tp__pushes_take(client, copy) : tp__fail(client, TP_CLIENT_NO_MEMORY, "out of memory for a push");
}

/* The plain connection's socket, buffers and welcome become the client's. */
static void take_socket(struct tp_client *client, struct tp_client *fresh)
{
    tp__stream_close(client);
    client->fd = fresh->fd;
    client->out = fresh->out;
    client->in = fresh->in;
    client->frame_out_max = fresh->frame_out_max;
    client->frame_in_max = fresh->frame_in_max;
    memcpy(client->server_version, fresh->server_version, sizeof client->server_version);
    memcpy(client->server_degraded, fresh->server_degraded, sizeof client->server_degraded);
    client->server = fresh->server;
    client->server.version = client->server_version;
    client->server.degraded = client->server_degraded;
    fresh->fd = -1;
    memset(&fresh->out, 0, sizeof fresh->out);
    memset(&fresh->in, 0, sizeof fresh->in);
    memset(&client->broken, 0, sizeof client->broken);
    memset(&client->error, 0, sizeof client->error);
    client->connections++;
}

static int take_over(struct attempt *attempt)
{
    struct tp_client *client = attempt->client;
    struct tp__book *book = &client->failover->book;
    int result = tp__book_prepare(client);
    if (result != 0)
        return result;
    take_socket(client, attempt->fresh);
    tp__book_commit(client);
    for (size_t i = book->subscription_count; i-- > 0 && result == 0;)
        result = push_gap(client, &book->subscriptions[i]); /* of one that is gone: takes it off the list */
    for (Tickpath__Reply *push; result == 0 && (push = tp__pushes_first(attempt->fresh)) != NULL;)
        result = tp__pushes_take(client, push);
    if (result == 0)
        result = tp__tickets_resend(client, attempt->deadline_ms);
    return result;
}

static int try_address(struct attempt *attempt, const struct tp__address *address)
{
    struct tp__failover *failover = attempt->client->failover;
    int64_t left = attempt->deadline_ms - now_ms();
    int result = tp_client_open(&attempt->fresh, address->host, address->port, failover->name,
                                (int)(left < 0 ? 0 : left < CONNECT_MS ? left : CONNECT_MS), &attempt->error);
    if (result != 0)
        return result;
    for (size_t i = 0; i < failover->book.map_count && result == 0; i++)
        result = stand_map(attempt, failover->book.maps[i]);
    if (result == 0)
        result = stand_profiles(attempt);
    if (result == 0)
        result = stand_subscriptions(attempt);
    if (result == 0)
        result = stand_sessions(attempt);
    if (result == 0 && (result = take_over(attempt)) != 0)
        attempt->error = attempt->client->broken.code != 0 ? attempt->client->broken : attempt->client->error;
    tp_client_close(attempt->fresh);
    return result;
}

/* ---- the list ---- */

/* Whether another connection may do what this one did not: not where the trouble is of this side, or one that goes along. */
static bool is_lost(int code)
{
    return code == TP_CLIENT_CLOSED || code == TP_CLIENT_IO || code == TP_CLIENT_TIMEOUT || code == TP_CLIENT_SHUTTING_DOWN ||
           code == TP_CLIENT_UNAVAILABLE || code == TP_CLIENT_RESOURCE_EXHAUSTED || code == TP_CLIENT_INTERNAL;
}

/* A pause drawn at random from the half to the whole of what its turn says. */
static int64_t pause_of(struct tp__failover *failover)
{
    int64_t whole = failover->attempts < 8 ? PAUSE_MS << failover->attempts : PAUSE_MS_MAX;
    if (whole > PAUSE_MS_MAX)
        whole = PAUSE_MS_MAX;
    failover->random ^= failover->random << 13;
    failover->random ^= failover->random >> 7;
    failover->random ^= failover->random << 17;
    return whole / 2 + (int64_t)(failover->random % (uint64_t)(whole / 2 + 1));
}

static int end(struct tp_client *client, const struct tp_client_error *why)
{
    struct tp__failover *failover = client->failover;
    struct tp_client_error last = *why;
    memset(&client->broken, 0, sizeof client->broken);
    failover->over = true;
    return tp__break_with(client, TP_CLIENT_UNAVAILABLE, "no daemon of %s took over within %u ms; %s said last: %.120s",
                          failover->list, failover->options.patience_ms, failover->addresses[failover->at].words, last.message);
}

int tp__recover(struct tp_client *client, int64_t *deadline_ms)
{
    struct tp__failover *failover = client->failover;
    if (failover == NULL || failover->over || !is_lost(client->broken.code))
        return tp__break(client, &client->broken);
    int64_t began_ms = now_ms();
    tp__book_sweep(&failover->book); /* who was told to be gone does not come back */
    struct attempt attempt = {.client = client, .error = client->broken};
    tp__event(client, (struct tp_client_event){.kind = TP_CLIENT_LOST,
                                               .address = failover->addresses[failover->at].words,
                                               .error = &attempt.error});
    if (failover->lost_ms == 0)
        failover->lost_ms = began_ms;
    attempt.deadline_ms = failover->lost_ms + failover->options.patience_ms;
    int result;
    do {
        int64_t pause_ms = pause_of(failover), left_ms = attempt.deadline_ms - now_ms();
        if (left_ms <= 0)
            return end(client, &attempt.error);
        sleep_ms(pause_ms < left_ms ? pause_ms : left_ms);
        failover->attempts++;
        failover->at = (failover->at + 1) % failover->address_count;
        struct tp__address *address = &failover->addresses[failover->at];
        attempt.fresh = NULL;
        result = try_address(&attempt, address);
        if (result != 0) {
            tp__event(client, (struct tp_client_event){.kind = TP_CLIENT_FAILED,
                                                       .address = address->words,
                                                       .error = &attempt.error,
                                                       .attempts = failover->attempts});
            if (client->broken.code != 0 && !is_lost(client->broken.code)) /* taken over, and then nonsense */
                return tp__break(client, &client->broken);
        }
    } while (result != 0);
    int64_t took_ms = now_ms() - began_ms;
    client->recovered_ms += took_ms;
    if (*deadline_ms != INT64_MAX)
        *deadline_ms += took_ms;
    tp__event(client, (struct tp_client_event){.kind = TP_CLIENT_BACK,
                                               .address = failover->addresses[failover->at].words,
                                               .pause_ms = (uint32_t)(now_ms() - failover->lost_ms),
                                               .attempts = failover->attempts});
    if (!tp__tickets_wait_for_some(client)) { /* nothing is to be answered that would say that all is well */
        failover->lost_ms = 0;
        failover->attempts = 0;
    }
    return 0;
}

/* ---- opening and closing ---- */

/* Reads "host:port" or "[host]:port", `size` bytes long. */
static bool read_address(struct tp__address *address, const char *text, size_t size)
{
    address->words = strndup(text, size);
    address->host = strndup(text, size);
    char *host = address->host, *colon = host != NULL ? strrchr(host, ':') : NULL;
    if (address->words == NULL || colon == NULL || colon == host || colon[1] < '0' || colon[1] > '9')
        return false;
    *colon = '\0';
    char *rest;
    unsigned long port = strtoul(colon + 1, &rest, 10);
    if (*rest != '\0' || port == 0 || port > UINT16_MAX)
        return false;
    address->port = (uint16_t)port;
    size_t length = strlen(host);
    if (host[0] == '[' && host[length - 1] == ']') {
        memmove(host, host + 1, length - 2);
        host[length - 2] = '\0';
    }
    return host[0] != '\0';
}

static int read_addresses(struct tp__failover *failover, struct tp_client_error *error)
{
    size_t count = 1;
    for (const char *c = failover->list; *c != '\0'; c++)
        count += *c == ',';
    failover->addresses = calloc(count, sizeof *failover->addresses);
    if (failover->addresses == NULL)
        return tp__error_set(error, TP_CLIENT_NO_MEMORY, "out of memory");
    failover->address_count = count;
    const char *text = failover->list;
    for (size_t i = 0; i < count; i++) {
        size_t size = strcspn(text, ",");
        if (!read_address(&failover->addresses[i], text, size))
            return tp__error_set(error, TP_CLIENT_INVALID_ARGUMENT, "\"%.*s\" is no address such as host:port", (int)size, text);
        text += size + 1;
    }
    return 0;
}

static void free_failover(struct tp__failover *failover)
{
    if (failover == NULL)
        return;
    for (size_t i = 0; failover->addresses != NULL && i < failover->address_count; i++) {
        free(failover->addresses[i].host);
        free(failover->addresses[i].words);
    }
    tp__book_fini(&failover->book);
    free(failover->addresses);
    free(failover->list);
    free(failover->name);
    free(failover);
}

void tp__failover_fini(struct tp_client *client)
{
    free_failover(client->failover);
    client->failover = NULL;
}

static int make_failover(struct tp__failover **out, const struct tp_client_options *options, struct tp_client_error *error)
{
    struct tp__failover *failover = *out = calloc(1, sizeof *failover);
    if (failover == NULL)
        return tp__error_set(error, TP_CLIENT_NO_MEMORY, "out of memory");
    failover->options = *options;
    failover->options.addresses = failover->options.name = NULL;
    if (options->patience_ms == 0)
        failover->options.patience_ms = TP_CLIENT_PATIENCE_MS;
    if (options->stall_ms == 0)
        failover->options.stall_ms = TP_CLIENT_STALL_MS;
    failover->list = strdup(options->addresses);
    failover->name = options->name != NULL ? strdup(options->name) : NULL;
    if (failover->list == NULL || (options->name != NULL && failover->name == NULL))
        return tp__error_set(error, TP_CLIENT_NO_MEMORY, "out of memory");
    tp__random_bytes(&failover->random, sizeof failover->random);
    failover->random |= 1;
    return read_addresses(failover, error);
}

int tp_client_open_any(struct tp_client **out, const struct tp_client_options *options, int timeout_ms, struct tp_client_error *error)
{
    struct tp_client_error ignored;
    if (error == NULL)
        error = &ignored;
    memset(error, 0, sizeof *error);
    if (out == NULL || options == NULL || options->addresses == NULL)
        return tp__error_argument(error, "addresses", "no addresses, or no room for the connection");
    *out = NULL;
    struct tp__failover *failover;
    int64_t deadline_ms = tp__deadline(timeout_ms);
    int result = make_failover(&failover, options, error);
    struct tp_client *client = NULL;
    for (size_t i = 0; failover != NULL && result == 0 && client == NULL && i < failover->address_count; i++) {
        int64_t left = deadline_ms == INT64_MAX ? CONNECT_MS : deadline_ms - now_ms();
        bool is_last = i + 1 == failover->address_count; /* it has all the time that is left */
        int call = is_last && timeout_ms < 0 ? -1 : (int)(left < 0 ? 0 : left < CONNECT_MS || is_last ? left : CONNECT_MS);
        failover->at = i;
        int opened = tp_client_open(&client, failover->addresses[i].host, failover->addresses[i].port, failover->name, call, error);
        if (is_last && client == NULL)
            result = opened;
    }
    if (result != 0) {
        free_failover(failover);
        return result;
    }
    memset(error, 0, sizeof *error);
    client->failover = failover;
    *out = client;
    return 0;
}

const char *tp_client_address(const struct tp_client *client)
{
    return client->failover != NULL ? client->failover->addresses[client->failover->at].words : NULL;
}
