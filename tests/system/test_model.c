/* Maps that change under walking agents, against a plain model: random interleavings of change batches, ticks, goals,
 * positions, sessions opened and closed, and connections that break with requests under way, on a real daemon.
 *
 * A round: each connection sends a burst of random requests without waiting; then all replies are collected; then the
 * batches that were acknowledged are put in the order of their versions, which gives the model every version's cells; then
 * each connection's replies are checked one by one, in their order. A connection that broke took replies with it: the
 * batches that it had under way were applied as far as the daemon had read them, in their order, and fill the versions that
 * nobody acknowledged; or they were not applied at all. Batches with a key are sent again.
 *
 * 100,000 steps (a step is a request); TICKPATH_LONG=1: 1,000,000; TICKPATH_STEPS as many as given. The requests repeat with
 * TICKPATH_SEED, how the daemon's threads meet does not. */
#include "search/algorithm.h"
#include "tests/lib/exposition.h"
#include "tests/lib/harness.h"
#include "tests/lib/reference.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    UNTOUCHED = -1,
};

static const char classes[] = "......GGW@@";
/* What a class weighs: the map's own profile, then those put by name. */
static const char *const profile_name[PROFILES] = {NULL, "heavy", "boat"};
static const struct {
    char class_;
    uint16_t weight[PROFILES];
} weights[] = {{'.', {1, 2, 0}}, {'G', {2, 9, 3}}, {'W', {0, 0, 1}}};
static const uint16_t least_weight[PROFILES] = {1, 2, 1};

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

static struct wire_daemon daemon_;
static struct grid grids[MAPS];
static struct connection connections[CONNECTIONS];
static struct key keys[KEYS];
static uint64_t next_key;
static struct tp_test_rng rng;
static uint64_t steps;
static struct {
    uint64_t batches, refused, again, races, ticks, moves, unreachable, partial, arrived, restarted,
        continued, repaired, start_blocked, opened, unsupported, breaks, lost_applied, lost_gone, pushes,
        mismatch, blocked;
} seen;

#define SAY(condition, ...)                                                                                  \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            char say_text[400];                                                                              \
            snprintf(say_text, sizeof say_text, __VA_ARGS__);                                                \
            ck_abort_msg("step %llu: %s  [%s]", (unsigned long long)steps, say_text, #condition);            \
        }                                                                                                    \
    } while (0)
#define ULL(x) ((unsigned long long)(x))

static uint32_t below(uint32_t bound)
{
    return tp_test_below(&rng, bound);
}

static bool percent(uint32_t chance)
{
    return tp_test_percent(&rng, chance);
}

static uint32_t cells_of(int map)
{
    return grids[map].width * grids[map].height;
}

/* ---- the model ---- */

static const uint8_t *cells_at(int map, uint64_t version)
{
    struct grid *grid = &grids[map];
    SAY(version >= 1 && version <= grid->version && version + HISTORY > grid->version,
        "%s: version %llu is unknown, the last is %llu", grid->name, ULL(version), ULL(grid->version));
    return grid->history[version % HISTORY];
}

static uint16_t weight_of(uint8_t class_, int profile)
{
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++)
        if ((uint8_t)weights[i].class_ == class_)
            return weights[i].weight[profile];
    return 0;
}

/* What each cell weighs for an agent of that profile and size, which takes up a square from its cell on. */
static const uint16_t *weights_at(int map, uint64_t version, int profile, int size)
{
    struct grid *grid = &grids[map];
    const uint8_t *cells = cells_at(map, version);
    uint16_t *out = grid->layer[profile][size - 1].weight;
    if (grid->layer[profile][size - 1].version == version)
        return out;
    grid->layer[profile][size - 1].version = version;
    for (uint32_t y = 0; y < grid->height; y++)
        for (uint32_t x = 0; x < grid->width; x++) {
            uint16_t heaviest = 0;
            bool fits = x + (uint32_t)size <= grid->width && y + (uint32_t)size <= grid->height;
            for (uint32_t b = y; fits && b < y + (uint32_t)size; b++)
                for (uint32_t a = x; fits && a < x + (uint32_t)size; a++) {
                    uint16_t weight = weight_of(cells[b * grid->width + a], profile);
                    fits = weight != 0;
                    heaviest = weight > heaviest ? weight : heaviest;
                }
            out[y * grid->width + x] = fits ? heaviest : 0;
        }
    return out;
}

static struct ref_problem problem_of(const struct session *session, uint64_t version)
{
    return (struct ref_problem){.width = grids[session->map].width,
                                .height = grids[session->map].height,
                                .weight = weights_at(session->map, version, session->profile, session->size),
                                .least_weight = least_weight[session->profile],
                                .neighbours = session->neighbours,
                                .corners = session->corners};
}

static uint64_t h_of(const struct session *session, const struct ref_problem *problem, uint32_t cell)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < session->goal_count; i++) {
        uint64_t h = ref_distance(problem, cell, session->goal[i]);
        least = h < least ? h : least;
    }
    return least;
}

static bool is_end(const struct session *session, const struct ref_problem *problem, uint32_t cell)
{
    for (uint32_t i = 0; i < session->goal_count; i++)
        if (session->goal[i] == cell)
            return true;
    return session->policy == TICKPATH__GOAL_POLICY__WITHIN &&
           h_of(session, problem, cell) <= session->radius;
}

static struct key *key_of(uint64_t number)
{
    struct key *key = &keys[number % KEYS];
    return number && key->number == number ? key : NULL;
}

static struct session *session_of(struct connection *connection, uint64_t id)
{
    for (size_t i = 0; i < connection->session_count; i++)
        if (connection->sessions[i].id == id)
            return &connection->sessions[i];
    return NULL;
}

static size_t sessions_on(int map)
{
    size_t count = 0;
    for (int c = 0; c < CONNECTIONS; c++)
        for (size_t i = 0; i < connections[c].session_count; i++)
            count += connections[c].sessions[i].map == map;
    return count;
}

/* ---- sending ---- */

static struct entry *entry_new(struct connection *connection, enum kind kind, int map)
{
    SAY(connection->entry_count < ENTRIES_MAX, "too many requests under way");
    struct entry *entry = &connection->entries[connection->entry_count++];
    memset(entry, 0, sizeof *entry);
    entry->kind = kind;
    entry->map = map;
    entry->id = connection->wire.next_id;
    for (int i = 0; i < CELLS_MAX; i++)
        entry->effect[i] = UNTOUCHED;
    steps++;
    return entry;
}

static uint32_t draw_class(void)
{
    return (uint8_t)classes[below(sizeof classes - 1)];
}

