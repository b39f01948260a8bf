/* libtickpath-client against scripted peers that do what no daemon does: half frames, nonsense, silence,
 * answers that contradict themselves, leaving in the middle. Under ASan a leak fails the test.
 */
#include "client/tickpath_client.h"
#include "tests/lib/harness.h"
#include "tests/lib/peer.h"
#include "tests/lib/wire.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALL_MS = WIRE_TIMEOUT_MS };

static void put_pong(int fd, uint64_t id)
{
    Tickpath__Pong pong = TICKPATH__PONG__INIT;
    peer_reply(fd, id, TICKPATH__REPLY__BODY_PONG, &pong);
}

static struct tp_client *open_greeted(const struct peer *peer)
{
    struct tp_client *client;
    struct tp_client_error error;
    int result = tp_client_open(&client, "127.0.0.1", peer->port, "test", CALL_MS, &error);
    ck_assert_msg(result == 0, "open: %s", error.message);
    return client;
}

/* ---- opening ---- */

START_TEST(nobody_listens)
{
    uint16_t port;
    close(peer_listen(&port));
    struct tp_client *client = (void *)1;
    struct tp_client_error error;
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", port, NULL, CALL_MS, &error),
                     TP_CLIENT_UNAVAILABLE);
    ck_assert_ptr_null(client);
    ck_assert_int_eq(error.code, TP_CLIENT_UNAVAILABLE);
    ck_assert(!error.from_server);
    ck_assert_ptr_nonnull(strstr(error.message, "refused"));
    ck_assert_int_eq(tp_client_open(&client, "127.0.0.1", 0, NULL, CALL_MS, &error),
                     TP_CLIENT_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_client_open(&client, "", 1, NULL, CALL_MS, NULL), TP_CLIENT_INVALID_ARGUMENT);
    tp_client_close(NULL);
}
END_TEST

static void script_silent(int fd, uint64_t argument)
{
    (void)argument;
    peer_wait_for_end(fd);
}

static void script_leave(int fd, uint64_t argument)
{
    if (argument)
        peer_id(fd);
}

static void script_raw(int fd, uint64_t argument)
{
    static const struct {
        const char *bytes;
        size_t size;
    } raw[] = {
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10},     /* 1 bit too many */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11}, /* no end */
        {"\x81\x80\x80\x02", 4},                              /* 4 MiB + 1 */
        {"\x05hello", 6},                                     /* no Reply */
        {"\x00", 1},                                          /* a Reply with nothing in it */
        {"\x02\x08\x07", 3},                                  /* a Reply to a request never made */
        {"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", 47}, /* shorter than the frame of 72 bytes that H promises */
    };
    peer_id(fd);
    peer_send(fd, raw[argument].bytes, raw[argument].size);
    peer_wait_for_end(fd);
}

static void script_dribble(int fd, uint64_t argument)
{
    (void)argument;
    uint8_t frame[256];
    Tickpath__Welcome welcome = TICKPATH__WELCOME__INIT;
    Tickpath__Reply reply = TICKPATH__REPLY__INIT;
    reply.has_id = 1;
    reply.id = peer_id(fd);
    reply.body_case = TICKPATH__REPLY__BODY_WELCOME;
    reply.welcome = &welcome;
    welcome.server_version = (char *)"a byte at a time";
    size_t size = peer_frame(&reply, frame);
    for (size_t i = 0; i < size; i++) {
        peer_send(fd, &frame[i], 1);
        usleep(2000);
    }
    peer_wait_for_end(fd);
}

static void script_trickle(int fd, uint64_t argument)
{
    (void)argument;
    peer_send(fd, "\xff\xff\x01", 3); /* a frame of 32767 bytes that never comes to its end */
    for (int i = 0; i < 30000 && peer_send(fd, "x", 1); i++)
        usleep(5000);
}

static void script_bad_welcome(int fd, uint64_t argument)
{
    Tickpath__Welcome welcome = TICKPATH__WELCOME__INIT;
    welcome.has_frame_bytes_max = 1;
    welcome.frame_bytes_max = argument;
    peer_reply(fd, peer_id(fd), TICKPATH__REPLY__BODY_WELCOME, &welcome);
    peer_wait_for_end(fd);
}

