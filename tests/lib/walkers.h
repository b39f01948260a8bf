/* Agents that walk through a client connection with failover, every answer held to what was told before, and what the connection tells
 * of its failovers.
 *
 * What it refuses: hiding a surprise; everything asserts. Who calls it: tests of failover.
 */
#ifndef TESTS_LIB_WALKERS_H
#define TESTS_LIB_WALKERS_H

#include "client/tickpath_client.h"
#include "tests/lib/harness.h"

/* What a connection told by its events; `asked` is the test's own. */
struct told {
    unsigned lost, failed, back, epochs, gone, asked;
    uint32_t pause_ms;
    uint64_t session_gone;
    int lost_code;
    uint64_t old_epoch, epoch;
};

#define ok_on(client, call)                                                                                  \
    ck_assert_msg((call) == 0, #call ": %s: %s", tp_client_code_name(tp_client_error(client)->code),         \
                  tp_client_error(client)->message)

/* Connects to a daemon of this machine, or to one of two with failover (port 0: no second address): the options but for their addresses, name,
 * event_cb and context, which is `told`. */
struct tp_client *walkers_connect_plain(uint16_t port);
struct tp_client *walkers_connect(uint16_t first, uint16_t second, struct tp_client_options options, struct told *told);

/* Puts a free map of side * side cells, over a connection or on the daemon of a port. */
void walkers_put_map_on(struct tp_client *client, const char *name, uint32_t side);
void walkers_put_map(uint16_t port, const char *name, uint32_t side);

struct walker {
    uint64_t session, cost;
    uint32_t cell, goal;
    bool arrived;
};

/* Opens a session for each on the map "m", from its first row to its last; the goals are set by a request of their own. */
void walkers_open(struct tp_client *client, struct walker *walkers, size_t count, uint32_t side);

/* Takes a tick's answer: every agent one step at most from where it was told to stand, under its name; gives how many have arrived. */
size_t walkers_take(struct walker *walkers, size_t count, const struct tp_client_ticked *ticked, uint32_t side);

#endif