/* A batch of every form; what it does to the cells stands in the entry. With `of` the cells of a batch sent before. */
static void send_change(struct connection *connection, int map, uint64_t key, const int16_t *of)
{
    struct entry *entry = entry_new(connection, CHANGE, map);
    const struct grid *grid = &grids[map];
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    uint32_t cell[CELLS_MAX + 1], terrain[CELLS_MAX + 1], run[4], length[4], run_terrain[4];
    Tickpath__Rectangle rectangle[3], *rectangles[3];
    Tickpath__Bitmap bitmap[2], *bitmaps[2];
    uint8_t bits[2][(CELLS_MAX + 7) / 8], name[64];
    change.map = (char *)grid->name;
    change.cell = cell;
    change.cell_terrain = terrain;
    uint32_t count = of ? 0 : 1 + below(percent(20) ? 30 : 4);
    for (uint32_t i = 0; i < count; i++) {
        cell[i] = below(cells_of(map));
        terrain[i] = draw_class();
        entry->effect[cell[i]] = (int16_t)terrain[i];
    }
    for (uint32_t i = 0; of && i < cells_of(map); i++) {
        if (of[i] == UNTOUCHED)
            continue;
        cell[count] = i;
        terrain[count++] = (uint32_t)of[i];
        entry->effect[i] = of[i];
    }
    change.n_cell = change.n_cell_terrain = count;
    change.rectangle = rectangles;
    change.bitmap = bitmaps;
    while (!of && change.n_rectangle < 3 && percent(15)) {
        Tickpath__Rectangle *r = rectangles[change.n_rectangle] = &rectangle[change.n_rectangle];
        change.n_rectangle++;
        tickpath__rectangle__init(r);
        r->has_x = r->has_y = r->has_width = r->has_height = r->has_terrain = 1;
        r->x = below(grid->width);
        r->y = below(grid->height);
        r->width = 1 + below(grid->width - r->x < 6 ? grid->width - r->x : 6);
        r->height = 1 + below(grid->height - r->y < 5 ? grid->height - r->y : 5);
        r->terrain = draw_class();
        for (uint32_t y = r->y; y < r->y + r->height; y++)
            for (uint32_t x = r->x; x < r->x + r->width; x++)
                entry->effect[y * grid->width + x] = (int16_t)r->terrain;
    }
    while (!of && change.n_bitmap < 2 && percent(12)) {
        Tickpath__Bitmap *b = bitmaps[change.n_bitmap] = &bitmap[change.n_bitmap];
        tickpath__bitmap__init(b);
        b->has_x = b->has_y = b->has_width = b->has_height = b->has_terrain = b->has_bits = 1;
        b->x = below(grid->width);
        b->y = below(grid->height);
        b->width = 1 + below(grid->width - b->x);
        b->height = 1 + below(grid->height - b->y);
        b->terrain = percent(70) ? '.' : draw_class();
        b->bits.data = bits[change.n_bitmap];
        b->bits.len = (b->width * b->height + 7) / 8;
        memset(b->bits.data, 0, b->bits.len);
        for (uint32_t i = 0; i < b->width * b->height; i++) {
            if (!percent(25))
                continue;
            b->bits.data[i / 8] |= (uint8_t)(1u << i % 8);
            entry->effect[(b->y + i / b->width) * grid->width + b->x + i % b->width] = (int16_t)b->terrain;
        }
        change.n_bitmap++;
    }
    change.run_cell = run;
    change.run_length = length;
    change.run_terrain = run_terrain;
    while (!of && change.n_run_cell < 3 && percent(15)) {
        size_t i = change.n_run_cell++;
        run[i] = below(cells_of(map));
        length[i] = 1 + below(grid->width - run[i] % grid->width);
        run_terrain[i] = draw_class();
        for (uint32_t j = 0; j < length[i]; j++)
            entry->effect[run[i] + j] = (int16_t)run_terrain[i];
    }
    change.n_run_length = change.n_run_terrain = change.n_run_cell;
    if (key) {
        change.has_key = 1;
        change.key.data = name;
        change.key.len = 8 + key % 57;
        memset(name, (int)(key * 31), sizeof name);
        memcpy(name, &key, sizeof key);
    }
    entry->key = key;
    bool known = key_of(key) && key_of(key)->version;
    if (!of && !known && percent(12)) { /* spoilt */
        entry->wanted = REFUSED;
        entry->code = TICKPATH__ERROR_CODE__OUT_OF_RANGE;
        entry->names_cell = true;
        switch (below(5)) {
        case 0:
            entry->bad_index = below(count);
            cell[entry->bad_index] = cells_of(map) + below(1000);
            entry->bad_x = cell[entry->bad_index] % grid->width;
            entry->bad_y = cell[entry->bad_index] / grid->width;
            break;
        case 1: /* the last of the runs leads past its row */
            if (change.n_run_cell == 0) {
                run[0] = below(cells_of(map));
                run_terrain[0] = '.';
                change.n_run_cell = change.n_run_length = change.n_run_terrain = 1;
            }
            size_t last = change.n_run_cell - 1;
            length[last] = grid->width - run[last] % grid->width + 1 + below(5);
            entry->bad_index = (uint32_t)(count + change.n_rectangle + change.n_bitmap + last);
            entry->bad_x = grid->width;
            entry->bad_y = run[last] / grid->width;
            break;
        case 2:
            entry->code = TICKPATH__ERROR_CODE__INVALID_ARGUMENT;
            entry->names_cell = false;
            terrain[below(count)] = 256 + below(1000);
            break;
        case 3:
            entry->code = TICKPATH__ERROR_CODE__VERSION_MISMATCH;
            entry->names_cell = false;
            change.has_base_version = 1;
            change.base_version = percent(50) ? grid->version + 100000 : 0;
            break;
        default:
            entry->code = TICKPATH__ERROR_CODE__NOT_FOUND;
            entry->names_cell = false;
            change.map = "none";
        }
    } else if (!known && !key && !connection->breaks && percent(15)) { /* compare and set: who knows */
        entry->wanted = MAYBE;
        change.has_base_version = 1;
        change.base_version = entry->base_version = grid->version + below(4);
    }
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

static void send_new_key(struct connection *connection, int map)
{
    uint64_t number = ++next_key;
    struct key *key = &keys[number % KEYS];
    memset(key, 0, sizeof *key);
    send_change(connection, map, number, NULL);
    struct entry *entry = &connection->entries[connection->entry_count - 1];
    if (entry->wanted == REFUSED && connection->entry_count < BURST_MAX) { /* a refused batch leaves no key */
        send_change(connection, map, number, NULL);
        entry = &connection->entries[connection->entry_count - 1];
    }
    if (entry->wanted == REFUSED)
        return;
    key->number = number;
    key->map = map;
    memcpy(key->effect, entry->effect, sizeof key->effect);
}

static void send_keyed(struct connection *connection, int map)
{
    struct key *key = percent(50) && next_key
                          ? key_of(next_key - below(next_key < KEYS / 2 ? (uint32_t)next_key : KEYS / 2))
                          : NULL;
    if (!key)
        send_new_key(connection, map);
    else if (key->version && percent(50)) /* not looked at: another content altogether */
        send_change(connection, key->map, key->number, NULL);
    else
        send_change(connection, key->map, key->number, key->effect);
}

static void send_tick(struct connection *connection)
{
    struct entry *entry = entry_new(connection, TICK, 0);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    Tickpath__Budget each = TICKPATH__BUDGET__INIT;
    size_t open = connection->session_count, live = 0;
    bool future = percent(3);
    entry->all = open == 0 || percent(60);
    tick.has_all = tick.all = entry->all;
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; !entry->all && i < open; i++)
        if (percent(50) || i + 1 == open) {
            entry->ids[entry->id_count++] = connection->sessions[i].id;
            uint64_t version = grids[connection->sessions[i].map].version;
            lowest = version < lowest ? version : lowest;
            live++;
        }
    for (size_t i = entry->id_count; i > 1; i--) { /* in any order */
        size_t j = below((uint32_t)i);
        uint64_t id = entry->ids[i - 1];
        entry->ids[i - 1] = entry->ids[j];
        entry->ids[j] = id;
    }
    if (!entry->all && percent(10))
        entry->ids[entry->id_count++] = percent(50) ? entry->ids[0] : tp_test_next(&rng);
    while (entry->at_count < 3 && live && percent(8)) {
        uint64_t id = entry->ids[below((uint32_t)live)];
        bool twice = false;
        for (size_t i = 0; i < entry->at_count; i++)
            twice |= entry->at_session[i] == id;
        struct session *session = session_of(connection, id);
        if (twice || !session)
            break;
        entry->at_session[entry->at_count] = id;
        entry->at_cell[entry->at_count++] = below(cells_of(session->map) + (percent(10) ? 9 : 0));
    }
    if (live && percent(15)) {
        tick.has_min_version = 1;
        tick.min_version = entry->min_version = future ? 1000000000 : lowest;
    }
    if (percent(20)) {
        each.has_k = 1;
        each.k = entry->k = 1 + below(percent(20) ? 2000 : 20);
        tick.each = &each;
    }
    if (percent(10)) {
        tick.has_total_expansions = 1;
        tick.total_expansions = entry->total = 1 + below(60);
    }
    tick.session = entry->ids;
    tick.n_session = entry->id_count;
    tick.at_session = entry->at_session;
    tick.at_cell = entry->at_cell;
    tick.n_at_session = tick.n_at_cell = entry->at_count;
    tick.has_want_work = tick.want_work = 1;
    tick.has_want_path = tick.want_path = percent(5);
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_TICK, &tick);
}

