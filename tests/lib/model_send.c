/* The model's random requests. Each stands among those under way, with what it does to the model and what the daemon is to say. */
#include "tests/lib/model.h"

#include <stdio.h>
#include <string.h>

static const char classes[] = "......GGW@@";

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
    model.steps++;
    return entry;
}

static uint32_t draw_class(void)
{
    return (uint8_t)classes[model_below(sizeof classes - 1)];
}

void model_send_change(struct connection *connection, int map, uint64_t key, const int16_t *of)
{
    struct entry *entry = entry_new(connection, CHANGE, map);
    const struct grid *grid = &model.grids[map];
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    uint32_t cell[CELLS_MAX + 1], terrain[CELLS_MAX + 1], run[4], length[4], run_terrain[4];
    Tickpath__Rectangle rectangle[3], *rectangles[3];
    Tickpath__Bitmap bitmap[2], *bitmaps[2];
    uint8_t bits[2][(CELLS_MAX + 7) / 8], name[64];
    change.map = (char *)grid->name;
    change.cell = cell;
    change.cell_terrain = terrain;
    uint32_t count = of ? 0 : 1 + model_below(model_percent(20) ? 30 : 4);
    for (uint32_t i = 0; i < count; i++) {
        cell[i] = model_below(model_cells_of(map));
        terrain[i] = draw_class();
        entry->effect[cell[i]] = (int16_t)terrain[i];
    }
    for (uint32_t i = 0; of && i < model_cells_of(map); i++) {
        if (of[i] == UNTOUCHED)
            continue;
        cell[count] = i;
        terrain[count++] = (uint32_t)of[i];
        entry->effect[i] = of[i];
    }
    change.n_cell = change.n_cell_terrain = count;
    change.rectangle = rectangles;
    change.bitmap = bitmaps;
    while (!of && change.n_rectangle < 3 && model_percent(15)) {
        Tickpath__Rectangle *r = rectangles[change.n_rectangle] = &rectangle[change.n_rectangle];
        change.n_rectangle++;
        tickpath__rectangle__init(r);
        r->has_x = r->has_y = r->has_width = r->has_height = r->has_terrain = 1;
        r->x = model_below(grid->width);
        r->y = model_below(grid->height);
        r->width = 1 + model_below(grid->width - r->x < 6 ? grid->width - r->x : 6);
        r->height = 1 + model_below(grid->height - r->y < 5 ? grid->height - r->y : 5);
        r->terrain = draw_class();
        for (uint32_t y = r->y; y < r->y + r->height; y++)
            for (uint32_t x = r->x; x < r->x + r->width; x++)
                entry->effect[y * grid->width + x] = (int16_t)r->terrain;
    }
    while (!of && change.n_bitmap < 2 && model_percent(12)) {
        Tickpath__Bitmap *b = bitmaps[change.n_bitmap] = &bitmap[change.n_bitmap];
        tickpath__bitmap__init(b);
        b->has_x = b->has_y = b->has_width = b->has_height = b->has_terrain = b->has_bits = 1;
        b->x = model_below(grid->width);
        b->y = model_below(grid->height);
        b->width = 1 + model_below(grid->width - b->x);
        b->height = 1 + model_below(grid->height - b->y);
        b->terrain = model_percent(70) ? '.' : draw_class();
        b->bits.data = bits[change.n_bitmap];
        b->bits.len = (b->width * b->height + 7) / 8;
        memset(b->bits.data, 0, b->bits.len);
        for (uint32_t i = 0; i < b->width * b->height; i++) {
            if (!model_percent(25))
                continue;
            b->bits.data[i / 8] |= (uint8_t)(1u << i % 8);
            entry->effect[(b->y + i / b->width) * grid->width + b->x + i % b->width] = (int16_t)b->terrain;
        }
        change.n_bitmap++;
    }
    change.run_cell = run;
    change.run_length = length;
    change.run_terrain = run_terrain;
    while (!of && change.n_run_cell < 3 && model_percent(15)) {
        size_t i = change.n_run_cell++;
        run[i] = model_below(model_cells_of(map));
        length[i] = 1 + model_below(grid->width - run[i] % grid->width);
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
    bool known = model_key_of(key) && model_key_of(key)->version;
    if (!of && !known && model_percent(12)) { /* spoilt */
        entry->wanted = REFUSED;
        entry->code = TICKPATH__ERROR_CODE__OUT_OF_RANGE;
        entry->names_cell = true;
        switch (model_below(5)) {
        case 0:
            entry->bad_index = model_below(count);
            cell[entry->bad_index] = model_cells_of(map) + model_below(1000);
            entry->bad_x = cell[entry->bad_index] % grid->width;
            entry->bad_y = cell[entry->bad_index] / grid->width;
            break;
        case 1: /* the last of the runs leads past its row */
            if (change.n_run_cell == 0) {
                run[0] = model_below(model_cells_of(map));
                run_terrain[0] = '.';
                change.n_run_cell = change.n_run_length = change.n_run_terrain = 1;
            }
            size_t last = change.n_run_cell - 1;
            length[last] = grid->width - run[last] % grid->width + 1 + model_below(5);
            entry->bad_index = (uint32_t)(count + change.n_rectangle + change.n_bitmap + last);
            entry->bad_x = grid->width;
            entry->bad_y = run[last] / grid->width;
            break;
        case 2:
            entry->code = TICKPATH__ERROR_CODE__INVALID_ARGUMENT;
            entry->names_cell = false;
            terrain[model_below(count)] = 256 + model_below(1000);
            break;
        case 3:
            entry->code = TICKPATH__ERROR_CODE__VERSION_MISMATCH;
            entry->names_cell = false;
            change.has_base_version = 1;
            change.base_version = model_percent(50) ? grid->version + 100000 : 0;
            break;
        default:
            entry->code = TICKPATH__ERROR_CODE__NOT_FOUND;
            entry->names_cell = false;
            change.map = "none";
        }
    } else if (!known && !key && !connection->breaks && model_percent(15)) { /* compare and set: who knows */
        entry->wanted = MAYBE;
        change.has_base_version = 1;
        change.base_version = entry->base_version = grid->version + model_below(4);
    }
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

static void send_new_key(struct connection *connection, int map)
{
    uint64_t number = ++model.next_key;
    struct key *key = &model.keys[number % KEYS];
    memset(key, 0, sizeof *key);
    model_send_change(connection, map, number, NULL);
    struct entry *entry = &connection->entries[connection->entry_count - 1];
    if (entry->wanted == REFUSED && connection->entry_count < BURST_MAX) { /* a refused batch leaves no key */
        model_send_change(connection, map, number, NULL);
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
    struct key *key =
        model_percent(50) && model.next_key
            ? model_key_of(model.next_key -
                           model_below(model.next_key < KEYS / 2 ? (uint32_t)model.next_key : KEYS / 2))
            : NULL;
    if (!key)
        send_new_key(connection, map);
    else if (key->version && model_percent(50)) /* not looked at: another content altogether */
        model_send_change(connection, key->map, key->number, NULL);
    else
        model_send_change(connection, key->map, key->number, key->effect);
}

static void send_tick(struct connection *connection)
{
    struct entry *entry = entry_new(connection, TICK, 0);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    Tickpath__Budget each = TICKPATH__BUDGET__INIT;
    size_t open = connection->session_count, live = 0;
    bool future = model_percent(3);
    entry->all = open == 0 || model_percent(60);
    tick.has_all = tick.all = entry->all;
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; !entry->all && i < open; i++)
        if (model_percent(50) || i + 1 == open) {
            entry->ids[entry->id_count++] = connection->sessions[i].id;
            uint64_t version = model.grids[connection->sessions[i].map].version;
            lowest = version < lowest ? version : lowest;
            live++;
        }
    for (size_t i = entry->id_count; i > 1; i--) { /* in any order */
        size_t j = model_below((uint32_t)i);
        uint64_t id = entry->ids[i - 1];
        entry->ids[i - 1] = entry->ids[j];
        entry->ids[j] = id;
    }
    if (!entry->all && model_percent(10))
        entry->ids[entry->id_count++] = model_percent(50) ? entry->ids[0] : tp_test_next(&model.rng);
    while (entry->at_count < 3 && live && model_percent(8)) {
        uint64_t id = entry->ids[model_below((uint32_t)live)];
        bool twice = false;
        for (size_t i = 0; i < entry->at_count; i++)
            twice |= entry->at_session[i] == id;
        struct session *session = model_session_of(connection, id);
        if (twice || !session)
            break;
        entry->at_session[entry->at_count] = id;
        entry->at_cell[entry->at_count++] =
            model_below(model_cells_of(session->map) + (model_percent(10) ? 9 : 0));
    }
    if (live && model_percent(15)) {
        tick.has_min_version = 1;
        tick.min_version = entry->min_version = future ? 1000000000 : lowest;
    }
    if (model_percent(20)) {
        each.has_k = 1;
        each.k = entry->k = 1 + model_below(model_percent(20) ? 2000 : 20);
        tick.each = &each;
    }
    if (model_percent(10)) {
        tick.has_total_expansions = 1;
        tick.total_expansions = entry->total = 1 + model_below(60);
    }
    tick.session = entry->ids;
    tick.n_session = entry->id_count;
    tick.at_session = entry->at_session;
    tick.at_cell = entry->at_cell;
    tick.n_at_session = tick.n_at_cell = entry->at_count;
    tick.has_want_work = tick.want_work = 1;
    tick.has_want_path = tick.want_path = model_percent(5);
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_TICK, &tick);
}

static struct session *draw_session(struct connection *connection)
{
    return connection->session_count ? &connection->sessions[model_below((uint32_t)connection->session_count)]
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
    uint32_t kind = model_below(10), width = model.grids[session->map].width;
    if (kind > 5) { /* far */
        next->goal_count = session->algorithm->capabilities & TP_CAN_CHOOSE_GOAL && model_percent(30)
                               ? 1 + model_below(GOALS_MAX)
                               : 1;
        for (uint32_t i = 0; i < next->goal_count; i++)
            next->goal[i] = model_below(model_cells_of(session->map));
    } else if (kind > 1) { /* near */
        static const int step[4] = {1, -1, 0, 0};
        uint32_t way = model_below(4);
        uint32_t x = next->goal[0] % width + (uint32_t)step[way],
                 y = next->goal[0] / width + (uint32_t)step[3 - way];
        if (x < width && y < model.grids[session->map].height)
            next->goal[0] = y * width + x;
    }
    if (model_percent(5)) {
        entry->wanted = REFUSED;
        entry->code =
            model_percent(50) ? TICKPATH__ERROR_CODE__OUT_OF_RANGE : TICKPATH__ERROR_CODE__NOT_FOUND;
        if (entry->code == TICKPATH__ERROR_CODE__NOT_FOUND)
            next->id = tp_test_next(&model.rng);
        else
            next->goal[0] = model_cells_of(session->map) + model_below(100);
    }
    Tickpath__SetGoal set = TICKPATH__SET_GOAL__INIT;
    set.has_session = set.has_goal = 1;
    set.session = next->id;
    set.goal = next->goal[0];
    set.more_goals = next->goal + 1;
    set.n_more_goals = next->goal_count - 1;
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_SET_GOAL, &set);
}

