/* The options that say how to search: shared by bench, trace and run.
 *
 * To add one: a field here, a row in search_options.c's table, and its line in the two functions that turn
 * the options into a session's parameters (in-process, and for a daemon).
 */
#ifndef TP_CLI_SEARCH_OPTIONS_H
#define TP_CLI_SEARCH_OPTIONS_H

#include "client/cli/options.h"
#include "client/tickpath_client.h"
#include "map/layer.h"
#include "search/session.h"

struct tp_cli_search {
    const char *algorithm;
    uint64_t k, R, deadline_us; /* 0: not given */
    uint32_t r_milli;           /* UINT32_MAX: not given */
    uint64_t c;                 /* 0: not given */
    uint32_t w_milli;           /* thousandths; TP_W_UNSET: the algorithm's own */
    int neighbours;             /* enum tp_neighbours */
    int corners;                /* enum tp_corners */
    int goal_policy;            /* enum tp_goal_policy */
    uint32_t goal_radius_milli; /* straight steps in thousandths; UINT32_MAX: not given */
    int restart;                /* enum tp_restart */
    int open_list;              /* enum tp_open_list */
    int motion;                 /* enum tp_motion */
    int heuristic;              /* enum tp_heuristic */
    const char *start_velocity; /* "X,Y", NULL: not given */
    bool unknown;
    const char *known; /* file, NULL: not given */
    bool longest_path_rule, shortcut, path_switch;
    uint32_t switch_margin_milli; /* thousandths */
    int pause_on_backtrack; /* enum tp_pause */
    bool bounded;
    uint64_t guide_units;    /* a tick */
    uint64_t node_bytes_max; /* 0: no cap */
    struct tp_cli_terrain terrain; /* the map's own profile */
    struct tp_cli_terrain profile; /* the agents', where it is another */
    uint64_t agent_size;           /* cells */
    uint64_t seed;
};

extern const struct tp_cli_option tp_cli_search_options[];

/* The defaults. */
void tp_cli_search_init(struct tp_cli_search *search);

/* Whether the options go together, and names are known. TP_CLI_GO_ON, or TP_CLI_USAGE after saying why. */
int tp_cli_search_check(const struct tp_cli_usage *usage, const struct tp_cli_search *search);

/* The profile for the map: what --terrain gave, or NULL for the benchmarks'. Borrowed. */
const struct tp_profile *tp_cli_search_profile(const struct tp_cli_search *search);

/* Whether the agents meet the map as a layer of it, by a profile or a size of their own, or led; fills *kind then. */
bool tp_cli_search_layer(const struct tp_cli_search *search, const struct tp_map *map, struct tp_layer_kind *kind);

/* The map told to agents on `map` as they are told it: a layer that leads them, or `known` itself. Gives a reference in *told. An error of the
 * library. */
int tp_cli_search_tell(const struct tp_cli_search *search, const struct tp_map *map, const struct tp_map *known,
                       const struct tp_map **told);

/* The name of the agents' profile on a daemon. */
#define TP_CLI_PROFILE_NAME "agents"

/* The same as a session's parameters, without start and goal. A deadline's `expired` is left to the caller.
 */
void tp_cli_search_params(const struct tp_cli_search *search, struct tp_session_params *params);

/* The same for a daemon, without map, start and goal. */
void tp_cli_search_client_params(const struct tp_cli_search *search, struct tp_client_session_params *params);

/* Says that a session was refused, naming the option that stands for the protocol's field. TP_CLI_USAGE where
 * an option is to blame, else TP_CLI_FAILED. */
int tp_cli_search_refused(const struct tp_cli_usage *usage, const struct tp_cli_search *search, int error,
                          const char *field, const char *reason);

#endif
