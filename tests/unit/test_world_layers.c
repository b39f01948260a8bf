/* Layers in the world, driven by hand: batches, puts and drops that the store takes late, or refuses, and those of other daemons;
 * layers that come and go meanwhile. Whatever happens, a version is published with all its layers, each the same as one built of it from scratch. */
#include "daemon/log.h"
#include "daemon/world/world.h"
#include "map/layer.h"
#include "tests/lib/late_store.h"
#include "tests/lib/maps.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 70, HOLDS = 12 };

static struct late_store store_;

/* ---- The world, and one shard that looks at everything ---- */

static struct tp_world *world_;
static struct tp_metrics *metrics_;
static struct tp_mailbox world_box_, shard_box_;
static uint64_t clock_us_;
static const struct tp_map *map_; /* as published last */
static const struct tp_world_layers *layers_;
static uint64_t seq_;
static uint64_t granted_layers_, refused_, compared_, ended_;

static struct hold {
    struct tp_world_layer *layer;
    struct tp_layer_kind kind;
} holds_[HOLDS];
static size_t hold_count_;

static const uint16_t profiles_[3][3] = {
    {1, 0, 0}, {1, 3, 0}, {2, 1, 7}}; /* of '.', 'W', '@'; the first is the map's own */

static struct tp_profile profile_of(int n)
{
    struct tp_profile profile = {{0}};
    for (int i = 0; i < 3; i++)
        profile.weight[(uint8_t) ".W@"[i]] = profiles_[n][i];
    return profile;
}

static void post_self(void *context, struct tp_mail *mail)
{
    (void)context;
    tp_mailbox_push(&world_box_, mail);
}

static void post_shard(void *context, unsigned shard, struct tp_mail *mail)
{
    (void)context, (void)shard;
    tp_mailbox_push(&shard_box_, mail);
}

static uint64_t now(void *context)
{
    (void)context;
    return ++clock_us_;
}

/* Both are there or neither, and they split the map alike. */
static void expect_blocks(const struct tp_blocks *blocks, const struct tp_blocks *anew)
{
    ck_assert_int_eq(blocks != NULL, anew != NULL);
    if (blocks == NULL)
        return;
    ck_assert_uint_eq(blocks->version, map_->version);
    ck_assert_int_eq(blocks->links, anew->links);
    ck_assert_uint_eq(blocks->nodes, anew->nodes);
    for (uint32_t node = 0; node < anew->nodes; node++)
        ck_assert_uint_eq(tp_blocks_node(blocks, node).cells, tp_blocks_node(anew, node).cells);
}

/* Each layer in use is that of the map's version. */
static void expect_layers(void)
{
    for (size_t i = 0; i < hold_count_; i++) {
        const struct tp_map *layer = layers_->layer[holds_[i].layer->index];
        struct tp_map *anew;
        ck_assert_ptr_nonnull(layer);
        ck_assert_uint_eq(layer->epoch, map_->epoch);
        ck_assert_uint_eq(layer->version, map_->version);
        ck_assert_int_eq(tp_layer_build(&anew, map_, &holds_[i].kind), 0);
        ck_assert_mem_eq(&layer->profile, &anew->profile, sizeof anew->profile);
        static uint8_t a[SIDE * SIDE], b[SIDE * SIDE];
        tp_map_copy_cells(layer, a);
        tp_map_copy_cells(anew, b);
        ck_assert_mem_eq(a, b, sizeof a);
        expect_blocks(layer->blocks, anew->blocks);
        tp_map_unref(anew);
        compared_++;
    }
}

static void leave(size_t i)
{
    struct tp_world_layer *layer = holds_[i].layer;
    holds_[i] = holds_[--hold_count_];
    tp_world_layer_leave(layer);
}

