/* A session's parameters: defaults, what they refuse, and what they mean for the search (space, factors of f, shares). */
#include "base/limits.h"
#include "search/internal.h"

void tp_session_params_init(struct tp_session_params *params)
{
    *params = (struct tp_session_params){
        .algorithm = tp_algorithm_find(TP_ALGORITHM_DEFAULT),
        .w_milli = TP_W_UNSET,
        .neighbours = TP_NEIGHBOURS_8,
        .corners = TP_CORNERS_BOTH_FREE,
        .goal_policy = TP_GOAL_EXACT,
        .knowledge = TP_KNOWLEDGE_FULL,
        .restart = TP_RESTART_DEFAULT,
        .budget = tp_budget_r(100, 900, 10),
        .guide_units = TP_GUIDE_UNITS_UNSET,
    };
}

static int refuse(struct tp_refusal *refusal, int error, const char *field, const char *reason)
{
    refusal->field = field;
    refusal->reason = reason;
    return error;
}

/* ---- Budgets ---- */

struct tp_share tp__budget_share(const struct tp_budget *budget)
{
    if (budget->kind == TP_BUDGET_K)
        return (struct tp_share){budget->expansions, UINT64_MAX};
    if (budget->kind == TP_BUDGET_DEADLINE)
        return (struct tp_share){UINT64_MAX, UINT64_MAX};
    uint64_t expansions = budget->expansions * budget->r_milli / 1000;
    return (struct tp_share){expansions, (budget->expansions - expansions) * budget->c};
}

int tp__session_check_budget(const struct tp_algorithm *algorithm, const struct tp_budget *budget,
                             struct tp_refusal *refusal)
{
    const char *amount = budget->kind == TP_BUDGET_K ? "k" : "resource_limit";
    if (budget->kind == TP_BUDGET_DEADLINE)
        return budget->expired ? TP_OK
                               : refuse(refusal, TP_ERR_INVALID_ARGUMENT, "deadline_us", "needs a clock");
    if (budget->kind != TP_BUDGET_K && budget->kind != TP_BUDGET_R)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "budget",
                      "is none of k, resource_limit, deadline_us");
    if (budget->expansions < 1 || budget->expansions > TP_BUDGET_MAX)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, amount, "must lie in 1..1000000000000");
    if (budget->kind == TP_BUDGET_K)
        return TP_OK;
    if (budget->r_milli > 1000)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "expansion_share", "must lie in 0..1");
    if (budget->c < 1 || budget->c > TP_C_MAX)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "trace_steps", "must lie in 1..1000000");
    if (!(algorithm->capabilities & TP_CAN_SPLIT_R))
        return TP_OK;
    struct tp_share share = tp__budget_share(budget);
    if (share.expansions == 0)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "expansion_share",
                      "leaves no expansion a tick: N_E = floor(R r) is 0");
    if (share.steps == 0)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "expansion_share",
                      "leaves no traceback step a tick: N_T = (R - N_E) c is 0");
    return TP_OK;
}

/* ---- Priorities ---- */

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

struct tp_factors tp__priority_factors(const struct tp_session_params *params)
{
    switch (params->algorithm->priority) {
    case TP_PRIORITY_ASTAR:
        return (struct tp_factors){1, 1};
    case TP_PRIORITY_GBFS:
        return (struct tp_factors){0, 1};
    case TP_PRIORITY_WASTAR:
        break;
    }
    uint32_t divisor = common_divisor(1000, params->w_milli);
    return (struct tp_factors){1000 / divisor, params->w_milli / divisor};
}

/* Whether some f of this map might not fit 63 bits. */
static bool priority_overflows(const struct tp_map *map, const struct tp_domain *domain, bool learns,
                               struct tp_factors factors)
{
    /* h is at most the cost of some path over the map's states */
    double weight = domain->listed ? 1 : tp_profile_largest_weight(&map->profile);
    double step = domain->step_max * weight;
    double states = domain->listed ? (double)domain->states(map) : (double)map->width * map->height;
    double g_step = map->graph ? UINT32_MAX : step; /* an edge may become as dear */
    double h_step = map->graph ? learns ? UINT32_MAX : map->graph->h_max / states : step;
    return ((double)factors.g * g_step + (double)factors.h * h_step) * states > 9.2e18;
}

/* ---- Parameters ---- */

