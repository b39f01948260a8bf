/* What the files of libtickpath-client share.
 *
 *   calls.c     blocking calls: send, then collect
 *   requests.c  public structs -> wire messages       (tp_client_send_*)
 *   replies.c   wire messages -> public structs       (tp_client_collect)
 *   failover.c  a connection lost: the next address, and everything as it stood
 *   book.c      what stands on the connection (sessions, maps, subscriptions, profiles), with failover
 *   pushes.c    what came without being asked for
 *   tickets.c   the requests outstanding, in the order sent; which reply belongs to which
 *   stream.c    the socket: bytes out, bytes in, frames cut, deadlines
 *   codes.c     error codes and their names
 *
 * Calls go downwards only, but for stream.c handing each frame to tp__tickets_take, and that each push to tp__pushes_take
 * and each answer to tp__book_answer; and for tp__recover, which whoever sends or waits calls, and which opens a plain connection
 * of its own by the calls of the public header.
 */
#ifndef TP_CLIENT_INTERNAL_H
#define TP_CLIENT_INTERNAL_H

#include "client/tickpath_client.h"
#include "proto/tickpath.pb-c.h"

enum {
    FRAME_BYTES_DEFAULT = 4 * 1024 * 1024,  /* the cap until the welcome names one */
    FRAME_BYTES_LEAST = 4096,               /* a welcome that names a smaller cap makes no sense: no daemon takes one */
    FRAME_BYTES_BESIDE = 3072,              /* room in the first chunk of a map for its name and 256 weights */
    FRAME_BYTES_TRUSTED = 64 * 1024 * 1024, /* and no reply larger than this is taken whatever it names */
    OUTPUT_BYTES_MAX = 16 * 1024 * 1024,    /* unsent bytes beyond which sending waits */
};

/* A queue of bytes: data[start .. start + size) is in it. */
struct tp__bytes {
    uint8_t *data;
    size_t start, size, room;
};

enum tp__ticket_state {
    TICKET_WAITING,  /* sent (or in the output), no reply yet */
    TICKET_DROPPED,  /* nobody wants the reply that is still to come */
    TICKET_ANSWERED, /* the reply is here, not collected */
    TICKET_DONE,     /* answered and collected or dropped: to be forgotten; unanswered: lost with its connection, no reply comes */
};

struct tp__ticket {
    enum tp__ticket_state state;
    Tickpath__Request__BodyCase request;
    Tickpath__Reply *reply; /* when ANSWERED */
    /* With failover: */
    uint8_t *copy; /* the request packed, with the caller's names of sessions, until it is answered; NULL: it is not sent again */
    size_t copy_size;
    uint64_t reopens; /* the session that this OpenSession of the library's own is for; 0: none */
    bool resent;
};

struct tp__push;

/* ---- With failover: what stands on the connection (book.c) ---- */

/* A map that the caller has to do with, and the newest version it was told of. */
struct tp__map {
    char *name;
    uint64_t epoch, version;
    uint64_t next_epoch, next_version; /* where a daemon that is being turned to has it; epoch 0: it has none */
};

/* The caller knows a session by its handle, whatever the daemon calls it. */
struct tp__session {
    uint64_t handle, wire, next_wire; /* next_wire: on a daemon that is being turned to; 0: it would not have it */
    struct tp__map *map;
    uint8_t *open; /* the packed OpenSession, with the goals set since */
    size_t open_size;
    uint32_t cell; /* where the agent stands, as told last */
    int32_t vx, vy;
    uint64_t epoch;             /* of the map it was opened on */
    uint64_t cost, cost_before; /* told last; of these what it cost before it was opened again */
    bool bound; /* `wire` is good */
    bool stale; /* its map is another one: to be opened again before the next request */
    bool asked; /* and that is on its way */
    struct tp_client_error *error; /* why the daemon turned to would not have it */
};

struct tp__subscription {
    struct tp__map *map;
    bool want_cells, gone;
    uint64_t epoch, version;           /* told last */
    uint64_t next_epoch, next_version; /* on a daemon that is being turned to */
};

struct tp__profile {
    char *map, *name;
    uint8_t *put; /* the packed PutProfile */
    size_t put_size;
};

struct tp__book {
    struct tp__map **maps;
    size_t map_count, map_room;
    struct tp__session **sessions; /* by handle */
    struct tp__session **wires;    /* those bound, by wire */
    size_t session_count, session_room, wire_count, wire_room;
    struct tp__subscription *subscriptions;
    size_t subscription_count, subscription_room;
    struct tp__profile *profiles;
    size_t profile_count, profile_room;
    uint64_t handle_last;
    uint64_t ticks, ticks_before; /* of this connection; of those before */
    bool any_stale;
};

