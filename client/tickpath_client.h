/* libtickpath-client: talks to a tickpath daemon.
 *
 * What it is: a connection (struct tp_client) with blocking calls, and with pipelined ones: send now, get a
 * ticket, collect the reply later. Requests take effect in the order sent. Everything is plain C: no type of
 * the wire format shows, and this header needs no other of the project. What it refuses: a request longer
 * than the server's frame cap, more than TP_CLIENT_OUTSTANDING_MAX replies not collected; nothing is sent
 * then. Who calls it: one thread at a time per connection. It starts no thread, installs no signal handler
 * and never raises SIGPIPE.
 *
 * Errors. A call gives 0 or a negative code: minus the code of the wire's ErrorCode, for the server's
 * refusals and for the library's own findings alike. tp_client_error() then says which, in words, with the
 * offending field.
 *   - TP_CLIENT_TIMEOUT leaves the connection usable: what was begun goes on with the next call, and the
 *     reply that comes too late is dropped (blocking calls) or can still be collected (tickets).
 *   - TP_CLIENT_CLOSED, TP_CLIENT_IO, TP_CLIENT_MALFORMED_FRAME found here (not from_server) end the
 *     connection: every later call gives the same error, and only tp_client_close is left to do. But for connections of
 *     tp_client_open_any, which turn to another daemon (Failover).
 *   - Any other code is about that one request. A pointer that is NULL though something should be there (a
 *     name, cells, an array whose count is not 0) is TP_CLIENT_INVALID_ARGUMENT found here, and nothing is sent.
 *     Only the connection itself must not be NULL.
 *
 * C++ (the header is extern "C" there): tp_client_error and tp_client_tick name a struct and a function each, so write
 * `struct tp_client_error`, `struct tp_client_tick` in full, as C does.
 *
 * Timeouts are in milliseconds and cover the whole call; negative waits without end, 0 does not wait.
 *
 * Cells are numbered y * width + x from the top left; on a graph they are its nodes. Costs are integers: on a grid
 * TP_CLIENT_COST_UNIT is one straight step over weight 1, on a graph they are in the unit of its edges.
 */
#ifndef TICKPATH_CLIENT_H
#define TICKPATH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TP_CLIENT_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TP_CLIENT_MUST_CHECK
#endif

/* Codes; each is minus the number in the protocol (a compile-time check in client/codes.c holds them
 * together). */
enum tp_client_code {
    TP_CLIENT_OK = 0,
    TP_CLIENT_INVALID_ARGUMENT = -1,
    TP_CLIENT_NOT_FOUND = -2,
    TP_CLIENT_ALREADY_EXISTS = -3,
    TP_CLIENT_OUT_OF_RANGE = -4,
    TP_CLIENT_RESOURCE_EXHAUSTED = -5,
    TP_CLIENT_FAILED_PRECONDITION = -6,
    TP_CLIENT_VERSION_MISMATCH = -7,
    TP_CLIENT_MAP_NOT_READY = -8,
    TP_CLIENT_UNSUPPORTED = -9,
    TP_CLIENT_MALFORMED_FRAME = -10,
    TP_CLIENT_FRAME_TOO_LARGE = -11,
    TP_CLIENT_UNKNOWN_MESSAGE = -12,
    TP_CLIENT_HELLO_REQUIRED = -13,
    TP_CLIENT_PROTOCOL_VERSION = -14,
    TP_CLIENT_UNAVAILABLE = -15,
    TP_CLIENT_SHUTTING_DOWN = -16,
    TP_CLIENT_NO_MEMORY = -17,
    TP_CLIENT_PARSE = -18,
    TP_CLIENT_IO = -19,
    TP_CLIENT_CORRUPT = -20,
    TP_CLIENT_TIMEOUT = -21,
    TP_CLIENT_CLOSED = -22,
    TP_CLIENT_INTERNAL = -23,
};

enum {
    TP_CLIENT_COST_UNIT = 3194,        /* cost of one straight step over weight 1 */
    TP_CLIENT_OUTSTANDING_MAX = 65536, /* requests sent whose replies were not collected */
    TP_CLIENT_MESSAGE_MAX = 256,       /* bytes of an error's words */
    TP_CLIENT_FIELD_MAX = 64,          /* bytes of an error's field */
};

struct tp_client_error {
    int code;                            /* enum tp_client_code */
    bool from_server;                    /* the server said so; else the library found it */
    char message[TP_CLIENT_MESSAGE_MAX]; /* words */
    char field[TP_CLIENT_FIELD_MAX];     /* the offending field, as the protocol spells it; empty if none */
    uint32_t retry_after_ms;             /* when trying again may help; 0 unknown */
    bool has_change;                     /* a change batch was refused because of one change: */
    uint32_t change_index;               /*   its index: cells, rectangles, bitmaps, runs, or edges, nodes, in this order */
    bool has_cell;                       /*   with OUT_OF_RANGE on a grid: */
    uint32_t bad_x, bad_y;               /*   its first cell outside the map */
    bool has_edge, has_node;             /* a graph was refused because of one edge, or of one node's coordinates: */
    uint32_t edge_index, node_index;     /*   which, from 0 */
    bool has_place;                      /* the map is in another epoch, or at another version, than was asked for: */
    uint64_t epoch, version;             /*   where it stands */
};

