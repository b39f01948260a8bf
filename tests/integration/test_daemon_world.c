/* The daemon's world without sockets and threads, with a store that answers late, fails at will, and is shared with other daemons; and
 * the names that a map may have. */
#include "daemon/log.h"
#include "daemon/world/world.h"
#include "tests/lib/late_store.h"
#include "tests/lib/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tp_profile profile_;

enum { SHARDS = 3, MAPS = 4, SIDE = 12 };

static struct late_store store_;
static struct tp_world *world_;
static struct tp_mailbox world_box_, shard_box_[SHARDS];
static struct tp_metrics *metrics_;
static uint64_t epoch_us_;

static void post_self(void *context, struct tp_mail *mail)
{
    (void)context;
    tp_mailbox_push(&world_box_, mail);
}

static void post_shard(void *context, unsigned shard, struct tp_mail *mail)
{
    (void)context;
    tp_mailbox_push(&shard_box_[shard], mail);
}

static uint64_t epoch_now(void *context)
{
    (void)context;
    return ++epoch_us_;
}

static void run_world(void)
{
    for (struct tp_mail *mail; (mail = tp_mailbox_take(&world_box_)) != NULL;)
        while (mail != NULL) {
            struct tp_mail *next = mail->next;
            tp_world_handle(world_, mail);
            mail = next;
        }
}

/* What each shard has, and what an outsider knows from answers alone. */
static const struct tp_map *shard_map_[SHARDS][MAPS];
static struct {
    uint64_t epoch, version; /* newest that was acknowledged */
    struct {
        uint64_t epoch, version;
    } all[1000]; /* every version that was acknowledged, in no order: shards are looked at in no order */
    size_t count;
} acknowledged_[MAPS];
static uint64_t asked_, granted_, refused_;

/* What the answers to batches with keys said: every batch of a key is one version, and one of them made it. */
enum { KEYS = 12 };
static struct {
    uint64_t epoch, version;
    uint32_t made; /* answers that said to have made it */
} keyed_[MAPS][KEYS];
static uint64_t repeated_;

static void take_keyed(const struct tp_world_request *request, int m)
{
    if (request->op != TP_WORLD_CHANGE || !tp_key_is_set(&request->batch.key)) {
        ck_assert(!request->applied_before);
        return;
    }
    uint8_t k = request->batch.key.bytes[0];
    if (request->epoch < keyed_[m][k].epoch)
        return; /* of a life before the one that was heard of */
    if (request->epoch > keyed_[m][k].epoch) {
        keyed_[m][k].epoch = request->epoch;
        keyed_[m][k].version = request->version;
        keyed_[m][k].made = 0;
    }
    ck_assert_uint_eq(request->version, keyed_[m][k].version);
    keyed_[m][k].made += !request->applied_before;
    ck_assert_uint_le(keyed_[m][k].made, 1);
    repeated_ += request->applied_before;
}

static int map_index(const char *name)
{
    return name[1] - '0';
}

/* A version that was made, by whoever. */
static void note_version(int m, uint64_t epoch, uint64_t version)
{
    size_t n = acknowledged_[m].count++;
    acknowledged_[m].all[n].epoch = epoch;
    acknowledged_[m].all[n].version = version;
    if (epoch > acknowledged_[m].epoch || (epoch == acknowledged_[m].epoch && version > acknowledged_[m].version)) {
        acknowledged_[m].epoch = epoch;
        acknowledged_[m].version = version;
    }
}

static void take_answer(unsigned shard, struct tp_world_request *request)
{
    int m = map_index(request->name);
    if (request->refusal.error != 0) {
        refused_++;
        ck_assert(request->refusal.words[0] != '\0');
    } else {
        granted_++;
        take_keyed(request, m);
        const struct tp_map *here = shard_map_[shard][m];
        ck_assert_ptr_nonnull(here); /* its own shard has the version, or a newer one, before the answer */
        ck_assert(here->epoch > request->epoch ||
                  (here->epoch == request->epoch && here->version >= request->version));
        if (request->op != TP_WORLD_OPEN && !request->applied_before) {
            note_version(m, request->epoch, request->version);
        }
    }
    tp_world_request_free(request);
}

/* The version published last, a reference. */
static const struct tp_map *current(const struct tp_world_map *of)
{
    const struct tp_world_layers *layers;
    uint64_t seq;
    const struct tp_map *map = tp_world_current(world_, of, &layers, &seq);
    tp_world_layers_unref(layers);
    return map;
}

