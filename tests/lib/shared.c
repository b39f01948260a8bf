#include "tests/lib/shared.h"

#include "tests/lib/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { POLL_PAUSE_MS = 10, TICK_LONGEST_MS = 1500, LOOK_CELLS = 50 };

struct shared shared;

static char map_name[] = "m";

void shared_pause_ms(unsigned ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

void shared_begin(void)
{
    memset(&shared, 0, sizeof shared);
    shared.next_cell = SHARED_FIRST_CELL;
    strcpy(shared.fold_batches, "1000");
    test_redis_init(&shared.redis);
    test_redis_start(&shared.redis);
    for (int i = 0; i < SHARED_DAEMONS; i++) {
        proxy_start(&shared.proxy[i], shared.redis.port);
        wire_daemon_init(&shared.daemon[i]);
        shared.wire[i].fd = -1;
    }
}

void shared_end(void)
{
    for (int i = 0; i < SHARED_DAEMONS; i++) {
        ticker_stop(&shared.ticker[i]);
        wire_close(&shared.wire[i]);
        wire_daemon_fini(&shared.daemon[i]);
        proxy_end(&shared.proxy[i]);
    }
    test_redis_fini(&shared.redis);
}

/* ---- Daemons ---- */

/* Greets, and copies the words of `degraded` (empty: well). */
static void greet(int i, struct wire *wire, char words[160])
{
    wire_open(wire, shared.daemon[i].port);
    Tickpath__Hello hello = TICKPATH__HELLO__INIT;
    hello.has_protocol_min = hello.has_protocol_max = 1;
    hello.protocol_min = hello.protocol_max = 1;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_HELLO, &hello, TICKPATH__REPLY__BODY_WELCOME);
    snprintf(words, 160, "%s", reply->welcome->degraded ? reply->welcome->degraded : "");
    wire_reply_free(reply);
}

void shared_start(int i)
{
    char url[256], words[160];
    if (shared.url[0])
        snprintf(url, sizeof url, "%s%s", shared.url, shared.url_options);
    else
        snprintf(url, sizeof url, "redis://127.0.0.1:%u/0%s", shared.proxy[i].port, shared.url_options);
    wire_daemon_start(&shared.daemon[i], "--threads", "1", "--stats", "127.0.0.1:0", "--redis", url,
                      "--fold-batches", shared.fold_batches, NULL);
    greet(i, &shared.wire[i], words);
}

void shared_stop(int i)
{
    wire_close(&shared.wire[i]);
    wire_daemon_stop(&shared.daemon[i]);
}

void shared_kill(int i)
{
    wire_daemon_kill(&shared.daemon[i]);
    wire_close(&shared.wire[i]);
}

void shared_freeze(int i)
{
    ck_assert_int_eq(kill(shared.daemon[i].pid, SIGSTOP), 0);
}

void shared_thaw(int i)
{
    ck_assert_int_eq(kill(shared.daemon[i].pid, SIGCONT), 0);
}

/* The next reply; a daemon that died instead is told with its last words. */
static Tickpath__Reply *next_reply(int i)
{
    Tickpath__Reply *reply = NULL;
    enum wire_got got = wire_poll(&shared.wire[i], &reply, SHARED_WAIT_MS);
    ck_assert_msg(got == WIRE_GOT_FRAME, "daemon %d %s where a reply was due", i,
                  !wire_daemon_alive(&shared.daemon[i]) ? "died"
                  : got == WIRE_GOT_CLOSE               ? "closed the connection"
                                                        : "said nothing");
    return reply;
}

static char refused_words[160]; /* why the daemon said last that it has no map */

/* Where the map stands; false while the daemon has it not. */
static bool place(int i, uint64_t *epoch, uint64_t *version)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = map_name;
    wire_send(&shared.wire[i], TICKPATH__REQUEST__BODY_OPEN_MAP, &open);
    Tickpath__Reply *reply = next_reply(i);
    bool is_there = reply->body_case == TICKPATH__REPLY__BODY_MAP_INFO;
    if (is_there) {
        *epoch = reply->map_info->epoch;
        *version = reply->map_info->version;
    } else if (reply->body_case == TICKPATH__REPLY__BODY_ERROR) {
        snprintf(refused_words, sizeof refused_words, "%d, %s", (int)reply->error->code, reply->error->message);
    }
    wire_reply_free(reply);
    return is_there;
}