/* The code's name as the protocol spells it ("OK" for 0, "UNKNOWN" for a number not in the list). Static
 * memory. */
const char *tp_client_code_name(int code);

/* ---- Connection ---- */

struct tp_client;

/* Connects and says hello; gives the connection in *out. `name` (borrowed, NULL for a default) is for the
 * server's log. TP_CLIENT_UNAVAILABLE: nobody there; TP_CLIENT_PROTOCOL_VERSION; TP_CLIENT_TIMEOUT, CLOSED or MALFORMED_FRAME:
 * somebody is there who speaks no such protocol (an HTTP server, the daemon's own --stats port), or not in time;
 * TP_CLIENT_NO_MEMORY; INVALID_ARGUMENT: the host is unknown or the port 0. On error *out is NULL and *error
 * (NULL allowed) says why. Name look-up is the system's and not under the timeout. */
int tp_client_open(struct tp_client **out, const char *host, uint16_t port, const char *name, int timeout_ms,
                   struct tp_client_error *error) TP_CLIENT_MUST_CHECK;

/* Closes and frees; replies not collected are dropped. NULL is allowed. */
void tp_client_close(struct tp_client *client);

/* Why the last call that failed did so. Valid until the next call. */
const struct tp_client_error *tp_client_error(const struct tp_client *client);

/* What the server said in its welcome. Strings are borrowed from the connection. */
struct tp_client_server {
    uint32_t protocol;
    const char *version;
    uint64_t frame_bytes_max;
    uint64_t map_cells_max;
    uint32_t sessions_max; /* per connection */
    uint32_t batch_changes_max;
    uint32_t path_cells_max;
    bool volatile_store;  /* maps do not survive a restart of the server */
    const char *degraded; /* why the store is not what it should be; empty when all is well */
    uint32_t graph_nodes_max, graph_edges_max; /* 0: the server knows no graphs */
};
const struct tp_client_server *tp_client_server(const struct tp_client *client);

/* The socket, for an event loop that wants to know when a reply can be collected. Borrowed; after a failover it is another. */
int tp_client_socket(const struct tp_client *client);

/* ---- Failover ----
 *
 * A connection of tp_client_open_any has a list of daemons. When it is lost (closed, reset, silent while it owes an answer, a daemon
 * that shuts down), the call that finds it out turns to the next address of the list, after a short pause that grows and is drawn at
 * random, until one has everything as it stood: the maps at the versions told or later ones, the profiles put, the subscriptions, and
 * each session with its parameters and goals, its agent where the last answer or the caller's last position has it. Then it sends again
 * what was not answered, and goes on as if nothing had been. Nothing else is to be done by the caller, who is told by event_cb.
 *   - Sessions keep the ids that the caller knows. The cost and the number of a tick go on; the counts of tp_client_list, move_hash and
 *     bounds_milli begin anew with a session that was opened again, and so does its search.
 *   - A batch of changes is applied once: one without a key gets a random one. A tick is done once as the caller sees it: what a lost
 *     answer would have said is not told, the agents stand where they were told to, and the tick is repeated from there.
 *   - An upload that was cut begins anew; cut eight times it fails with UNAVAILABLE. Where it says ALREADY_EXISTS though the map may be the one
 *     put (the last part had been sent), it is taken for it if kind, size and version are those of it; use `replace` where others put maps of
 *     that name. A DropMap sent again that finds no map has dropped it.
 *   - A map that is in another epoch there (put anew, or one that another daemon has by that name): map_cb decides; without it the sessions are
 *     opened on that one, and the caller is told by TP_CLIENT_NEW_EPOCH. Likewise, connection lost or not, when a push says so, or a tick refuses
 *     a session since its map began a new epoch: that tick says so in `refused`, and before the next request the session is opened again.
 *     It is answered last then by a tick with `all`, and stands last in tp_client_list.
 *     What the caller bound to an epoch or a base_version is refused with VERSION_MISMATCH as ever.
 *   - A map that is not there: map_cb may put it. Without, the other addresses are asked; where none has it, and no daemon says that it is
 *     degraded, the map is gone: its sessions are, too (TP_CLIENT_SESSION_GONE; ticks refuse them with NOT_FOUND), and its subscription
 *     says `dropped`.
 *   - A subscriber gets one push from the version told last to the one found, with resync if it wanted cells.
 * A call that this happens in takes so much longer than its timeout. When patience_ms have gone by without any answer the call fails
 * with UNAVAILABLE and words that say why, and the connection is over. What was already answered can still be collected. */