static void script_refuse_hello(int fd, uint64_t argument)
{
    (void)argument;
    Tickpath__Error error = TICKPATH__ERROR__INIT;
    error.has_code = 1;
    error.code = TICKPATH__ERROR_CODE__PROTOCOL_VERSION;
    error.message = (char *)"this server speaks versions 7 to 9";
    error.field = (char *)"protocol_max";
    peer_reply(fd, peer_id(fd), TICKPATH__REPLY__BODY_ERROR, &error);
    peer_wait_for_end(fd);
}

static const struct {
    void (*script)(int fd, uint64_t argument);
    uint64_t argument;
    int timeout_ms, code;
    const char *words;
} bad_openings[] = {
    {script_silent, 0, 100, TP_CLIENT_TIMEOUT, "the time is over without a welcome"},
    {script_trickle, 0, 200, TP_CLIENT_TIMEOUT, "the time is over without a welcome"},
    {script_leave, 0, CALL_MS, TP_CLIENT_CLOSED, "closed the connection"},
    {script_leave, 0, CALL_MS, TP_CLIENT_CLOSED, "without a welcome: is it the port"},
    {script_leave, 1, CALL_MS, TP_CLIENT_CLOSED, "closed"},
    {script_raw, 0, CALL_MS, TP_CLIENT_MALFORMED_FRAME, "length"},
    {script_raw, 1, CALL_MS, TP_CLIENT_MALFORMED_FRAME, "length"},
    {script_raw, 2, CALL_MS, TP_CLIENT_FRAME_TOO_LARGE, "4194305"},
    {script_raw, 3, CALL_MS, TP_CLIENT_MALFORMED_FRAME, "no reply"},
    {script_raw, 4, CALL_MS, TP_CLIENT_MALFORMED_FRAME, "nobody asked"},
    {script_raw, 5, CALL_MS, TP_CLIENT_MALFORMED_FRAME, "nobody asked"},
    {script_raw, 6, CALL_MS, TP_CLIENT_MALFORMED_FRAME, "answered with HTTP"},
    {script_bad_welcome, 0, CALL_MS, TP_CLIENT_MALFORMED_FRAME, "frame_bytes_max"},
    {script_bad_welcome, 100, CALL_MS, TP_CLIENT_MALFORMED_FRAME, "frame_bytes_max"},
    {script_refuse_hello, 0, CALL_MS, TP_CLIENT_PROTOCOL_VERSION, "versions 7 to 9"},
};

START_TEST(bad_opening)
{
    struct peer peer;
    struct tp_client *client;
    struct tp_client_error error;
    peer_start(&peer, bad_openings[_i].script, bad_openings[_i].argument);
    uint64_t begin = wire_now_ms();
    int result = tp_client_open(&client, "127.0.0.1", peer.port, "test", bad_openings[_i].timeout_ms, &error);
    uint64_t took = wire_now_ms() - begin;
    ck_assert_msg(result == bad_openings[_i].code, "case %d: %s: %s", _i, tp_client_code_name(result),
                  error.message);
    ck_assert_ptr_null(client);
    ck_assert_int_eq(error.code, result);
    ck_assert_msg(strstr(error.message, bad_openings[_i].words) != NULL, "case %d: %s", _i, error.message);
    if (result == TP_CLIENT_TIMEOUT)
        ck_assert_msg(took + 1 >= (uint64_t)bad_openings[_i].timeout_ms &&
                          took < (uint64_t)bad_openings[_i].timeout_ms + 2000,
                      "case %d took %llu ms", _i, (unsigned long long)took);
    peer_join(&peer);
}
END_TEST

START_TEST(welcome_a_byte_at_a_time)
{
    struct peer peer;
    peer_start(&peer, script_dribble, 0);
    struct tp_client *client = open_greeted(&peer);
    ck_assert_str_eq(tp_client_server(client)->version, "a byte at a time");
    ck_assert_uint_eq(tp_client_server(client)->frame_bytes_max, 4194304);
    tp_client_close(client);
    peer_join(&peer);
}
END_TEST

