/* Every store against a plain model: maps as arrays of cells, or of edges and nodes, keys as a list. Random calls on several maps, in
 * bursts that are not waited for: what each will be answered is known when it is made, for a store decides in the order of its calls. Between
 * bursts the stores that keep something are closed and opened again now and then; then the model knows which maps are held. */
#include "tests/lib/maps.h"
#include "tests/lib/stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAPS = 5, /* the last is a graph */
    SIDE_MAX = 72,
    NODES = 150,
    KEYS = 60, /* fewer than are kept */
    BURST_MAX = 40,
};

/* What the model says of a map. */
struct model {
    char name[16];
    bool is_kept, is_held;
    bool is_loading; /* it will be held once that is told */
    uint64_t epoch, version;
    uint32_t width, height;
    uint8_t cells[SIDE_MAX * SIDE_MAX];
    uint32_t cost[2 * NODES]; /* of the graph's edges */
    bool is_closed[NODES];
    uint64_t made[KEYS]; /* by key: the version; 0: not known */
};

/* What the model expects of a call. */
struct expected {
    struct stores_call *call;
    enum tp_store_event_kind kind;
    int error;
    uint64_t epoch, version, repeated; /* of the map told; epoch 0: none */
    uint64_t content;                  /* likewise; 0: not asked for */
    struct tp_tip_refused refused;
};

static struct stores stores_;
static struct model models_[MAPS];
static struct expected expected_[BURST_MAX];
static size_t expected_count_;
static uint64_t epoch_;
static uint64_t seen_[6]; /* events by kind: each must have happened */

static bool is_graph(const struct model *model)
{
    return model == &models_[MAPS - 1];
}

/* The content number of what the model says, over a map that is built from it. */
static struct tp_map *build(const struct model *model)
{
    struct tp_map *map;
    if (!is_graph(model)) {
        struct tp_profile profile;
        tp_profile_init_movingai(&profile);
        ck_assert_int_eq(tp_map_build(&map, model->width, model->height, model->cells, &profile, model->epoch), 0);
        return map;
    }
    map = stores_graph(NODES, model->epoch);
    struct tp_change changes[3 * NODES];
    size_t count = 0, bad;
    uint32_t bad_x, bad_y;
    for (uint32_t i = 0; i < 2 * NODES; i++)
        changes[count++] = (struct tp_change){.kind = TP_CHANGE_EDGE, .x = i, .y = model->cost[i]};
    for (uint32_t i = 0; i < NODES; i++)
        if (model->is_closed[i])
            changes[count++] = (struct tp_change){.kind = TP_CHANGE_NODE, .x = i};
    struct tp_map *after;
    ck_assert_int_eq(tp_map_apply(&after, map, changes, count, &bad, &bad_x, &bad_y), 0);
    tp_map_unref(map);
    return after;
}

static uint64_t content_of(const struct model *model)
{
    struct tp_map *map = build(model);
    uint64_t content = stores_content(map);
    tp_map_unref(map);
    return content;
}

static struct expected *expect(struct stores_call *call, const struct model *model, enum tp_store_event_kind kind, int error)
{
    struct expected *expected = &expected_[expected_count_++];
    *expected = (struct expected){.call = call, .kind = kind, .error = error};
    if (model->is_kept && model->is_held) {
        expected->epoch = model->epoch;
        expected->version = model->version;
    }
    return expected;
}

/* ---- Calls ---- */