void model_send_open(struct connection *connection, const struct session *again)
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
        s->map = (int)model_below(MAPS);
        s->algorithm = tp_algorithm_at(model_percent(30) ? 1 : model_below((uint32_t)rows));
        s->profile = model_percent(25) ? (int)model_below(PROFILES) : 0;
        s->size = model_percent(25) ? 1 + (int)model_below(SIZES) : 1;
        s->neighbours = model_percent(60) ? 8 : model_percent(50) ? 4 : 16;
        s->corners = model_percent(60) ? REF_BOTH_FREE : model_percent(50) ? REF_ONE_FREE : REF_ALWAYS;
        s->policy = TICKPATH__GOAL_POLICY__EXACT;
        s->cell = model_below(model_cells_of(s->map));
        s->goal[0] = model_below(model_cells_of(s->map));
        s->goal_count = 1;
        s->k = 1 + model_below(model_percent(20) ? 500 : 25);
        if (s->algorithm->capabilities & TP_CAN_CHOOSE_GOAL && model_percent(40)) {
            s->policy = TICKPATH__GOAL_POLICY__WITHIN + (int)model_below(2);
            s->goal_count = 1 + model_below(GOALS_MAX);
            for (uint32_t i = 1; i < s->goal_count; i++)
                s->goal[i] = model_below(model_cells_of(s->map));
        }
    }
    entry->map = s->map;
    open.map = (char *)model.grids[s->map].name;
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
    open.profile = (char *)model_profile_name[s->profile];
    open.has_agent_size = s->size > 1;
    open.agent_size = (uint32_t)s->size;
    budget.has_k = 1;
    budget.k = s->k;
    open.budget = &budget;
    if (s->algorithm->capabilities & TP_CAN_DISCOVER && model_percent(20)) {
        open.has_knowledge = 1;
        open.knowledge = TICKPATH__KNOWLEDGE__FREESPACE;
    }
    if (model_percent(10)) {
        open.has_restart = 1;
        open.restart = TICKPATH__RESTART__RESTART_NEVER + (int)model_below(4);
        entry->wanted = MAYBE;
    }
    if (s->algorithm->capabilities & TP_CAN_TAKE_W && model_percent(30)) {
        open.has_w = 1;
        open.w = 1.5;
    }
    if (s->algorithm->capabilities & TP_CAN_BE_GUIDED && model_percent(60)) {
        open.has_guide_units = 1;
        open.guide_units = model_below(120);
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
    entry->all = model_percent(10);
    entry->ids[0] = session->id;
    entry->ids[1] = tp_test_next(&model.rng);
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

void model_send_open_map(struct connection *connection, int map)
{
    entry_new(connection, OPEN_MAP, map);
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)model.grids[map].name;
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
}

