#include "client/cli/search_options.h"

#include "base/limits.h"

#include <stdio.h>
#include <string.h>

static const struct tp_cli_choice neighbours_words[] = {
    {"4", TP_NEIGHBOURS_4},
    {"8", TP_NEIGHBOURS_8},
    {"16", TP_NEIGHBOURS_16},
    {NULL, 0},
};
static const struct tp_cli_choice corners_words[] = {
    {"both", TP_CORNERS_BOTH_FREE},
    {"one", TP_CORNERS_ONE_FREE},
    {"always", TP_CORNERS_ALWAYS},
    {NULL, 0},
};
static const struct tp_cli_choice goal_policy_words[] = {
    {"exact", TP_GOAL_EXACT},
    {"within", TP_GOAL_WITHIN},
    {"nearest", TP_GOAL_NEAREST},
    {NULL, 0},
};
static const struct tp_cli_choice restart_words[] = {
    {"default", TP_RESTART_DEFAULT}, {"never", TP_RESTART_NEVER},     {"eager", TP_RESTART_EAGER},
    {"lazy", TP_RESTART_LAZY},       {"on-rise", TP_RESTART_ON_RISE}, {NULL, 0},
};

static const struct tp_cli_choice open_list_words[] = {
    {"default", TP_OPEN_LIST_DEFAULT},
    {"exact", TP_OPEN_LIST_EXACT},
    {"bucket", TP_OPEN_LIST_BUCKET},
    {NULL, 0},
};

static const struct tp_cli_choice motion_words[] = {
    {"steps", TP_MOTION_STEPS},
    {"inertia", TP_MOTION_INERTIA},
    {NULL, 0},
};
static const struct tp_cli_choice heuristic_words[] = {
    {"default", TP_HEURISTIC_DEFAULT},     {"octile", TP_HEURISTIC_OCTILE},
    {"manhattan", TP_HEURISTIC_MANHATTAN}, {"euclid", TP_HEURISTIC_EUCLID},
    {"freespace", TP_HEURISTIC_FREESPACE}, {"maximum", TP_HEURISTIC_MAXIMUM},
    {"zero", TP_HEURISTIC_ZERO},           {NULL, 0},
};

#define AT(field) offsetof(struct tp_cli_search, field)