static struct session *draw_session(struct connection *connection)
{
    return connection->session_count ? &connection->sessions[below((uint32_t)connection->session_count)]
                                     : NULL;
}

static void send_set_goal(struct connection *connection)
{
    struct session *session = draw_session(connection);
    if (!session)
        return;
    struct entry *entry = entry_new(connection, SET_GOAL, session->map);
    struct session *next = &entry->session;
    *next = *session;
    uint32_t kind = below(10), width = grids[session->map].width;
    if (kind > 5) { /* far */
        next->goal_count =
            session->algorithm->capabilities & TP_CAN_CHOOSE_GOAL && percent(30) ? 1 + below(GOALS_MAX) : 1;
        for (uint32_t i = 0; i < next->goal_count; i++)
            next->goal[i] = below(cells_of(session->map));
    } else if (kind > 1) { /* near */
        static const int step[4] = {1, -1, 0, 0};
        uint32_t way = below(4);
        uint32_t x = next->goal[0] % width + (uint32_t)step[way],
                 y = next->goal[0] / width + (uint32_t)step[3 - way];
        if (x < width && y < grids[session->map].height)
            next->goal[0] = y * width + x;
    }
    if (percent(5)) {
        entry->wanted = REFUSED;
        entry->code = percent(50) ? TICKPATH__ERROR_CODE__OUT_OF_RANGE : TICKPATH__ERROR_CODE__NOT_FOUND;
        if (entry->code == TICKPATH__ERROR_CODE__NOT_FOUND)
            next->id = tp_test_next(&rng);
        else
            next->goal[0] = cells_of(session->map) + below(100);
    }
    Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
    set.has_session = set.has_goal = 1;
    set.session = next->id;
    set.goal = next->goal[0];
    set.more_goals = next->goal + 1;
    set.n_more_goals = next->goal_count - 1;
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set);
}

static void send_open(struct connection *connection, const struct session *again)
{
    struct entry *entry = entry_new(connection, OPEN, 0);
    struct session *s = &entry->session;
    Tickpath__OpenSession open = TICKPATH__OPEN_SESSION__INIT;
    Tickpath__Budget budget = TICKPATH__BUDGET__INIT;
    entry->wanted = again ? TAKEN : MAYBE; /* UNSUPPORTED is an answer */
    if (again) {
        *s = *again;
        s->ticks = s->cost = s->version = s->proved.version = 0;
    } else {
        size_t rows = 0;
        while (tp_algorithm_at(rows))
            rows++;
        s->map = (int)below(MAPS);
        s->algorithm = tp_algorithm_at(percent(30) ? 1 : below((uint32_t)rows));
        s->profile = percent(25) ? (int)below(PROFILES) : 0;
        s->size = percent(25) ? 1 + (int)below(SIZES) : 1;
        s->neighbours = percent(60) ? 8 : percent(50) ? 4 : 16;
        s->corners = percent(60) ? REF_BOTH_FREE : percent(50) ? REF_ONE_FREE : REF_ALWAYS;
        s->policy = TICKPATH__GOAL_POLICY__EXACT;
        s->cell = below(cells_of(s->map));
        s->goal[0] = below(cells_of(s->map));
        s->goal_count = 1;
        s->k = 1 + below(percent(20) ? 500 : 25);
        if (s->algorithm->capabilities & TP_CAN_CHOOSE_GOAL && percent(40)) {
            s->policy = TICKPATH__GOAL_POLICY__WITHIN + (int)below(2);
            s->goal_count = 1 + below(GOALS_MAX);
            for (uint32_t i = 1; i < s->goal_count; i++)
                s->goal[i] = below(cells_of(s->map));
        }
    }
    entry->map = s->map;
    open.map = (char *)grids[s->map].name;
    open.has_start = open.has_goal = open.has_neighbours = open.has_corners = open.has_goal_policy = 1;
    open.start = s->cell;
    open.goal = s->goal[0];
    open.more_goals = s->goal + 1;
    open.n_more_goals = s->goal_count - 1;
    open.neighbours = (uint32_t)s->neighbours;
    open.corners = s->corners == REF_BOTH_FREE  ? TICKPATH__CORNERS__BOTH_FREE
                   : s->corners == REF_ONE_FREE ? TICKPATH__CORNERS__ONE_FREE
                                                : TICKPATH__CORNERS__ALWAYS;
    open.goal_policy = (Tickpath__GoalPolicy)s->policy;
    open.has_goal_radius = s->policy == TICKPATH__GOAL_POLICY__WITHIN;
    open.goal_radius = 2;
    s->radius = 2 * 3194;
    open.algorithm = (char *)s->algorithm->name;
    open.profile = (char *)profile_name[s->profile];
    open.has_agent_size = s->size > 1;
    open.agent_size = (uint32_t)s->size;
    budget.has_k = 1;
    budget.k = s->k;
    open.budget = &budget;
    if (s->algorithm->capabilities & TP_CAN_DISCOVER && percent(20)) {
        open.has_knowledge = 1;
        open.knowledge = TICKPATH__KNOWLEDGE__FREESPACE;
    }
    if (percent(10)) {
        open.has_restart = 1;
        open.restart = TICKPATH__RESTART__RESTART_NEVER + (int)below(4);
        entry->wanted = MAYBE;
    }
    if (s->algorithm->capabilities & TP_CAN_TAKE_W && percent(30)) {
        open.has_w = 1;
        open.w = 1.5;
    }
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_OPEN_SESSION, &open);
}