/* Sessions that stand on a map, by shard. */
static uint32_t standing_[SHARDS][MAPS];
static struct tp_world_map *stood_on_[SHARDS][MAPS];
static uint64_t stood_in_[SHARDS][MAPS]; /* their epoch: a session that comes is told the newest, which its shard may not have heard of */
static uint64_t ended_, compared_;

static void leave_all(unsigned shard, int m)
{
    for (; standing_[shard][m] > 0; standing_[shard][m]--)
        tp_world_leave(stood_on_[shard][m]);
}

/* A session comes or goes. */
static void come_and_go(struct tp_test_rng *rng)
{
    unsigned shard = tp_test_below(rng, SHARDS);
    int m = (int)tp_test_below(rng, MAPS);
    char name[16];
    snprintf(name, sizeof name, "m%d", m);
    if (standing_[shard][m] > 0 && tp_test_percent(rng, 60)) {
        tp_world_leave(stood_on_[shard][m]);
        standing_[shard][m]--;
    } else if (shard_map_[shard][m] != NULL) {
        struct tp_world_map *of = tp_world_find(world_, name);
        if (of != NULL && tp_world_enter(of)) {
            ck_assert(standing_[shard][m] == 0 || stood_on_[shard][m] == of);
            const struct tp_map *map = current(of);
            ck_assert(standing_[shard][m] == 0 || stood_in_[shard][m] == map->epoch);
            stood_on_[shard][m] = of;
            stood_in_[shard][m] = map->epoch;
            tp_map_unref(map);
            standing_[shard][m]++;
        }
    }
}

/* What another daemon does. */
static void act_elsewhere(struct tp_test_rng *rng)
{
    int m = (int)tp_test_below(rng, MAPS);
    char name[16];
    snprintf(name, sizeof name, "m%d", m);
    if (tp_test_percent(rng, 70)) {
        struct tp_change change = {.kind = TP_CHANGE_CELL, .class_to = '@', .x = tp_test_below(rng, SIDE * SIDE)};
        if (late_store_elsewhere_submit(&store_, name, &(struct tp_batch){.changes = &change, .count = 1}) == 0) {
            const struct tp_map *made = late_store_kept(&store_, name);
            note_version(m, made->epoch, made->version);
        }
    } else if (tp_test_percent(rng, 80)) {
        uint8_t cells[SIDE * SIDE];
        struct tp_map *map;
        memset(cells, '.', sizeof cells);
        ck_assert_int_eq(tp_map_build(&map, SIDE, SIDE, cells, &profile_, store_.epoch_last + 1), 0);
        late_store_elsewhere_put(&store_, name, map);
        note_version(m, map->epoch, map->version);
        tp_map_unref(map);
    } else {
        late_store_elsewhere_drop(&store_, name);
    }
}

static void take_publication(unsigned shard, struct tp_world_publication *publication)
{
    int m = map_index(publication->of->name);
    const struct tp_map *before = shard_map_[shard][m];
    if (publication->ends) {
        ended_ += standing_[shard][m];
        leave_all(shard, m);
        tp_world_ended(world_, publication);
        return;
    }
    if (publication->map == NULL) { /* dropped */
        ck_assert(standing_[shard][m] == 0 || stood_on_[shard][m] != publication->of);
        atomic_fetch_sub(&publication->of->holders, 1);
    } else if (before != NULL) { /* one after the other, nothing left out */
        ck_assert(publication->map->epoch == before->epoch
                      ? publication->map->version == before->version + 1
                      : publication->map->epoch > before->epoch &&
                            (standing_[shard][m] == 0 || stood_in_[shard][m] >= publication->map->epoch));
    }
    tp_map_unref(before);
    shard_map_[shard][m] = publication->map;
    tp_world_layers_unref(publication->layers);
    free(publication);
}

static void run_shard(unsigned shard)
{
    struct tp_mail *mail = tp_mailbox_take(&shard_box_[shard]);
    while (mail != NULL) {
        struct tp_mail *next = mail->next;
        if (mail->kind == TP_SHARD_MAIL_MAP) {
            take_publication(shard, (struct tp_world_publication *)mail);
        } else {
            take_answer(shard, (struct tp_world_request *)mail);
        }
        mail = next;
    }
}