static void put(struct tp_test_rng *rng, struct model *model)
{
    bool replace = tp_test_percent(rng, 40);
    struct model next = *model;
    next.is_kept = next.is_held = true;
    next.epoch = ++epoch_;
    next.version = 1;
    memset(next.made, 0, sizeof next.made);
    memset(next.is_closed, 0, sizeof next.is_closed);
    struct tp_map *map;
    if (is_graph(model)) {
        map = stores_graph(NODES, next.epoch);
        for (uint32_t i = 0; i < 2 * NODES; i++)
            next.cost[i] = i % 2 == 0 ? 100000 : 200000 + i / 2;
    } else {
        next.width = 1 + tp_test_below(rng, SIDE_MAX);
        next.height = 1 + tp_test_below(rng, SIDE_MAX);
        map = tp_test_map_random(rng, next.width, next.height, 30);
        map->epoch = next.epoch;
        tp_map_copy_cells(map, next.cells);
    }
    struct stores_call *call = stores_put(&stores_, model->name, map, replace);
    if (model->is_kept && !replace) {
        expect(call, model, TP_STORE_REFUSED, TP_ERR_ALREADY_EXISTS);
    } else {
        *model = next;
        expect(call, model, TP_STORE_BEGUN, 0)->content = stores_content(map);
    }
    tp_map_unref(map);
}

/* A change of a grid to the model's cells. */
static void set_cells(struct model *model, const struct tp_change *change)
{
    uint32_t width = change->kind == TP_CHANGE_CELL ? 1 : change->width;
    uint32_t height = change->kind == TP_CHANGE_CELL ? 1 : change->height;
    for (uint32_t i = 0; i < width * height; i++)
        if (change->kind != TP_CHANGE_BITMAP || (change->bits[i / 8] >> (i % 8) & 1))
            model->cells[(change->y + i / width) * model->width + change->x + i % width] = change->class_to;
}

static size_t random_graph_batch(struct tp_test_rng *rng, struct tp_change *changes, bool bad)
{
    size_t count = tp_test_below(rng, 6);
    for (size_t i = 0; i < count; i++) {
        struct tp_change *change = &changes[i];
        if (tp_test_percent(rng, 60))
            *change = (struct tp_change){
                .kind = TP_CHANGE_EDGE, .x = tp_test_below(rng, 2 * NODES), .y = tp_test_percent(rng, 30) ? 0 : 1 + tp_test_below(rng, 9999)};
        else
            *change = (struct tp_change){.kind = TP_CHANGE_NODE, .x = tp_test_below(rng, NODES), .y = tp_test_below(rng, 2)};
        if (bad && tp_test_percent(rng, 30))
            change->x += 2 * NODES;
    }
    return count;
}

/* The first change that the map has no place for; `count`: none. */
static size_t first_bad(const struct model *model, const struct tp_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t end = !is_graph(model) ? model->width : changes[i].kind == TP_CHANGE_EDGE ? 2 * NODES : NODES;
        if (changes[i].x >= end)
            return i;
    }
    return count;
}

/* The model's decision; *refused says why not. */
static int decide(struct model *model, const struct tp_batch *batch, size_t key, uint64_t *repeated, struct tp_tip_refused *refused)
{
    if (batch->has_epoch && batch->epoch != model->epoch) {
        refused->why = TP_TIP_EPOCH;
        return TP_ERR_VERSION_MISMATCH;
    }
    if (key < KEYS && model->made[key] != 0) {
        *repeated = model->made[key];
        return 0;
    }
    if (batch->has_base_version && batch->base_version != model->version) {
        refused->why = TP_TIP_BASE;
        return TP_ERR_VERSION_MISMATCH;
    }
    size_t bad = first_bad(model, batch->changes, batch->count);
    if (bad < batch->count) {
        refused->why = TP_TIP_CHANGE;
        refused->bad = bad;
        refused->bad_x = batch->changes[bad].x;
        return TP_ERR_OUT_OF_RANGE;
    }
    for (size_t i = 0; i < batch->count; i++) {
        const struct tp_change *change = &batch->changes[i];
        if (change->kind == TP_CHANGE_EDGE)
            model->cost[change->x] = change->y;
        else if (change->kind == TP_CHANGE_NODE)
            model->is_closed[change->x] = change->y == 0;
        else
            set_cells(model, change);
    }
    model->version++;
    if (key < KEYS)
        model->made[key] = model->version;
    return 0;
}

