/* What sessions hold, measured.
 *
 *     memory crowd MAP.map SESSIONS ROW LIST [SIDE]
 *     memory search MAP.map FILE.scen COUNT ROW LIST
 *
 * LIST is `exact` or `bucket`. `crowd` opens so many sessions on a map (with SIDE repeated side by side up to SIDE x SIDE cells) and takes them through
 * their phases together: opened; searching, until each has its path; walking, each being left alone once it rests on its way; arrived. Of each
 * phase it prints what the process has resident for an agent, and what agents hold of it. `search` walks COUNT problems spread over a scenario to the end of
 * their searches, one by one, and prints bytes for a touched state and how full tiles are, where a search held most. One JSON object.
 * Exit code 2: it could not be run. */
#include "guide/field.h"
#include "map/layer.h"
#include "search/rest.h"
#include "tests/bench/bench.h"
#include "tests/lib/rng.h"

#include <malloc.h>
#include <string.h>
#include <unistd.h>

enum { K = 16, TICKS_MAX = 200000 };

static struct tp_test_rng rng = {7};

struct scene {
    struct tp_map *map, *layer;
    struct tp_pool pool, fields_pool;
    struct tp_field_cache *cache;
    struct tp_session_params params;
};

static void scene_open(struct scene *scene, const char *path, const char *row, const char *list, uint32_t side)
{
    scene->map = load("memory", path, side);
    const struct tp_layer_kind kind = {scene->map->profile, 1, true, TP_BLOCKS_STRAIGHT};
    must(tp_layer_build(&scene->layer, scene->map, &kind), "can't build the layer");
    tp_pool_init(&scene->pool, NULL);
    tp_pool_init(&scene->fields_pool, NULL);
    if (!(scene->cache = tp_field_cache_open(&scene->fields_pool, (uint64_t)1 << 32)))
        give_up("out of memory");
    struct tp_session_params *params = &scene->params;
    tp_session_params_init(params);
    if (!(params->algorithm = tp_algorithm_find(row)))
        give_up("no such row");
    params->open_list = strcmp(list, "bucket") == 0 ? TP_OPEN_LIST_BUCKET : TP_OPEN_LIST_EXACT;
    params->budget = tp_budget_k(K);
    if (params->algorithm->capabilities & TP_CAN_BE_GUIDED)
        params->fields = scene->cache;
}

static struct tp_session *open_session(struct scene *scene, uint32_t start, uint32_t goal)
{
    struct tp_session *session;
    struct tp_refusal refusal;
    scene->params.start = start;
    scene->params.goal = goal;
    must(tp_session_open(&session, &scene->params, scene->layer, &scene->pool, &refusal), "open");
    return session;
}

/* ---- A crowd ---- */