static void send_close(struct connection *connection)
{
    struct session *session = draw_session(connection);
    if (!session)
        return;
    struct entry *entry = entry_new(connection, CLOSE, 0);
    Tickpath__CloseSession close = TICKPATH__CLOSE_SESSION__INIT;
    entry->all = percent(10);
    entry->ids[0] = session->id;
    entry->ids[1] = tp_test_next(&rng);
    entry->id_count = entry->all ? 0 : 2;
    close.has_all = close.all = entry->all;
    close.session = entry->ids;
    close.n_session = entry->id_count;
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_CLOSE_SESSION, &close);
}

static void send_list(struct connection *connection)
{
    entry_new(connection, LIST, 0);
    Tickpath__List list = TICKPATH__LIST__INIT;
    list.has_sessions = list.sessions = 1;
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_LIST, &list);
}

static void send_open_map(struct connection *connection, int map)
{
    entry_new(connection, OPEN_MAP, map);
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)grids[map].name;
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
}

static void send_subscribe(struct connection *connection, int map)
{
    entry_new(connection, SUBSCRIBE, map);
    Tickpath__Subscribe subscribe = TICKPATH__SUBSCRIBE__INIT;
    subscribe.map = (char *)grids[map].name;
    subscribe.has_want_cells = subscribe.want_cells = 1;
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_SUBSCRIBE, &subscribe);
}

/* Sends until so many requests are under way. */
static void send_burst(struct connection *connection, uint32_t count)
{
    while (connection->entry_count < count) {
        size_t before = connection->entry_count;
        uint32_t draw = below(100);
        int map = (int)below(MAPS);
        if (draw < 22)
            send_change(connection, map, 0, NULL);
        else if (draw < 32)
            send_keyed(connection, map);
        else if (draw < 70)
            send_tick(connection);
        else if (draw < 82)
            send_set_goal(connection);
        else if (draw < 90 && connection->session_count < SESSIONS_MAX)
            send_open(connection, NULL);
        else if (draw < 94)
            send_close(connection);
        else if (draw < 96)
            send_list(connection);
        else if (draw < 99)
            send_open_map(connection, map);
        else if (!connection->breaks)
            send_subscribe(connection, map);
        if (connection->entry_count == before)
            send_tick(connection);
    }
}

/* ---- collecting, and putting versions in order ---- */

static void collect(struct connection *connection, size_t until)
{
    while (connection->answered < until) {
        Tickpath__Reply *reply = wire_recv(&connection->wire);
        if (!reply->has_id) {
            SAY(reply->body_case == TICKPATH__REPLY__BODY_MAP_CHANGED, "a reply %d without an id",
                (int)reply->body_case);
            SAY(connection->push_count < sizeof connection->pushes / sizeof connection->pushes[0],
                "too many pushes");
            connection->pushes[connection->push_count++] = (struct push){connection->answered, reply};
            continue;
        }
        struct entry *entry = &connection->entries[connection->answered++];
        SAY(reply->id == entry->id, "reply %llu where %llu was due", ULL(reply->id), ULL(entry->id));
        entry->reply = reply;
    }
}

static int map_named(const char *name)
{
    for (int m = 0; m < MAPS; m++)
        if (name && strcmp(grids[m].name, name) == 0)
            return m;
    SAY(false, "a map named %s", name ? name : "-");
    return 0;
}

static int map_of_session(struct connection *connection, uint64_t id)
{
    struct session *session = session_of(connection, id);
    for (size_t i = 0; !session && i < connection->answered; i++) {
        struct entry *entry = &connection->entries[i];
        if (entry->reply->body_case == TICKPATH__REPLY__BODY_SESSION_OPENED &&
            entry->reply->session_opened->session == id)
            session = &entry->session;
    }
    SAY(session, "a tick served %llu, no session of its connection", ULL(id));
    return session->map;
}

static void see(int map, uint64_t version)
{
    grids[map].seen = version > grids[map].seen ? version : grids[map].seen;
}

static void see_reply(struct connection *connection, const Tickpath__Reply *reply)
{
    if (reply->body_case == TICKPATH__REPLY__BODY_MAP_CHANGED)
        see(map_named(reply->map_changed->map), reply->map_changed->version);
    if (reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO)
        see(map_named(reply->map_info->map), reply->map_info->version);
    if (reply->body_case == TICKPATH__REPLY__BODY_SUBSCRIBED)
        see(map_named(reply->subscribed->map), reply->subscribed->version);
    if (reply->body_case == TICKPATH__REPLY__BODY_CHANGED)
        see(map_named(reply->changed->map), reply->changed->version);
    for (size_t i = 0; reply->body_case == TICKPATH__REPLY__BODY_TICKED && i < reply->ticked->n_session; i++)
        see(map_of_session(connection, reply->ticked->session[i]), reply->ticked->version[i]);
}

/* A batch that was applied just now takes its place among the versions. */
static void place(const struct entry *entry)
{
    struct grid *grid = &grids[entry->map];
    const Tickpath__Changed *changed = entry->reply->changed;
    uint64_t version = changed->version;
    SAY(version > grid->version, "%s: version %llu is made a second time", grid->name, ULL(version));
    SAY(version - grid->version <= ACKED_MAX, "%s: version %llu after %llu", grid->name, ULL(version),
        ULL(grid->version));
    const int16_t **at = &grid->acked[version - grid->version - 1];
    SAY(!*at, "%s: two batches made version %llu", grid->name, ULL(version));
    *at = entry->effect;
    struct key *key = key_of(entry->key);
    if (key) {
        SAY(!key->version, "the batch of key %llu made %llu, and again %llu", ULL(key->number),
            ULL(key->version), ULL(version));
        key->version = version;
    }
    seen.batches++;
}

static void place_again(const struct entry *entry)
{
    struct key *key = key_of(entry->key);
    uint64_t version = entry->reply->changed->version;
    SAY(entry->key, "applied before, without a key");
    seen.again++;
    if (!key)
        return;
    if (!key->version) {
        bool is_lost = false;
        for (size_t i = 0; i < grids[key->map].lost_count; i++)
            is_lost |= grids[key->map].lost[i].key == key->number;
        SAY(is_lost, "the batch of key %llu, never applied, was applied before as %llu", ULL(key->number),
            ULL(version));
        key->version = version;
        key->again = true;
        seen.races++;
    }
    SAY(key->version == version, "the batch of key %llu made version %llu, now it is %llu", ULL(key->number),
        ULL(key->version), ULL(version));
}

/* The next of the batches that were lost, for a version that nobody acknowledged. */
static const int16_t *take_lost(struct grid *grid, size_t *at, uint64_t version)
{
    while (*at < grid->lost_count) {
        struct lost *lost = &grid->lost[(*at)++];
        struct key *key = key_of(lost->key);
        if (key && key->version && !key->again)
            continue; /* another connection was first */
        if (key && key->version)
            SAY(key->version == version, "%s: the lost batch of key %llu made %llu, not %llu", grid->name,
                ULL(key->number), ULL(key->version), ULL(version));
        if (key) {
            key->version = version;
            key->again = false;
        }
        seen.lost_applied++;
        return lost->effect;
    }
    SAY(false, "%s: nobody made version %llu", grid->name, ULL(version));
    return NULL;
}