enum tp_client_event_kind {
    TP_CLIENT_LOST = 1,      /* the connection to `address` is lost: error */
    TP_CLIENT_FAILED = 2,    /* `address` would not do: error */
    TP_CLIENT_BACK = 3,      /* everything stands again on `address`, pause_ms after it was lost */
    TP_CLIENT_NEW_EPOCH = 4, /* map: was told at old_epoch, old_version, and is in epoch, version */
    TP_CLIENT_SESSION_GONE = 5, /* session of map could not be opened again: error */
};

/* Valid during the callback; what a kind does not name is 0 or NULL. */
struct tp_client_event {
    enum tp_client_event_kind kind;
    const char *address; /* host:port */
    const struct tp_client_error *error;
    uint32_t pause_ms;
    uint32_t attempts; /* addresses tried so far */
    const char *map;
    uint64_t old_epoch, old_version, epoch, version;
    uint64_t session;
};

enum {
    TP_CLIENT_PATIENCE_MS = 10000, /* the defaults of the fields of these names */
    TP_CLIENT_STALL_MS = 5000,
};

struct tp_client_map;

struct tp_client_options {
    const char *addresses; /* "host:port,host:port": one or more; an IPv6 address in brackets. Copied */
    const char *name;      /* as of tp_client_open. Copied */
    uint32_t patience_ms;  /* how long to look for a daemon before the connection is over; 0: the default */
    uint32_t stall_ms;     /* how long a daemon that owes an answer may say nothing before it is given up; 0: the default. Above the longest
                            * that it takes for the largest map that is put */
    /* Told of what happens; NULL: nobody. Must not call the connection. */
    void (*event_cb)(const struct tp_client_event *event, void *context);
    /* Asked when a daemon that is turned to has no such map (`there` NULL) or one in another epoch than was told last. It may use `daemon`,
     * a connection without failover of that daemon, to put the map there (and the changes since), and nothing but it. Gives 0: go on with the
     * map that is there now; else: not this daemon. NULL: as written above. */
    int (*map_cb)(struct tp_client *daemon, const char *map, const struct tp_client_map *there, void *context);
    void *context; /* of both */
};

/* Connects to the first address of the list that answers, with failover from then on; the list may have one address alone, which
 * is then tried again. Errors as of tp_client_open: those of the address tried last. */
int tp_client_open_any(struct tp_client **out, const struct tp_client_options *options, int timeout_ms,
                       struct tp_client_error *error) TP_CLIENT_MUST_CHECK;

/* The address that the connection is to, "host:port"; of tp_client_open: NULL. Borrowed, until the next call. */
const char *tp_client_address(const struct tp_client *client);

/* ---- What requests hold and what replies say ---- */

struct tp_client_weight {
    uint8_t terrain; /* class byte of a cell */
    uint16_t weight; /* 0 impassable */
};

enum tp_client_map_kind { TP_CLIENT_GRID = 1, TP_CLIENT_GRAPH = 2 };

struct tp_client_map {
    const char *name;
    uint32_t width, height; /* cells; of a graph its nodes, and 1 */
    uint64_t epoch, version;
    uint64_t passable_cells;
    uint32_t sessions;
    enum tp_client_map_kind kind;
    uint32_t edges; /* of a graph */
};

/* An explicit directed graph. Nodes are numbered from 0; each edge leads one way. Pointers are borrowed during the
 * call. */
struct tp_client_edge {
    uint32_t from, to;
    uint32_t cost; /* at least 1, in a unit of your own */
};
struct tp_client_graph {
    uint32_t nodes;
    const struct tp_client_edge *edges;
    uint32_t edge_count;
    const double *x, *y; /* coordinates of all nodes, or NULL: with them the search knows which way the goal is */
};

struct tp_client_rectangle {
    uint32_t x, y, width, height;
    uint8_t terrain;
};

struct tp_client_bitmap {
    uint32_t x, y, width, height;
    const uint8_t *bits; /* ceil(width * height / 8) bytes: row-major, bit 0 of byte 0 first, no padding */
    uint8_t terrain;
};

/* `length` cells of one row, from `cell` on. */
struct tp_client_run {
    uint32_t cell, length;
    uint8_t terrain;
};

enum { TP_CLIENT_KEY_MAX = 64 };

/* A batch: validated whole, applied whole, exactly one new version. With a key of your own choice (random bytes, say) it may be
 * sent again when its reply was lost, on a new connection too: it is applied once. All pointers are borrowed during the
 * call. */
