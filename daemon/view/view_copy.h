/* What the live view asks of a loop: a copy of the agents on one map, or of one session.
 *
 * What it is: a mail with room in it, which goes to a loop, is filled there a slice at a time between frames, and goes back. The
 * loop allocates nothing and looks at TP_VIEW_SLICE agents at most before its connections have their turns again. Nobody but
 * the loop reads what is the loop's own. What it refuses: more agents than there is room for (they are counted).
 * Who calls it: the view (daemon/view/view.c) makes and reads it while it is not on its way; in between it is the loop's.
 */
#ifndef TP_DAEMON_VIEW_COPY_H
#define TP_DAEMON_VIEW_COPY_H

#include "daemon/serve/dump.h"
#include "daemon/net/mailbox.h"
#include "daemon/serve/sessions.h"

enum { TP_VIEW_SLICE = 1024 }; /* agents looked at before the loop goes on to other things */

struct tp_view_agent {
    uint64_t id;
    uint32_t cell, goal;
    uint16_t flags; /* enum tp_flag, of its last tick */
    uint8_t status; /* enum tp_status, of its last tick; 0: never ticked */
};

struct tp_view_copy {
    struct tp_mail mail;                       /* first; to the loop */
    void (*done)(struct tp_view_copy *copy);   /* called once it is filled, by the loop, which does not touch it after */
    void *owner;                               /* the view's own */
    unsigned loop;
    /* the question: all agents on a map, or one session */
    const struct tp_world_map *of; /* only compared; NULL: the map is gone, none is on it */
    uint64_t session;              /* its id; 0: agents are asked for */
    struct tp_inspect_scan scan;   /* of the session: the rectangle, and where in it to go on */
    /* the answer */
    struct tp_view_agent *agents; /* room for `capacity` */
    uint32_t capacity, count;
    uint32_t missed; /* for which there was no room */
    struct tp_dump *dump; /* room for a session's; owned by the view as `agents` is */
    bool is_found;        /* the session: `dump` is filled */
    /* the loop's own */
    uint32_t slot; /* of the connection at hand, where to go on */
};

/* Before it is posted: nothing is copied yet. Keeps room and question. */
void tp_view_copy_begin(struct tp_view_copy *copy);

/* Looks at sessions of one connection from where it stopped, at most *looks, which is lowered. Whether all of this connection
 * were looked at; the next call is for the next one then. */
bool tp_view_copy_some(struct tp_view_copy *copy, const struct tp_sessions *sessions, uint32_t *looks);

/* The connection at hand ends: the next call is for another. */
void tp_view_copy_next(struct tp_view_copy *copy);

/* The map `of` ends, and another may come to lie where it lay. */
void tp_view_copy_forget(struct tp_view_copy *copy, const struct tp_world_map *of);

#endif