/* ---- after the welcome ---- */

static void script_late(int fd, uint64_t argument)
{
    (void)argument;
    peer_greet(fd);
    uint64_t late = peer_id(fd);
    usleep(300 * 1000);
    put_pong(fd, late);
    for (uint64_t id; (id = peer_id(fd)) != 0;)
        put_pong(fd, id);
}

/* A timeout leaves the connection usable, and the late reply is not taken for the next one's. */
START_TEST(late_reply_is_dropped)
{
    struct peer peer;
    peer_start(&peer, script_late, 0);
    struct tp_client *client = open_greeted(&peer);
    ck_assert_int_eq(tp_client_ping(client, NULL, 0, 30), TP_CLIENT_TIMEOUT);
    ck_assert_int_eq(tp_client_error(client)->code, TP_CLIENT_TIMEOUT);
    ck_assert_uint_eq(tp_client_outstanding(client), 0);
    ck_assert_int_eq(tp_client_ping(client, NULL, 0, CALL_MS), 0);
    /* a ticket survives a timeout */
    uint64_t ticket;
    ck_assert_int_eq(tp_client_send_ping(client, NULL, 0, &ticket, 0), 0);
    int result = tp_client_collect(client, ticket, NULL, 0);
    ck_assert(result == 0 || result == TP_CLIENT_TIMEOUT);
    if (result != 0)
        ck_assert_int_eq(tp_client_collect(client, ticket, NULL, CALL_MS), 0);
    ck_assert_int_eq(tp_client_collect(client, ticket, NULL, CALL_MS), TP_CLIENT_NOT_FOUND);
    ck_assert_int_eq(tp_client_collect(client, 12345, NULL, CALL_MS), TP_CLIENT_NOT_FOUND);
    /* other bytes than were sent are no pong */
    ck_assert_int_eq(tp_client_ping(client, "abc", 3, CALL_MS), TP_CLIENT_MALFORMED_FRAME);
    tp_client_close(client);
    peer_join(&peer);
}
END_TEST

/* Greets, answers `argument` pings, reads one request more, and goes. */
static void script_answer_and_leave(int fd, uint64_t argument)
{
    peer_greet(fd);
    for (uint64_t i = 0; i < argument; i++)
        put_pong(fd, peer_id(fd));
    peer_id(fd);
}

START_TEST(answers_before_the_end_can_be_collected)
{
    struct peer peer;
    peer_start(&peer, script_answer_and_leave, 3);
    struct tp_client *client = open_greeted(&peer);
    uint64_t tickets[5];
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(tp_client_send_ping(client, NULL, 0, &tickets[i], CALL_MS), 0);
    ck_assert_uint_eq(tp_client_outstanding(client), 5);
    ck_assert_int_eq(tp_client_collect(client, tickets[4], NULL, CALL_MS), TP_CLIENT_CLOSED);
    for (int i = 2; i >= 1; i--) /* the newest first */
        ck_assert_int_eq(tp_client_collect(client, tickets[i], NULL, CALL_MS), 0);
    tp_client_drop(client, tickets[0]);
    tp_client_drop(client, tickets[0]);
    ck_assert_int_eq(tp_client_collect(client, tickets[0], NULL, CALL_MS), TP_CLIENT_NOT_FOUND);
    ck_assert_int_eq(tp_client_collect(client, tickets[3], NULL, CALL_MS), TP_CLIENT_CLOSED);
    tp_client_drop(client, tickets[3]);
    ck_assert_uint_eq(tp_client_outstanding(client), 1);
    /* it stays over, with the same words, whatever is called */
    ck_assert_int_eq(tp_client_ping(client, NULL, 0, CALL_MS), TP_CLIENT_CLOSED);
    ck_assert_int_eq(
        tp_client_put_map(client, "m", 1, 1, (const uint8_t *)".", NULL, 0, false, NULL, CALL_MS),
        TP_CLIENT_CLOSED);
    ck_assert_ptr_nonnull(strstr(tp_client_error(client)->message, "closed"));
    tp_client_close(client);
    peer_join(&peer);
}
END_TEST