const struct tp_domain *tp__session_domain(const struct tp_session_params *params, const struct tp_map *map)
{
    if (map->graph)
        return &tp_domain_graph;
    if (map->puzzle)
        return &tp_domain_puzzle;
    if (params->motion == TP_MOTION_INERTIA)
        return &tp_domain_racetrack;
    return tp_domain_grid(params->neighbours);
}

bool tp_session_wants_blocks(const struct tp_session_params *params, const struct tp_map *map)
{
    return params->algorithm->capabilities & TP_CAN_BE_GUIDED && params->guide_units > 0 &&
           !tp__session_domain(params, map)->listed;
}

bool tp__session_led(const struct tp_session_params *params, const struct tp_map *map)
{
    return params->fields && tp_session_wants_blocks(params, map);
}

void tp__session_settle(struct tp_session_params *params, const struct tp_map *map)
{
    const struct tp_algorithm *own = params->algorithm;
    if (own->unled && !tp__session_led(params, map))
        own = own->unled;
    if (params->w_milli == TP_W_UNSET)
        params->w_milli = own->w_milli ? own->w_milli : 1000;
    if (params->pause_on_backtrack == TP_PAUSE_DEFAULT) /* who sees walls only when near has to step back from many */
        params->pause_on_backtrack = own->pause_on_backtrack && params->knowledge == TP_KNOWLEDGE_FULL ? TP_PAUSE_ON_BACKTRACK : TP_PAUSE_NEVER;
    if (params->restart == TP_RESTART_DEFAULT)
        params->restart = params->knowledge == TP_KNOWLEDGE_FULL ? own->restart : params->algorithm->restart;
    if (params->open_list == TP_OPEN_LIST_DEFAULT) { /* led, a search has few open states, whose f lie far apart */
        bool in_buckets = own->capabilities & TP_CAN_BUCKET && !map->graph && !tp__session_led(params, map);
        params->open_list = in_buckets ? TP_OPEN_LIST_BUCKET : TP_OPEN_LIST_EXACT;
    }
    if (params->guide_units == TP_GUIDE_UNITS_UNSET)
        params->guide_units = TP_GUIDE_UNITS_DEFAULT;
    if (!params->sensor_radius)
        params->sensor_radius = params->neighbours == TP_NEIGHBOURS_16 ? 2 : 1;
}

/* What only grids have. */
static int check_listed(const struct tp_session_params *p, struct tp_refusal *refusal)
{
    if (p->knowledge != TP_KNOWLEDGE_FULL)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "knowledge", "is FULL on graphs and for vehicles");
    if (p->shortcut)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "shortcut", "searches backwards, and is for grids");
    return TP_OK;
}

bool tp__velocity_allowed(int vx, int vy)
{
    return vx >= -TP_VELOCITY_MAX && vx <= TP_VELOCITY_MAX && vy >= -TP_VELOCITY_MAX && vy <= TP_VELOCITY_MAX;
}

static int check_motion(const struct tp_session_params *p, const struct tp_map *map,
                        struct tp_refusal *refusal)
{
    const char *velocity = p->start_vx ? "start_vx" : "start_vy";
    if (p->motion != TP_MOTION_STEPS && p->motion != TP_MOTION_INERTIA)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "motion", "is neither STEPS nor INERTIA");
    if (p->motion == TP_MOTION_INERTIA && (map->graph || map->puzzle))
        return refuse(refusal, TP_ERR_UNSUPPORTED, "motion", "vehicles with inertia drive on grids");
    if (p->motion != TP_MOTION_INERTIA && (p->start_vx || p->start_vy))
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, velocity, "is for vehicles: motion INERTIA");
    if (!tp__velocity_allowed(p->start_vx, 0))
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "start_vx", "must lie in -3..3");
    if (!tp__velocity_allowed(0, p->start_vy))
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "start_vy", "must lie in -3..3");
    return TP_OK;
}

bool tp__goals_allowed(const struct tp_session_params *p, const struct tp_map *map)
{
    return p->algorithm->capabilities & TP_CAN_CHOOSE_GOAL && !map->puzzle;
}