struct tp_client_changes {
    const char *map;
    bool has_base_version;
    uint64_t base_version; /* refused with VERSION_MISMATCH unless the map is at it */
    uint64_t epoch;        /* likewise unless the map is in it; 0: any. Versions of two epochs don't compare */
    const uint32_t *cells;
    const uint32_t *cell_terrains; /* one per cell, or one for all */
    size_t cell_count, cell_terrain_count;
    const struct tp_client_rectangle *rectangles;
    size_t rectangle_count;
    const struct tp_client_bitmap *bitmaps;
    size_t bitmap_count;
    const struct tp_client_run *runs;
    size_t run_count;
    /* of a graph: edges by their number in put_graph, a cost of 0 closes; nodes, 0 closes (no edge leads in or out), 1 opens */
    const uint32_t *edges;
    const uint32_t *edge_costs; /* one per edge, or one for all */
    size_t edge_count, edge_cost_count;
    const uint32_t *nodes;
    const uint32_t *node_opens; /* one per node, or one for all */
    size_t node_count, node_open_count;
    const void *key; /* NULL: none */
    size_t key_size; /* bytes, 1..TP_CLIENT_KEY_MAX */
};

struct tp_client_changed {
    uint64_t epoch, version; /* the version the batch made */
    bool applied_before;     /* a batch of the same key made it, this one changed nothing */
};

struct tp_client_subscribed {
    uint64_t epoch, version; /* told from here on */
};

/* A map is at another version than was told last. One push may stand for several versions. */
struct tp_client_push {
    const char *map;
    uint64_t epoch;
    uint64_t from_version, version; /* told last, and now; with another epoch they don't compare */
    const uint32_t *cells;          /* with want_cells: those whose class differs between the two versions, in no order */
    const uint32_t *terrains;       /* their classes now */
    size_t cell_count;
    bool resync;  /* the cells wanted are not listed, or the epoch is another: read the map anew */
    bool dropped; /* the map is gone, and the subscription with it */
};

enum tp_client_budget_kind {
    TP_CLIENT_BUDGET_DEFAULT, /* the server's (sessions) or each session's own (ticks) */
    TP_CLIENT_BUDGET_K,
    TP_CLIENT_BUDGET_R,
    TP_CLIENT_BUDGET_DEADLINE,
};

struct tp_client_budget {
    enum tp_client_budget_kind kind;
    uint64_t amount;  /* K: k expansions; R: R; DEADLINE: microseconds */
    uint32_t r_milli; /* R: r, the share of R for expansions, in thousandths, 1..1000; 0: 0.9 */
    uint32_t c;       /* R: traceback steps that cost one expansion, 1..1000000; 0: 10 */
};
/* An r of 0 can't be asked for: it is no budget to search with. tba refuses it, the others expand one state a
 * tick all the same, which r_milli = 1 says too. */

/* What a diagonal step asks of its two orthogonal cells. */
enum tp_client_corners { TP_CLIENT_BOTH_FREE = 1, TP_CLIENT_ONE_FREE = 2, TP_CLIENT_ALWAYS = 3 };
/* On a goal; near enough to one (goal_radius); on one, or where none can be reached on the cell nearest to one. */
enum tp_client_goal_policy { TP_CLIENT_EXACT = 1, TP_CLIENT_WITHIN = 2, TP_CLIENT_NEAREST = 3 };
enum tp_client_knowledge { TP_CLIENT_FULL = 1, TP_CLIENT_FREESPACE = 2, TP_CLIENT_KNOWN_MAP = 3 };
/* When a changed map begins a new search; a next step that is closed always does. */
enum tp_client_restart {
    TP_CLIENT_RESTART_NEVER = 1,
    TP_CLIENT_RESTART_EAGER = 2,   /* at every change */
    TP_CLIENT_RESTART_LAZY = 3,    /* as ON_RISE, and when a shorter way may have opened */
    TP_CLIENT_RESTART_ON_RISE = 4, /* when a step still to be followed is closed or dearer */
};
/* What an agent of a time-bounded algorithm does that would step back before its path is complete. 0: as its algorithm does. */
enum tp_client_pause {
    TP_CLIENT_PAUSE_ON_BACKTRACK = 1, /* it waits: BLOCKED with BACK_MOVE */
    TP_CLIENT_PAUSE_NEVER = 2,        /* it steps back */
};

/* How open states are ordered. 0: in buckets on grids and for vehicles where the algorithm takes that, but for guided where it is led; else exactly. */
enum tp_client_open_list {
    TP_CLIENT_OPEN_LIST_EXACT = 1,  /* by f, then larger g, then lower cell: as the papers have it */
    TP_CLIENT_OPEN_LIST_BUCKET = 2, /* by f in steps, the newest first: faster */
};
enum tp_client_motion {
    TP_CLIENT_STEPS = 1,
    TP_CLIENT_INERTIA = 2, /* a vehicle: each tick its velocity changes by at most 1 on each axis */
};
enum tp_client_heuristic {
    TP_CLIENT_HEURISTIC_OCTILE = 1,
    TP_CLIENT_HEURISTIC_MANHATTAN = 2,
    TP_CLIENT_HEURISTIC_EUCLID = 3,
    TP_CLIENT_HEURISTIC_FREESPACE = 4,
    TP_CLIENT_HEURISTIC_MAXIMUM = 5,
    TP_CLIENT_HEURISTIC_ZERO = 6,
};