static void script_last_word(int fd, uint64_t argument)
{
    peer_greet(fd);
    peer_id(fd);
    Tickpath__Error error = TICKPATH__ERROR__INIT;
    error.has_code = argument != 0;
    error.code = (Tickpath__ErrorCode)argument;
    error.message = (char *)"idle for too long";
    error.has_retry_after_ms = 1;
    error.retry_after_ms = 250;
    peer_reply(fd, 0, TICKPATH__REPLY__BODY_ERROR, &error);
}

START_TEST(last_word_of_the_server)
{
    struct peer peer;
    peer_start(&peer, script_last_word, TICKPATH__ERROR_CODE__SHUTTING_DOWN);
    struct tp_client *client = open_greeted(&peer);
    ck_assert_int_eq(tp_client_ping(client, NULL, 0, CALL_MS), TP_CLIENT_SHUTTING_DOWN);
    const struct tp_client_error *error = tp_client_error(client);
    ck_assert(error->from_server);
    ck_assert_str_eq(error->message, "idle for too long");
    ck_assert_uint_eq(error->retry_after_ms, 250);
    ck_assert_int_eq(tp_client_ping(client, NULL, 0, CALL_MS), TP_CLIENT_SHUTTING_DOWN);
    tp_client_close(client);
    peer_join(&peer);
    for (uint64_t code = 0; code < 3; code++) { /* codes of no list */
        peer_start(&peer, script_last_word, code * 1000);
        client = open_greeted(&peer);
        ck_assert_int_eq(tp_client_ping(client, NULL, 0, CALL_MS), TP_CLIENT_MALFORMED_FRAME);
        tp_client_close(client);
        peer_join(&peer);
    }
}
END_TEST

/* Answers a tick in a way that contradicts itself, or with something else. */
static void script_wrong_answer(int fd, uint64_t argument)
{
    peer_greet(fd);
    uint64_t id = peer_id(fd), wide[2] = {1, 2};
    uint32_t narrow[2] = {1, 2};
    Tickpath__Ticked ticked = TICKPATH__TICKED__INIT;
    Tickpath__Path path = TICKPATH__PATH__INIT, *paths[1] = {&path};
    size_t *counts[] = {&ticked.n_session, &ticked.n_cell,     &ticked.n_status, &ticked.n_flags,
                        &ticked.n_version, &ticked.n_cost,     &ticked.n_traced, &ticked.n_expansions,
                        &ticked.n_learned, &ticked.n_generated, &ticked.n_guide_expansions};
    enum { COUNTS = sizeof counts / sizeof counts[0] };
    ticked.session = ticked.version = ticked.cost = ticked.traced = ticked.expansions = ticked.learned =
        ticked.generated = ticked.guide_expansions = wide;
    ticked.cell = ticked.status = ticked.flags = narrow;
    for (size_t i = 0; i < COUNTS; i++)
        *counts[i] = 2;
    if (argument < COUNTS) {
        *counts[argument] = 1;
    } else {
        ticked.path = paths;
        ticked.n_path = 1;
    }
    if (argument == COUNTS + 1)
        put_pong(fd, id);
    else
        peer_reply(fd, argument == COUNTS + 2 ? id + 1 : id, TICKPATH__REPLY__BODY_TICKED, &ticked);
    peer_wait_for_end(fd);
}

START_TEST(wrong_answer)
{
    struct peer peer;
    peer_start(&peer, script_wrong_answer, (uint64_t)_i);
    struct tp_client *client = open_greeted(&peer);
    struct tp_client_ticked ticked;
    const struct tp_client_tick tick = {.all = true};
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, CALL_MS), TP_CLIENT_MALFORMED_FRAME);
    ck_assert_int_eq(tp_client_tick(client, &tick, &ticked, CALL_MS), TP_CLIENT_MALFORMED_FRAME);
    tp_client_close(client);
    peer_join(&peer);
}
END_TEST