void shared_place(int i, uint64_t *epoch, uint64_t *version)
{
    ck_assert_msg(place(i, epoch, version), "daemon %d has no map: %s", i, refused_words);
}

void shared_start_all(void)
{
    uint64_t version;
    for (int i = 0; i < SHARED_DAEMONS; i++) {
        shared_start(i);
        shared_wait_well(i);
    }
    wire_put_free_map(&shared.wire[0], map_name, SHARED_WIDTH, SHARED_HEIGHT);
    shared_place(0, &shared.epoch, &shared.version_most);
    for (int i = 0; i < SHARED_DAEMONS; i++) {
        uint64_t epoch;
        shared_place(i, &epoch, &version); /* which loads it */
        ck_assert_uint_eq(epoch, shared.epoch);
        ck_assert_uint_eq(version, 1);
        ticker_start(&shared.ticker[i], shared.daemon[i].port, map_name, 0, SHARED_WIDTH - 1);
    }
}

void shared_expect_ticks(uint64_t least)
{
    for (int i = 0; i < SHARED_DAEMONS; i++) {
        struct ticker *ticker = &shared.ticker[i];
        ticker_stop(ticker);
        printf("daemon %d: %llu ticks, the longest took %llu ms\n", i, (unsigned long long)ticker->ticks,
               (unsigned long long)ticker->longest_ms);
        ck_assert_msg(!ticker->failure[0], "a tick of daemon %d failed: %s", i, ticker->failure);
        ck_assert_uint_ge(ticker->ticks, least);
        ck_assert_uint_le(ticker->longest_ms, TICK_LONGEST_MS);
    }
}

void shared_wait_told(int i)
{
    struct ticker *ticker = &shared.ticker[i];
    for (uint64_t until = wire_now_ms() + SHARED_WAIT_MS; ticker->told == 0; shared_pause_ms(POLL_PAUSE_MS)) {
        if (wire_now_ms() < until)
            continue;
        ticker_stop(ticker);
        ck_abort_msg("no session on daemon %d was told of the new epoch: it made %llu ticks, the last in epoch %llu, version %llu. %s", i,
                     (unsigned long long)ticker->ticks, (unsigned long long)ticker->epoch, (unsigned long long)ticker->version,
                     ticker->failure);
    }
}

/* ---- What a daemon says of itself ---- */