/* Map, start and goal must be given. Other fields that are 0, NULL or false are left out of the request: the
 * server's default holds. But for goal_radius: with TP_CLIENT_WITHIN it is sent whatever it is, 0 too. */
struct tp_client_session_params {
    const char *map;
    uint32_t start, goal;
    const char *algorithm; /* NULL: the server's default, guided */
    uint32_t w_milli;      /* w in thousandths; 0: the algorithm's own */
    struct tp_client_budget budget;
    uint32_t neighbours;
    enum tp_client_corners corners;
    enum tp_client_goal_policy goal_policy;
    enum tp_client_knowledge knowledge;
    enum tp_client_restart restart;
    enum tp_client_open_list open_list;
    bool shortcut, path_switch, longest_path_rule;
    uint64_t node_bytes_max;
    const char *known_map;  /* with TP_CLIENT_KNOWN_MAP: a map that the server has open, of the same size */
    uint32_t sensor_radius; /* cells seen around the agent, 1..8 */
    enum tp_client_motion motion;
    int32_t start_vx, start_vy; /* with TP_CLIENT_INERTIA: the velocity at the start, -3..3 cells a tick */
    enum tp_client_heuristic heuristic;
    const char *profile; /* of tp_client_put_profile; NULL: the map's own */
    uint32_t agent_size; /* 1..8: the agent takes up a square of so many cells, its cell the top left */
    const uint32_t *more_goals; /* with `goal` a set, at most 16 in all: the nearest counts */
    size_t more_goal_count;
    uint32_t switch_margin_milli; /* the time-bounded algorithms: a path that does not reach the goal is left only for one that
                                   * promises to be shorter by this share, in thousandths, 0..10000 */
    enum tp_client_pause pause_on_backtrack; /* 0: the algorithm's own; guided pauses where it is led and knows the map, the others never */
    uint64_t epoch;     /* refused with VERSION_MISMATCH unless the map is in it; 0: any */
    uint32_t priority; /* of its share of a tick's totals, 1..255: in proportion; 0 for the default, 16 */
    uint32_t guide_units; /* guided: units a tick for what guides the search, beside the budget, 1..1000000 */
    bool unguided;        /* guided: no guide at all, 0 units a tick, whatever guide_units says */
    bool bounded;         /* the time-bounded algorithms, on grids, goal policy EXACT or NEAREST: what a tick's budget leaves over proves how much the walk
                           * costs at most (bounds_milli) */
    double goal_radius; /* TP_CLIENT_WITHIN: in straight steps over weight 1, on a graph in its unit; at most 3 decimals */
};

struct tp_client_session {
    uint64_t id;
    uint64_t epoch, version;
    uint32_t width, height; /* of the map */
};

/* Which sessions a tick serves, and how. Pointers are borrowed during the call. */
struct tp_client_tick {
    const uint64_t *sessions; /* answered in this order */
    size_t session_count;
    bool all;                     /* every session of the connection, in the order they were opened */
    struct tp_client_budget each; /* for this tick, instead of each session's own */
    bool has_total_expansions, has_total_us; /* without it the total beside it says nothing; with it, 0 is INVALID_ARGUMENT */
    uint64_t total_expansions, total_us; /* shared by all sessions of this tick, by their priorities */
    uint64_t total_guide_units;          /* likewise; 0: no total */
    const uint64_t *at_sessions; /* true positions: the agent of at_sessions[i] stands on at_cells[i] */
    const uint32_t *at_cells;
    const int32_t *at_vx, *at_vy; /* the velocities there, -3..3, 0 for agents that are no vehicles; NULL: all at rest */
    size_t at_count;
    uint64_t min_version; /* sessions whose map is behind it are refused with MAP_NOT_READY; 0: none */
    uint64_t epoch;       /* and those whose map is in another epoch with VERSION_MISMATCH; 0: any */
    bool want_work, want_path;
};

enum tp_client_status {
    TP_CLIENT_MOVING = 1,      /* the agent takes the step to its cell */
    TP_CLIENT_SEARCHING = 2,   /* it stays; more search may help */
    TP_CLIENT_BLOCKED = 3,     /* it stays; its next step is closed, or it waits instead of stepping back */
    TP_CLIENT_ARRIVED = 4,     /* the goal policy is met; said with the step that arrives */
    TP_CLIENT_UNREACHABLE = 5, /* proved: no way to a goal in this version */
};

