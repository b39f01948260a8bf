/* A fleet under fire: two daemons on one map, 50 clients that submit changes to both at random, and everything killed with SIGKILL and
 * started again, or stopped for a while, at random: daemons, and Redis (which syncs its file at every write).
 *
 * Each batch has a key; a client whose answer is lost, or is UNAVAILABLE, sends it again, to whichever daemon. So in the end each was
 * acknowledged with the version that it made, and that alone is the proof: the versions are 2, 3, 4, ... without a gap (nothing is lost) and each once
 * (nothing is applied twice), what is left of the log has the batches in their order, and a model that is fed the batches in that order has the cells of both
 * daemons. Batches that name a cell outside the map come between them: they are always refused, and make no version.
 *
 * The keys of a map are the last 1,024: clients stop for a batch that waits for its answer while KEYS_AHEAD others were sent. */
#include "daemon/store/snapshot.h"
#include "tests/lib/harness.h"
#include "tests/lib/redis.h"
#include "tests/lib/wire.h"

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    DAEMONS = 2,
    CLIENTS = 50,
    WINDOW = 4, /* batches of one client that wait for their answers */
    SIDE = 64,
    CELLS = SIDE * SIDE,
    CHANGES_MAX = 4, /* in a batch */
    KEYS_AHEAD = 700,
    BAD_PERCENT = 2,
    MOVE_PERMILLE =
        5,         /* of the batches after which a client goes to another daemon, whatever is on its way */
    RETRY_MS = 60, /* after UNAVAILABLE */
    CONNECT_RETRY_MS = 20,
    STALL_MS = 30000, /* nothing was acknowledged for so long: it has failed */
    SNAPSHOT_BATCHES = 500,
};

struct batch {
    uint64_t version; /* 0: not acknowledged */
    uint64_t sent_us; /* first */
    uint32_t cell[CHANGES_MAX];
    uint8_t count, client;
    bool is_blocking[CHANGES_MAX];
    bool is_bad, is_done,
        is_disturbed; /* sent again, or something was killed meanwhile: its time says nothing */
};

struct client {
    struct wire wire; /* fd -1: not connected */
    int daemon;
    uint64_t not_before_us; /* no connecting, and no sending again, before that */
    size_t waiting[WINDOW]; /* batches to be sent again, in order */
    size_t waiting_count;
    size_t sent[WINDOW]; /* batches whose answers are due, in the order of the answers */
    size_t sent_count;
    bool is_greeting; /* the answer to the hello is due before them */
};

static struct test_redis redis;
static struct wire_daemon daemon_[DAEMONS];
static struct client client_[CLIENTS];
static struct batch *batch;
static size_t batches, batches_sent, batches_done, oldest_open;
static size_t batches_allowed; /* until the next thing happens to them */
static uint64_t *latency_us;
static size_t latencies;
static struct tp_test_rng rng;
static uint64_t epoch;
static uint64_t last_done_us;
static uint64_t resent, unavailable, applied_before, connections, bad_refused;

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- Batches ---- */

static void draw_batch(size_t n, int client)
{
    struct batch *b = &batch[n];
    b->client = (uint8_t)client;
    b->count = (uint8_t)(1 + tp_test_below(&rng, CHANGES_MAX));
    b->is_bad = tp_test_percent(&rng, BAD_PERCENT);
    for (int i = 0; i < b->count; i++) {
        b->cell[i] = tp_test_below(&rng, CELLS);
        b->is_blocking[i] = tp_test_percent(&rng, 50);
    }
    if (b->is_bad)
        b->cell[b->count - 1] = CELLS + tp_test_below(&rng, CELLS);
}

static size_t key_of(size_t n, char key[24])
{
    return (size_t)snprintf(key, 24, "batch %zu", n);
}

static bool send_batch(struct client *c, size_t n)
{
    char key[24];
    uint32_t terrain[CHANGES_MAX];
    struct batch *b = &batch[n];
    for (int i = 0; i < b->count; i++)
        terrain[i] = b->is_blocking[i] ? '@' : '.';
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = "m";
    change.n_cell = change.n_cell_terrain = b->count;
    change.cell = b->cell;
    change.cell_terrain = terrain;
    change.has_key = 1;
    change.key = (ProtobufCBinaryData){.data = (uint8_t *)key, .len = key_of(n, key)};
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.has_id = 1;
    request.id = n;
    request.body_case = TICKPATH__REQUEST__BODY_CHANGE_COSTS;
    request.change_costs = &change;
    size_t size;
    uint8_t *frame = wire_frame(&request, &size);
    bool is_sent = wire_send_bytes(&c->wire, frame, size);
    free(frame);
    return is_sent;
}