static void take_publication(struct tp_world_publication *publication)
{
    if (publication->ends) {
        ended_++;
        while (hold_count_ > 0)
            leave(0);
        tp_world_ended(world_, publication);
        return;
    }
    ck_assert_uint_gt(publication->seq, publication->map != NULL ? seq_ : 0);
    tp_map_unref(map_);
    tp_world_layers_unref(layers_);
    map_ = publication->map;
    layers_ = publication->layers;
    if (map_ == NULL) { /* dropped */
        ck_assert_uint_eq(hold_count_, 0);
        tp_world_layers_unref(layers_);
        layers_ = NULL;
        atomic_fetch_sub(&publication->of->holders, 1);
    } else {
        seq_ = publication->seq;
        expect_layers();
    }
    free(publication);
}

static void take_answer(struct tp_test_rng *rng, struct tp_world_request *request)
{
    if (request->refusal.error != 0) {
        refused_++;
        ck_assert_int_ne(request->refusal.words[0], '\0');
        ck_assert_ptr_null(request->layer);
    } else if (request->op == TP_WORLD_LAYER && hold_count_ < HOLDS && tp_test_percent(rng, 90)) {
        int profile = request->profile_name[0] == '\0' ? 0 : request->profile_name[0] - '0';
        holds_[hold_count_++] = (struct hold){
            request->layer, {profile_of(profile), request->agent_size, request->has_blocks, request->links}};
        request->layer = NULL;
        granted_layers_++;
        expect_layers();
    } /* else a session that did not come about: freeing the request leaves the layer */
    tp_world_request_free(request);
}

static void run(struct tp_test_rng *rng)
{
    struct tp_mail *mail;
    while ((mail = tp_mailbox_take(&world_box_)) != NULL)
        for (struct tp_mail *next; mail != NULL; mail = next) {
            next = mail->next;
            tp_world_handle(world_, mail);
        }
    while ((mail = tp_mailbox_take(&shard_box_)) != NULL)
        for (struct tp_mail *next; mail != NULL; mail = next) {
            next = mail->next;
            if (mail->kind == TP_SHARD_MAIL_MAP)
                take_publication((struct tp_world_publication *)mail);
            else
                take_answer(rng, (struct tp_world_request *)mail);
        }
}

static struct tp_world_request *request_new(enum tp_world_op op)
{
    struct tp_world_request *request = tp_world_request_new(op);
    ck_assert_ptr_nonnull(request);
    strcpy(request->name, "m");
    return request;
}

static struct tp_change random_change(struct tp_test_rng *rng)
{
    return (struct tp_change){.kind = TP_CHANGE_CELL,
                              .class_to = (uint8_t) ".W@"[tp_test_below(rng, 3)],
                              .x = tp_test_below(rng, SIDE * SIDE)};
}

static void ask(struct tp_test_rng *rng)
{
    uint32_t dice = tp_test_below(rng, 100);
    struct tp_world_request *request;
    if (dice < 6) {
        request = request_new(TP_WORLD_PUT);
        request->width = request->height = SIDE;
        request->cells = malloc(SIDE * SIDE);
        ck_assert_ptr_nonnull(request->cells);
        for (int i = 0; i < SIDE * SIDE; i++)
            request->cells[i] = (uint8_t) "......W@"[tp_test_below(rng, 8)];
        request->profile = profile_of(0);
        request->replace = tp_test_percent(rng, 80);
    } else if (dice < 8) {
        request = request_new(TP_WORLD_DROP);
    } else if (dice < 18) {
        request = request_new(TP_WORLD_PROFILE);
        request->profile_name[0] = (char)('1' + tp_test_below(rng, 2));
        request->profile = profile_of(request->profile_name[0] - '0');
    } else if (dice < 45) {
        request = request_new(TP_WORLD_LAYER);
        if (tp_test_percent(rng, 60))
            request->profile_name[0] = (char)('1' + tp_test_below(rng, 2));
        request->agent_size = tp_test_between(rng, 1, 3);
        request->has_blocks = tp_test_percent(rng, 50);
        if (request->has_blocks && tp_test_percent(rng, 30))
            request->links = TP_BLOCKS_DIAGONAL;
    } else {
        request = request_new(TP_WORLD_CHANGE);
        request->batch.count = tp_test_between(rng, 1, 4);
        request->batch.changes = calloc(request->batch.count, sizeof(struct tp_change));
        ck_assert_ptr_nonnull(request->batch.changes);
        for (size_t i = 0; i < request->batch.count; i++)
            request->batch.changes[i] = random_change(rng);
    }
    tp_mailbox_push(&world_box_, &request->mail);
}