static uint64_t resident(void)
{
    unsigned long long size, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%llu %llu", &size, &pages) != 2)
        give_up("no /proc/self/statm");
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct phase {
    uint64_t resident, held, scouts; /* by all agents: of the process; of their pool and structs; of ways and fields */
    uint64_t most;                   /* that one agent holds beside a byte a step, at rest */
    uint64_t steps, path_bytes;      /* of their paths */
};

struct crowd {
    struct scene *scene;
    struct tp_session **sessions;
    size_t count;
    uint64_t base, structs;
};

/* Still: nobody is ticked just now, so that there is time to hand back to the system what is free, as the daemon does. */
static void measure(const struct crowd *crowd, struct phase *phase, bool still)
{
    struct tp_field_cache_stats stats;
    *phase = (struct phase){.held = crowd->structs + crowd->scene->pool.used_bytes};
    tp_field_cache_stats(crowd->scene->cache, &stats);
    phase->scouts = stats.bytes;
    if (still)
        malloc_trim(0);
    uint64_t now = resident();
    phase->resident = now > crowd->base ? now - crowd->base : 0;
    for (size_t i = 0; i < crowd->count; i++) {
        struct tp_session *session = crowd->sessions[i];
        uint64_t own = malloc_usable_size(session) + sizeof(size_t), path = tp_steps_bytes(&session->steps);
        if (session->mind)
            continue;
        uint64_t beside = own + path - (path < session->steps.count ? path : session->steps.count);
        phase->most = beside > phase->most ? beside : phase->most;
        phase->steps += session->steps.count;
        phase->path_bytes += path;
    }
}

static void print_phase(const struct crowd *crowd, const char *name, const struct phase *phase)
{
    double agents = (double)crowd->count;
    printf("\"%s\": {\"resident\": %llu, \"resident_an_agent\": %.1f, \"held_an_agent\": %.1f, \"ways_an_agent\": %.1f, \"most_beside_path\": %llu, "
           "\"path_bytes_a_step\": %.3f},\n",
           name, (unsigned long long)phase->resident, (double)phase->resident / agents, (double)phase->held / agents, (double)phase->scouts / agents,
           (unsigned long long)phase->most, phase->steps ? (double)phase->path_bytes / (double)phase->steps : 0);
}

static uint32_t draw_free(const struct scene *scene)
{
    const struct tp_map *map = scene->layer;
    for (;;) {
        uint32_t cell = tp_test_below(&rng, map->width * map->height);
        if (tp_map_passable(map, cell % map->width, cell / map->width))
            return cell;
    }
}

/* Two free cells that nothing says are apart. */
static void draw_trip(const struct scene *scene, uint32_t *start, uint32_t *goal)
{
    uint32_t width = scene->layer->width;
    do {
        *start = draw_free(scene);
        *goal = draw_free(scene);
    } while (*goal == *start || tp_blocks_apart(scene->layer->blocks, *start % width, *start / width, *goal % width, *goal / width));
}

/* Ticks each agent until it is done with its phase; `most` gets what was measured when all held most. */
static void tick_all(struct crowd *crowd, bool (*done)(const struct tp_session *, const struct tp_tick_reply *), struct phase *most)
{
    bool *is_done = take(crowd->count, sizeof *is_done);
    size_t left = crowd->count;
    for (int tick = 0; left && tick < TICKS_MAX; tick++) {
        for (size_t i = 0; i < crowd->count; i++) {
            struct tp_tick_reply reply;
            if (is_done[i])
                continue;
            tp_session_tick(crowd->sessions[i], crowd->scene->layer, NULL, &reply);
            is_done[i] = done(crowd->sessions[i], &reply);
            left -= is_done[i];
        }
        if (!most || crowd->structs + crowd->scene->pool.used_bytes <= most->held)
            continue;
        measure(crowd, most, false);
    }
    if (left)
        give_up("some agents are not done");
    free(is_done);
}

/* It has its path, or came to an end. */
static bool has_path(const struct tp_session *session, const struct tp_tick_reply *reply)
{
    (void)session;
    return reply->flags & TP_FLAG_PATH_COMPLETE || reply->status == TP_STATUS_ARRIVED || reply->status == TP_STATUS_UNREACHABLE;
}

static bool rests(const struct tp_session *session, const struct tp_tick_reply *reply)
{
    (void)reply;
    return !session->mind;
}

static bool rests_there(const struct tp_session *session, const struct tp_tick_reply *reply)
{
    return reply->status == TP_STATUS_ARRIVED && !session->mind;
}

static int crowd(int argc, char **argv)
{
    static struct scene scene;
    struct crowd crowd = {.scene = &scene, .count = (size_t)atol(argv[3])};
    struct phase opened, searching = {0}, walking, arrived;
    scene_open(&scene, argv[2], argv[4], argv[5], argc > 6 ? (uint32_t)atol(argv[6]) : 0);
    crowd.sessions = take(crowd.count, sizeof crowd.sessions[0]);
    malloc_trim(0);
    crowd.base = resident();
    for (size_t i = 0; i < crowd.count; i++) {
        uint32_t start, goal;
        draw_trip(&scene, &start, &goal);
        crowd.sessions[i] = open_session(&scene, start, goal);
        crowd.structs += malloc_usable_size(crowd.sessions[i]) + sizeof(size_t);
    }
    measure(&crowd, &opened, true);
    tick_all(&crowd, has_path, &searching);
    tick_all(&crowd, rests, NULL);
    measure(&crowd, &walking, true);
    tick_all(&crowd, rests_there, NULL);
    measure(&crowd, &arrived, true);
    printf("{\"sessions\": %zu, \"width\": %u, \"height\": %u, \"struct\": %zu, \"mind\": %zu,\n", crowd.count, scene.map->width, scene.map->height,
           sizeof(struct tp_session), sizeof(struct tp_mind));
    print_phase(&crowd, "opened", &opened);
    print_phase(&crowd, "searching", &searching);
    print_phase(&crowd, "walking", &walking);
    print_phase(&crowd, "arrived", &arrived);
    for (size_t i = 0; i < crowd.count; i++)
        tp_session_close(crowd.sessions[i]);
    printf("\"left\": %llu}\n", (unsigned long long)scene.pool.used_bytes);
    return 0;
}

/* ---- One search ---- */

struct held {
    uint64_t bytes, touched, tiles; /* where the bytes were most */
    uint64_t nodes, open;           /* of the bytes: tiles of nodes with their tables, the open list */
};

/* What a mind takes of the pool. */
static uint64_t mind_block(void)
{
    int class = 0;
    while (tp_pool_class_bytes[class] < sizeof(struct tp_mind))
        class++;
    return tp_pool_class_bytes[class];
}

static void look(const struct tp_mind *mind, struct held *held)
{
    const struct tp_search *search = &mind->search;
    const struct tp_tiles *tiles = &search->nodes.tiles;
    uint64_t bytes = mind->pool->used_bytes - mind_block();
    if (bytes < held->bytes || !tiles->top)
        return;
    uint64_t count = 0, pages = 0;
    for (uint32_t i = 0; i < tiles->pages_x * tiles->pages_y; i++)
        for (uint32_t j = 0; tiles->top[i] && j < tp_tiles_page_tiles(tiles); j++) {
            pages += j == 0;
            count += tiles->top[i][j] != NULL;
        }
    *held = (struct held){.bytes = bytes, .touched = search->touched, .tiles = count};
    held->nodes = count * tiles->tile_bytes + pages * tp_tiles_page_tiles(tiles) * sizeof(void *) + tiles->pages_x * tiles->pages_y * sizeof(void *);
    held->open = (uint64_t)(search->bucket.chunks.pieces + search->bucket.pages.pieces * 8) * 64 + (uint64_t)search->open.chunks_count * TP_OPEN_CHUNK_BYTES;
}

static int search(char **argv)
{
    static struct scene scene;
    struct tp_cli_scen scen;
    const struct tp_cli_usage usage = {.command = "memory"};
    struct held all = {0};
    scene_open(&scene, argv[2], argv[5], argv[6], 0);
    if (tp_cli_scen_load(&usage, argv[3], &scen))
        return 2;
    size_t count = (size_t)atol(argv[4]), stride = scen.count / count ? scen.count / count : 1;
    for (size_t i = stride / 2; i < scen.count; i += stride) {
        uint32_t width = scene.map->width, start = scen.rows[i].start_y * width + scen.rows[i].start_x;
        struct tp_session *session = open_session(&scene, start, scen.rows[i].goal_y * width + scen.rows[i].goal_x);
        struct tp_mind *mind = tp__session_wake(session);
        struct tp_tick_reply reply = {0};
        struct held held = {0};
        for (int tick = 0; tick < TICKS_MAX && !has_path(session, &reply); tick++) {
            tp_session_tick(session, scene.layer, NULL, &reply);
            if (tick % 8 == 0)
                look(mind, &held);
        }
        look(mind, &held);
        tp_session_close(session);
        all.bytes += held.bytes;
        all.touched += held.touched;
        all.tiles += held.tiles;
        all.nodes += held.nodes;
        all.open += held.open;
    }
    double touched = all.touched ? (double)all.touched : 1;
    printf("{\"touched\": %llu, \"bytes_a_state\": %.3f, \"nodes_a_state\": %.3f, \"open_a_state\": %.3f, \"fill\": %.3f}\n", (unsigned long long)all.touched,
           (double)all.bytes / touched, (double)all.nodes / touched, (double)all.open / touched, (double)all.touched / (64.0 * (double)all.tiles));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 6 && strcmp(argv[1], "crowd") == 0)
        return crowd(argc, argv);
    if (argc == 7 && strcmp(argv[1], "search") == 0)
        return search(argv);
    give_up("memory crowd MAP.map SESSIONS ROW LIST [SIDE] | memory search MAP.map FILE.scen COUNT ROW LIST");
}