static void submit(struct tp_test_rng *rng, struct model *model)
{
    struct tp_change changes[TP_TEST_BATCH_MAX];
    uint8_t bits[TP_TEST_BATCH_MAX * TP_TEST_BITS_MAX];
    bool bad = tp_test_percent(rng, 25);
    struct tp_batch batch = {.changes = changes, .is_placed = true};
    if (is_graph(model))
        batch.count = random_graph_batch(rng, changes, bad);
    else if (model->is_kept)
        batch.count = tp_test_random_batch(rng, changes, bits, model->width, model->height, bad);
    size_t key = tp_test_percent(rng, 50) ? tp_test_below(rng, KEYS) : KEYS;
    if (key < KEYS)
        batch.key = stores_key(key + 1);
    batch.has_epoch = tp_test_percent(rng, 20);
    batch.epoch = model->epoch - tp_test_percent(rng, 30);
    batch.has_base_version = tp_test_percent(rng, 20);
    batch.base_version = model->version + tp_test_percent(rng, 30) - tp_test_percent(rng, 30);
    struct tp_tip_refused refused = {0};
    uint64_t repeated = 0;
    int error = model->is_kept ? decide(model, &batch, key, &repeated, &refused) : TP_ERR_NOT_FOUND;
    struct tp_change numbers[TP_TEST_BATCH_MAX];
    if (!is_graph(model) && model->is_kept && error != TP_ERR_OUT_OF_RANGE && tp_test_percent(rng, 50)) {
        memcpy(numbers, changes, sizeof changes); /* cells come as numbers */
        batch.changes = numbers;
        batch.is_placed = false;
        for (size_t i = 0; i < batch.count; i++)
            if (numbers[i].kind == TP_CHANGE_CELL) {
                numbers[i].x += numbers[i].y * model->width;
                numbers[i].y = 0;
            }
    }
    struct stores_call *call = stores_submit(&stores_, model->name, &batch);
    struct expected *expected = expect(call, model, error != 0 ? TP_STORE_REFUSED : repeated != 0 ? TP_STORE_REPEATED : TP_STORE_VERSION, error);
    expected->repeated = repeated;
    expected->refused = refused;
    if (error == 0 && tp_test_percent(rng, 20))
        expected->content = content_of(model);
}

static void drop(struct tp_test_rng *rng, struct model *model)
{
    bool has_epoch = tp_test_percent(rng, 50), is_other = has_epoch && tp_test_percent(rng, 50);
    struct stores_call *call = has_epoch ? stores_drop_epoch(&stores_, model->name, model->epoch - is_other)
                                         : stores_drop(&stores_, model->name);
    if (model->is_kept && is_other) {
        expect(call, model, TP_STORE_REFUSED, TP_ERR_FAILED_PRECONDITION);
        return;
    }
    model->is_kept = model->is_held = false;
    expect(call, model, TP_STORE_DROPPED, 0);
}

static void load(struct model *model)
{
    struct stores_call *call = stores_load(&stores_, model->name);
    model->is_loading = model->is_loading || (model->is_kept && !model->is_held);
    model->is_held = model->is_kept;
    struct expected *expected = expect(call, model, model->is_kept ? TP_STORE_LOADED : TP_STORE_REFUSED, model->is_kept ? 0 : TP_ERR_NOT_FOUND);
    if (model->is_kept)
        expected->content = content_of(model);
}

/* ---- A round ---- */