static void ask_world(struct tp_test_rng *rng)
{
    enum tp_world_op op = tp_test_percent(rng, 10)   ? TP_WORLD_PUT
                          : tp_test_percent(rng, 10) ? TP_WORLD_OPEN
                                                     : TP_WORLD_CHANGE;
    struct tp_world_request *request = tp_world_request_new(op);
    int m = (int)tp_test_below(rng, MAPS);
    snprintf(request->name, sizeof request->name, "m%d", m);
    request->shard = tp_test_below(rng, SHARDS);
    if (op == TP_WORLD_PUT) {
        request->width = request->height = SIDE;
        request->cells = malloc(SIDE * SIDE);
        memset(request->cells, '.', SIDE * SIDE);
        request->profile = profile_;
        request->replace = tp_test_percent(rng, 60);
    }
    if (op == TP_WORLD_CHANGE) {
        request->batch.changes = calloc(TP_TEST_BATCH_MAX, sizeof(struct tp_change));
        request->change_bits = malloc(TP_TEST_BATCH_MAX * TP_TEST_BITS_MAX);
        request->batch.count = tp_test_random_batch(rng, request->batch.changes, request->change_bits, SIDE, SIDE,
                                                     tp_test_percent(rng, 10));
        for (size_t i = 0; i < request->batch.count; i++)
            if (request->batch.changes[i].kind == TP_CHANGE_CELL) { /* as the protocol numbers it */
                request->batch.changes[i].x += request->batch.changes[i].y * SIDE;
                request->batch.changes[i].y = 0;
            }
        request->batch.has_base_version = tp_test_percent(rng, 20);
        request->batch.base_version = acknowledged_[m].version;
        if (tp_test_percent(rng, 30)) {
            request->batch.key.size = 1;
            request->batch.key.bytes[0] = (uint8_t)tp_test_below(rng, KEYS);
        }
    }
    asked_++;
    tp_mailbox_push(&world_box_, &request->mail);
}

static void begin_world(void)
{
    late_store_init(&store_);
    metrics_ = tp_metrics_new("world");
    tp_mailbox_init(&world_box_);
    for (int s = 0; s < SHARDS; s++)
        tp_mailbox_init(&shard_box_[s]);
    struct tp_world_config config = {.store = &store_.store,
                                     .metrics = metrics_,
                                     .maps_max = MAPS,
                                     .shards = SHARDS,
                                     .post_self = post_self,
                                     .post_shard = post_shard,
                                     .now_us = epoch_now,
                                     .unix_now_us = epoch_now};
    ck_assert_int_eq(tp_world_open(&world_, &config), 0);
    tp_world_load_all(world_);
    memset(acknowledged_, 0, sizeof acknowledged_);
    memset(keyed_, 0, sizeof keyed_);
    asked_ = granted_ = refused_ = 0;
    tp_profile_init_movingai(&profile_);
    tp_log_level_max = TP_LOG_ERROR; /* every refusal would be told */
}

static void end_world(void)
{
    for (int m = 0; m < MAPS; m++) {
        for (unsigned s = 0; s < SHARDS; s++) {
            tp_map_unref(shard_map_[s][m]);
            shard_map_[s][m] = NULL;
        }
    }
    tp_world_close(world_);
    late_store_fini(&store_);
    free(metrics_);
    tp_mailbox_fini(&world_box_);
    for (int s = 0; s < SHARDS; s++)
        tp_mailbox_fini(&shard_box_[s]);
}

/* Whatever the store does, every request is answered once, acknowledged versions are those that the store
 * keeps, and every shard ends with them. */
