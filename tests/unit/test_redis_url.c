/* The URL of the option --redis, taken apart: what it may hold, and that the words of a refusal hold no part of it. */
#include "daemon/store/redis_url.h"
#include "tests/lib/harness.h"

#include <string.h>

START_TEST(test_good)
{
    static const struct {
        const char *text, *host, *user, *password, *prefix;
        int port, db, wait;
        bool has_password;
    } rows[] = {
        {"redis://h", "h", "", "", "tickpath:", 6379, 0, 0, false},
        {"redis://h/", "h", "", "", "tickpath:", 6379, 0, 0, false},
        {"redis://h:1", "h", "", "", "tickpath:", 1, 0, 0, false},
        {"redis://h:65535/15", "h", "", "", "tickpath:", 65535, 15, 0, false},
        {"redis://u:p@h", "h", "u", "p", "tickpath:", 6379, 0, 0, true},
        {"redis://:p@h:7/2", "h", "", "p", "tickpath:", 7, 2, 0, true},
        {"redis://u:@h", "h", "u", "", "tickpath:", 6379, 0, 0, true},
        {"redis://u%40x:a%3Ab%2Fc@h", "h", "u@x", "a:b/c", "tickpath:", 6379, 0, 0, true},
        {"redis://u:a@b@h", "h", "u", "a@b", "tickpath:", 6379, 0, 0, true},
        {"redis://[::1]", "::1", "", "", "tickpath:", 6379, 0, 0, false},
        {"redis://u:p@[::1]:9/3", "::1", "u", "p", "tickpath:", 9, 3, 0, true},
        {"redis://h?prefix=a%3A", "h", "", "", "a:", 6379, 0, 0, false},
        {"redis://h:5/1?prefix=", "h", "", "", "", 5, 1, 0, false},
        {"redis://h?wait=2", "h", "", "", "tickpath:", 6379, 0, 2, false},
        {"redis://h/4?wait=0&prefix=a=b", "h", "", "", "a=b", 6379, 4, 0, false},
        {"redis://h?prefix=a%26b&wait=99", "h", "", "", "a&b", 6379, 0, 99, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_redis_url url;
        const char *wrong = tp__redis_url_read(&url, rows[i].text);
        ck_assert_msg(!wrong, "%s: %s", rows[i].text, wrong);
        ck_assert_str_eq(url.host, rows[i].host);
        ck_assert_str_eq(url.user, rows[i].user);
        ck_assert_str_eq(url.password, rows[i].password);
        ck_assert_str_eq(url.prefix, rows[i].prefix);
        ck_assert_int_eq(url.port, rows[i].port);
        ck_assert_int_eq(url.db, rows[i].db);
        ck_assert_int_eq(url.wait, rows[i].wait);
        ck_assert_int_eq(url.has_password, rows[i].has_password);
        ck_assert_uint_eq(url.sentinels_count, 0);
    }
}
END_TEST

START_TEST(test_good_sentinels)
{
    struct tp_redis_url url;
    ck_assert_ptr_null(tp__redis_url_read(&url, "redis-sentinel://a/m"));
    ck_assert_uint_eq(url.sentinels_count, 1);
    ck_assert_str_eq(url.sentinels[0].host, "a");
    ck_assert_int_eq(url.sentinels[0].port, 26379);
    ck_assert_str_eq(url.master, "m");
    ck_assert_str_eq(url.host, "");
    ck_assert_str_eq(url.prefix, "tickpath:");
    ck_assert(!url.has_password && !url.has_sentinel_password);

    ck_assert_ptr_null(tp__redis_url_read(
        &url, "redis-sentinel://u:p@a:1,[::1]:2,[::2],b/the%20master/7?wait=1&sentinel_user=su&prefix=x&"
              "sentinel_password=s%26p"));
    ck_assert_uint_eq(url.sentinels_count, 4);
    static const struct tp_redis_place places[] = {{"a", 1}, {"::1", 2}, {"::2", 26379}, {"b", 26379}};
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(url.sentinels[i].host, places[i].host);
        ck_assert_int_eq(url.sentinels[i].port, places[i].port);
    }
    ck_assert_str_eq(url.master, "the master");
    ck_assert_int_eq(url.db, 7);
    ck_assert_int_eq(url.wait, 1);
    ck_assert_str_eq(url.user, "u");
    ck_assert_str_eq(url.password, "p");
    ck_assert_str_eq(url.prefix, "x");
    ck_assert_str_eq(url.sentinel_user, "su");
    ck_assert_str_eq(url.sentinel_password, "s&p");
    ck_assert(url.has_password && url.has_sentinel_password);

    ck_assert_ptr_null(tp__redis_url_read(&url, "redis-sentinel://a,b,c,d,e,f,g,h:8/m/?sentinel_password="));
    ck_assert_uint_eq(url.sentinels_count, 8);
    ck_assert_int_eq(url.sentinels[7].port, 8);
    ck_assert(url.has_sentinel_password);
    ck_assert_str_eq(url.sentinel_user, "");
}
END_TEST