static void resolve(void)
{
    for (int again = 0; again < 2; again++)
        for (int c = 0; c < CONNECTIONS; c++)
            for (size_t i = 0; i < connections[c].answered; i++) {
                const struct entry *entry = &connections[c].entries[i];
                if (entry->reply->body_case != TICKPATH__REPLY__BODY_CHANGED)
                    continue;
                if (entry->reply->changed->applied_before != again)
                    continue;
                if (again)
                    place_again(entry);
                else
                    place(entry);
            }
    for (int c = 0; c < CONNECTIONS; c++) {
        for (size_t i = 0; i < connections[c].answered; i++)
            see_reply(&connections[c], connections[c].entries[i].reply);
        for (size_t i = 0; i < connections[c].push_count; i++)
            see_reply(&connections[c], connections[c].pushes[i].reply);
    }
    for (int m = 0; m < MAPS; m++) {
        struct grid *grid = &grids[m];
        size_t lost = 0;
        uint64_t first = grid->version + 1;
        SAY(grid->seen < first + ACKED_MAX, "%s: version %llu after %llu", grid->name, ULL(grid->seen),
            ULL(grid->version));
        for (uint64_t version = first; version <= grid->seen; version++) {
            const int16_t *effect = grid->acked[version - first];
            if (!effect)
                effect = take_lost(grid, &lost, version);
            uint8_t *cells = grid->history[version % HISTORY];
            memcpy(cells, grid->history[(version - 1) % HISTORY], CELLS_MAX);
            for (uint32_t i = 0; i < cells_of(m); i++)
                if (effect[i] != UNTOUCHED)
                    cells[i] = (uint8_t)effect[i];
            grid->version = version;
        }
        memset(grid->acked, 0, sizeof grid->acked);
        memmove(grid->lost, grid->lost + lost, (grid->lost_count - lost) * sizeof grid->lost[0]);
        grid->lost_count -= lost;
    }
}

/* ---- checking ---- */

/* A reply of this connection names a version. */
static void check_named(struct connection *connection, int map, uint64_t version)
{
    SAY(version >= connection->floor[map], "%s: version %llu, after %llu on the same connection",
        grids[map].name, ULL(version), ULL(connection->floor[map]));
    SAY(!connection->subscribed[map] || version <= connection->told[map],
        "%s: version %llu, the subscriber was told of %llu", grids[map].name, ULL(version),
        ULL(connection->told[map]));
    connection->floor[map] = version;
}

static bool can_leave(const struct ref_problem *problem, uint32_t cell)
{
    int64_t width = problem->width, height = problem->height, x = cell % width, y = cell / width;
    for (int64_t b = y - 2; b <= y + 2; b++)
        for (int64_t a = x - 2; a <= x + 2; a++) {
            uint64_t cost;
            if (a >= 0 && b >= 0 && a < width && b < height &&
                ref_step(problem, cell, (uint32_t)(b * width + a), &cost))
                return true;
        }
    return false;
}

/* No goal can be reached, and with PARTIAL nothing that is nearer to one. */
static void check_gave_up(struct session *s, const struct ref_problem *problem, uint64_t version,
                          bool partial, const char *who)
{
    uint8_t reached[CELLS_MAX];
    if (s->proved.version == version && s->proved.cell == s->cell)
        return;
    ref_flood(problem, s->cell, reached);
    for (uint32_t cell = 0; cell < cells_of(s->map); cell++) {
        if (!reached[cell])
            continue;
        SAY(!is_end(s, problem, cell), "%s: no way from %u in version %llu, but %u can be reached", who,
            s->cell, ULL(version), cell);
        SAY(!partial || h_of(s, problem, cell) >= h_of(s, problem, s->cell),
            "%s: PARTIAL on %u, but %u is nearer", who, s->cell, cell);
    }
    s->proved.version = version;
    s->proved.cell = s->cell;
}

static void check_served(struct connection *connection, const struct entry *entry, struct session *s,
                         size_t i)
{
    const Tickpath__Ticked *t = entry->reply->ticked;
    char who[160];
    uint32_t to = t->cell[i], status = t->status[i], flags = t->flags[i];
    uint64_t version = t->version[i];
    snprintf(who, sizeof who,
             "%s on %s, %d moves, corners %d, profile %d, size %d, policy %d, k %llu, %u to %u of %u goals",
             s->algorithm->name, grids[s->map].name, s->neighbours, (int)s->corners, s->profile, s->size,
             s->policy, ULL(s->k), s->cell, s->goal[0], s->goal_count);
    check_named(connection, s->map, version);
    SAY(version >= entry->min_version, "%s: version %llu below min_version %llu", who, ULL(version),
        ULL(entry->min_version));
    struct ref_problem problem = problem_of(s, version);
    uint32_t from = s->cell;
    SAY(to < cells_of(s->map), "%s: to %u", who, to);
    bool moves = to != from;
    uint64_t cost = 0;
    if (moves) {
        SAY(ref_step(&problem, from, to, &cost), "%s: the move %u to %u is not legal in version %llu", who,
            from, to, ULL(version));
        seen.moves++;
    }
    s->cost += cost;
    SAY(t->cost[i] == s->cost, "%s: cost %llu, the moves add up to %llu", who, ULL(t->cost[i]), ULL(s->cost));
    bool partial = flags & TICKPATH__FLAG__PARTIAL, arrived = status == TICKPATH__STATUS__ARRIVED;
    s->cell = to;
    SAY(status >= TICKPATH__STATUS__MOVING && status <= TICKPATH__STATUS__UNREACHABLE, "%s: status %u", who,
        status);
    SAY(arrived || moves == (status == TICKPATH__STATUS__MOVING), "%s: status %u, %u to %u", who, status,
        from, to);
    SAY(!is_end(s, &problem, to) || arrived, "%s: on the goal with status %u", who, status);
    SAY(!partial || s->policy == TICKPATH__GOAL_POLICY__NEAREST, "%s: PARTIAL", who);
    if (arrived && !partial)
        SAY(is_end(s, &problem, to), "%s: ARRIVED on %u", who, to);
    bool gave_up = status == TICKPATH__STATUS__UNREACHABLE || (arrived && partial);
    if (status == TICKPATH__STATUS__UNREACHABLE)
        SAY(s->algorithm->capabilities & TP_CAN_DETECT_UNREACHABLE &&
                s->policy != TICKPATH__GOAL_POLICY__NEAREST,
            "%s: UNREACHABLE", who);
    if (gave_up)
        check_gave_up(s, &problem, version, arrived, who);
    bool proves = s->algorithm->capabilities & TP_CAN_DETECT_UNREACHABLE; /* who can't says it while it searches */
    bool stays = gave_up || (status == TICKPATH__STATUS__SEARCHING && !proves);
    if (!stays || !moves)
        SAY(!(flags & TICKPATH__FLAG__DEAD_END) == !(stays && !can_leave(&problem, to)),
            "%s: flags %x on %u", who, flags, to);
    SAY(!(flags & TICKPATH__FLAG__CONTINUED && flags & TICKPATH__FLAG__RESTARTED),
        "%s: CONTINUED and RESTARTED", who);
    SAY(!(flags & TICKPATH__FLAG__CONTINUED) || version != s->version, "%s: CONTINUED in the same version",
        who);
    if (problem.weight[from] || !moves)
        SAY(!(flags & TICKPATH__FLAG__START_BLOCKED) == (problem.weight[from] != 0),
            "%s: flags %x, where it stood weighs %u", who, flags, problem.weight[from]);
    SAY(t->expansions[i] <= (entry->k ? entry->k : s->k), "%s: %llu expansions, k of the tick %llu", who,
        ULL(t->expansions[i]), ULL(entry->k));
    s->version = version;
    s->ticks++;
    seen.unreachable += status == TICKPATH__STATUS__UNREACHABLE;
    seen.arrived += arrived && !partial;
    seen.partial += arrived && partial;
    seen.blocked += status == TICKPATH__STATUS__BLOCKED;
    seen.restarted += (flags & TICKPATH__FLAG__RESTARTED) != 0;
    seen.continued += (flags & TICKPATH__FLAG__CONTINUED) != 0;
    seen.repaired += (flags & TICKPATH__FLAG__REPAIRED) != 0;
    seen.start_blocked += (flags & TICKPATH__FLAG__START_BLOCKED) != 0;
}

