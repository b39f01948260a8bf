/* The Redis URL of the option --redis, taken apart.
 *
 *     redis://[user[:password]@]HOST[:PORT][/DB][?prefix=P]
 *
 * What it is: a pure parser; user, password, host and prefix may hold %XX codes, an IPv6 host stands in
 * brackets. What it refuses: TLS (rediss://), sockets in the file system, any other parameter. Its words
 * never hold a part of the URL, for it may hold a password. Who calls it: the Redis store; tests.
 */
#ifndef TP_DAEMON_REDIS_URL_H
#define TP_DAEMON_REDIS_URL_H

#include <stdbool.h>

enum { TP_REDIS_PREFIX_MAX = 63 }; /* bytes, without the end */

struct tp_redis_url {
    char host[256], user[128], password[256];
    char prefix[TP_REDIS_PREFIX_MAX + 1]; /* of every key; "tickpath:" when not given */
    int port;                             /* 6379 when not given */
    int db;                               /* 0 when not given */
    bool has_password;
};

/* Fills *url. Gives NULL, or static words that say what is wrong (*url is undefined then). */
const char *tp__redis_url_read(struct tp_redis_url *url, const char *text);

#endif
