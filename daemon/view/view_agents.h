/* The agents on one map as those who look on were told of them, and what they are to be told next.
 *
 * What it is: a table of agents, each with a small index of its own for as long as it is there, filled from the copies that the
 * loops give, and rendered as frames: all agents (a key), or what is new since the last frame. What it refuses: more than
 * TP_VIEW_AGENTS_MAX agents; those beyond are counted. Who calls it: the view's own thread. No clock, no lock.
 *
 * A frame, numbers as varints unless said otherwise:
 *     number of the frame, milliseconds since the first, agents there, agents left out,
 *     count, then for each agent gone:     gap
 *     count, then for each agent new:      gap, id (8 bytes, the lowest first), cell, goal, status (a byte), flags
 *     count, then for each agent changed:  gap, a byte, then what that says
 * A gap is the agent's index less that of the one before, less one. The byte: bits 0-3 the step, 3 (dy + 1) + dx + 1 (4: it
 * stayed), or 9: its cell follows; bit 4: status (a byte) and flags follow; bit 5: its goal follows.
 */
#ifndef TP_DAEMON_VIEW_AGENTS_H
#define TP_DAEMON_VIEW_AGENTS_H

#include "base/error.h"
#include "daemon/view/view_copy.h"
#include "daemon/view/view_wire.h"

enum { TP_VIEW_AGENTS_MAX = 65536 };

struct tp_view_row {
    struct tp_view_agent now, told;
    unsigned loop;
    bool is_used, is_new, is_gone;
    uint64_t seen; /* the copy that had it last */
};

/* Zeroed is empty. */
struct tp_view_agents {
    struct tp_view_row *rows;
    uint32_t rows_capacity, rows_used; /* rows below rows_used may be in use */
    uint32_t count;
    uint32_t *places; /* hash by id: index of a row plus one; 0: free */
    uint32_t places_mask;
    uint64_t copies; /* taken so far */
    uint32_t *left_out; /* by loop */
    unsigned loops;
    uint64_t frame;
};

/* TP_ERR_NO_MEMORY. */
int tp_view_agents_init(struct tp_view_agents *agents, unsigned loops) TP_MUST_CHECK;
void tp_view_agents_fini(struct tp_view_agents *agents);

/* Forgets all: the next frame says that they are gone. */
void tp_view_agents_end(struct tp_view_agents *agents);

/* Takes what a loop has copied: its agents are where the copy says, those it does not have are gone. Agents for which there is
 * no room or memory are left out, and counted. Cost: O(agents). */
void tp_view_agents_take(struct tp_view_agents *agents, const struct tp_view_copy *copy);

/* Appends a frame of what is new since the last, to `out`; `width` of the map. Then all of it counts as told. */
void tp_view_agents_frame(struct tp_view_agents *agents, uint32_t width, uint64_t now_ms, struct tp_text *out);

/* Appends a frame of all agents as they were told last. Changes nothing. */
void tp_view_agents_key(const struct tp_view_agents *agents, uint64_t now_ms, struct tp_text *out);

#endif
