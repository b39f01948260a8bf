#include "tests/lib/served.h"

struct served served;

void served_begin_plain(void)
{
    wire_daemon_init(&served.daemon);
    wire_daemon_start(&served.daemon, "--threads", "2", "--stats", "127.0.0.1:0", NULL);
    wire_open_greeted(&served.wire, served.daemon.port);
}

void served_end_plain(void)
{
    wire_close(&served.wire);
    wire_daemon_stop(&served.daemon);
    wire_daemon_fini(&served.daemon);
}

void served_begin(void)
{
    served_begin_plain();
    wire_put_free_map(&served.wire, "m", SERVED_WIDTH, SERVED_HEIGHT);
    served.wire_ended = false;
}

static void expect_healthy(void)
{
    struct wire other;
    wire_open_greeted(&other, served.daemon.port);
    wire_put_free_map(&other, "healthy", 4, 1);
    uint64_t session = wire_open_session(&other, "healthy", 0, 3, NULL, 100);
    for (uint32_t cell = 1; cell <= 3; cell++) {
        Tickpath__Reply *reply = wire_tick(&other, session);
        ck_assert_uint_eq(reply->ticked->cell[0], cell);
        ck_assert_uint_eq(reply->ticked->status[0],
                          cell == 3 ? TICKPATH__STATUS__ARRIVED : TICKPATH__STATUS__MOVING);
        wire_reply_free(reply);
    }
    wire_close(&other);
}

void served_end(void)
{
    if (!served.wire_ended)
        wire_expect_alive(&served.wire);
    expect_healthy();
    served_end_plain();
}
