/* What the view's files share: view.c (the thread, the loops, sessions asked for) and view_feed.c (streams and their frames).
 * Nobody else includes it. All fields are under view->lock, but for what a loop has. */
#ifndef TP_DAEMON_VIEW_INTERNAL_H
#define TP_DAEMON_VIEW_INTERNAL_H

#include "daemon/view/view.h"
#include "daemon/view/view_agents.h"
#include "daemon/view/view_numbers.h"
#include "daemon/view/view_wire.h"

#include <pthread.h>

struct tp_view_stream {
    struct tp_view *view;
    struct tp__view_feed *feed;
    struct tp_view_stream *next; /* of the feed */
    struct tp_text out;   /* what is due to the peer, from `sent` on */
    size_t sent;
    bool needs_key, is_ended;
    uint64_t behind_ms; /* since when the peer has not taken what is due; 0: it has */
    void *waiting;      /* the connection, suspended; NULL: it is not */
};

/* A map at a pace, and who looks on. */
struct tp__view_feed {
    char name[TP_WORLD_NAME_MAX + 1];
    unsigned fps;
    struct tp__view_feed *next;
    struct tp_view_stream *streams;
    const struct tp_world_map *of; /* as of the last round */
    const struct tp_map *map;      /* told last, a reference; NULL: there is none */
    bool is_told;                  /* whether the map is there */
    struct tp_view_agents agents;
    struct tp_view_numbers numbers;
    uint64_t first_ms, numbers_ms;
    uint64_t due_ms, round_ms; /* when the next round begins; when the present one did */
    bool is_out;               /* a round is under way */
    bool *wanted;              /* by loop: it is still to be asked */
};

struct tp__view_slot {
    struct tp_view_copy copy; /* first */
    bool is_out;              /* with the loop */
    struct tp__view_feed *feed; /* whom it is for */
    struct tp_view_ask *ask;    /* likewise; both NULL: for nobody any more */
};

struct tp_view_ask {
    struct tp_view *view;
    struct tp_view_ask *next;
    uint64_t id, begun_ms;
    struct tp_inspect_scan scan;
    bool *wanted; /* by loop */
    bool is_done;
    int error;            /* once it is done */
    struct tp_dump *dump; /* once it is done without error, and room for it before */
    void *waiting; /* the connection, suspended */
};

struct tp_view {
    struct tp_view_config config;
    pthread_mutex_t lock;
    struct tp_mailbox box; /* copies that come back, and `wake` */
    struct tp_mail wake;
    bool is_woken; /* `wake` is in the box */
    bool is_quiet, is_over;
    pthread_t thread;
    struct tp__view_slot *slots; /* a loop each */
    struct tp__view_feed *feeds;
    struct tp_view_ask *asks; /* not done */
    unsigned streams, asks_count;
    struct tp_text frame, key, events, scratch; /* of the feed at hand */
};

/* Has the thread look again. */
void tp__view_wake(struct tp_view *view);

/* Begins a feed's round, if one is due: which map it is, and that all loops are to be asked. */
void tp__view_feed_begin(struct tp_view *view, struct tp__view_feed *feed, uint64_t now_ms);

/* Ends it: makes the frame and gives it to the feed's streams. */
void tp__view_feed_compose(struct tp_view *view, struct tp__view_feed *feed, uint64_t now_ms);

/* How long a round waits for the loops. */
uint64_t tp__view_feed_patience_ms(const struct tp__view_feed *feed);

/* Frees the feeds that nobody looks on at. */
void tp__view_feeds_sweep(struct tp_view *view);

/* Ends every stream; the HTTP thread closes them. */
void tp__view_streams_end(struct tp_view *view);

#endif