START_TEST(test_world_and_a_failing_store)
{
    struct tp_test_rng rng = tp_test_rng("world");
    tp_profile_init_movingai(&profile_);
    tp_log_level_max = TP_LOG_ERROR; /* every refusal would be told */
    for (uint64_t round = 0; round < tp_test_steps(40, 2000); round++) {
        begin_world();
        uint32_t failing = tp_test_below(&rng, 60);
        for (int step = 0; step < 600; step++) {
            uint32_t what = tp_test_below(&rng, 100);
            if (what < 38 && store_.count < 40)
                ask_world(&rng);
            else if (what < 41)
                act_elsewhere(&rng);
            else if (what < 46)
                come_and_go(&rng);
            else if (what < 60)
                run_world();
            else if (what < 85 && store_.count > 0)
                late_store_answer(&store_, tp_test_percent(&rng, failing) ? TP_ERR_UNAVAILABLE : 0);
            else
                run_shard(tp_test_below(&rng, SHARDS));
        }
        for (int round_trip = 0; round_trip < 4; round_trip++) { /* an epoch that ends asks the shards first */
            for (run_world(); store_.count > 0; run_world())
                late_store_answer(&store_, 0);
            for (unsigned s = 0; s < SHARDS; s++)
                run_shard(s);
        }
        for (unsigned s = 0; s < SHARDS; s++)
            for (int m = 0; m < MAPS; m++)
                leave_all(s, m);
        ck_assert_uint_eq(tp_world_busy(world_), 0);
        ck_assert_uint_eq(asked_, granted_ + refused_);
        ck_assert_uint_gt(granted_, 0);
        for (int m = 0; m < MAPS; m++) {
            char name[16];
            snprintf(name, sizeof name, "m%d", m);
            const struct tp_map *kept = late_store_kept(&store_, name);
            struct tp_world_map *of = tp_world_find(world_, name);
            if (kept == NULL) {
                ck_assert_ptr_null(of);
                continue;
            }
            if (of == NULL) { /* put elsewhere, and never asked for here */
                for (unsigned s = 0; s < SHARDS; s++)
                    ck_assert_ptr_null(shard_map_[s][m]);
                continue;
            }
            compared_++;
            const struct tp_map *published = current(of);
            ck_assert_int_eq(atomic_load(&of->sessions), 0);
            ck_assert_uint_eq(kept->epoch, acknowledged_[m].epoch);
            ck_assert_uint_eq(kept->version, acknowledged_[m].version);
            for (uint64_t version = 1; version <= kept->version;
                 version++) { /* each to one request, none left out */
                size_t times = 0;
                for (size_t i = 0; i < acknowledged_[m].count; i++)
                    times += acknowledged_[m].all[i].epoch == kept->epoch &&
                             acknowledged_[m].all[i].version == version;
                ck_assert_uint_eq(times, 1);
            }
            ck_assert(kept == published);
            for (unsigned s = 0; s < SHARDS; s++)
                ck_assert(shard_map_[s][m] == kept);
            tp_map_unref(published);
        }
        end_world();
    }
    ck_assert_uint_gt(repeated_, 0);
    ck_assert_uint_gt(ended_, 0);
    ck_assert_uint_gt(compared_, 50);
}
END_TEST

/* Asks for one thing on map m0, lets the store complete what it took, and gives the answer's error. */
static int ask_for(enum tp_world_op op, bool replace, int completion)
{
    struct tp_world_request *request = tp_world_request_new(op);
    strcpy(request->name, "m0");
    if (op == TP_WORLD_PUT) {
        request->width = request->height = SIDE;
        request->cells = malloc(SIDE * SIDE);
        memset(request->cells, '.', SIDE * SIDE);
        request->profile = profile_;
        request->replace = replace;
    } else if (op == TP_WORLD_CHANGE) {
        request->batch.changes = calloc(1, sizeof(struct tp_change));
        request->batch.changes[0] = (struct tp_change){.kind = TP_CHANGE_CELL, .class_to = '@', .x = 1};
        request->batch.count = 1;
    }
    tp_mailbox_push(&world_box_, &request->mail);
    for (run_world(); store_.count > 0; run_world())
        late_store_answer(&store_, completion);
    int error = 1;
    for (struct tp_mail *mail = tp_mailbox_take(&shard_box_[0]), *next; mail != NULL; mail = next) {
        next = mail->next;
        if (mail->kind == TP_SHARD_MAIL_MAP) {
            tp_map_unref(((struct tp_world_publication *)mail)->map);
            tp_world_layers_unref(((struct tp_world_publication *)mail)->layers);
            free(mail);
        } else {
            error = request->refusal.error;
            ck_assert_int_eq(error != 0, request->refusal.words[0] != '\0');
            if (error == TP_ERR_UNAVAILABLE)
                ck_assert_uint_gt(request->refusal.retry_after_ms, 0);
            tp_world_request_free(request);
        }
    }
    for (unsigned s = 1; s < SHARDS; s++)
        for (struct tp_mail *mail = tp_mailbox_take(&shard_box_[s]), *next; mail != NULL; mail = next) {
            next = mail->next;
            tp_map_unref(((struct tp_world_publication *)mail)->map);
            tp_world_layers_unref(((struct tp_world_publication *)mail)->layers);
            free(mail);
        }
    ck_assert_uint_eq(tp_world_busy(world_), 0);
    return error;
}

static uint64_t version_of_m0(void)
{
    struct tp_world_map *of = tp_world_find(world_, "m0");
    if (of == NULL)
        return 0;
    const struct tp_map *map = current(of);
    uint64_t version = map->version;
    tp_map_unref(map);
    return version;
}

