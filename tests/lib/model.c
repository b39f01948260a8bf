#include "tests/lib/model.h"

#include <string.h>

struct model model;

const char *const model_profile_name[PROFILES] = {NULL, "heavy", "boat"};
const struct model_weight model_weights[CLASSES] = {{'.', {1, 2, 0}}, {'G', {2, 9, 3}}, {'W', {0, 0, 1}}};
static const uint16_t least_weight[PROFILES] = {1, 2, 1};

uint32_t model_below(uint32_t bound)
{
    return tp_test_below(&model.rng, bound);
}

bool model_percent(uint32_t chance)
{
    return tp_test_percent(&model.rng, chance);
}

uint32_t model_cells_of(int map)
{
    return model.grids[map].width * model.grids[map].height;
}

/* ---- The cells of each version ---- */

const uint8_t *model_cells_at(int map, uint64_t version)
{
    struct grid *grid = &model.grids[map];
    SAY(version >= 1 && version <= grid->version && version + HISTORY > grid->version,
        "%s: version %llu is unknown, the last is %llu", grid->name, ULL(version), ULL(grid->version));
    return grid->history[version % HISTORY];
}

uint16_t model_weight_of(uint8_t class_, int profile)
{
    for (size_t i = 0; i < sizeof model_weights / sizeof model_weights[0]; i++)
        if ((uint8_t)model_weights[i].class_ == class_)
            return model_weights[i].weight[profile];
    return 0;
}

/* What each cell weighs for an agent of that profile and size, which takes up a square from its cell on. */
static const uint16_t *weights_at(int map, uint64_t version, int profile, int size)
{
    struct grid *grid = &model.grids[map];
    const uint8_t *cells = model_cells_at(map, version);
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
                    uint16_t weight = model_weight_of(cells[b * grid->width + a], profile);
                    fits = weight != 0;
                    heaviest = weight > heaviest ? weight : heaviest;
                }
            out[y * grid->width + x] = fits ? heaviest : 0;
        }
    return out;
}

struct ref_problem model_problem_of(const struct session *session, uint64_t version)
{
    return (struct ref_problem){.width = model.grids[session->map].width,
                                .height = model.grids[session->map].height,
                                .weight = weights_at(session->map, version, session->profile, session->size),
                                .least_weight = least_weight[session->profile],
                                .neighbours = session->neighbours,
                                .corners = session->corners};
}

uint64_t model_h_of(const struct session *session, const struct ref_problem *problem, uint32_t cell)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < session->goal_count; i++) {
        uint64_t h = ref_distance(problem, cell, session->goal[i]);
        least = h < least ? h : least;
    }
    return least;
}

bool model_is_end(const struct session *session, const struct ref_problem *problem, uint32_t cell)
{
    for (uint32_t i = 0; i < session->goal_count; i++)
        if (session->goal[i] == cell)
            return true;
    return session->policy == TICKPATH__GOAL_POLICY__WITHIN &&
           model_h_of(session, problem, cell) <= session->radius;
}

struct key *model_key_of(uint64_t number)
{
    struct key *key = &model.keys[number % KEYS];
    return number && key->number == number ? key : NULL;
}

struct session *model_session_of(struct connection *connection, uint64_t id)
{
    for (size_t i = 0; i < connection->session_count; i++)
        if (connection->sessions[i].id == id)
            return &connection->sessions[i];
    return NULL;
}

size_t model_sessions_on(int map)
{
    size_t count = 0;
    for (int c = 0; c < CONNECTIONS; c++)
        for (size_t i = 0; i < model.connections[c].session_count; i++)
            count += model.connections[c].sessions[i].map == map;
    return count;
}

/* ---- Collecting, and putting versions in order ---- */

void model_collect(struct connection *connection, size_t until)
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

int model_map_named(const char *name)
{
    for (int m = 0; m < MAPS; m++)
        if (name && strcmp(model.grids[m].name, name) == 0)
            return m;
    SAY(false, "a map named %s", name ? name : "-");
    return 0;
}

static int map_of_session(struct connection *connection, uint64_t id)
{
    struct session *session = model_session_of(connection, id);
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
    model.grids[map].seen = version > model.grids[map].seen ? version : model.grids[map].seen;
}

