/* The states of the daemon's life cycle, for whoever only asks which it is in: libuv stays in life.h, which draws what leads where.
 *
 * What it refuses: moving it. Who calls it: any thread.
 */
#ifndef TP_DAEMON_LIFE_STATE_H
#define TP_DAEMON_LIFE_STATE_H

enum tp_life_state {
    TP_LIFE_STARTING,
    TP_LIFE_SERVING,
    TP_LIFE_LEAVING,
    TP_LIFE_DRAINING,
    TP_LIFE_LAST_CALL,
    TP_LIFE_DROPPING,
    TP_LIFE_STOPPING,
    TP_LIFE_STATES,
};

struct tp_life;

/* The state now. Any thread. */
enum tp_life_state tp_life_state(const struct tp_life *life);

/* Static words, for people: "draining". */
const char *tp_life_state_name(enum tp_life_state state);

#endif
