/* A plain model of maps that change under walking agents, and the load that a real daemon is held against it with: what
 * tests/system/test_model.c is made of. There stands how a round goes.
 *
 * What it is: the cells of every version, the batches that made them, the sessions and what was told of them, in arrays; random
 * requests (model_send.c), replies put in order (model.c) and checked one by one (model_check.c). What it refuses: nothing; whatever
 * is not as the model has it fails the running test. Who calls it: that test, of one thread.
 */
#ifndef TESTS_LIB_MODEL_H
#define TESTS_LIB_MODEL_H

#include "search/algorithm.h"
#include "tests/lib/harness.h"
#include "tests/lib/reference.h"
#include "tests/lib/wire.h"

#include <stdio.h>

enum {
    MAPS = 2,
    CONNECTIONS = 3,
    CELLS_MAX = 20 * 14,
    HISTORY = 8192, /* versions of a map that the model keeps */
    BURST_MAX = 40,
    ENTRIES_MAX = BURST_MAX * 2 + 64,
    SESSIONS_MAX = 8, /* that a connection opens more of */
    SESSIONS_ROOM = SESSIONS_MAX + ENTRIES_MAX,
    KEYS = 512, /* that the model sends again; the daemon knows 1024 */
    LOST_MAX = ENTRIES_MAX,
    ACKED_MAX = CONNECTIONS * ENTRIES_MAX,
    GOALS_MAX = 4,
    PROFILES = 3,
    SIZES = 3,
    CLASSES = 3, /* that are passable for somebody */
    UNTOUCHED = -1,
};

/* What a class weighs: the map's own profile, then those put by name. */
extern const char *const model_profile_name[PROFILES];
extern const struct model_weight {
    char class_;
    uint16_t weight[PROFILES];
} model_weights[CLASSES];

struct grid {
    const char *name;
    uint32_t width, height;
    uint64_t version,
        seen; /* the last whose cells are known; the highest that any reply of this round named */
    uint8_t (*history)[CELLS_MAX];
    struct {
        uint64_t version;
        uint16_t weight[CELLS_MAX];
    } layer[PROFILES][SIZES];
    const int16_t *acked[ACKED_MAX]; /* this round: what the batch of version + 1 + i did */
    /* batches whose reply was lost, in the order sent */
    struct lost {
        int16_t effect[CELLS_MAX];
        uint64_t key;
    } lost[LOST_MAX];
    size_t lost_count;
};

struct key {
    uint64_t number;  /* 0: none */
    uint64_t version; /* 0: not known */
    bool again; /* a reply said that this version was applied before: by a lost batch, if by none known */
    int map;
    int16_t effect[CELLS_MAX];
};

struct session {
    uint64_t id;
    int map, profile, size, policy;
    const struct tp_algorithm *algorithm;
    uint32_t cell, goal[GOALS_MAX], goal_count;
    uint64_t radius, k, cost, ticks, version;
    int neighbours;
    enum ref_corners corners;
    struct {
        uint64_t version;
        uint32_t cell;
    } proved; /* UNREACHABLE, found to be true */
};

enum kind { CHANGE, TICK, SET_GOAL, OPEN, CLOSE, LIST, OPEN_MAP, SUBSCRIBE };
enum wanted { TAKEN, REFUSED, MAYBE };

/* A request under way, and its reply. */
struct entry {
    uint64_t id;
    enum kind kind;
    enum wanted wanted;
    int code;        /* REFUSED: why, and */
    bool names_cell; /* which cell is bad */
    uint32_t bad_index, bad_x, bad_y;
    int map;
    int16_t effect[CELLS_MAX];
    uint64_t key, base_version;
    struct session session; /* OPEN; SET_GOAL: its id and goals */
    uint64_t ids[SESSIONS_ROOM + 2], min_version, k, total;
    size_t id_count;
    bool all;
    uint64_t at_session[4];
    uint32_t at_cell[4];
    size_t at_count;
    Tickpath__Reply *reply;
};

struct push {
    size_t before; /* it came before the reply of this entry */
    Tickpath__Reply *reply;
};

struct connection {
    struct wire wire;
    bool breaks; /* in this round: nothing whose outcome is not known is sent */
    struct session sessions[SESSIONS_ROOM];
    size_t session_count;
    struct entry entries[ENTRIES_MAX];
    size_t entry_count, answered;
    struct push pushes[ENTRIES_MAX * 2];
    size_t push_count;
    uint64_t floor[MAPS]; /* the highest version named on this connection */
    bool subscribed[MAPS];
    uint64_t told[MAPS];
    uint8_t mirror[MAPS][CELLS_MAX]; /* of a subscriber, made of pushes alone */
    uint64_t tick;
};

extern struct model {
    struct wire_daemon daemon;
    struct grid grids[MAPS];
    struct connection connections[CONNECTIONS];
    struct key keys[KEYS];
    uint64_t next_key;
    struct tp_test_rng rng;
    uint64_t steps;
    struct {
        uint64_t batches, refused, again, races, ticks, moves, unreachable, partial, arrived, restarted,
            continued, repaired, start_blocked, opened, unsupported, breaks, lost_applied, lost_gone, pushes,
            mismatch, blocked;
    } seen;
} model;

#define SAY(condition, ...)                                                                                  \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            char say_text[400];                                                                              \
            snprintf(say_text, sizeof say_text, __VA_ARGS__);                                                \
            ck_abort_msg("step %llu: %s  [%s]", (unsigned long long)model.steps, say_text, #condition);      \
        }                                                                                                    \
    } while (0)
#define ULL(x) ((unsigned long long)(x))

/* ---- model.c ---- */

uint32_t model_below(uint32_t bound);
bool model_percent(uint32_t chance);
uint32_t model_cells_of(int map);

/* A version's cells; it must be one of the last HISTORY. What a class weighs by a profile, 0: nobody may stand there. */
const uint8_t *model_cells_at(int map, uint64_t version);
uint16_t model_weight_of(uint8_t class_, int profile);

/* A version as the session's agent meets it; h of a cell to the nearest of its goals; whether its goal policy is met there. */
struct ref_problem model_problem_of(const struct session *session, uint64_t version);
uint64_t model_h_of(const struct session *session, const struct ref_problem *problem, uint32_t cell);
bool model_is_end(const struct session *session, const struct ref_problem *problem, uint32_t cell);

/* The batch with that number, NULL if it is no longer sent again; the session of that id, NULL for none; how many there are. */
struct key *model_key_of(uint64_t number);
struct session *model_session_of(struct connection *connection, uint64_t id);
size_t model_sessions_on(int map);

/* Takes replies, and the pushes between them, until so many requests are answered. */
void model_collect(struct connection *connection, size_t until);
int model_map_named(const char *name);

/* Puts the batches that were acknowledged in the order of their versions, and those that were lost where nobody's fit. */
void model_resolve(void);

/* ---- model_send.c ---- */

/* A batch of every form; what it does to the cells stands in the entry. With `of` the cells of a batch sent before. */
void model_send_change(struct connection *connection, int map, uint64_t key, const int16_t *of);

/* Opens a session: a random one, or one again where its agent stands. */
void model_send_open(struct connection *connection, const struct session *again);
void model_send_open_map(struct connection *connection, int map);

/* Sends until so many requests are under way. */
void model_send_burst(struct connection *connection, uint32_t count);

/* ---- model_check.c ---- */

/* Checks what was collected of all connections, in order, and forgets it. */
void model_check_round(void);

#endif