static int check_goals(const struct tp_session_params *p, const struct tp_map *map, struct tp_refusal *refusal)
{
    uint64_t cells = (uint64_t)map->width * map->height;
    bool allowed = tp__goals_allowed(p, map);
    const char *one_goal = map->puzzle ? "a puzzle has one goal, which is to be met exactly"
                                       : "this algorithm walks to one goal only, which is to be met exactly; these choose: tba "
                                         "tbwa tbrwa tbgbfs rtbwa guided rtba astar wastar rastar late";
    if (p->goal_policy > TP_GOAL_NEAREST)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "goal_policy", "is none of EXACT, WITHIN, NEAREST");
    if (p->goal_policy != TP_GOAL_EXACT && !allowed)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "goal_policy", one_goal);
    if (p->goal_radius && p->goal_policy != TP_GOAL_WITHIN)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "goal_radius", "goes with the goal policy WITHIN only");
    bool blind = p->heuristic == TP_HEURISTIC_ZERO || (map->graph && !map->graph->x);
    if (p->goal_policy != TP_GOAL_EXACT && blind)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "goal_policy",
                      "WITHIN and NEAREST are measured by h, which is 0 here: without coordinates, or by the heuristic ZERO");
    if (p->more_goal_count >= TP_GOALS_MAX)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "more_goals", "there are at most 16 goals in all");
    if (p->more_goal_count && !allowed)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "more_goals", one_goal);
    for (uint32_t i = 0; i < p->more_goal_count; i++)
        if (p->more_goals[i] >= cells)
            return refuse(refusal, TP_ERR_OUT_OF_RANGE, "more_goals", "one of them lies outside the map");
    return TP_OK;
}

/* What makes an agent steadier (steady.c). */
static int check_steady(const struct tp_session_params *p, struct tp_refusal *refusal)
{
    bool follows_as_it_searches = p->algorithm->engine == &tp__engine_time_bounded;
    if (p->switch_margin_milli > TP_SWITCH_MARGIN_MILLI_MAX)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "switch_margin", "must lie in 0..10");
    if (p->switch_margin_milli && !follows_as_it_searches)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "switch_margin", "is an option of the time-bounded algorithms");
    if (p->pause_on_backtrack > TP_PAUSE_NEVER)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "pause_on_backtrack", "is no such word");
    if (p->pause_on_backtrack == TP_PAUSE_ON_BACKTRACK && !follows_as_it_searches)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "pause_on_backtrack", "is an option of the time-bounded algorithms");
    return TP_OK;
}

/* What proves a bound on the walk's cost searches backwards, over the whole map, from goals that are met exactly (bound.h). */
static int check_bounded(const struct tp_session_params *p, const struct tp_map *map, struct tp_refusal *refusal)
{
    if (!p->bounded)
        return TP_OK;
    if (!(p->algorithm->capabilities & TP_CAN_PROVE_COST))
        return refuse(refusal, TP_ERR_UNSUPPORTED, "bounded", "is an option of the time-bounded algorithms");
    if (tp__session_domain(p, map)->listed)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "bounded", "searches backwards, and is for grids");
    if (p->goal_policy == TP_GOAL_WITHIN)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "bounded", "goes with goals that are met exactly: the goal policies EXACT and NEAREST");
    if (p->knowledge != TP_KNOWLEDGE_FULL)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "bounded", "asks for the whole map: knowledge FULL");
    return TP_OK;
}

/* Learning takes the exact least f over the open list; D* Lite has a queue of its own; the edges of a graph may cost anything, so that no
 * width of buckets fits them. */
static int check_open_list(const struct tp_session_params *p, const struct tp_map *map, struct tp_refusal *refusal)
{
    if (p->open_list > TP_OPEN_LIST_BUCKET)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "open_list", "is neither EXACT nor BUCKET");
    if (p->open_list == TP_OPEN_LIST_BUCKET && !(p->algorithm->capabilities & TP_CAN_BUCKET))
        return refuse(refusal, TP_ERR_UNSUPPORTED, "open_list", "this algorithm learns or repairs by exact order");
    if (p->open_list == TP_OPEN_LIST_BUCKET && map->graph)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "open_list", "is EXACT on graphs");
    return TP_OK;
}