/* Where the agent stands, for the client; false: outside, the session is refused. */
static bool take_position(const struct entry *entry, struct session *session)
{
    for (size_t i = 0; i < entry->at_count; i++)
        if (entry->at_session[i] == session->id) {
            if (entry->at_cell[i] >= cells_of(session->map))
                return false;
            session->cell = entry->at_cell[i];
        }
    return true;
}

static void check_tick(struct connection *connection, const struct entry *entry)
{
    seen.ticks++;
    bool behind = false;
    size_t live = 0;
    for (size_t i = 0; i < entry->id_count; i++)
        live += session_of(connection, entry->ids[i]) != NULL;
    behind = entry->min_version == 1000000000 && live > 0;
    if (entry->reply->body_case == TICKPATH__REPLY__BODY_ERROR) {
        SAY(behind && entry->reply->error->code == TICKPATH__ERROR_CODE__MAP_NOT_READY,
            "a tick refused with %d: %s", (int)entry->reply->error->code, entry->reply->error->message);
        return;
    }
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_TICKED && !behind, "reply %d to a tick%s",
        (int)entry->reply->body_case, behind ? " of the future" : "");
    const Tickpath__Ticked *t = entry->reply->ticked;
    SAY(t->tick == ++connection->tick, "tick %llu, it is number %llu", ULL(t->tick), ULL(connection->tick));
    size_t wanted = entry->all ? connection->session_count : entry->id_count, served = 0, refused = 0;
    uint64_t expansions = 0;
    for (size_t i = 0; i < wanted; i++) {
        uint64_t id = entry->all ? connection->sessions[i].id : entry->ids[i];
        struct session *session = session_of(connection, id);
        bool twice = false;
        for (size_t j = 0; !entry->all && j < i; j++)
            twice |= entry->ids[j] == id;
        if (!session || twice || !take_position(entry, session)) {
            refused++;
            continue;
        }
        SAY(served < t->n_session && t->session[served] == id,
            "the tick served %llu where %llu was due: %zu of %zu served",
            served < t->n_session ? ULL(t->session[served]) : 0, ULL(id), t->n_session, wanted);
        check_served(connection, entry, session, served);
        expansions += t->expansions[served++];
    }
    SAY(t->n_session == served, "%zu sessions served, %zu known", t->n_session, served);
    for (size_t i = 0; i < entry->at_count; i++)
        refused += !session_of(connection,
                               entry->at_session[i]); /* a second row: no such session to stand anywhere */
    SAY(t->n_refused == refused, "%zu sessions refused instead of %zu", t->n_refused, refused);
    SAY(!entry->total || expansions <= entry->total, "%llu expansions of a total of %llu", ULL(expansions),
        ULL(entry->total));
}

static void check_change(struct connection *connection, const struct entry *entry)
{
    const struct grid *grid = &grids[entry->map];
    if (entry->reply->body_case == TICKPATH__REPLY__BODY_CHANGED) {
        const Tickpath__Changed *changed = entry->reply->changed;
        bool sent_elsewhere =
            entry->key &&
            changed->applied_before; /* another connection was first with a proper batch of that key */
        SAY(entry->wanted != REFUSED || sent_elsewhere,
            "%s: a batch was taken as version %llu that is to be refused with %d, change %u at (%u, %u), key "
            "%llu",
            grid->name, ULL(changed->version), entry->code, entry->bad_index, entry->bad_x, entry->bad_y,
            ULL(entry->key));
        SAY(entry->wanted != MAYBE || changed->version == entry->base_version + 1,
            "version %llu from base_version %llu", ULL(changed->version), ULL(entry->base_version));
        if (changed->applied_before)
            return;
        SAY(changed->version > connection->floor[entry->map],
            "%s: a batch made version %llu after %llu was named", grid->name, ULL(changed->version),
            ULL(connection->floor[entry->map]));
        check_named(connection, entry->map, changed->version);
        return;
    }
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_ERROR && entry->wanted != TAKEN,
        "reply %d to a batch: %s", (int)entry->reply->body_case, entry->reply->error->message);
    const Tickpath__Error *error = entry->reply->error;
    int code = entry->wanted == MAYBE ? TICKPATH__ERROR_CODE__VERSION_MISMATCH : entry->code;
    SAY((int)error->code == code, "a batch refused with %d instead of %d: %s", (int)error->code, code,
        error->message);
    SAY(entry->wanted != MAYBE || entry->base_version != connection->floor[entry->map] ||
            entry->base_version < grid->version || grid->lost_count > 0,
        "%s stood at %llu all the time", grid->name, ULL(grid->version));
    if (entry->names_cell)
        SAY(error->has_change_index && error->change_index == entry->bad_index &&
                error->bad_x == entry->bad_x && error->bad_y == entry->bad_y,
            "change %u at (%u, %u) is named, it is %u at (%u, %u)", error->change_index, error->bad_x,
            error->bad_y, entry->bad_index, entry->bad_x, entry->bad_y);
    seen.refused++;
    seen.mismatch += entry->wanted == MAYBE;
}

static void check_goal(struct connection *connection, const struct entry *entry)
{
    const struct session *next = &entry->session;
    struct session *session = session_of(connection, next->id);
    int wanted = entry->wanted == REFUSED ? entry->code : session ? 0 : TICKPATH__ERROR_CODE__NOT_FOUND;
    if (!session)
        wanted = TICKPATH__ERROR_CODE__NOT_FOUND;
    int code = entry->reply->body_case == TICKPATH__REPLY__BODY_ERROR ? (int)entry->reply->error->code : 0;
    SAY(code == wanted, "a goal answered with %d instead of %d", code, wanted);
    if (code)
        return;
    memcpy(session->goal, next->goal, sizeof session->goal);
    session->goal_count = next->goal_count;
    session->proved.version = 0;
}

static void check_open(struct connection *connection, const struct entry *entry)
{
    if (entry->reply->body_case == TICKPATH__REPLY__BODY_ERROR) {
        SAY(entry->wanted == MAYBE && entry->reply->error->code == TICKPATH__ERROR_CODE__UNSUPPORTED,
            "a session refused with %d: %s: %s", (int)entry->reply->error->code, entry->reply->error->field,
            entry->reply->error->message);
        seen.unsupported++;
        return;
    }
    const Tickpath__SessionOpened *opened = entry->reply->session_opened;
    SAY(!session_of(connection, opened->session), "the id %llu again", ULL(opened->session));
    check_named(connection, entry->map, opened->version);
    struct session *session = &connection->sessions[connection->session_count++];
    *session = entry->session;
    session->id = opened->session;
    seen.opened++;
}