static void send_subscribe(struct connection *connection, int map)
{
    entry_new(connection, SUBSCRIBE, map);
    Tickpath__Subscribe subscribe = TICKPATH__SUBSCRIBE__INIT;
    subscribe.map = (char *)model.grids[map].name;
    subscribe.has_want_cells = subscribe.want_cells = 1;
    wire_send(&connection->wire, TICKPATH__REQUEST__BODY_SUBSCRIBE, &subscribe);
}

void model_send_burst(struct connection *connection, uint32_t count)
{
    while (connection->entry_count < count) {
        size_t before = connection->entry_count;
        uint32_t draw = model_below(100);
        int map = (int)model_below(MAPS);
        if (draw < 22)
            model_send_change(connection, map, 0, NULL);
        else if (draw < 32)
            send_keyed(connection, map);
        else if (draw < 70)
            send_tick(connection);
        else if (draw < 82)
            send_set_goal(connection);
        else if (draw < 90 && connection->session_count < SESSIONS_MAX)
            model_send_open(connection, NULL);
        else if (draw < 94)
            send_close(connection);
        else if (draw < 96)
            send_list(connection);
        else if (draw < 99)
            model_send_open_map(connection, map);
        else if (!connection->breaks)
            send_subscribe(connection, map);
        if (connection->entry_count == before)
            send_tick(connection);
    }
}