/* ---- Clients ---- */

/* The answers that were due are lost: all of it is sent again. */
static void lose(struct client *c)
{
    size_t all[2 * WINDOW], count = 0;
    for (size_t i = 0; i < c->sent_count; i++)
        all[count++] = c->sent[i];
    for (size_t i = 0; i < c->waiting_count; i++)
        all[count++] = c->waiting[i];
    if (count > WINDOW)
        ck_abort_msg("a client has %zu batches open", count);
    memcpy(c->waiting, all, count * sizeof *all);
    c->waiting_count = count;
    c->sent_count = 0;
    wire_close(&c->wire);
}

static void go_to(struct client *c, int i)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(daemon_[i].port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    c->daemon = i;
    c->not_before_us = now_us() + CONNECT_RETRY_MS * UINT64_C(1000);
    int fd = daemon_[i].pid == 0 ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    c->wire = (struct wire){.fd = fd, .next_id = 1};
    c->not_before_us = 0;
    c->is_greeting = true;
    connections++;
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = hello.protocol_max = 1;
    Tickpath__Request request = TICKPATH__REQUEST__INIT;
    request.body_case = TICKPATH__REQUEST__BODY_HELLO;
    request.hello = &hello;
    size_t size;
    uint8_t *frame = wire_frame(&request, &size);
    if (!wire_send_bytes(&c->wire, frame, size))
        lose(c);
    free(frame);
}

static void done(size_t n)
{
    batch[n].is_done = true;
    batches_done++;
    last_done_us = now_us();
    while (oldest_open < batches_sent && batch[oldest_open].is_done)
        oldest_open++;
}

static void take_changed(size_t n, const Tickpath__Changed *changed)
{
    struct batch *b = &batch[n];
    if (b->is_bad)
        ck_abort_msg("batch %zu names a cell outside the map, and was applied", n);
    if (changed->epoch != epoch)
        ck_abort_msg("the map is in epoch %llu, and was in %llu: Redis kept its log",
                     (unsigned long long)changed->epoch, (unsigned long long)epoch);
    b->version = changed->version;
    applied_before += changed->has_applied_before && changed->applied_before;
    if (!b->is_disturbed)
        latency_us[latencies++] = now_us() - b->sent_us;
    done(n);
}

/* Takes the answer to the batch sent first. */
static void take_reply(struct client *c, const Tickpath__Reply *reply)
{
    if (c->is_greeting) {
        if (reply->body_case != TICKPATH__REPLY__BODY_WELCOME)
            ck_abort_msg("the hello was not answered by a welcome");
        c->is_greeting = false;
        return;
    }
    if (c->sent_count == 0)
        ck_abort_msg("a reply of kind %d to nothing", (int)reply->body_case);
    size_t n = c->sent[0];
    memmove(c->sent, c->sent + 1, --c->sent_count * sizeof *c->sent);
    if (reply->id != n)
        ck_abort_msg("the reply to batch %llu came where that to %zu was due", (unsigned long long)reply->id,
                     n);
    if (reply->body_case == TICKPATH__REPLY__BODY_CHANGED) {
        take_changed(n, reply->changed);
        return;
    }
    const Tickpath__Error *error = reply->body_case == TICKPATH__REPLY__BODY_ERROR ? reply->error : NULL;
    if (error && error->code == TICKPATH__ERROR_CODE__UNAVAILABLE) {
        unavailable++;
        c->waiting[c->waiting_count++] = n;
        c->not_before_us = now_us() + RETRY_MS * UINT64_C(1000);
    } else if (error && error->code == TICKPATH__ERROR_CODE__OUT_OF_RANGE && batch[n].is_bad) {
        bad_refused++;
        done(n);
    } else {
        ck_abort_msg("batch %zu was answered by error %d: %s", n, error ? (int)error->code : -1,
                     error && error->message ? error->message : "-");
    }
}

/* Sends what the window allows: what is to be sent again, then new batches. */
static void send_some(struct client *c, int which)
{
    uint64_t now = now_us();
    if (now < c->not_before_us)
        return;
    while (c->waiting_count > 0) {
        size_t n = c->waiting[0];
        batch[n].is_disturbed = true;
        resent++;
        if (!send_batch(c, n)) {
            lose(c);
            return;
        }
        c->sent[c->sent_count++] = n;
        memmove(c->waiting, c->waiting + 1, --c->waiting_count * sizeof *c->waiting);
    }
    while (c->sent_count < WINDOW && batches_sent < batches_allowed &&
           batches_sent - oldest_open < KEYS_AHEAD) {
        size_t n = batches_sent++;
        draw_batch(n, which);
        batch[n].sent_us = now_us();
        c->sent[c->sent_count++] = n;
        if (!send_batch(c, n)) {
            batch[n].is_disturbed = true;
            lose(c);
            return;
        }
        if (tp_test_below(&rng, 1000) < MOVE_PERMILLE) {
            for (size_t i = 0; i < c->sent_count; i++)
                batch[c->sent[i]].is_disturbed = true;
            lose(c);
            return;
        }
    }
}