START_TEST(test_bad)
{
    static const char *const rows[] = {
        "",
        "h:6379",
        "http://h",
        "rediss://h",
        "rediss-sentinel://h/m",
        "redis://",
        "redis://:6379",
        "redis:///0",
        "redis://h:",
        "redis://h:0",
        "redis://h:65536",
        "redis://h:6379x",
        "redis://h:-1",
        "redis://h/x",
        "redis://h/-1",
        "redis://h/1/2",
        "redis://h/123456",
        "redis://secret@h",
        "redis://u:secret%zz@h",
        "redis://u:secret%4",
        "redis://u:secret%00@h",
        "redis://[::1",
        "redis://[::1]x",
        "redis://[]",
        "redis://h?",
        "redis://h?db=1",
        "redis://h?prefix=a&",
        "redis://h?wait",
        "redis://h?wait=",
        "redis://h?wait=-1",
        "redis://h?wait=100",
        "redis://h?wait=1x",
        "redis://h?waits=1",
        "redis://h?prefix=a%",
        "redis://h?prefix=a{",
        "redis://h?prefix=%7D",
        "redis://h?prefix=0123456789012345678901234567890123456789012345678901234567890123",
        "redis://h?sentinel_password=secret",
        "redis://a,b:secret/m",
        "redis-sentinel://",
        "redis-sentinel:///m",
        "redis-sentinel://a",
        "redis-sentinel://a/",
        "redis-sentinel://a//1",
        "redis-sentinel://a?prefix=b",
        "redis-sentinel://a,/m",
        "redis-sentinel://,a/m",
        "redis-sentinel://a,,b/m",
        "redis-sentinel://a,b:0/m",
        "redis-sentinel://a/m/x",
        "redis-sentinel://a/m%zz",
        "redis-sentinel://a/m/1/2",
        "redis-sentinel://a,b,c,d,e,f,g,h,i/m",
        "redis-sentinel://secret@a/m",
        "redis-sentinel://a/m?sentinel_user=secret",
        "redis-sentinel://a/m?sentinel_password=secret%4",
        "redis-sentinel://a/m?db=1",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_redis_url url;
        const char *wrong = tp__redis_url_read(&url, rows[i]);
        ck_assert_msg(wrong, "'%s' was taken", rows[i]);
        ck_assert_msg(strlen(wrong) < 160 && !strstr(wrong, "secret"), "%s", wrong);
    }
    struct tp_redis_url url;
    const char *wrong = tp__redis_url_read(&url, "rediss://h");
    ck_assert_msg(strstr(wrong, "TLS") && strstr(wrong, "has none"), "%s", wrong);
}
END_TEST

/* Each part that is one byte too long for its field, and the longest that fits. */
START_TEST(test_lengths)
{
    static const struct {
        const char *before, *after;
        size_t longest;
    } rows[] = {
        {"redis://", ":1/2", 255},
        {"redis://", ":p@h", 127},
        {"redis://u:", "@h", 255},
        {"redis://h?prefix=", "&wait=1", 63},
        {"redis-sentinel://a,", ":1,b/m", 255},
        {"redis-sentinel://a/", "/1", 127},
        {"redis-sentinel://a/m?sentinel_password=p&sentinel_user=", "", 127},
        {"redis-sentinel://a/m?sentinel_password=", "&wait=1", 255},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t more = 0; more < 2; more++) {
            struct tp_redis_url url;
            char text[512];
            size_t before = strlen(rows[i].before), size = rows[i].longest + more;
            strcpy(text, rows[i].before);
            memset(text + before, 'x', size);
            strcpy(text + before + size, rows[i].after);
            const char *wrong = tp__redis_url_read(&url, text);
            ck_assert_msg((wrong != NULL) == (more == 1), "%s: %s", text, wrong ? wrong : "taken");
        }
    static char whole[5000] = "redis://h?prefix=";
    struct tp_redis_url url;
    memset(whole + strlen(whole), '%', 4000);
    ck_assert_str_eq(tp__redis_url_read(&url, whole), "the Redis URL is too long");
}
END_TEST

/* What is shown is the same place when it is read again, and holds nothing of who logs in. */
START_TEST(test_told)
{
    static const char *const rows[][2] = {
        {"redis://h", "redis://h:6379/0?prefix=tickpath:&wait=0"},
        {"redis://USER:SECRET@h:7/2?wait=3&prefix=", "redis://h:7/2?prefix=&wait=3"},
        {"redis://USER:a@SECRET@[::1]:9", "redis://[::1]:9/0?prefix=tickpath:&wait=0"},
        {"redis://:SECRET%40x@h", "redis://h:6379/0?prefix=tickpath:&wait=0"},
        {"redis-sentinel://USER:SECRET@a,[::2]:5/m/4?sentinel_user=USER&sentinel_password=SECRET",
         "redis-sentinel://a:26379,[::2]:5/m/4?prefix=tickpath:&wait=0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_redis_url url, again;
        char told[512];
        ck_assert_ptr_null(tp__redis_url_read(&url, rows[i][0]));
        tp__redis_url_tell(&url, told, sizeof told);
        ck_assert_str_eq(told, rows[i][1]);
        ck_assert_ptr_null(tp__redis_url_read(&again, told));
        ck_assert_str_eq(again.host, url.host);
        ck_assert_str_eq(again.master, url.master);
        ck_assert(again.port == url.port && again.db == url.db && again.wait == url.wait && again.sentinels_count == url.sentinels_count);
        ck_assert(!again.has_password && !again.has_sentinel_password);
        tp__redis_url_tell(&url, told, 12); /* cut, and ended */
        ck_assert_uint_eq(strlen(told), 11);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("redis_url");
    TCase *url = tcase_create("url");
    tcase_add_test(url, test_good);
    tcase_add_test(url, test_good_sentinels);
    tcase_add_test(url, test_told);
    tcase_add_test(url, test_bad);
    tcase_add_test(url, test_lengths);
    suite_add_tcase(s, url);
    return s;
}

int main(void)
{
    return tp_test_main("test_redis_url", suite);
}
