/* The live view: who looks on at a map, and the thread that keeps them up to date.
 *
 *     no stream --first one--> every 1/fps s of a map's streams: a copy asked of each loop (view_copy.h) -> all back, or it is
 *     late -> one frame for all of them -> each stream's own buffer -> the HTTP thread writes it as the peer reads
 *
 * What it is: streams, grouped by map and pace; one thread that asks the loops, composes the frames and hands them over; sessions
 * asked for one at a time. A loop has one mail of ours at most, so one that is busy is not asked again. Without a stream the
 * thread sleeps, and loops hear nothing. What it refuses: more than TP_VIEW_STREAMS_MAX streams, more than TP_VIEW_ASKS_MAX
 * sessions asked for at once. A reader that does not take a frame gets no deltas until it has, then all agents; one that takes nothing for
 * TP_VIEW_SLOW_MS is dropped. Who calls it: the HTTP thread (view_http.c); the server for its life.
 */
#ifndef TP_DAEMON_VIEW_H
#define TP_DAEMON_VIEW_H

#include "daemon/stats/stats.h"
#include "daemon/view/view_copy.h"
#include "daemon/world/world.h"

enum {
    TP_VIEW_STREAMS_MAX = 16,
    TP_VIEW_ASKS_MAX = 8,
    TP_VIEW_FPS_MAX = 30,
    TP_VIEW_SLOW_MS = 5000,
    TP_VIEW_ASK_MS = 2000 /* a loop that does not answer about a session by then is busy */
};

struct tp_view;

struct tp_view_config {
    struct tp_world *world;               /* borrowed until close */
    const struct tp_stats_source *source; /* borrowed until close */
    unsigned loops;
    void *context; /* first parameter of post */
    void (*post)(void *context, unsigned loop, struct tp_mail *mail); /* gives a struct tp_view_copy to a loop. Any thread */
    void (*suspend)(void *connection); /* a connection has nothing to do until */
    void (*resume)(void *connection);  /* this. Both with the view's lock held: they call nothing of the view */
};

/* Starts the thread. TP_ERR_NO_MEMORY, TP_ERR_IO. */
int tp_view_start(struct tp_view **out, const struct tp_view_config *config) TP_MUST_CHECK;

/* No loop gets a mail from here on: they are about to end. Any thread. NULL is allowed. */
void tp_view_quiet(struct tp_view *view);

/* Ends the streams and the thread. What is on its way to a loop stays until tp_view_close. NULL is allowed. */
void tp_view_stop(struct tp_view *view);

/* Frees all; no loop runs any more, nor an HTTP thread. NULL is allowed. */
void tp_view_close(struct tp_view *view);

const struct tp_stats_source *tp_view_source(const struct tp_view *view);
struct tp_world *tp_view_world(const struct tp_view *view);

/* ---- Streams; HTTP thread ---- */

struct tp_view_stream;

/* Opens a stream. TP_ERR_RESOURCE_EXHAUSTED, TP_ERR_NO_MEMORY, TP_ERR_SHUTTING_DOWN. */
int tp_view_stream_open(struct tp_view *view, const char *map, unsigned fps, struct tp_view_stream **out) TP_MUST_CHECK;

/* Copies up to `max` bytes that are due, and returns how many; -1 at the end. When it gives 0 the connection is suspended, and resumed once
 * there is something to read. */
long tp_view_stream_read(struct tp_view_stream *stream, void *connection, char *out, size_t max);

void tp_view_stream_close(struct tp_view_stream *stream);

/* ---- Sessions; HTTP thread ---- */

struct tp_view_ask;

/* Asks for what a session holds of a rectangle, from a cursor on (daemon/serve/dump.h). The connection is suspended, and resumed once the
 * answer is there; on error neither. TP_ERR_RESOURCE_EXHAUSTED, TP_ERR_NO_MEMORY, TP_ERR_SHUTTING_DOWN. */
int tp_view_ask_open(struct tp_view *view, uint64_t id, const struct tp_inspect_scan *scan, void *connection,
                     struct tp_view_ask **out) TP_MUST_CHECK;

/* The answer: 0 with *dump borrowed until close; TP_ERR_NOT_FOUND; TP_ERR_TIMEOUT: a loop is busy; TP_ERR_SHUTTING_DOWN. */
int tp_view_ask_answer(const struct tp_view_ask *ask, const struct tp_dump **dump) TP_MUST_CHECK;

void tp_view_ask_close(struct tp_view_ask *ask);

#endif