/* Greets, reads nothing until told by a byte count of time, then goes. */
static void script_deaf(int fd, uint64_t argument)
{
    peer_greet(fd);
    usleep((useconds_t)argument * 1000);
}

/* A peer that does not read: sending stops at a bound with TIMEOUT; when the peer goes, CLOSED, and no
 * signal. */
START_TEST(deaf_peer)
{
    struct peer peer;
    peer_start(&peer, script_deaf, 1500);
    struct tp_client *client = open_greeted(&peer);
    enum { CELLS = 500000 };
    uint32_t *cells = calloc(CELLS, sizeof *cells), terrain = '.';
    ck_assert_ptr_nonnull(cells);
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = 1u << 21;
    const struct tp_client_changes changes = {
        .map = "m", .cells = cells, .cell_count = CELLS, .cell_terrains = &terrain, .cell_terrain_count = 1};
    uint64_t ticket;
    int result = 0, sent = 0;
    for (; sent < 100 && result == 0; sent++)
        result = tp_client_send_change(client, &changes, &ticket, 20);
    ck_assert_int_eq(result, TP_CLIENT_TIMEOUT);
    ck_assert_int_lt(sent, 30); /* some 2 MB each */
    ck_assert_int_eq(tp_client_collect(client, ticket, NULL, 20), TP_CLIENT_TIMEOUT);
    ck_assert_int_eq(tp_client_collect(client, ticket, NULL, CALL_MS), TP_CLIENT_CLOSED);
    ck_assert_int_eq(tp_client_ping(client, NULL, 0, CALL_MS), TP_CLIENT_CLOSED);
    free(cells);
    tp_client_close(client);
    peer_join(&peer);
}
END_TEST

static void script_welcome_small(int fd, uint64_t argument)
{
    Tickpath__Welcome welcome = TICKPATH__WELCOME__INIT;
    welcome.has_frame_bytes_max = 1;
    welcome.frame_bytes_max = argument;
    peer_reply(fd, peer_id(fd), TICKPATH__REPLY__BODY_WELCOME, &welcome);
    for (uint64_t id; (id = peer_id(fd)) != 0;)
        put_pong(fd, id);
}

/* What the server would refuse as too large is refused here, and nothing of it is sent. */
START_TEST(too_large_to_send)
{
    struct peer peer;
    peer_start(&peer, script_welcome_small, 16384);
    struct tp_client *client = open_greeted(&peer);
    static const char payload[16384];
    uint64_t ticket;
    ck_assert_int_eq(tp_client_send_ping(client, payload, sizeof payload, &ticket, CALL_MS),
                     TP_CLIENT_FRAME_TOO_LARGE);
    ck_assert_uint_eq(tp_client_outstanding(client), 0);
    ck_assert_int_eq(tp_client_ping(client, NULL, 0, CALL_MS), 0);
    tp_client_close(client);
    peer_join(&peer);
}
END_TEST

static void script_swallow(int fd, uint64_t argument)
{
    (void)argument;
    peer_greet(fd);
    peer_wait_for_end(fd);
}