/* One turn of all clients: sends, waits a moment, takes what came. */
static void turn(void)
{
    struct pollfd ready[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &client_[i];
        if (c->wire.fd < 0 && now_us() >= c->not_before_us)
            go_to(c, (int)tp_test_below(&rng, DAEMONS));
        if (c->wire.fd >= 0)
            send_some(c, i);
        ready[i] = (struct pollfd){.fd = c->wire.fd, .events = POLLIN};
    }
    poll(ready, CLIENTS, 5);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &client_[i];
        if (c->wire.fd < 0 || !ready[i].revents)
            continue;
        Tickpath__Reply *reply;
        enum wire_got got;
        while ((got = wire_poll(&c->wire, &reply, 0)) == WIRE_GOT_FRAME) {
            take_reply(c, reply);
            wire_reply_free(reply);
        }
        if (got == WIRE_GOT_CLOSE)
            lose(c);
    }
    if (now_us() - last_done_us > STALL_MS * UINT64_C(1000))
        ck_abort_msg("nothing was acknowledged for %d ms: %zu of %zu done, batch %zu is the oldest open",
                     STALL_MS, batches_done, batches, oldest_open);
}

static void turns_for(unsigned ms)
{
    for (uint64_t until = now_us() + ms * UINT64_C(1000); now_us() < until;)
        turn();
}

/* ---- What is done to them ---- */

/* Where the map stands; 0: there is none, or the daemon can't ask for it now (*is_asked false). */
static uint64_t ask_version(struct wire *wire, bool *is_asked)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = "m";
    wire_send(wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
    Tickpath__Reply *reply = wire_recv(wire);
    uint64_t version = 0;
    *is_asked = reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO ||
                reply->error->code == TICKPATH__ERROR_CODE__NOT_FOUND;
    if (reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO) {
        version = reply->map_info->version;
        ck_assert(epoch == 0 || reply->map_info->epoch == epoch);
        epoch = reply->map_info->epoch;
    }
    wire_reply_free(reply);
    return version;
}

static uint64_t version_of(struct wire *wire)
{
    bool is_asked;
    return ask_version(wire, &is_asked);
}

