/* What the files of libtickpath-client share.
 *
 *   calls.c     blocking calls: send, then collect
 *   requests.c  public structs -> wire messages       (tp_client_send_*)
 *   replies.c   wire messages -> public structs       (tp_client_collect)
 *   pushes.c    what came without being asked for
 *   tickets.c   the requests outstanding, in the order sent; which reply belongs to which
 *   stream.c    the socket: bytes out, bytes in, frames cut, deadlines
 *   codes.c     error codes and their names
 *
 * Calls go downwards only, but for stream.c handing each frame to tp__tickets_take, and that each push to tp__pushes_take.
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
    TICKET_DONE,     /* answered and collected or dropped: to be forgotten */
};

struct tp__ticket {
    enum tp__ticket_state state;
    Tickpath__Request__BodyCase request;
    Tickpath__Reply *reply; /* when ANSWERED */
};

struct tp__push;

struct tp_client {
    int fd;
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

/* A frame has come: finds whose reply it is. Breaks the connection if it is nobody's. */
int tp__tickets_take(struct tp_client *client, const uint8_t *message, size_t size);

/* Waits for the ticket's reply and takes it into client->held; a refusal becomes the call's error. */
int tp__tickets_wait(struct tp_client *client, uint64_t ticket, int64_t deadline_ms);

void tp__tickets_fini(struct tp_client *client);

/* ---- pushes.c ---- */

/* Takes the reply, a MapChanged, into the queue. Breaks the connection if it makes no sense. */
int tp__pushes_take(struct tp_client *client, Tickpath__Reply *reply);

void tp__pushes_fini(struct tp_client *client);

/* ---- replies.c ---- */

/* Makes *reply show client->held. Breaks the connection if it makes no sense. */
int tp__reply_show(struct tp_client *client, struct tp_client_reply *reply);

#endif