static void check(const struct expected *expected)
{
    const struct tp_store_event *event = &expected->call->event;
    const char *name = expected->call->name;
    if (event->kind != expected->kind || event->error != expected->error)
        ck_abort_msg("'%s': event %d with %s, not %d with %s", name, (int)event->kind, tp_error_name(event->error),
                     (int)expected->kind, tp_error_name(expected->error));
    bool has_map = event->map != NULL;
    if (event->kind == TP_STORE_REPEATED && event->version != expected->repeated)
        ck_abort_msg("'%s': a key's version is told wrong", name);
    if (event->refused.why != expected->refused.why || (expected->refused.why == TP_TIP_CHANGE &&
        (event->refused.bad != expected->refused.bad || event->refused.bad_x != expected->refused.bad_x)))
        ck_abort_msg("'%s': a refusal says why or where wrongly", name);
    if (has_map && expected->epoch != 0 && (event->map->epoch != expected->epoch || event->map->version != expected->version))
        ck_abort_msg("'%s': the map told is %llu of %llu, not %llu of %llu", name, (unsigned long long)event->map->version,
                     (unsigned long long)event->map->epoch, (unsigned long long)expected->version, (unsigned long long)expected->epoch);
    if (expected->content != 0 && (!has_map || stores_content(event->map) != expected->content))
        ck_abort_msg("'%s': the map told holds something else", name);
    seen_[event->kind]++;
}

static void settle(void)
{
    stores_settle(&stores_);
    for (size_t i = 0; i < expected_count_; i++) {
        check(&expected_[i]);
        if (i > 0 && strcmp(expected_[i].call->name, expected_[i - 1].call->name) == 0)
            ck_assert_uint_gt(expected_[i].call->at, expected_[i - 1].call->at);
    }
    expected_count_ = 0;
    for (int m = 0; m < MAPS; m++)
        models_[m].is_loading = false;
}

static void check_list(void)
{
    const struct stores_names *list = stores_list(&stores_);
    size_t at = 0;
    for (int m = 0; m < MAPS; m++)
        if (models_[m].is_kept)
            ck_assert_str_eq(at < list->count ? list->name[at++] : "", models_[m].name); /* which are sorted */
    ck_assert_uint_eq(list->count, at);
}

/* Afterwards nothing is held; some of it is loaded. */
static void reopen(struct tp_test_rng *rng)
{
    stores_close(&stores_);
    stores_open(&stores_);
    for (int m = 0; m < MAPS; m++) {
        models_[m].is_held = false;
        if (tp_test_percent(rng, 70))
            load(&models_[m]);
    }
    settle();
}

START_TEST(test_model)
{
    struct tp_test_rng rng = tp_test_rng("store model");
    stores_begin(&stores_, _i);
    for (int m = 0; m < MAPS; m++)
        snprintf(models_[m].name, sizeof models_[m].name, "map/%d", m);
    epoch_ = 1000;
    for (uint64_t round = tp_test_steps(150, 3000); round > 0; round--) {
        for (uint32_t calls = tp_test_below(&rng, BURST_MAX); calls > 0; calls--) {
            struct model *model = &models_[tp_test_below(&rng, MAPS)];
            uint32_t what = tp_test_below(&rng, 100);
            if (what < 6)
                put(&rng, model);
            else if (what < 9)
                drop(&rng, model);
            else if (what < 14)
                load(model);
            else if (!model->is_loading && (model->is_held || !model->is_kept)) /* what is kept must have been told */
                submit(&rng, model);
        }
        settle();
        if (tp_test_percent(&rng, 10))
            check_list();
        if (stores_.row->keeps && tp_test_percent(&rng, 10))
            reopen(&rng);
    }
    for (int m = 0; m < MAPS; m++)
        load(&models_[m]);
    settle();
    for (int kind = 0; kind < 6; kind++)
        ck_assert_uint_gt(seen_[kind], 0);
    stores_end(&stores_);
}
END_TEST

static Suite *property_suite(void)
{
    Suite *suite = suite_create("store_property");
    for (int row = 0; row < stores_row_count; row++) {
        TCase *tcase = tcase_create(stores_rows[row].name);
        tcase_add_loop_test(tcase, test_model, row, row + 1);
        suite_add_tcase(suite, tcase);
    }
    return suite;
}

int main(void)
{
    return tp_test_main("test_store_property", property_suite);
}