static void check_close(struct connection *connection, const struct entry *entry)
{
    size_t kept = 0, before = connection->session_count;
    for (size_t i = 0; i < before; i++)
        if (!entry->all && connection->sessions[i].id != entry->ids[0])
            connection->sessions[kept++] = connection->sessions[i];
    connection->session_count = kept;
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_SESSIONS_CLOSED &&
            entry->reply->sessions_closed->count == before - kept,
        "closed %u sessions, not %zu", entry->reply->sessions_closed->count, before - kept);
}

static void check_list(struct connection *connection, const struct entry *entry)
{
    const Tickpath__Listing *listing = entry->reply->listing;
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_LISTING &&
            listing->n_session == connection->session_count,
        "%zu sessions listed, %zu known", listing->n_session, connection->session_count);
    for (size_t i = 0; i < listing->n_session; i++) {
        const Tickpath__SessionInfo *info = listing->session[i];
        const struct session *s = session_of(connection, info->session);
        SAY(s && info->cell == s->cell && info->goal == s->goal[0] && info->cost == s->cost &&
                info->ticks == s->ticks && strcmp(info->map, grids[s->map].name) == 0 &&
                strcmp(info->algorithm, s->algorithm->name) == 0,
            "session %llu is listed on %u to %u after %llu ticks", ULL(info->session), info->cell, info->goal,
            ULL(info->ticks));
    }
}

static void check_map(struct connection *connection, const struct entry *entry)
{
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO, "reply %d to OpenMap",
        (int)entry->reply->body_case);
    const Tickpath__MapInfo *info = entry->reply->map_info;
    check_named(connection, entry->map, info->version);
    const uint8_t *cells = cells_at(entry->map, info->version);
    uint64_t passable = 0;
    for (uint32_t i = 0; i < cells_of(entry->map); i++)
        passable += weight_of(cells[i], 0) != 0;
    SAY(info->passable_cells == passable, "%s: %llu passable cells in version %llu, not %llu", info->map,
        ULL(passable), ULL(info->version), ULL(info->passable_cells));
}

static void check_subscribed(struct connection *connection, const struct entry *entry)
{
    SAY(entry->reply->body_case == TICKPATH__REPLY__BODY_SUBSCRIBED, "reply %d to Subscribe",
        (int)entry->reply->body_case);
    uint64_t version = entry->reply->subscribed->version;
    SAY(version >= connection->floor[entry->map], "subscribed at %llu", ULL(version));
    connection->floor[entry->map] = version;
    connection->subscribed[entry->map] = true;
    connection->told[entry->map] = version;
    memcpy(connection->mirror[entry->map], cells_at(entry->map, version), CELLS_MAX);
}

/* A subscriber's map made of pushes alone is the model's. */
static void check_push(struct connection *connection, const Tickpath__MapChanged *push)
{
    int map = map_named(push->map);
    uint8_t *mirror = connection->mirror[map];
    SAY(connection->subscribed[map] && push->from_version == connection->told[map] &&
            push->version > push->from_version && !push->resync,
        "%s: a push from %llu to %llu, told last of %llu", push->map, ULL(push->from_version),
        ULL(push->version), ULL(connection->told[map]));
    for (size_t i = 0; i < push->n_cell; i++) {
        SAY(push->cell[i] < cells_of(map) && mirror[push->cell[i]] != push->terrain[i],
            "%s: a push of cell %u", push->map, push->cell[i]);
        mirror[push->cell[i]] = (uint8_t)push->terrain[i];
    }
    SAY(memcmp(mirror, cells_at(map, push->version), cells_of(map)) == 0,
        "%s: pushes make another map of version %llu", push->map, ULL(push->version));
    connection->told[map] = push->version;
    seen.pushes++;
}

static void check_round(void)
{
    static void (*const check[])(struct connection *, const struct entry *) = {
        [CHANGE] = check_change, [TICK] = check_tick, [SET_GOAL] = check_goal, [OPEN] = check_open,
        [CLOSE] = check_close,   [LIST] = check_list, [OPEN_MAP] = check_map,  [SUBSCRIBE] = check_subscribed,
    };
    resolve();
    for (int c = 0; c < CONNECTIONS; c++) {
        struct connection *connection = &connections[c];
        size_t push = 0;
        for (size_t i = 0; i <= connection->answered; i++) {
            for (; push < connection->push_count && connection->pushes[push].before <= i; push++) {
                check_push(connection, connection->pushes[push].reply->map_changed);
                wire_reply_free(connection->pushes[push].reply);
            }
            if (i < connection->answered) {
                check[connection->entries[i].kind](connection, &connection->entries[i]);
                wire_reply_free(connection->entries[i].reply);
            }
        }
        connection->entry_count = connection->answered = connection->push_count = 0;
    }
}

/* ---- rounds ---- */

static void collect_all(void)
{
    for (int c = 0; c < CONNECTIONS; c++)
        collect(&connections[c], connections[c].entry_count);
}

/* Breaks a connection after some of its replies; what is under way may be applied or not. Batches with a key are sent again
 * at once, sometimes, on another connection. */
static void break_now(struct connection *connection, struct connection *other)
{
    collect(connection, below((uint32_t)connection->entry_count + 1));
    if (percent(30)) {
        uint8_t half[] = {50, 8, 1};
        wire_send_bytes(&connection->wire, half, sizeof half);
    }
    wire_close(&connection->wire);
    bool race = percent(50);
    for (size_t i = connection->answered; i < connection->entry_count; i++) {
        struct entry *entry = &connection->entries[i];
        struct key *key = key_of(entry->key);
        if (entry->kind != CHANGE || entry->wanted == REFUSED || (entry->key && (!key || key->version)))
            continue;
        struct grid *grid = &grids[entry->map];
        struct lost *lost = &grid->lost[grid->lost_count++];
        lost->key = entry->key;
        memcpy(lost->effect, entry->effect, sizeof lost->effect);
        if (race && key && percent(70))
            send_change(other, key->map, key->number, key->effect);
    }
    connection->entry_count = connection->answered;
    seen.breaks++;
}

/* Waits until the daemon has closed the sessions of a connection that broke, and nothing of it is under way any more; then
 * its client comes back, opens its sessions where the agents stand, and sends the batches again that have a key. */