/* The store's words in /stats, empty when it is well. */
static void stats_words(int i, char words[160])
{
    static const char before[] = "\"degraded\":";
    int status;
    char *text = wire_http_get(&shared.daemon[i], "/stats", &status);
    ck_assert_msg(text, "daemon %d serves no stats%s", i,
                  wire_daemon_alive(&shared.daemon[i]) ? "" : ": it died");
    const char *at = strstr(text, before);
    ck_assert_msg(at, "no word of the store in %s", text);
    at += sizeof before - 1;
    words[0] = 0;
    if (*at == '"')
        snprintf(words, 160, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
    free(text);
}

/* Whether one of the words, parted by '|', stands in the text. */
static bool has_one_of(const char *text, const char *words)
{
    char list[160];
    snprintf(list, sizeof list, "%s", words);
    char *rest = list;
    for (char *word; (word = strsep(&rest, "|")) != NULL;)
        if (strcasestr(text, word))
            return true;
    return false;
}

/* What a new client is told. */
static void welcome_words(int i, char words[160])
{
    struct wire wire;
    greet(i, &wire, words);
    wire_close(&wire);
}

void shared_wait_degraded(int i, const char *words)
{
    char said[160], welcomed[160];
    for (uint64_t until = wire_now_ms() + SHARED_WAIT_MS;; shared_pause_ms(POLL_PAUSE_MS)) {
        stats_words(i, said);
        welcome_words(i, welcomed);
        if (said[0] && welcomed[0] && has_one_of(said, words) && has_one_of(welcomed, words))
            break;
        ck_assert_msg(wire_now_ms() < until, "daemon %d says '%s' and never '%s'", i, said, words);
    }
    printf("daemon %d is degraded: %s\n", i, said);
}

void shared_wait_well(int i)
{
    char said[160], welcomed[160];
    for (uint64_t until = wire_now_ms() + SHARED_WAIT_MS;; shared_pause_ms(POLL_PAUSE_MS)) {
        stats_words(i, said);
        welcome_words(i, welcomed);
        if (!said[0] && !welcomed[0])
            return;
        ck_assert_msg(wire_now_ms() < until, "daemon %d still says '%s'", i, said);
    }
}

void shared_expect_in_log(int i, const char *words)
{
    char path[128];
    snprintf(path, sizeof path, "%s/log", shared.daemon[i].folder);
    size_t size;
    char *text = tp_test_read_file(path, &size);
    ck_assert_msg(strstr(text, words), "no '%s' in the log of daemon %d:\n%s", words, i, text);
    free(text);
}

/* ---- Changes ---- */

static void send_change(int i, uint32_t cell)
{
    char key[16];
    uint32_t terrain = '@';
    int size = snprintf(key, sizeof key, "cell %u", cell);
    Tickpath__ChangeCosts change = TICKPATH__CHANGE_COSTS__INIT;
    change.map = map_name;
    change.n_cell = change.n_cell_terrain = 1;
    change.cell = &cell;
    change.cell_terrain = &terrain;
    change.has_key = 1;
    change.key = (ProtobufCBinaryData){.data = (uint8_t *)key, .len = (size_t)size};
    wire_send(&shared.wire[i], TICKPATH__REQUEST__BODY_CHANGE_COSTS, &change);
}

/* Sends the change of a cell and takes the answer into the model: 0 or UNAVAILABLE. */
static int ask_change(int i, uint32_t cell)
{
    send_change(i, cell);
    Tickpath__Reply *reply = next_reply(i);
    int code = 0;
    if (reply->body_case == TICKPATH__REPLY__BODY_CHANGED) {
        shared.fate[cell] = SHARED_ACKED;
        if (reply->changed->epoch == shared.epoch && reply->changed->version > shared.version_most)
            shared.version_most = reply->changed->version;
    } else {
        const Tickpath__Error *error = reply->body_case == TICKPATH__REPLY__BODY_ERROR ? reply->error : NULL;
        ck_assert_msg(error && error->code == TICKPATH__ERROR_CODE__UNAVAILABLE,
                      "daemon %d answered a change with error %d: %s", i, error ? (int)error->code : -1,
                      error && error->message ? error->message : "-");
        ck_assert_msg(error->has_retry_after_ms, "no hint when to ask again");
        if (shared.fate[cell] != SHARED_UNKNOWN) /* it stays so: an earlier one may yet come */
            shared.fate[cell] = error->message && strstr(error->message, "nothing was applied")
                                    ? SHARED_REFUSED
                                    : SHARED_UNKNOWN;
        code = TICKPATH__ERROR_CODE__UNAVAILABLE;
    }
    wire_reply_free(reply);
    return code;
}

static uint32_t take_cell(void)
{
    ck_assert_uint_lt(shared.next_cell, SHARED_CELLS);
    return shared.next_cell++;
}

int shared_change(int i)
{
    return ask_change(i, take_cell());
}

void shared_send(int i)
{
    uint32_t cell = take_cell();
    shared.fate[cell] = SHARED_UNKNOWN;
    send_change(i, cell);
}

void shared_change_well(int i, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        ck_assert_msg(shared_change(i) == 0, "daemon %d refused a change", i);
}

void shared_change_refused(int i)
{
    ck_assert_msg(shared_change(i) != 0, "daemon %d took a change", i);
}

void shared_change_until_well(int i)
{
    uint64_t until = wire_now_ms() + SHARED_WAIT_MS;
    uint32_t cell = take_cell();
    while (ask_change(i, cell) != 0) {
        ck_assert_msg(wire_now_ms() < until, "daemon %d takes no change again", i);
        shared_pause_ms(POLL_PAUSE_MS);
    }
}

void shared_resend(int i)
{
    uint64_t until = wire_now_ms() + SHARED_WAIT_MS;
    for (uint32_t cell = SHARED_FIRST_CELL; cell < shared.next_cell; cell++)
        while (shared.fate[cell] != SHARED_ACKED && ask_change(i, cell) != 0) {
            ck_assert_msg(wire_now_ms() < until, "daemon %d never takes the change of cell %u", i, cell);
            shared_pause_ms(POLL_PAUSE_MS);
        }
}

/* ---- The end ---- */

/* Looks at so many cells by sessions that stand on them; `blocked` gets which are. */
static void look_at_cells(int i, struct wire *wire, uint32_t first, uint32_t count, uint64_t version, bool *blocked)
{
    uint64_t sessions[LOOK_CELLS];
    for (uint32_t n = 0; n < count; n++)
        sessions[n] = wire_open_session(wire, map_name, first + n, first + n == 0, "tbwa", 1);
    Tickpath__Tick tick = TICKPATH__TICK__INIT;
    tick.session = sessions;
    tick.n_session = count;
    Tickpath__Reply *reply =
        wire_ask(wire, TICKPATH__REQUEST__BODY_TICK, &tick, TICKPATH__REPLY__BODY_TICKED);
    ck_assert_uint_eq(reply->ticked->n_flags, count);
    for (uint32_t n = 0; n < count; n++) {
        blocked[n] = reply->ticked->flags[n] & TICKPATH__FLAG__START_BLOCKED;
        if (reply->ticked->version[n] != version)
            ck_abort_msg("daemon %d moved on from version %llu while it was looked at", i,
                         (unsigned long long)version);
    }
    wire_reply_free(reply);
}

/* Every cell as the model has it, in that version; gives which are blocked. Not all in one tick: it would keep the tickers waiting. */
static void expect_cells(int i, uint64_t version, bool blocked[SHARED_CELLS])
{
    struct wire wire;
    char words[160];
    greet(i, &wire, words);
    for (uint32_t first = 0; first < SHARED_CELLS; first += LOOK_CELLS)
        look_at_cells(i, &wire, first, SHARED_CELLS - first < LOOK_CELLS ? SHARED_CELLS - first : LOOK_CELLS, version, blocked + first);
    for (uint32_t cell = 0; cell < SHARED_CELLS; cell++) {
        if (shared.fate[cell] == SHARED_ACKED && !blocked[cell])
            ck_abort_msg("daemon %d, version %llu: the acknowledged change of cell %u is not there", i,
                         (unsigned long long)version, cell);
        if (shared.fate[cell] <= SHARED_REFUSED && blocked[cell])
            ck_abort_msg(
                "daemon %d, version %llu: cell %u is blocked, %s", i, (unsigned long long)version, cell,
                shared.fate[cell] == SHARED_FREE ? "and nobody asked for it" : "and its change was refused");
    }
    wire_close(&wire);
}

static uint64_t count_of(enum shared_fate fate)
{
    uint64_t count = 0;
    for (uint32_t cell = 0; cell < SHARED_CELLS; cell++)
        count += shared.fate[cell] == fate;
    return count;
}

static uint64_t expect_model(int i, bool blocked[SHARED_CELLS])
{
    uint64_t epoch, version;
    shared_place(i, &epoch, &version);
    expect_cells(i, version, blocked);
    if (epoch == shared.epoch) {
        ck_assert_uint_ge(version, shared.version_most);
        if (count_of(SHARED_UNKNOWN) == 0 && !shared.is_anew)
            ck_assert_msg(
                version == 1 + count_of(SHARED_ACKED), "daemon %d: version %llu after %llu changes: %s", i,
                (unsigned long long)version, (unsigned long long)count_of(SHARED_ACKED),
                version > count_of(SHARED_ACKED) ? "some were applied twice" : "some were not applied");
    }
    return version;
}

uint64_t shared_expect_model(int i)
{
    bool blocked[SHARED_CELLS];
    return expect_model(i, blocked);
}

uint64_t shared_expect_equal(void)
{
    uint64_t epoch[SHARED_DAEMONS], version[SHARED_DAEMONS];
    for (int i = 0; i < SHARED_DAEMONS; i++)
        shared_wait_well(i);
    for (uint64_t until = wire_now_ms() + SHARED_WAIT_MS;; shared_pause_ms(POLL_PAUSE_MS)) {
        bool is_same = true;
        for (int i = 0; i < SHARED_DAEMONS; i++) {
            is_same &= place(i, &epoch[i], &version[i]);
            is_same &= epoch[i] == epoch[0] && version[i] == version[0];
        }
        if (is_same)
            break;
        ck_assert_msg(wire_now_ms() < until,
                      "the daemons stay apart: epoch %llu version %llu, epoch %llu version %llu",
                      (unsigned long long)epoch[0], (unsigned long long)version[0],
                      (unsigned long long)epoch[1], (unsigned long long)version[1]);
    }
    bool blocked[SHARED_DAEMONS][SHARED_CELLS];
    for (int i = 0; i < SHARED_DAEMONS; i++)
        ck_assert_uint_eq(expect_model(i, blocked[i]), version[0]);
    ck_assert_msg(memcmp(blocked[0], blocked[1], sizeof blocked[0]) == 0,
                  "the daemons are at the same version and differ in their cells");
    return version[0];
}

uint64_t shared_expect_equal_anew(void)
{
    uint64_t was = shared.epoch, epoch[SHARED_DAEMONS], version;
    for (uint64_t until = wire_now_ms() + SHARED_WAIT_MS;; shared_pause_ms(POLL_PAUSE_MS)) {
        bool is_anew = true;
        for (int i = 0; i < SHARED_DAEMONS; i++)
            is_anew &= place(i, &epoch[i], &version) && epoch[i] != was && epoch[i] == epoch[0];
        if (is_anew)
            break;
        ck_assert_msg(wire_now_ms() < until, "no new epoch: the daemons are in %llu and %llu",
                      (unsigned long long)epoch[0], (unsigned long long)epoch[1]);
    }
    shared.epoch = epoch[0];
    shared.version_most = 0;
    shared.is_anew = true;
    return shared_expect_equal();
}

/* ---- What a test does to the map and to Redis ---- */

void shared_put_anew(int i)
{
    static uint8_t cells[SHARED_CELLS];
    memset(cells, '.', sizeof cells);
    Tickpath__PutMap put = TICKPATH__PUT_MAP__INIT;
    put.map = map_name;
    put.has_width = put.has_height = put.has_cells = put.has_last = put.last = put.has_replace = put.replace =
        1;
    put.width = SHARED_WIDTH;
    put.height = SHARED_HEIGHT;
    put.cells = (ProtobufCBinaryData){.data = cells, .len = sizeof cells};
    Tickpath__Reply *reply;
    for (uint64_t until = wire_now_ms() + SHARED_WAIT_MS;; shared_pause_ms(POLL_PAUSE_MS)) {
        wire_send(&shared.wire[i], TICKPATH__REQUEST__BODY_PUT_MAP, &put);
        reply = next_reply(i);
        bool has_sessions = reply->body_case == TICKPATH__REPLY__BODY_ERROR &&
                            reply->error->code == TICKPATH__ERROR_CODE__FAILED_PRECONDITION;
        if (!has_sessions) /* those of a connection that has just ended */
            break;
        wire_reply_free(reply);
        ck_assert_uint_lt(wire_now_ms(), until);
    }
    ck_assert_int_eq(reply->body_case, TICKPATH__REPLY__BODY_MAP_INFO);
    ck_assert_uint_ne(reply->map_info->epoch, shared.epoch);
    shared.epoch = reply->map_info->epoch;
    shared.version_most = reply->map_info->version;
    wire_reply_free(reply);
    memset(shared.fate, SHARED_FREE, sizeof shared.fate);
}

void shared_wait_trimmed(unsigned entries_most)
{
    const char *said;
    for (uint64_t until = wire_now_ms() + SHARED_WAIT_MS;; shared_pause_ms(POLL_PAUSE_MS)) {
        said = test_redis_ask(&shared.redis, 2, (const char *[]){"XLEN", "tickpath:{m}:log"});
        unsigned long entries = strtoul(said, NULL, 10);
        if (entries > 0 && entries <= entries_most)
            return;
        ck_assert_msg(wire_now_ms() < until, "the log has %s entries, and is not trimmed to %u", said,
                      entries_most);
    }
}

void shared_empty(struct test_redis *redis)
{
    ck_assert_int_eq(redis->pid, 0);
    tp_test_folder_remove(redis->folder);
    ck_assert_int_eq(mkdir(redis->folder, 0700), 0);
}