enum tp_client_flag {
    TP_CLIENT_BACK_MOVE = 1,       /* the step goes back; with BLOCKED: it would */
    TP_CLIENT_PATH_COMPLETE = 2,   /* the path followed reached the goal when it was found */
    TP_CLIENT_CONTINUED = 4,       /* the map changed, and the search goes on */
    TP_CLIENT_REPAIRED = 8,        /* the map changed, and the search (dstarlite) or the path (guided) was repaired */
    TP_CLIENT_RESTARTED = 16,      /* the search began anew */
    TP_CLIENT_PARTIAL = 32,        /* NEAREST: at, or going to, the cell nearest to goals that can't be reached */
    TP_CLIENT_LOOPING = 64,        /* it came to the same place three times, and nothing else happened */
    TP_CLIENT_NODE_CAP = 128,      /* out of search memory: the best move so far */
    TP_CLIENT_START_BLOCKED = 256, /* it stands where nobody may */
    TP_CLIENT_DEAD_END = 512,      /* no move leads out of where it stands now, whatever the status */
};

struct tp_client_path {
    const uint32_t *cells; /* the agent's own cell first */
    size_t count;
};

struct tp_client_refused {
    uint64_t session;
    int code; /* enum tp_client_code */
    uint64_t epoch, version; /* with MAP_NOT_READY and VERSION_MISMATCH: where its map stands, as far as the server says; else 0 */
};

/* Arrays run parallel, one element per session answered, in the order named. */
struct tp_client_ticked {
    uint64_t tick; /* counts the ticks of this connection, from 1 */
    size_t count;
    const uint64_t *sessions;
    const uint32_t *cells;    /* where each agent stands after its move */
    const uint32_t *statuses; /* enum tp_client_status */
    const uint32_t *flags;    /* enum tp_client_flag, or'ed */
    const uint64_t *versions; /* the map version each move was checked against */
    const uint64_t *costs;    /* solution cost so far */
    const uint64_t *expansions, *traced, *generated, *learned; /* NULL unless want_work: states expanded; steps that R pays at 1/c, of which fewer are counted
                                                                * under k (PROTOCOL.md, Ticked); states given a better g; updates of h */
    const uint64_t *guide_expansions;                          /* likewise, and where the server is too old to know guides */
    const struct tp_client_path *paths;                        /* NULL unless want_path */
    const struct tp_client_refused *refused;                   /* sessions that could not be ticked */
    size_t refused_count;
    uint32_t starved; /* sessions that wanted to search and got no expansion because a total was spent; units paid for a guide are no expansions */
    uint32_t starved_longest; /* ticks on end, this one included, that one of them has been starved in: the most; 0: none is */
    const int32_t *vx, *vy; /* velocities after the move, cells a tick; NULL unless one of the sessions is a vehicle's */
    const uint32_t *bounds_milli; /* the agent's walk and its path cost at most so many thousandths of the cheapest way; 0: nothing is proved;
                                   * NULL unless one of the sessions is bounded */
};

struct tp_client_session_info {
    uint64_t id;
    const char *map, *algorithm;
    uint32_t cell, goal;
    uint64_t ticks, moves, back_moves, cost;
    uint64_t expansions, generated, traced, restarts, expansions_max;
    uint64_t bytes, bytes_peak, move_hash;
    uint64_t flips; /* times the path followed was left for one that does not go on from it */
    uint64_t guide_expansions; /* units paid for what guides the search */
};

/* A look into a session's search; PROTOCOL.md, SessionDump, has the fields. */
struct tp_client_dump_rectangle {
    uint32_t x, y, width, height; /* width 0: the whole map */
    uint64_t cursor;              /* next_cursor of the dump before, 0 at first */
    uint32_t limit;               /* cells of the reply; 0: as many as it may have */
};

enum { TP_CLIENT_STATE_OPEN = 1, TP_CLIENT_STATE_CLOSED = 2, TP_CLIENT_STATE_RAISED = 4 };
#define TP_CLIENT_NO_CELL UINT32_MAX

struct tp_client_dump {
    uint64_t session, epoch, version, ticks;
    uint32_t cell;
    const uint32_t *goals;
    size_t goal_count;
    uint32_t status, flags, hold;   /* of the last tick, 0: there was none; hold: why it did not move, a number of the protocol's Hold, */
    const char *hold_name;          /* and its name there; "?" for one that this library does not know */
    uint32_t step_cell, root, best; /* TP_CLIENT_NO_CELL: there is none */
    uint32_t starved_ticks;
    bool searches, found, exhausted, partial, backward, packed, rests, led, path_cut, fresh_cut;
    uint64_t touched, queued;
    int vx, vy;
    const uint32_t *path, *fresh; /* with cursor 0 alone */
    size_t path_count, fresh_count;
    const uint32_t *state_cells, *state_whats; /* TP_CLIENT_STATE_* */
    const uint64_t *state_gs, *state_raised;   /* state_raised NULL: the algorithm does not learn */
    size_t state_count;
    bool has_next;
    uint64_t next_cursor;
};

struct tp_client_algorithm {
    const char *name, *title, *citation, *engine;
    uint32_t capabilities;
};