/* What another daemon does. */
static void act_elsewhere(struct tp_test_rng *rng)
{
    uint32_t dice = tp_test_below(rng, 100);
    if (dice < 80) {
        struct tp_change change = random_change(rng);
        struct tp_batch batch = {.changes = &change, .count = 1};
        int error = late_store_elsewhere_submit(&store_, "m", &batch);
        ck_assert(error == 0 || error == TP_ERR_NOT_FOUND);
    } else if (dice < 95) {
        struct tp_profile profile = profile_of(0);
        uint8_t cells[SIDE * SIDE];
        struct tp_map *map;
        for (int i = 0; i < SIDE * SIDE; i++)
            cells[i] = (uint8_t) "......W@"[tp_test_below(rng, 8)];
        ck_assert_int_eq(tp_map_build(&map, SIDE, SIDE, cells, &profile, store_.epoch_last + 1), 0);
        late_store_elsewhere_put(&store_, "m", map);
        tp_map_unref(map);
    } else {
        late_store_elsewhere_drop(&store_, "m");
    }
}

static void world_begin(void)
{
    metrics_ = tp_metrics_new("world");
    late_store_init(&store_);
    tp_mailbox_init(&world_box_);
    tp_mailbox_init(&shard_box_);
    struct tp_world_config config = {.store = &store_.store,
                                     .metrics = metrics_,
                                     .maps_max = 4,
                                     .shards = 1,
                                     .post_self = post_self,
                                     .post_shard = post_shard,
                                     .now_us = now,
                                     .unix_now_us = now};
    ck_assert_int_eq(tp_world_open(&world_, &config), 0);
    tp_log_level_max = TP_LOG_ERROR; /* every refusal would be told */
    tp_world_load_all(world_);
}

static void world_end(void)
{
    tp_world_close(world_);
    late_store_fini(&store_);
    tp_map_unref(map_);
    tp_world_layers_unref(layers_);
    tp_mailbox_fini(&world_box_);
    tp_mailbox_fini(&shard_box_);
    free(metrics_);
}

START_TEST(test_layers_in_step)
{
    struct tp_test_rng rng = tp_test_rng("layers in step");
    world_begin();
    uint64_t steps = tp_test_steps(8000, 100000);
    for (uint64_t step = 0; step < steps; step++) {
        store_.takes = tp_test_percent(&rng, 3) ? TP_ERR_NO_MEMORY : 0;
        if (store_.count < LATE_CALLS / 2 && tp_test_percent(&rng, 50))
            ask(&rng);
        if (tp_test_percent(&rng, 5))
            act_elsewhere(&rng);
        if (hold_count_ > 0 && tp_test_percent(&rng, 15))
            leave(tp_test_below(&rng, (uint32_t)hold_count_));
        if (hold_count_ > 0 && tp_test_percent(&rng, 1)) /* all at once: puts and drops may follow */
            while (hold_count_ > 0)
                leave(0);
        if (tp_test_percent(&rng, 40))
            run(&rng);
        while (store_.count > 0 && tp_test_percent(&rng, 45))
            late_store_answer(&store_, tp_test_percent(&rng, 92) ? 0 : TP_ERR_UNAVAILABLE);
    }
    for (run(&rng); store_.count > 0 || tp_world_busy(world_) > 0; run(&rng))
        if (store_.count > 0)
            late_store_answer(&store_, 0);
    while (hold_count_ > 0)
        leave(0);
    run(&rng);
    ck_assert_int_eq(atomic_load(&metrics_->layers), 0);
    printf("layers granted %llu, refused %llu, compared %llu, epochs ended %llu\n", (unsigned long long)granted_layers_,
           (unsigned long long)refused_, (unsigned long long)compared_, (unsigned long long)ended_);
    ck_assert_uint_gt(granted_layers_, 100);
    ck_assert_uint_gt(refused_, 20);
    ck_assert_uint_gt(compared_, 1000);
    ck_assert_uint_gt(ended_, 10);
    ck_assert_uint_eq(tp_world_busy(world_), 0);
    world_end();
}
END_TEST