/* Its store may take a moment to be there. */
static void wait_until_asked(struct wire *wire)
{
    bool is_asked = false;
    for (uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS; !is_asked;) {
        ck_assert_msg(wire_now_ms() < until, "the daemon never reaches its store");
        ask_version(wire, &is_asked);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

static void disturb_all(void)
{
    for (size_t n = oldest_open; n < batches_sent; n++)
        batch[n].is_disturbed = true;
}

static void start_daemon(int i)
{
    char folds[16];
    snprintf(folds, sizeof folds, "%d", SNAPSHOT_BATCHES);
    wire_daemon_start(&daemon_[i], "--threads", "1", "--redis", redis.url, "--fold-batches", folds, NULL);
}

enum event { KILL_FIRST, KILL_SECOND, KILL_BOTH, KILL_REDIS, STOP_ONE, EVENTS };

static void kill_and_start(bool first, bool second, unsigned pause_ms)
{
    bool hit[DAEMONS] = {first, second};
    for (int i = 0; i < DAEMONS; i++)
        if (hit[i])
            wire_daemon_kill(&daemon_[i]);
    turns_for(pause_ms);
    for (int i = 0; i < DAEMONS; i++)
        if (hit[i])
            start_daemon(i);
}

static void happen(enum event event)
{
    unsigned pause_ms = tp_test_below(&rng, 300);
    disturb_all();
    if (event == KILL_REDIS) {
        test_redis_kill(&redis);
        turns_for(pause_ms);
        test_redis_start(&redis);
    } else if (event == STOP_ONE) {
        pid_t pid = daemon_[tp_test_below(&rng, DAEMONS)].pid;
        kill(pid, SIGSTOP);
        turns_for(2 * pause_ms);
        kill(pid, SIGCONT);
    } else {
        kill_and_start(event != KILL_SECOND, event != KILL_FIRST, pause_ms);
    }
    disturb_all();
    last_done_us = now_us();
}

/* ---- The end ---- */

static int by_version(const void *a, const void *b)
{
    uint64_t va = batch[*(const size_t *)a].version, vb = batch[*(const size_t *)b].version;
    return va < vb ? -1 : va > vb;
}

/* Every version is that of one batch; gives the cells that the model has after all of them. */
static uint64_t feed_model(bool blocked[CELLS])
{
    size_t *order = malloc(batches * sizeof *order), count = 0;
    ck_assert_ptr_nonnull(order);
    for (size_t n = 0; n < batches; n++)
        if (!batch[n].is_bad)
            order[count++] = n;
    qsort(order, count, sizeof *order, by_version);
    memset(blocked, 0, CELLS);
    for (size_t i = 0; i < count; i++) {
        const struct batch *b = &batch[order[i]];
        if (b->version != i + 2)
            ck_abort_msg("version %zu is nobody's, or that of two batches: batch %zu was told %llu", i + 2,
                         order[i], (unsigned long long)b->version);
        for (int k = 0; k < b->count; k++)
            blocked[b->cell[k]] = b->is_blocking[k];
    }
    free(order);
    return count + 1;
}

static void expect_model(int i, uint64_t version, const bool blocked[CELLS])
{
    struct wire wire;
    wire_open_greeted(&wire, daemon_[i].port);
    uint64_t at = 0;
    for (uint64_t until = wire_now_ms() + WIRE_TIMEOUT_MS;
         at < version;) { /* it may have to read what the other made last */
        ck_assert_msg(wire_now_ms() < until, "daemon %d stays at version %llu of %llu", i,
                      (unsigned long long)at, (unsigned long long)version);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        at = version_of(&wire);
    }
    ck_assert_msg(
        at == version,
        "daemon %d is at version %llu, and all that was sent makes %llu: something was applied twice", i,
        (unsigned long long)at, (unsigned long long)version);
    for (uint32_t cell = 0; cell < CELLS; cell++)
        wire_open_session(&wire, "m", cell, cell == 0, NULL, 1);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.has_all = tick.all = 1;
    Tickpath__Reply *reply =
        wire_ask(&wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert_uint_eq(reply->ticked->n_flags, CELLS);
    for (uint32_t cell = 0; cell < CELLS; cell++) {
        bool is_blocked = reply->ticked->flags[cell] & TICKPATH__FLAG__START_BLOCKED;
        if (is_blocked != blocked[cell] || reply->ticked->version[cell] != version)
            ck_abort_msg("daemon %d: cell %u is %s in version %llu; the model has it otherwise", i, cell,
                         is_blocked ? "blocked" : "free", (unsigned long long)reply->ticked->version[cell]);
    }
    wire_reply_free(reply);
    wire_close(&wire);
}

/* The batch of an entry's bytes; SIZE_MAX: the entry has none. */
static size_t batch_of(const redisReply *fields)
{
    for (size_t f = 0; f + 1 < fields->elements; f += 2) {
        if (strcmp(fields->element[f]->str, "d") != 0)
            continue;
        struct tp_key key;
        char text[TP_KEY_BYTES_MAX + 1] = "";
        size_t n;
        tp_batch_key(fields->element[f + 1]->str, (size_t)fields->element[f + 1]->len, &key);
        memcpy(text, key.bytes, key.size);
        if (sscanf(text, "batch %zu", &n) == 1 && n < batches)
            return n;
        ck_abort_msg("an entry of the log has the key '%s'", text);
    }
    return SIZE_MAX;
}

/* What is left of the log has the batches in the order of their versions, up to the last. Where one was sent again its first entry counts; that may be
 * trimmed, and then the one that is there is a repetition, which made no version. Gives how many. */
static size_t expect_log_in_order(uint64_t version)
{
    redisContext *link = redisConnect("127.0.0.1", redis.port);
    ck_assert(link && !link->err);
    redisReply *log = redisCommand(link, "XRANGE tickpath:{m}:log - +");
    ck_assert(log && log->type == REDIS_REPLY_ARRAY);
    bool *has_come = calloc(batches, sizeof *has_come);
    size_t *first = malloc((log->elements + 1) * sizeof *first), firsts = 0, count = 0;
    ck_assert(has_come && first);
    for (size_t i = 0; i < log->elements; i++) {
        size_t n = batch_of(log->element[i]->element[1]);
        if (n == SIZE_MAX || batch[n].is_bad || has_come[n])
            continue;
        has_come[n] = true;
        first[firsts++] = n;
    }
    for (size_t i = firsts; i > 0; i--)
        if (batch[first[i - 1]].version == version - count)
            count++;
    ck_assert_msg(count > 0 && count * 10 >= firsts * 8,
                  "of %zu batches in the log %zu stand in the order of their versions", firsts, count);
    free(first);
    free(has_come);
    freeReplyObject(log);
    redisFree(link);
    return count;
}

static int by_value(const void *a, const void *b)
{
    uint64_t va = *(const uint64_t *)a, vb = *(const uint64_t *)b;
    return va < vb ? -1 : va > vb;
}

static void begin(void)
{
    test_redis_init(&redis);
    test_redis_start(&redis);
    for (int i = 0; i < DAEMONS; i++) {
        wire_daemon_init(&daemon_[i]);
        start_daemon(i);
    }
    struct wire wire;
    wire_open_greeted(&wire, daemon_[0].port);
    wait_until_asked(&wire);
    wire_put_free_map(&wire, "m", SIDE, SIDE);
    ck_assert_uint_eq(version_of(&wire), 1);
    wire_close(&wire);
    for (int i = 0; i < CLIENTS; i++)
        client_[i].wire.fd = -1;
}

static void end(void)
{
    for (int i = 0; i < CLIENTS; i++)
        wire_close(&client_[i].wire);
    for (int i = 0; i < DAEMONS; i++)
        wire_daemon_fini(&daemon_[i]);
    test_redis_fini(&redis);
}

START_TEST(test_under_fire)
{
    batches = tp_test_promised(12000, 200000);
    /* of each kind so many, in an order of chance: in the longer form both daemons are killed 20 times or more each */
    uint64_t each = tp_test_promised(2, 10), events = each * EVENTS, happened = 0, count[EVENTS] = {0};
    batch = calloc(batches, sizeof *batch);
    latency_us = malloc(batches * sizeof *latency_us);
    ck_assert(batch && latency_us);
    rng = tp_test_rng("fleet");
    last_done_us = now_us();
    uint64_t began_us = now_us();
    while (batches_done < batches) {
        size_t due = (happened + 1) * batches / (events + 2);
        batches_allowed = happened < events ? (happened + 2) * batches / (events + 2) : batches;
        turn();
        if (happened < events && batches_done >= due) {
            enum event event;
            do
                event = (enum event)tp_test_below(&rng, EVENTS);
            while (count[event] == each);
            count[event]++;
            happened++;
            happen(event);
        }
    }
    double seconds = (double)(now_us() - began_us) / 1e6;
    ck_assert_uint_eq(happened, events);

    bool blocked[CELLS];
    uint64_t version = feed_model(blocked);
    for (int i = 0; i < DAEMONS; i++)
        expect_model(i, version, blocked);
    size_t in_log = expect_log_in_order(version);
    kill_and_start(true, true, 0);
    for (int i = 0; i < DAEMONS; i++)
        expect_model(i, version, blocked);

    ck_assert_uint_gt(latencies, batches / 4);
    qsort(latency_us, latencies, sizeof *latency_us, by_value);
    printf("%zu batches of %d clients in %.1f s to version %llu, 0 lost, 0 twice; %llu sent again, %llu "
           "UNAVAILABLE, %llu applied before, %llu bad ones refused, "
           "%llu connections\n",
           batches, CLIENTS, seconds, (unsigned long long)version, (unsigned long long)resent,
           (unsigned long long)unavailable, (unsigned long long)applied_before,
           (unsigned long long)bad_refused, (unsigned long long)connections);
    printf("killed: daemons %llu and %llu times, Redis %llu; stopped %llu; %zu entries in order in what is "
           "left of the log\n",
           (unsigned long long)(count[KILL_FIRST] + count[KILL_BOTH]),
           (unsigned long long)(count[KILL_SECOND] + count[KILL_BOTH]), (unsigned long long)count[KILL_REDIS],
           (unsigned long long)count[STOP_ONE], in_log);
    printf("acknowledged, undisturbed (%zu): p50 %.2f ms, p99 %.2f ms\n", latencies,
           (double)latency_us[latencies / 2] / 1e3, (double)latency_us[latencies * 99 / 100] / 1e3);
    free(batch);
    free(latency_us);
    for (int i = 0; i < DAEMONS; i++)
        wire_daemon_stop(&daemon_[i]);
}
END_TEST

static Suite *fleet_suite(void)
{
    Suite *suite = suite_create("fleet");
    TCase *cases = tcase_create("fleet");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_set_timeout(cases, tp_test_long() ? 1000 : 140);
    tcase_add_test(cases, test_under_fire);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_fleet", fleet_suite);
}
