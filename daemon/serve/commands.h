/* The commands: one row per request message, in daemon/serve/commands.c's table.
 *
 * What it is: handlers that check a request's fields, do what it asks, and append one reply (or give it to
 * the world and wait). To add a message: a row, a handler in one of the commands_*.c files. What it refuses:
 * every field that does not hold what proto/PROTOCOL.md says, with its name. Who calls it: the peer, on its
 * own loop.
 */
#ifndef TP_DAEMON_COMMANDS_H
#define TP_DAEMON_COMMANDS_H

#include "daemon/serve/peer.h"

/* Handles a decoded request: appends one reply, or leaves the peer WAITING. `is_retry`: the map it names has
 * been looked for in the store. */
void tp_command_handle(struct tp_peer *peer, const Tickpath__Request *request, bool is_retry);

/* Appends the reply to a request that the world has granted. */
void tp_command_finish(struct tp_peer *peer, uint64_t id, const struct tp_world_request *granted);

/* ---- inside the commands ---- */

struct tp_call {
    struct tp_peer *peer;
    struct tp_shard *shard;
    const Tickpath__Request *request;
    uint64_t id;
    bool is_retry;
};

/* Appends an error reply. */
void tp__call_refuse(const struct tp_call *call, int error, const char *field, const char *words);

/* Checks a map's name and finds the published map. NULL: an error was answered, or the store is being asked
 * and the request will be handled again. */
struct tp_world_map *tp__call_map(const struct tp_call *call, const char *name);

/* Whether the name is there and allowed; else an error was answered. */
bool tp__call_name(const struct tp_call *call, const char *name);

/* Gives the slot of a session of the connection; false: an error was answered. */
bool tp__call_session(const struct tp_call *call, bool has_session, uint64_t session, uint32_t *slot);

/* Fills the message; its strings borrow from `map`. */
void tp__map_info(struct tp_world_map *of, const struct tp_map *map, Tickpath__MapInfo *out);

/* Gives a request to the world; `request` NULL: out of memory. */
void tp__call_submit(const struct tp_call *call, struct tp_world_request *request, const char *name);

void tp__command_put_map(const struct tp_call *call);
void tp__command_put_graph(const struct tp_call *call);
void tp__command_open_map(const struct tp_call *call);
void tp__command_drop_map(const struct tp_call *call);
void tp__command_put_profile(const struct tp_call *call);
void tp__command_change_costs(const struct tp_call *call);
void tp__command_subscribe(const struct tp_call *call);
void tp__command_open_session(const struct tp_call *call);
void tp__command_set_goal(const struct tp_call *call);
void tp__command_dump_session(const struct tp_call *call);
void tp__command_close_session(const struct tp_call *call);
void tp__command_tick(const struct tp_call *call);
void tp__command_list(const struct tp_call *call);

/* Reads a Budget message. TP_ERR_INVALID_ARGUMENT with *refusal filled. */
int tp__budget_read(struct tp_agent_budget *out, const Tickpath__Budget *message,
                    struct tp_refusal *refusal) TP_MUST_CHECK;

/* The longest time of one tick, in microseconds: a loop serves nobody else meanwhile. */
#define TP_TICK_US_MAX 10000000u

#endif