/* ---- Other threads ---- */

static _Atomic(struct tp_world_map *) raced_; /* NULL: there is none to look at */
static atomic_bool looks_, is_over_;
static uint64_t versions_seen_, drops_seen_;

/* A loop that asks for the version in force while the world's thread drops the map. */
static void *look_at_versions(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over_)) {
        atomic_store(&looks_, true);
        struct tp_world_map *map = atomic_load(&raced_);
        if (map != NULL) {
            const struct tp_world_layers *layers;
            uint64_t seq;
            const struct tp_map *version = tp_world_current(world_, map, &layers, &seq);
            if ((version == NULL) != (layers == NULL))
                abort(); /* a version goes with its layers */
            versions_seen_ += version != NULL;
            drops_seen_ += version == NULL;
            tp_map_unref(version);
            tp_world_layers_unref(layers);
        }
        atomic_store(&looks_, false);
    }
    return NULL;
}

static void ask_whole(struct tp_test_rng *rng, enum tp_world_op op)
{
    struct tp_world_request *request = request_new(op);
    if (op == TP_WORLD_PUT) {
        request->width = request->height = 1;
        request->cells = malloc(1);
        ck_assert_ptr_nonnull(request->cells);
        request->cells[0] = '.';
        request->profile = profile_of(0);
    }
    tp_mailbox_push(&world_box_, &request->mail);
    run(rng);
    late_store_answer(&store_, 0);
}

START_TEST(test_versions_are_asked_for_while_a_map_is_dropped)
{
    struct tp_test_rng rng = tp_test_rng("dropped");
    world_begin();
    pthread_t looker;
    ck_assert_int_eq(pthread_create(&looker, NULL, look_at_versions, NULL), 0);
    uint64_t drops = tp_test_steps(3000, 50000);
    for (uint64_t i = 0; i < drops; i++) {
        ask_whole(&rng, TP_WORLD_PUT);
        run(&rng);
        struct tp_world_map *map = tp_world_find(world_, "m");
        ck_assert_ptr_nonnull(map);
        atomic_store(&raced_, map);
        for (int look = 0; look < 3; look++) /* until it has begun to look */
            while (!atomic_load(&looks_))
                sched_yield();
        ask_whole(&rng, TP_WORLD_DROP);
        struct tp_mail *mail = tp_mailbox_take(&world_box_);
        ck_assert_ptr_nonnull(mail);
        tp_world_handle(world_, mail);
        atomic_store(&raced_, NULL); /* a shard holds no map of whose end it heard */
        while (atomic_load(&looks_))
            sched_yield();
        run(&rng);
        ck_assert_ptr_null(map_);
    }
    atomic_store(&is_over_, true);
    pthread_join(looker, NULL);
    printf("versions seen %llu, drops seen %llu\n", (unsigned long long)versions_seen_, (unsigned long long)drops_seen_);
    world_end();
}
END_TEST

static Suite *world_layers_suite(void)
{
    Suite *suite = suite_create("world_layers");
    TCase *all = tcase_create("world_layers");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, test_layers_in_step);
    tcase_add_test(all, test_versions_are_asked_for_while_a_map_is_dropped);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return tp_test_main("test_world_layers", world_layers_suite);
}