START_TEST(too_many_outstanding)
{
    struct peer peer;
    peer_start(&peer, script_swallow, 0);
    struct tp_client *client = open_greeted(&peer);
    uint64_t ticket;
    for (int i = 0; i < TP_CLIENT_OUTSTANDING_MAX; i++)
        ck_assert_int_eq(tp_client_send_ping(client, NULL, 0, &ticket, CALL_MS), 0);
    ck_assert_int_eq(tp_client_send_ping(client, NULL, 0, &ticket, CALL_MS), TP_CLIENT_RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(tp_client_outstanding(client), TP_CLIENT_OUTSTANDING_MAX);
    tp_client_close(client);
    peer_join(&peer);
}
END_TEST

/* Greets, then sends bytes that begin as a proper reply and are changed at random. */
static void script_noise(int fd, uint64_t argument)
{
    struct tp_test_rng rng = {.state = argument};
    peer_greet(fd);
    uint64_t id = peer_id(fd), wide[3] = {1, 2, 3};
    uint32_t narrow[3] = {4, 5, 6};
    uint8_t frame[4096];
    Tickpath__Ticked ticked = TICKPATH__TICKED__INIT;
    ticked.n_session = ticked.n_version = ticked.n_cost = ticked.n_cell = ticked.n_status = ticked.n_flags =
        3;
    ticked.session = ticked.version = ticked.cost = wide;
    ticked.cell = ticked.status = ticked.flags = narrow;
    Tickpath__Reply reply = TICKPATH__REPLY__INIT;
    reply.has_id = 1;
    reply.id = id;
    reply.body_case = TICKPATH__REPLY__BODY_TICKED;
    reply.ticked = &ticked;
    size_t size = peer_frame(&reply, frame);
    for (uint32_t n = tp_test_below(&rng, 4); n > 0; n--)
        frame[tp_test_below(&rng, (uint32_t)size)] = (uint8_t)tp_test_next(&rng);
    if (tp_test_percent(&rng, 30))
        size = tp_test_below(&rng, (uint32_t)size + 1);
    peer_send(fd, frame, size);
}

/* Whatever comes, a call ends with an answer whose arrays can be read, or with an error that has words. */
START_TEST(noise)
{
    struct tp_test_rng rng = tp_test_rng("client noise");
    for (uint64_t i = tp_test_steps(300, 5000); i > 0; i--) {
        struct peer peer;
        peer_start(&peer, script_noise, tp_test_next(&rng));
        struct tp_client *client = open_greeted(&peer);
        const struct tp_client_tick tick = {.all = true};
        struct tp_client_ticked ticked;
        int result = tp_client_tick(client, &tick, &ticked, CALL_MS);
        if (result != 0) {
            ck_assert_int_lt(result, 0);
            ck_assert(tp_client_error(client)->message[0] != '\0' || tp_client_error(client)->from_server);
        } else {
            uint64_t sum = 0;
            for (size_t j = 0; j < ticked.count; j++)
                sum += ticked.sessions[j] + ticked.cells[j] + ticked.statuses[j] + ticked.flags[j] +
                       ticked.versions[j] + ticked.costs[j];
            for (size_t j = 0; j < ticked.refused_count; j++)
                sum += ticked.refused[j].session;
            ck_assert(sum != 1 || ticked.count > 0); /* all of it was read */
        }
        tp_client_close(client);
        peer_join(&peer);
    }
}
END_TEST

START_TEST(code_names)
{
    ck_assert_str_eq(tp_client_code_name(0), "OK");
    ck_assert_str_eq(tp_client_code_name(TP_CLIENT_TIMEOUT), "TIMEOUT");
    ck_assert_str_eq(tp_client_code_name(TP_CLIENT_INTERNAL), "INTERNAL");
    ck_assert_str_eq(tp_client_code_name(-1000), "UNKNOWN");
    ck_assert_str_eq(tp_client_code_name(5), "UNKNOWN");
}
END_TEST

static Suite *client_peers_suite(void)
{
    Suite *suite = suite_create("client_peers");
    TCase *peers = tcase_create("scripted peers");
    tcase_add_test(peers, code_names);
    tcase_add_test(peers, nobody_listens);
    tcase_add_loop_test(peers, bad_opening, 0, (int)(sizeof bad_openings / sizeof bad_openings[0]));
    tcase_add_test(peers, welcome_a_byte_at_a_time);
    tcase_add_test(peers, late_reply_is_dropped);
    tcase_add_test(peers, answers_before_the_end_can_be_collected);
    tcase_add_test(peers, last_word_of_the_server);
    tcase_add_loop_test(peers, wrong_answer, 0, 14);
    tcase_add_test(peers, deaf_peer);
    tcase_add_test(peers, too_large_to_send);
    tcase_add_test(peers, too_many_outstanding);
    tcase_add_test(peers, noise);
    suite_add_tcase(suite, peers);
    return suite;
}

int main(void)
{
    return tp_test_main("test_client_peers", client_peers_suite);
}