static void come_back(struct connection *connection, struct connection *other)
{
    size_t count = connection->session_count;
    struct session *sessions = malloc((count + 1) * sizeof *sessions);
    memcpy(sessions, connection->sessions, count * sizeof *sessions);
    connection->session_count = 0;
    static int16_t fence[CELLS_MAX];
    for (int i = 0; i < CELLS_MAX; i++)
        fence[i] = i ? UNTOUCHED : '.';
    uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
    for (bool ended = false; !ended;) { /* sessions alone don't tell: it may have closed them itself */
        SAY(wire_now_ms() < until, "a connection that broke is open still");
        int status = 0;
        char *text = wire_http_get(&daemon_, "/metrics", &status);
        SAY(text && status == 200, "no metrics: %d", status);
        ended = tp_test_sample(text, "tickpath_connections_open") == CONNECTIONS - 1;
        free(text);
    }
    for (bool closed = false; !closed;) {
        SAY(wire_now_ms() < until, "the sessions of a connection that broke are open still");
        for (int m = 0; m < MAPS; m++)
            send_open_map(other, m);
        steps -= MAPS;
        collect(other, MAPS);
        closed = true;
        for (int m = 0; m < MAPS; m++)
            closed &= other->entries[m].reply->map_info->sessions == sessions_on(m);
        check_round();
    }
    for (int m = 0; m < MAPS; m++)
        send_change(other, m, 0, fence); /* behind all that was under way */
    collect(other, MAPS);
    check_round();
    wire_open_greeted(&connection->wire, daemon_.port);
    memset(connection->floor, 0, sizeof connection->floor);
    memset(connection->subscribed, 0, sizeof connection->subscribed);
    connection->tick = 0;
    for (int m = 0; m < MAPS; m++) {
        for (size_t i = 0; i < grids[m].lost_count; i++) {
            struct key *key = key_of(grids[m].lost[i].key);
            SAY(!key || !key->again, "a lost batch made version %llu, which nobody saw", ULL(key->version));
            seen.lost_gone++;
        }
        grids[m].lost_count = 0;
    }
    for (size_t i = 0; i < count; i++)
        send_open(connection, &sessions[i]);
    free(sessions);
    for (uint64_t number = next_key > 20 ? next_key - 20 : 1; number <= next_key; number++) {
        struct key *key = key_of(number);
        if (key)
            send_change(connection, key->map, number, key->effect);
    }
    collect_all();
    check_round();
}

static void play_round(void)
{
    int breaks = percent(12) ? (int)below(CONNECTIONS) : -1,
        alone = percent(30) ? (int)below(CONNECTIONS) : -1;
    uint32_t target[CONNECTIONS];
    for (int c = 0; c < CONNECTIONS; c++) {
        target[c] = alone < 0 || alone == c || breaks == c ? 5 + below(BURST_MAX - 8) : 0;
        connections[c].breaks = breaks == c;
    }
    for (bool more = true; more;) { /* in pieces, so that connections meet */
        more = false;
        for (int c = 0; c < CONNECTIONS; c++) {
            uint32_t upto = (uint32_t)connections[c].entry_count + 1 + below(6);
            send_burst(&connections[c], upto < target[c] ? upto : target[c]);
            more |= connections[c].entry_count < target[c];
        }
    }
    if (breaks < 0) {
        collect_all();
        check_round();
        return;
    }
    struct connection *other = &connections[(breaks + 1) % CONNECTIONS];
    break_now(&connections[breaks], other);
    for (int c = 0; c < CONNECTIONS; c++)
        if (c != breaks)
            collect(&connections[c], connections[c].entry_count);
    check_round();
    come_back(&connections[breaks], other);
}

static void put_grid(int map, const char *name, uint32_t width, uint32_t height)
{
    struct grid *grid = &grids[map];
    *grid = (struct grid){.name = name, .width = width, .height = height, .version = 1, .seen = 1};
    grid->history = calloc(HISTORY, sizeof grid->history[0]);
    uint8_t *cells = grid->history[1];
    for (uint32_t i = 0; i < cells_of(map); i++)
        cells[i] = percent(25) ? '@' : '.';
    Tickpath__ClassWeight rows[sizeof weights / sizeof weights[0]], *row[sizeof weights / sizeof weights[0]];
    for (int profile = 0; profile < PROFILES; profile++) {
        size_t count = 0;
        for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
            row[count] = &rows[count];
            tickpath__class_weight__init(row[count]);
            row[count]->has_terrain = row[count]->has_weight = 1;
            row[count]->terrain = (uint8_t)weights[i].class_;
            row[count++]->weight = weights[i].weight[profile];
        }
        if (profile == 0) {
            Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
            put.map = (char *)name;
            put.has_width = put.has_height = put.has_cells = put.has_last = put.last = 1;
            put.width = width;
            put.height = height;
            put.cells.data = cells;
            put.cells.len = cells_of(map);
            put.profile = row;
            put.n_profile = count;
            wire_reply_free(wire_ask(&connections[0].wire, TICKPATH__REQUEST__BODY_PUT_MAP, &put,
                                     TICKPATH__REPLY__BODY_MAP_INFO));
            continue;
        }
        Tickpath__PutProfile put = TICKPATH__PUT_PROFILE__INIT;
        put.map = (char *)name;
        put.name = (char *)profile_name[profile];
        put.weights = row;
        put.n_weights = count;
        wire_reply_free(wire_ask(&connections[0].wire, TICKPATH__REQUEST__BODY_PUT_PROFILE, &put,
                                 TICKPATH__REPLY__BODY_PROFILE_PUT));
    }
}

START_TEST(test_interleavings)
{
    rng = tp_test_rng("interleavings");
    uint64_t steps_max = tp_test_steps(100000, 1000000);
    wire_daemon_init(&daemon_);
    wire_daemon_start(&daemon_, "--threads", "2", "--stats", "127.0.0.1:0", NULL);
    for (int c = 0; c < CONNECTIONS; c++)
        wire_open_greeted(&connections[c].wire, daemon_.port);
    put_grid(0, "rooms", 20, 14);
    put_grid(1, "yard", 13, 11);
    while (steps < steps_max)
        play_round();
    printf("%llu steps: %llu batches applied, %llu refused (%llu by version), %llu answered by their key, "
           "%llu of them a race with a lost one\n"
           "%llu broken connections: %llu lost batches applied, %llu not; %llu pushes; %llu sessions opened, "
           "%llu unsupported\n"
           "%llu ticks: %llu moves, arrived %llu, partial %llu, unreachable %llu, blocked %llu, restarted "
           "%llu, continued %llu, "
           "repaired %llu, start blocked %llu\n",
           ULL(steps), ULL(seen.batches), ULL(seen.refused), ULL(seen.mismatch), ULL(seen.again),
           ULL(seen.races), ULL(seen.breaks), ULL(seen.lost_applied), ULL(seen.lost_gone), ULL(seen.pushes),
           ULL(seen.opened), ULL(seen.unsupported), ULL(seen.ticks), ULL(seen.moves), ULL(seen.arrived),
           ULL(seen.partial), ULL(seen.unreachable), ULL(seen.blocked), ULL(seen.restarted),
           ULL(seen.continued), ULL(seen.repaired), ULL(seen.start_blocked));
    for (int c = 0; c < CONNECTIONS; c++)
        wire_close(&connections[c].wire);
    wire_daemon_stop(&daemon_);
    wire_daemon_fini(&daemon_);
    for (int m = 0; m < MAPS; m++)
        free(grids[m].history);
    if (steps_max >= 50000) /* nothing that is checked stays away */
        ck_assert(seen.batches && seen.refused && seen.mismatch && seen.again && seen.races && seen.breaks &&
                  seen.lost_applied && seen.pushes && seen.moves && seen.arrived && seen.partial &&
                  seen.unreachable && seen.blocked && seen.restarted && seen.continued && seen.repaired &&
                  seen.start_blocked);
}
END_TEST

static Suite *model_suite(void)
{
    Suite *suite = suite_create("model");
    TCase *tcase = tcase_create("interleavings");
    tcase_set_timeout(tcase, tp_test_long() ? 3600 : 400);
    tcase_add_test(tcase, test_interleavings);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return tp_test_main("test_model", model_suite);
}