struct tp_client_listing {
    const struct tp_client_map *maps;
    size_t map_count;
    const struct tp_client_session_info *sessions; /* of this connection */
    size_t session_count;
    const struct tp_client_algorithm *algorithms;
    size_t algorithm_count;
};

enum tp_client_list { TP_CLIENT_LIST_MAPS = 1, TP_CLIENT_LIST_SESSIONS = 2, TP_CLIENT_LIST_ALGORITHMS = 4 };

/* ---- Blocking calls ----
 *
 * Each sends one request (put_map and put_graph: several) and waits for its reply. What a reply points to belongs to the
 * connection and is valid until the next call on it. `out` may be NULL. */

/* A round trip. `payload` of at most 1024 bytes comes back and is compared. */
int tp_client_ping(struct tp_client *client, const void *payload, size_t size, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Uploads a map of width * height class bytes (borrowed), in chunks where it is large. No weights: the
 * server's default profile. `replace` replaces a map of that name that has no sessions. */
int tp_client_put_map(struct tp_client *client, const char *name, uint32_t width, uint32_t height,
                      const uint8_t *cells, const struct tp_client_weight *weights, size_t weight_count,
                      bool replace, struct tp_client_map *out, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Uploads a graph, in chunks where it is large; what is wrong with an edge or a coordinate names it (tp_client_error).
 * `replace` as above: a graph may replace a grid, and a grid a graph. */
int tp_client_put_graph(struct tp_client *client, const char *name, const struct tp_client_graph *graph, bool replace,
                        struct tp_client_map *out, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Asks for a map; MAP_NOT_READY if it is behind min_version (0: any), VERSION_MISMATCH if it is in another epoch (of
 * tp_client_open_map_of; 0: any). */
int tp_client_open_map_of(struct tp_client *client, const char *name, uint64_t epoch, uint64_t min_version,
                          struct tp_client_map *out, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_open_map(struct tp_client *client, const char *name, uint64_t min_version,
                       struct tp_client_map *out, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Forgets a map, on the server and in its store. FAILED_PRECONDITION: sessions stand on it, or it is not in `epoch` (0:
 * any; with it a program drops only what it put itself). */
int tp_client_drop_map(struct tp_client *client, const char *name, uint64_t epoch, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Gives a map one more profile, for sessions that name it; classes left out are impassable. The same again is fine;
 * ALREADY_EXISTS: another one of that name; RESOURCE_EXHAUSTED: the map has as many as it may. */
int tp_client_put_profile(struct tp_client *client, const char *map, const char *name, const struct tp_client_weight *weights, size_t weight_count,
                          int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Sends a batch and waits until it is applied; *out says which version it made. A refusal changes nothing, and tp_client_error names the change that
 * it is about; VERSION_MISMATCH: the map is at another version or in another epoch than was asked for, and the error says which. */
int tp_client_change(struct tp_client *client, const struct tp_client_changes *changes,
                     struct tp_client_changed *out, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Asks to be told of a map's changes, with the cells or without; tp_client_next_push gives them. Again: that counts from the
 * answer on. NOT_FOUND; RESOURCE_EXHAUSTED: too many of this connection. */
int tp_client_subscribe(struct tp_client *client, const char *map, bool want_cells, struct tp_client_subscribed *out,
                        int timeout_ms) TP_CLIENT_MUST_CHECK;

/* No longer. Pushes that came before can still be collected. */
int tp_client_unsubscribe(struct tp_client *client, const char *map, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Gives the next push, those that came during other calls first, in the order they came; waits for one if there is none. TIMEOUT:
 * none came in time. With timeout_ms 0 it takes what the socket has and does not wait. A push comes before every reply that
 * names its version or a later one. What it points to is valid until the next call on the connection. Nothing is lost when it
 * is never called: beyond
 * TP_CLIENT_PUSHES_MAX those of one map become one (without cells, saying resync). */
enum { TP_CLIENT_PUSHES_MAX = 256 };
int tp_client_next_push(struct tp_client *client, struct tp_client_push *push, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Opens an agent's session, which lives until it is closed or the connection ends. NOT_FOUND: no such map; INVALID_ARGUMENT, OUT_OF_RANGE, UNSUPPORTED: the
 * error's field says what; RESOURCE_EXHAUSTED: the connection has as many as it may, say. */
int tp_client_open_session(struct tp_client *client, const struct tp_client_session_params *params,
                           struct tp_client_session *out, int timeout_ms) TP_CLIENT_MUST_CHECK;

int tp_client_set_goal(struct tp_client *client, uint64_t session, uint32_t goal, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* The same for a set of 1 to 16 goals, the nearest of which counts. */
int tp_client_set_goals(struct tp_client *client, uint64_t session, const uint32_t *goals, size_t count, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* One tick of the sessions named: a move and a status of each. What can't be ticked alone (closed, a map that is behind) stands in out->refused,
 * and the call gives 0; where the server refuses the request, nobody moved. */
int tp_client_tick(struct tp_client *client, const struct tp_client_tick *tick, struct tp_client_ticked *out, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Looks into a session's search, which it does not change (rectangle NULL: all of it, from the beginning). UNKNOWN_MESSAGE: the server is too old. */
int tp_client_dump_session(struct tp_client *client, uint64_t session, const struct tp_client_dump_rectangle *rectangle,
                           struct tp_client_dump *out, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Closes the sessions named; none where there are none. Says in *closed (unless NULL) how many it closed. */
int tp_client_close_sessions(struct tp_client *client, const uint64_t *sessions, size_t count, uint32_t *closed, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Closes every session of the connection. */
int tp_client_close_all_sessions(struct tp_client *client, uint32_t *closed, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* `what`: enum tp_client_list, or'ed. */
int tp_client_list(struct tp_client *client, uint32_t what, struct tp_client_listing *out, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* ---- Pipelined calls ----
 *
 * tp_client_send_* copies the request into the output, sends what the socket takes, and gives a ticket. It
 * waits only while the output is full. Tickets are collected in any order; replies that come meanwhile are
 * kept. Every ticket has to be collected or dropped once. */

int tp_client_send_ping(struct tp_client *client, const void *payload, size_t size, uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_open_map_of(struct tp_client *client, const char *name, uint64_t epoch, uint64_t min_version,
                               uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_open_map(struct tp_client *client, const char *name, uint64_t min_version, uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_drop_map(struct tp_client *client, const char *name, uint64_t epoch, uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_put_profile(struct tp_client *client, const char *map, const char *name,
                               const struct tp_client_weight *weights, size_t weight_count, uint64_t *ticket,
                               int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_change(struct tp_client *client, const struct tp_client_changes *changes, uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_subscribe(struct tp_client *client, const char *map, bool want_cells, uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_unsubscribe(struct tp_client *client, const char *map, uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_open_session(struct tp_client *client, const struct tp_client_session_params *params,
                                uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_set_goal(struct tp_client *client, uint64_t session, uint32_t goal, uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_set_goals(struct tp_client *client, uint64_t session, const uint32_t *goals, size_t count,
                             uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_tick(struct tp_client *client, const struct tp_client_tick *tick, uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_dump_session(struct tp_client *client, uint64_t session, const struct tp_client_dump_rectangle *rectangle,
                                uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_close_sessions(struct tp_client *client, const uint64_t *sessions, size_t count,
                                  uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK; /* INVALID_ARGUMENT for none */
int tp_client_send_close_all_sessions(struct tp_client *client, uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;
int tp_client_send_list(struct tp_client *client, uint32_t what, uint64_t *ticket, int timeout_ms) TP_CLIENT_MUST_CHECK;

enum tp_client_reply_kind {
    TP_CLIENT_REPLY_NONE,
    TP_CLIENT_REPLY_PONG,
    TP_CLIENT_REPLY_MAP_CHUNK, /* of uploads, which tp_client_put_map and tp_client_put_graph collect themselves: no ticket of yours has it */
    TP_CLIENT_REPLY_MAP,
    TP_CLIENT_REPLY_CHANGED,
    TP_CLIENT_REPLY_SESSION,
    TP_CLIENT_REPLY_GOAL_SET,
    TP_CLIENT_REPLY_TICKED,
    TP_CLIENT_REPLY_CLOSED,
    TP_CLIENT_REPLY_LISTING,
    TP_CLIENT_REPLY_MAP_DROPPED,
    TP_CLIENT_REPLY_PROFILE_PUT,
    TP_CLIENT_REPLY_DUMP,
    TP_CLIENT_REPLY_SUBSCRIBED, /* to tp_client_send_unsubscribe: with zeros */
};

struct tp_client_reply {
    enum tp_client_reply_kind kind;
    union {
        struct tp_client_map map;
        struct tp_client_changed changed;
        struct tp_client_subscribed subscribed;
        struct tp_client_session session;
        struct tp_client_ticked ticked;
        uint32_t closed; /* sessions closed */
        struct tp_client_listing listing;
        struct tp_client_dump dump;
    };
};

/* Waits for the reply of a ticket. A refusal by the server is this call's error, and the ticket is then used
 * up. On TIMEOUT the ticket stays good. NOT_FOUND: no such ticket outstanding. What the reply points to is
 * valid until the next call on the connection. */
int tp_client_collect(struct tp_client *client, uint64_t ticket, struct tp_client_reply *reply, int timeout_ms) TP_CLIENT_MUST_CHECK;

/* Gives a ticket up: its reply, here or still to come, is dropped. */
void tp_client_drop(struct tp_client *client, uint64_t ticket);

/* Requests sent whose tickets are neither collected nor dropped. */
size_t tp_client_outstanding(const struct tp_client *client);

#ifdef __cplusplus
}
#endif

#endif