static void see_reply(struct connection *connection, const Tickpath__Reply *reply)
{
    if (reply->body_case == TICKPATH__REPLY__BODY_MAP_CHANGED)
        see(model_map_named(reply->map_changed->map), reply->map_changed->version);
    if (reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO)
        see(model_map_named(reply->map_info->map), reply->map_info->version);
    if (reply->body_case == TICKPATH__REPLY__BODY_SUBSCRIBED)
        see(model_map_named(reply->subscribed->map), reply->subscribed->version);
    if (reply->body_case == TICKPATH__REPLY__BODY_CHANGED)
        see(model_map_named(reply->changed->map), reply->changed->version);
    for (size_t i = 0; reply->body_case == TICKPATH__REPLY__BODY_TICKED && i < reply->ticked->n_session; i++)
        see(map_of_session(connection, reply->ticked->session[i]), reply->ticked->version[i]);
}

/* A batch that was applied just now takes its place among the versions. */
static void place(const struct entry *entry)
{
    struct grid *grid = &model.grids[entry->map];
    const Tickpath__Changed *changed = entry->reply->changed;
    uint64_t version = changed->version;
    SAY(version > grid->version, "%s: version %llu is made a second time", grid->name, ULL(version));
    SAY(version - grid->version <= ACKED_MAX, "%s: version %llu after %llu", grid->name, ULL(version),
        ULL(grid->version));
    const int16_t **at = &grid->acked[version - grid->version - 1];
    SAY(!*at, "%s: two batches made version %llu", grid->name, ULL(version));
    *at = entry->effect;
    struct key *key = model_key_of(entry->key);
    if (key) {
        SAY(!key->version, "the batch of key %llu made %llu, and again %llu", ULL(key->number),
            ULL(key->version), ULL(version));
        key->version = version;
    }
    model.seen.batches++;
}

static void place_again(const struct entry *entry)
{
    struct key *key = model_key_of(entry->key);
    uint64_t version = entry->reply->changed->version;
    SAY(entry->key, "applied before, without a key");
    model.seen.again++;
    if (!key)
        return;
    if (!key->version) {
        bool is_lost = false;
        for (size_t i = 0; i < model.grids[key->map].lost_count; i++)
            is_lost |= model.grids[key->map].lost[i].key == key->number;
        SAY(is_lost, "the batch of key %llu, never applied, was applied before as %llu", ULL(key->number),
            ULL(version));
        key->version = version;
        key->again = true;
        model.seen.races++;
    }
    SAY(key->version == version, "the batch of key %llu made version %llu, now it is %llu", ULL(key->number),
        ULL(key->version), ULL(version));
}

/* The next of the batches that were lost, for a version that nobody acknowledged. */
static const int16_t *take_lost(struct grid *grid, size_t *at, uint64_t version)
{
    while (*at < grid->lost_count) {
        struct lost *lost = &grid->lost[(*at)++];
        struct key *key = model_key_of(lost->key);
        if (key && key->version && !key->again)
            continue; /* another connection was first */
        if (key && key->version)
            SAY(key->version == version, "%s: the lost batch of key %llu made %llu, not %llu", grid->name,
                ULL(key->number), ULL(key->version), ULL(version));
        if (key) {
            key->version = version;
            key->again = false;
        }
        model.seen.lost_applied++;
        return lost->effect;
    }
    SAY(false, "%s: nobody made version %llu", grid->name, ULL(version));
    return NULL;
}

void model_resolve(void)
{
    for (int again = 0; again < 2; again++)
        for (int c = 0; c < CONNECTIONS; c++)
            for (size_t i = 0; i < model.connections[c].answered; i++) {
                const struct entry *entry = &model.connections[c].entries[i];
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
        for (size_t i = 0; i < model.connections[c].answered; i++)
            see_reply(&model.connections[c], model.connections[c].entries[i].reply);
        for (size_t i = 0; i < model.connections[c].push_count; i++)
            see_reply(&model.connections[c], model.connections[c].pushes[i].reply);
    }
    for (int m = 0; m < MAPS; m++) {
        struct grid *grid = &model.grids[m];
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
            for (uint32_t i = 0; i < model_cells_of(m); i++)
                if (effect[i] != UNTOUCHED)
                    cells[i] = (uint8_t)effect[i];
            grid->version = version;
        }
        memset(grid->acked, 0, sizeof grid->acked);
        memmove(grid->lost, grid->lost + lost, (grid->lost_count - lost) * sizeof grid->lost[0]);
        grid->lost_count -= lost;
    }
}