const struct tp_cli_option tp_cli_search_options[] = {
    {"alg", TP_CLI_STRING, AT(algorithm), "NAME", "algorithm, a name of `tickpath algorithms` (" TP_ALGORITHM_DEFAULT ")",
     0, 0, NULL, false},
    {"k", TP_CLI_BUDGET, AT(k), "N", "budget: expansions a tick, or \"unlimited\"", 1, TP_BUDGET_MAX, NULL,
     false},
    {"R", TP_CLI_UINT, AT(R), "N", "budget: resource limit a tick (100)", 1, TP_BUDGET_MAX, NULL, false},
    {"r", TP_CLI_MILLI, AT(r_milli), "X", "with R: share of R for expansions (0.9)", 1, 1000, NULL, false},
    {"c", TP_CLI_UINT, AT(c), "N", "with R: trace steps that cost one expansion (10)", 1, TP_C_MAX, NULL,
     false},
    {"deadline-us", TP_CLI_UINT, AT(deadline_us), "N", "budget: microseconds a tick", 1, 3600000000u, NULL,
     false},
    {"w", TP_CLI_MILLI, AT(w_milli), "X", "weight of h (1; of guided, where it is led, 2)", 1000, TP_W_MILLI_MAX, NULL, false},
    {"neighbours", TP_CLI_CHOICE, AT(neighbours), "N", "moves from a cell (8)", 0, 0, neighbours_words,
     false},
    {"corners", TP_CLI_CHOICE, AT(corners), "RULE", "orthogonal cells a diagonal needs free (both)", 0, 0,
     corners_words, false},
    {"motion", TP_CLI_CHOICE, AT(motion), "WORD", "how the agent moves; inertia: a vehicle on a grid (steps)",
     0, 0, motion_words, false},
    {"start-velocity", TP_CLI_STRING, AT(start_velocity), "X,Y",
     "with --motion inertia: cells a tick at the start, each -3 to 3 (0,0)", 0, 0, NULL, false},
    {"heuristic", TP_CLI_CHOICE, AT(heuristic), "WORD", "what h is (the one of the map and the moves)", 0, 0,
     heuristic_words, false},
    {"goal-policy", TP_CLI_CHOICE, AT(goal_policy), "WORD",
     "where the agent has arrived (exact); within: near enough; nearest: as near as it can get", 0, 0, goal_policy_words,
     false},
    {"goal-radius", TP_CLI_MILLI, AT(goal_radius_milli), "X",
     "with --goal-policy within: how far is near enough, in straight steps (on a graph its unit)", 0, 1000000000, NULL, false},
    {"restart", TP_CLI_CHOICE, AT(restart), "WORD",
     "when a changed map begins a new search (the algorithm's own)", 0, 0,
     restart_words, false},
    {"open-list", TP_CLI_CHOICE, AT(open_list), "WORD",
     "order of the open list: exact, or bucket: by f in steps, which is faster (default: bucket on grids and for vehicles where the algorithm "
     "takes it, but for guided where it is led)", 0, 0, open_list_words, false},
    {"unknown", TP_CLI_FLAG, AT(unknown), NULL, "the agent assumes unseen cells free",
     0, 0, NULL, false},
    {"known", TP_CLI_STRING, AT(known), "FILE",
     "the agent knows this map until it sees otherwise", 0, 0, NULL, false},
    {"longest-path-rule", TP_CLI_FLAG, AT(longest_path_rule), NULL,
     "tba: first tick ends when a path has N_T actions", 0, 0, NULL, false},
    {"shortcut", TP_CLI_FLAG, AT(shortcut), NULL, "tba: look for a shortcut while moving back to a complete path", 0, 0, NULL,
     false},
    {"path-switch", TP_CLI_FLAG, AT(path_switch), NULL, "tba: keep a path until one of at least its g comes",
     0, 0, NULL, false},
    {"switch-margin", TP_CLI_MILLI, AT(switch_margin_milli), "X",
     "time-bounded: leave a path only for one that promises to be shorter by this share (0)", 0,
     TP_SWITCH_MARGIN_MILLI_MAX, NULL, false},
    {"pause-on-backtrack", TP_CLI_SET, AT(pause_on_backtrack), NULL,
     "time-bounded: wait instead of moving back until the path is complete (guided does, where it is led and knows the map)",
     TP_PAUSE_ON_BACKTRACK, 0, NULL, false},
    {"no-pause-on-backtrack", TP_CLI_SET, AT(pause_on_backtrack), NULL, "move back at once", TP_PAUSE_NEVER, 0, NULL, false},
    {"bounded", TP_CLI_FLAG, AT(bounded), NULL, "time-bounded: prove with leftover budget how much the walk costs at most", 0, 0, NULL, false},
    {"guide-units", TP_CLI_UINT, AT(guide_units), "N",
     "guided: units a tick for what guides the search, beside the budget (100)", 0, TP_GUIDE_UNITS_MAX, NULL, false},
    {"node-bytes-max", TP_CLI_UINT, AT(node_bytes_max), "N", "cap on one session's search memory (none)", 1,
     UINT64_MAX, NULL, false},
    {"terrain", TP_CLI_TERRAIN, AT(terrain), "CHAR=WEIGHT,...",
     "weights of the map's characters, 0 impassable, the rest as before (.=1,G=1,S=1, others 0); or @FILE", 0,
     0, NULL, false},
    {"profile", TP_CLI_TERRAIN, AT(profile), "CHAR=WEIGHT,...",
     "weights as the agents meet them, likewise, beside the map's own (the map's own)", 0, 0, NULL, false},
    {"agent-size", TP_CLI_UINT, AT(agent_size), "N", "cells on a side of what an agent takes up (1)", 1,
     TP_AGENT_SIZE_MAX, NULL, false},
    {"seed", TP_CLI_UINT, AT(seed), "N", "seed of whatever is drawn at random (1)", 0, UINT64_MAX, NULL,
     false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

void tp_cli_search_init(struct tp_cli_search *search)
{
    *search = (struct tp_cli_search){
        .algorithm = TP_ALGORITHM_DEFAULT,
        .r_milli = UINT32_MAX,
        .w_milli = TP_W_UNSET,
        .neighbours = TP_NEIGHBOURS_8,
        .corners = TP_CORNERS_BOTH_FREE,
        .goal_policy = TP_GOAL_EXACT,
        .goal_radius_milli = UINT32_MAX,
        .restart = TP_RESTART_DEFAULT,
        .open_list = TP_OPEN_LIST_DEFAULT,
        .guide_units = UINT64_MAX,
        .agent_size = 1,
        .seed = 1,
    };
}

/* Reads "X,Y"; false where it is none, or beyond -3..3. */
static bool read_velocity(const char *text, int *vx, int *vy)
{
    char behind;
    return sscanf(text, "%d,%d%c", vx, vy, &behind) == 2 && *vx >= -TP_VELOCITY_MAX &&
           *vx <= TP_VELOCITY_MAX && *vy >= -TP_VELOCITY_MAX && *vy <= TP_VELOCITY_MAX;
}

int tp_cli_search_check(const struct tp_cli_usage *usage, const struct tp_cli_search *search)
{
    if (tp_algorithm_find(search->algorithm) == NULL)
        return tp_cli_refuse(usage, "alg", "no algorithm is called \"%s\"; `tickpath algorithms` lists them",
                             search->algorithm);
    bool within = search->goal_policy == TP_GOAL_WITHIN, has_radius = search->goal_radius_milli != UINT32_MAX;
    if (within != has_radius)
        return tp_cli_refuse(usage, "goal-radius", within ? "goes with --goal-policy within and must be given"
                                                          : "goes with --goal-policy within");
    bool has_k = search->k != 0, has_R = search->R != 0, has_deadline = search->deadline_us != 0;
    if (has_k && has_R)
        return tp_cli_refuse(usage, "k", "a tick's budget is one of --k, --R and --deadline-us");
    if (has_deadline && (has_k || has_R))
        return tp_cli_refuse(usage, "deadline-us", "a tick's budget is one of --k, --R and --deadline-us");
    if ((has_k || has_deadline) && search->r_milli != UINT32_MAX)
        return tp_cli_refuse(usage, "r", "goes with --R only");
    if ((has_k || has_deadline) && search->c != 0)
        return tp_cli_refuse(usage, "c", "goes with --R only");
    int vx, vy;
    if (search->start_velocity != NULL && !read_velocity(search->start_velocity, &vx, &vy))
        return tp_cli_refuse(usage, "start-velocity", "\"%s\" is not X,Y, two numbers of -3 to 3",
                             search->start_velocity);
    if (search->start_velocity != NULL && search->motion != TP_MOTION_INERTIA)
        return tp_cli_refuse(usage, "start-velocity", "goes with --motion inertia");
    if (search->unknown && search->known != NULL)
        return tp_cli_refuse(usage, "known", "an agent on an unknown map (--unknown) knows no map");
    if (search->known != NULL && (search->profile.given || search->agent_size > 1))
        return tp_cli_refuse(usage, "known", "does not go with --profile and --agent-size");
    return TP_CLI_GO_ON;
}

bool tp_cli_search_layer(const struct tp_cli_search *search, const struct tp_map *map, struct tp_layer_kind *kind)
{
    *kind = (struct tp_layer_kind){search->profile.given ? search->profile.profile : map->profile,
                                   (uint32_t)search->agent_size, false, TP_BLOCKS_STRAIGHT};
    struct tp_session_params params;
    tp_cli_search_params(search, &params);
    kind->has_blocks = tp_session_wants_blocks(&params, map) && params.knowledge != TP_KNOWLEDGE_MAP;
    if (kind->has_blocks)
        kind->links = tp_blocks_links_of(params.neighbours, params.corners);
    return search->profile.given || search->agent_size > 1 || kind->has_blocks;
}

int tp_cli_search_tell(const struct tp_cli_search *search, const struct tp_map *map, const struct tp_map *known,
                       const struct tp_map **told)
{
    struct tp_session_params params;
    tp_cli_search_params(search, &params);
    *told = known;
    if (!tp_session_wants_blocks(&params, map) || known->graph != NULL) {
        tp_map_ref(known);
        return 0;
    }
    const struct tp_layer_kind kind = {known->profile, 1, true, tp_blocks_links_of(params.neighbours, params.corners)};
    struct tp_map *layer;
    int error = tp_layer_build(&layer, known, &kind);
    *told = layer;
    return error;
}

const struct tp_profile *tp_cli_search_profile(const struct tp_cli_search *search)
{
    return search->terrain.given ? &search->terrain.profile : NULL;
}

void tp_cli_search_params(const struct tp_cli_search *search, struct tp_session_params *params)
{
    tp_session_params_init(params);
    params->algorithm = tp_algorithm_find(search->algorithm);
    params->w_milli = search->w_milli;
    params->neighbours = (enum tp_neighbours)search->neighbours;
    params->corners = (enum tp_corners)search->corners;
    params->goal_policy = (enum tp_goal_policy)search->goal_policy;
    if (search->goal_radius_milli != UINT32_MAX)
        params->goal_radius = (tp_cost)search->goal_radius_milli * TP_COST_UNIT / 1000; /* of a graph: play_local.c */
    params->knowledge = search->unknown         ? TP_KNOWLEDGE_FREESPACE
                        : search->known != NULL ? TP_KNOWLEDGE_MAP
                                                : TP_KNOWLEDGE_FULL;
    params->restart = (enum tp_restart)search->restart;
    params->open_list = (enum tp_open_list)search->open_list;
    params->longest_path_rule = search->longest_path_rule;
    params->shortcut = search->shortcut;
    params->path_switch = search->path_switch;
    params->switch_margin_milli = search->switch_margin_milli;
    params->pause_on_backtrack = (enum tp_pause)search->pause_on_backtrack;
    params->bounded = search->bounded;
    if (search->guide_units != UINT64_MAX)
        params->guide_units = (uint32_t)search->guide_units;
    params->node_bytes_max = search->node_bytes_max;
    params->motion = (enum tp_motion)search->motion;
    params->heuristic = (enum tp_heuristic)search->heuristic;
    int vx, vy;
    if (search->start_velocity != NULL && read_velocity(search->start_velocity, &vx, &vy)) {
        params->start_vx = (int8_t)vx;
        params->start_vy = (int8_t)vy;
    }
    if (search->k != 0)
        params->budget = tp_budget_k(search->k);
    else if (search->deadline_us != 0)
        params->budget =
            (struct tp_budget){.kind = TP_BUDGET_DEADLINE, .c = 10, .expansions_max = UINT64_MAX};
    else
        params->budget = tp_budget_r(search->R != 0 ? search->R : 100,
                                     search->r_milli != UINT32_MAX ? search->r_milli : 900,
                                     search->c != 0 ? (uint32_t)search->c : 10);
}

void tp_cli_search_client_params(const struct tp_cli_search *search, struct tp_client_session_params *params)
{
    struct tp_session_params local;
    tp_cli_search_params(search, &local);
    /* The wire counts some of these from 1, in the order of the library; 0 there means "not given". */
    *params = (struct tp_client_session_params){
        .algorithm = search->algorithm,
        .w_milli = local.w_milli != TP_W_UNSET ? local.w_milli : 0,
        .neighbours = (uint32_t)local.neighbours,
        .corners = (enum tp_client_corners)(local.corners + 1),
        .goal_policy = (enum tp_client_goal_policy)(local.goal_policy + 1),
        .knowledge = (enum tp_client_knowledge)(local.knowledge + 1),
        .restart = (enum tp_client_restart)local.restart,
        .open_list = (enum tp_client_open_list)local.open_list,
        .shortcut = local.shortcut,
        .path_switch = local.path_switch,
        .longest_path_rule = local.longest_path_rule,
        .switch_margin_milli = local.switch_margin_milli,
        .pause_on_backtrack = (enum tp_client_pause)local.pause_on_backtrack,
        .bounded = local.bounded,
        .node_bytes_max = local.node_bytes_max,
        .motion = (enum tp_client_motion)(local.motion + 1),
        .start_vx = local.start_vx,
        .start_vy = local.start_vy,
        .heuristic = (enum tp_client_heuristic)local.heuristic,
        .guide_units = local.guide_units != TP_GUIDE_UNITS_UNSET ? local.guide_units : 0,
        .unguided = local.guide_units == 0,
        .goal_radius = search->goal_radius_milli != UINT32_MAX ? search->goal_radius_milli / 1000.0 : 0,
        .profile = search->profile.given ? TP_CLI_PROFILE_NAME : NULL,
        .agent_size = search->agent_size > 1 ? (uint32_t)search->agent_size : 0,
    };
    if (local.budget.kind == TP_BUDGET_K)
        params->budget =
            (struct tp_client_budget){.kind = TP_CLIENT_BUDGET_K, .amount = local.budget.expansions};
    else if (local.budget.kind == TP_BUDGET_DEADLINE)
        params->budget =
            (struct tp_client_budget){.kind = TP_CLIENT_BUDGET_DEADLINE, .amount = search->deadline_us};
    else
        params->budget = (struct tp_client_budget){.kind = TP_CLIENT_BUDGET_R,
                                                   .amount = local.budget.expansions,
                                                   .r_milli = local.budget.r_milli,
                                                   .c = local.budget.c};
}

_Static_assert(TP_CORNERS_ALWAYS + 1 == TP_CLIENT_ALWAYS && TP_GOAL_NEAREST + 1 == TP_CLIENT_NEAREST &&
                   TP_KNOWLEDGE_MAP + 1 == TP_CLIENT_KNOWN_MAP &&
                   TP_MOTION_INERTIA + 1 == TP_CLIENT_INERTIA + 0 &&
                   TP_HEURISTIC_ZERO + 0 == TP_CLIENT_HEURISTIC_ZERO + 0 &&
                   TP_PAUSE_NEVER + 0 == TP_CLIENT_PAUSE_NEVER + 0 &&
                   TP_OPEN_LIST_BUCKET + 0 == TP_CLIENT_OPEN_LIST_BUCKET + 0 && TP_RESTART_ON_RISE + 0 == TP_CLIENT_RESTART_ON_RISE + 0,
               "the library and the protocol order their words alike");

int tp_cli_search_refused(const struct tp_cli_usage *usage, const struct tp_cli_search *search, int error,
                          const char *field, const char *reason)
{
    static const struct {
        const char *field, *option;
    } options[] = {
        {"algorithm", "alg"},
        {"k", "k"},
        {"resource_limit", "R"},
        {"expansion_share", "r"},
        {"trace_steps", "c"},
        {"deadline_us", "deadline-us"},
        {"w", "w"},
        {"neighbours", "neighbours"},
        {"corners", "corners"},
        {"goal_policy", "goal-policy"},
        {"goal_radius", "goal-radius"},
        {"restart", "restart"},
        {"open_list", "open-list"},
        {"knowledge", NULL}, /* --unknown or --known */
        {"known_map", "known"},
        {"motion", "motion"},
        {"start_vx", "start-velocity"},
        {"start_vy", "start-velocity"},
        {"heuristic", "heuristic"},
        {"longest_path_rule", "longest-path-rule"},
        {"shortcut", "shortcut"},
        {"path_switch", "path-switch"},
        {"switch_margin", "switch-margin"},
        {"pause_on_backtrack", "pause-on-backtrack"},
        {"bounded", "bounded"},
        {"guide_units", "guide-units"},
        {"node_bytes_max", "node-bytes-max"},
        {"profile", "profile"},
        {"agent_size", "agent-size"},
    };
    const char *words = reason != NULL && reason[0] != '\0' ? reason : tp_error_text(error);
    bool usage_error = error == TP_ERR_INVALID_ARGUMENT || error == TP_ERR_UNSUPPORTED;
    for (size_t i = 0; field != NULL && usage_error && i < sizeof options / sizeof options[0]; i++) {
        if (strcmp(options[i].field, field) == 0) {
            const char *option = options[i].option;
            if (option == NULL)
                option = search->unknown ? "unknown" : "known";
            return tp_cli_refuse(usage, option, "%s", words);
        }
    }
    bool has_field = field != NULL && field[0] != '\0';
    return tp_cli_fail(usage, "the session is refused: %s%s%s%s", words, has_field ? " (field " : "",
                       has_field ? field : "", has_field ? ")" : "");
}