struct tp__address {
    char *host;
    uint16_t port;
    char *words; /* "host:port" */
};

struct tp__failover {
    struct tp_client_options options; /* its strings: only addresses and name are kept, here */
    char *list, *name;
    struct tp__address *addresses;
    size_t address_count, at;
    int64_t lost_ms;   /* since when nothing was answered; 0: all is well */
    unsigned attempts; /* since then */
    uint64_t random;
    bool over; /* patience is */
    struct tp__book book;
};

struct tp_client {
    int fd;
    struct tp__failover *failover; /* NULL: a lost connection is the end */
    uint64_t connections;          /* lost and replaced by another: an upload that was cut in two begins anew */
    int64_t recovered_ms;          /* spent on that, in all: calls have so much longer */
    int64_t heard_ms;              /* when the server said something last, or was asked while it owed nothing */
    struct tp__bytes out, in;
    size_t frame_out_max, frame_in_max; /* bytes of one message */

    /* Tickets first_id .. first_id + ring_count - 1 in a ring of ring_room places (a power of 2), oldest at
     * ring_start. Replies come in that
     * order: `answered` of them have theirs. */
    struct tp__ticket *ring;
    size_t ring_start, ring_count, ring_room, answered;
    uint64_t first_id;
    size_t outstanding; /* tickets neither collected nor dropped */

    /* The reply whose contents the caller may still look at, and arrays made to show it. */
    Tickpath__Reply *held;
    void *shown[3];

    /* Pushes not collected yet, oldest first. */
    struct tp__push *push_first, *push_last;
    size_t push_count;

    struct tp_client_server server;
    char server_version[64], server_degraded[256];

    struct tp_client_error error;  /* of the last call that failed */
    struct tp_client_error broken; /* code != 0: the connection is over, this is why */
};

#define WITHOUT_WELCOME " without a welcome: is it the port where a tickpath daemon listens for clients?"

/* Whether the server has said welcome, which names its cap. */
static inline bool tp__greeted(const struct tp_client *client)
{
    return client->server.frame_bytes_max > 0;
}

/* ---- codes.c ---- */