int tp__session_check_params(const struct tp_session_params *p, const struct tp_map *map,
                             struct tp_refusal *refusal)
{
    uint64_t cells = (uint64_t)map->width * map->height;
    if (!p->algorithm)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "algorithm", "is not the name of an algorithm");
    if (p->start >= cells)
        return refuse(refusal, TP_ERR_OUT_OF_RANGE, "start", "lies outside the map");
    if (p->goal >= cells)
        return refuse(refusal, TP_ERR_OUT_OF_RANGE, "goal", "lies outside the map");
    if (p->neighbours != TP_NEIGHBOURS_4 && p->neighbours != TP_NEIGHBOURS_8 &&
        p->neighbours != TP_NEIGHBOURS_16)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "neighbours", "must be 4, 8 or 16");
    if (p->corners > TP_CORNERS_ALWAYS)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "corners", "is not a corner rule");
    int error = check_motion(p, map, refusal);
    if (error)
        return error;
    struct tp_session_params settled = *p;
    tp__session_settle(&settled, map);
    if (settled.w_milli < 1000 || settled.w_milli > TP_W_MILLI_MAX)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "w", "must lie in 1..1000000");
    if (settled.w_milli != 1000 && !(p->algorithm->capabilities & TP_CAN_TAKE_W))
        return refuse(refusal, TP_ERR_UNSUPPORTED, "w", "this algorithm has no weight; these have: tbwa tbrwa rtbwa guided wastar lsswa");
    error = check_goals(p, map, refusal);
    if (error)
        return error;
    if (p->knowledge > TP_KNOWLEDGE_MAP)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "knowledge", "is none of FULL, FREESPACE, KNOWN_MAP");
    if (p->knowledge != TP_KNOWLEDGE_FULL && !(p->algorithm->capabilities & TP_CAN_DISCOVER))
        return refuse(refusal, TP_ERR_UNSUPPORTED, "knowledge",
                      "this algorithm searches maps that are known; these don't ask for it: rtbwa guided rtba tbaa wastar rastar "
                      "aastar lrta plrta lss lsswa rtaa dartaa dstarlite");
    if (p->knowledge == TP_KNOWLEDGE_MAP &&
        (!p->known || p->known->width != map->width || p->known->height != map->height))
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "knowledge", "needs a known map of the map's size");
    if (p->sensor_radius > TP_BELIEF_RADIUS_MAX)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "sensor_radius", "must lie in 1..8");
    if (p->sensor_radius == 1 && p->neighbours == TP_NEIGHBOURS_16)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "sensor_radius",
                      "must be at least 2 with 16 neighbours");
    if (p->restart > TP_RESTART_ON_RISE)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "restart", "is not a restart rule");
    if (p->restart != TP_RESTART_DEFAULT && p->restart != TP_RESTART_NEVER &&
        p->restart != TP_RESTART_EAGER && !(p->algorithm->capabilities & TP_CAN_RESTART_BY_RULE))
        return refuse(refusal, TP_ERR_UNSUPPORTED, "restart",
                      "this algorithm restarts never or eagerly; these by any rule: rtbwa guided rtba tbaa wastar rastar "
                      "aastar");
    error = check_open_list(p, map, refusal);
    if (error)
        return error;
    bool enhances = p->algorithm->capabilities & TP_CAN_ENHANCE_2009;
    if (p->shortcut && !enhances)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "shortcut", "is an option of tba");
    if (p->path_switch && !enhances)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "path_switch", "is an option of tba");
    if (p->longest_path_rule && !enhances)
        return refuse(refusal, TP_ERR_UNSUPPORTED, "longest_path_rule", "is an option of tba");
    bool asks_guide = p->guide_units != TP_GUIDE_UNITS_UNSET;
    if (asks_guide && p->guide_units > TP_GUIDE_UNITS_MAX)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "guide_units", "must lie in 0..1000000");
    if (asks_guide && p->guide_units && !(p->algorithm->capabilities & TP_CAN_BE_GUIDED))
        return refuse(refusal, TP_ERR_UNSUPPORTED, "guide_units", "this algorithm has no guide");
    error = check_steady(p, refusal);
    if (!error)
        error = check_bounded(p, map, refusal);
    if (error)
        return error;
    const struct tp_domain *domain = tp__session_domain(p, map);
    error = domain->listed ? check_listed(p, refusal) : TP_OK;
    if (error)
        return error;
    if (p->heuristic > TP_HEURISTIC_ZERO)
        return refuse(refusal, TP_ERR_INVALID_ARGUMENT, "heuristic", "is not a heuristic");
    if (p->heuristic != TP_HEURISTIC_DEFAULT && !domain->has(map, p->heuristic))
        return refuse(refusal, TP_ERR_UNSUPPORTED, "heuristic", "is not one of this map and these moves");
    if (priority_overflows(map, domain, p->algorithm->learning != TP_LEARNING_NONE, tp__priority_factors(&settled)))
        return refuse(refusal, TP_ERR_UNSUPPORTED, "w", "is too large for the costs this map can have");
    return tp__session_check_budget(p->algorithm, &p->budget, refusal);
}