/* What the store does not take, or can't do, is refused and leaves no trace. */
START_TEST(test_world_and_a_store_that_is_away)
{
    begin_world();
    run_world();
    store_.takes = TP_ERR_NO_MEMORY;
    ck_assert_int_eq(ask_for(TP_WORLD_PUT, false, 0), TP_ERR_NO_MEMORY);
    ck_assert_ptr_null(tp_world_find(world_, "m0"));
    store_.takes = 0;
    ck_assert_int_eq(ask_for(TP_WORLD_PUT, false, TP_ERR_UNAVAILABLE), TP_ERR_UNAVAILABLE);
    ck_assert_ptr_null(tp_world_find(world_, "m0"));
    ck_assert_int_eq(ask_for(TP_WORLD_PUT, false, 0), 0);
    ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, TP_ERR_UNAVAILABLE), TP_ERR_UNAVAILABLE);
    ck_assert_uint_eq(version_of_m0(), 1);
    ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, 0), 0);
    ck_assert_uint_eq(version_of_m0(), 2);
    store_.takes = TP_ERR_NO_MEMORY;
    ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, 0), TP_ERR_NO_MEMORY);
    ck_assert_int_eq(ask_for(TP_WORLD_PUT, true, 0), TP_ERR_NO_MEMORY);
    ck_assert_int_eq(ask_for(TP_WORLD_DROP, false, 0), TP_ERR_NO_MEMORY);
    ck_assert_uint_eq(version_of_m0(), 2);
    store_.takes = 0;
    ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, TP_ERR_NO_MEMORY), TP_ERR_NO_MEMORY);
    ck_assert_int_eq(ask_for(TP_WORLD_DROP, false, TP_ERR_UNAVAILABLE), TP_ERR_UNAVAILABLE);
    ck_assert_uint_eq(version_of_m0(), 2);
    ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, 0), 0);
    ck_assert_uint_eq(version_of_m0(), 3);
    struct tp_world_map *m0 = tp_world_find(world_, "m0");
    ck_assert(tp_world_enter(m0)); /* no put is taken to be under way */
    tp_world_leave(m0);
    end_world();
}
END_TEST

/* A store that cannot be asked whether it holds the map: nothing may take that name. */
START_TEST(test_world_and_a_store_that_cannot_be_asked)
{
    begin_world();
    run_world();
    store_.load_error = TP_ERR_UNAVAILABLE;
    for (int replace = 0; replace < 2; replace++)
        ck_assert_int_eq(ask_for(TP_WORLD_PUT, replace, 0), TP_ERR_UNAVAILABLE);
    ck_assert_int_eq(ask_for(TP_WORLD_OPEN, false, 0), TP_ERR_UNAVAILABLE);
    ck_assert_int_eq(ask_for(TP_WORLD_CHANGE, false, 0), TP_ERR_UNAVAILABLE);
    store_.load_error = TP_ERR_NO_MEMORY;
    ck_assert_int_eq(ask_for(TP_WORLD_PUT, false, 0), TP_ERR_NO_MEMORY);
    store_.load_error = 0;
    ck_assert_int_eq(ask_for(TP_WORLD_OPEN, false, 0), TP_ERR_NOT_FOUND);
    ck_assert_int_eq(ask_for(TP_WORLD_PUT, false, 0), 0);
    ck_assert_uint_eq(version_of_m0(), 1);
    end_world();
}
END_TEST
START_TEST(test_map_names)
{
    const char *good[] = {"a", "A.b_c-9", "town/north", "a..b", "a/...", "x/.hidden"};
    const char *bad[] = {"",       ".",    ".a",  "/a",        "..",  "a/..",
                         "a/../b", "../a", "a b", "a\xc3\xa4", "a+b", "a~"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(tp_world_name_allowed(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!tp_world_name_allowed(bad[i]), "%s", bad[i]);
    char name[131];
    memset(name, 'x', sizeof name);
    name[129] = '\0';
    ck_assert(!tp_world_name_allowed(name));
    name[128] = '\0';
    ck_assert(tp_world_name_allowed(name));
}
END_TEST
static Suite *world_suite(void)
{
    Suite *suite = suite_create("daemon_world");
    TCase *cases = tcase_create("world");
    tcase_add_test(cases, test_world_and_a_failing_store);
    tcase_add_test(cases, test_world_and_a_store_that_is_away);
    tcase_add_test(cases, test_world_and_a_store_that_cannot_be_asked);
    tcase_add_test(cases, test_map_names);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_daemon_world", world_suite);
}