/* Fills *error with a finding of the library's own; gives code. */
int tp__error_set(struct tp_client_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fills *error with what the server said; gives the code, MALFORMED_FRAME if it named none of the list. */
int tp__error_take(struct tp_client_error *error, const Tickpath__Error *message);

/* The caller's argument, which stands for this field of the protocol, can't be sent: fills *error with words
 * and field, gives INVALID_ARGUMENT. */
int tp__error_argument(struct tp_client_error *error, const char *field, const char *words);

/* The call fails because of an argument; the connection lives and nothing is sent. */
#define tp__refuse(client, field, words) tp__error_argument(&(client)->error, (field), (words))

/* The call fails with this; the connection lives. */
#define tp__fail(client, code, ...) tp__error_set(&(client)->error, (code), __VA_ARGS__)

/* The connection is over, for this reason unless there is one already; the call fails with that. */
int tp__break(struct tp_client *client, const struct tp_client_error *why);

/* Like tp__break, with a finding of the library's own. */
int tp__break_with(struct tp_client *client, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- failover.c ---- */

/* The connection is broken: stands it up again, on another address of the list, and sends again what was not answered. Adds the
 * time that it took to *deadline_ms. Gives 0, or the error that ends the connection: at once without failover. */
int tp__recover(struct tp_client *client, int64_t *deadline_ms);

/* Opens the stale sessions again, or asks the daemon to where it says that it can't now. Gives 0 or the call's error. */
int tp__reopen_stale(struct tp_client *client, int64_t *deadline_ms);

/* When a server that owes an answer has been silent for too long; INT64_MAX: never. */
int64_t tp__stalled_at(const struct tp_client *client);

/* It has been: the connection is broken. Gives TIMEOUT. */
int tp__break_stalled(struct tp_client *client);

/* Tells the caller. */
void tp__event(struct tp_client *client, struct tp_client_event event);

/* A random number for pauses; random bytes for keys. */
void tp__random_bytes(void *bytes, size_t size);

void tp__failover_fini(struct tp_client *client);

/* ---- book.c ---- */

/* A reply has come for the ticket: notes what it says, and puts the caller's names of sessions into it. NO_MEMORY breaks the
 * connection. */
int tp__book_answer(struct tp_client *client, struct tp__ticket *ticket, Tickpath__Reply *reply);

/* A push has come: notes it, and tells of a new epoch. */
void tp__book_push(struct tp_client *client, const Tickpath__MapChanged *changed);

/* Puts the daemon's names of sessions into a request. */
void tp__book_translate(const struct tp__book *book, Tickpath__Request *request);

/* Everything stands on a new connection as the `next_` fields say: takes them over. Cannot fail after tp__book_prepare. */
int tp__book_prepare(struct tp_client *client);
void tp__book_commit(struct tp_client *client);

/* The OpenSession that puts the agent where it stands; NULL: out of memory. Free with tickpath__open_session__free_unpacked. */
Tickpath__OpenSession *tp__book_open(const struct tp__session *session);

/* Forgets the daemon's name of a session. */
void tp__book_unbind(struct tp__book *book, struct tp__session *session);

/* Forgets the sessions that are gone: not bound, and not stale. */
void tp__book_sweep(struct tp__book *book);

void tp__book_fini(struct tp__book *book);

/* ---- stream.c ---- */

/* The moment a timeout ends, on the monotonic clock, in ms; INT64_MAX for a negative timeout. */
int64_t tp__deadline(int timeout_ms);
bool tp__expired(int64_t deadline_ms);

/* Connects; the socket is non-blocking. */
int tp__stream_connect(struct tp_client *client, const char *host, uint16_t port, int64_t deadline_ms);
void tp__stream_close(struct tp_client *client);

/* Waits until bytes can move, either way, and moves them; hands every whole frame to tp__tickets_take.
 * TIMEOUT when nothing moved until the deadline; else breaks the connection on error. */
int tp__stream_pump(struct tp_client *client, int64_t deadline_ms);

/* Appends the frame of a request to the output, waiting while the output is full. On error nothing of it was
 * appended. */
int tp__stream_append(struct tp_client *client, const Tickpath__Request *request, int64_t deadline_ms);

/* Sends what the socket takes. What fails is kept as `broken`. */
void tp__stream_flush(struct tp_client *client);

/* ---- tickets.c ---- */

/* Begins a call: releases what the call before showed. */
void tp__begin(struct tp_client *client);

/* Sends a request under a new ticket. */
int tp__tickets_send(struct tp_client *client, Tickpath__Request__BodyCase kind, void *message,
                     uint64_t *ticket, int64_t deadline_ms);

/* Sends a request of the library's own, whose answer tp__book_answer gets and nobody else; `reopens` as in the ticket. */
int tp__tickets_send_own(struct tp_client *client, Tickpath__Request__BodyCase kind, void *message, uint64_t reopens,
                         int64_t deadline_ms);

/* Waits until something moved; a lost connection is stood up again by the next call of it. TIMEOUT with the words `late`, or the
 * error that ends the connection. */
int tp__wait_some(struct tp_client *client, int64_t *deadline_ms, const char *late);

/* Waits until every request sent so far is answered, or its connection lost. */
int tp__tickets_settle(struct tp_client *client, int64_t *deadline_ms);

/* Sends again, on a new connection, what was not answered on the old one. */
int tp__tickets_resend(struct tp_client *client, int64_t deadline_ms);

/* Whether requests wait for their answers. */
static inline bool tp__tickets_wait_for_some(const struct tp_client *client)
{
    return client->answered < client->ring_count;
}

/* A frame has come: finds whose reply it is. Breaks the connection if it is nobody's. */
int tp__tickets_take(struct tp_client *client, const uint8_t *message, size_t size);

/* Waits for the ticket's reply and takes it into client->held; a refusal becomes the call's error. */
int tp__tickets_wait(struct tp_client *client, uint64_t ticket, int64_t deadline_ms);

void tp__tickets_fini(struct tp_client *client);

/* ---- pushes.c ---- */

/* Takes the reply, a MapChanged, into the queue. Breaks the connection if it makes no sense. */
int tp__pushes_take(struct tp_client *client, Tickpath__Reply *reply);

/* Takes the oldest out of the queue, NULL if there is none. */
Tickpath__Reply *tp__pushes_first(struct tp_client *client);

void tp__pushes_fini(struct tp_client *client);

/* ---- replies.c ---- */

/* Makes *reply show client->held. Breaks the connection if it makes no sense. */
int tp__reply_show(struct tp_client *client, struct tp_client_reply *reply);

#endif
