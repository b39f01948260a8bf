/* The Redis URL of the option --redis, taken apart.
 *
 *     redis://[user[:password]@]HOST[:PORT][/DB][?prefix=P&wait=N]
 *     redis-sentinel://[user[:password]@]HOST[:PORT][,HOST[:PORT]...]/MASTER[/DB][?...&sentinel_user=U&sentinel_password=W]
 *
 * The second names Sentinels, who are asked where MASTER is; user and password are for the master, the Sentinels' own come last.
 * What it is: a pure parser; all but numbers may hold %XX codes, an IPv6 host stands in brackets. What it refuses: TLS (rediss://),
 * sockets in the file system, any other parameter. Its words never hold a part of the URL, for it may hold a password. Who calls it:
 * the Redis store; tests.
 */
#ifndef TP_DAEMON_REDIS_URL_H
#define TP_DAEMON_REDIS_URL_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TP_REDIS_PREFIX_MAX = 63, /* bytes, without the end */
    TP_REDIS_SENTINELS_MAX = 8,
    TP_REDIS_WAIT_MAX = 99,
};

struct tp_redis_place {
    char host[256];
    int port;
};

struct tp_redis_url {
    char host[256], user[128], password[256]; /* no host where Sentinels are given */
    char prefix[TP_REDIS_PREFIX_MAX + 1];     /* of every key; "tickpath:" when not given; holds no { or } */
    int port;                                 /* 6379 when not given */
    int db;                                   /* 0 when not given */
    int wait; /* replicas that must have a change before it is told; 0 when not given */
    bool has_password;

    struct tp_redis_place sentinels[TP_REDIS_SENTINELS_MAX]; /* port 26379 when not given */
    unsigned sentinels_count;                                /* 0: redis:// */
    char master[128];                                        /* its name, for the Sentinels */
    char sentinel_user[128], sentinel_password[256];
    bool has_sentinel_password;
};

/* Fills *url. Gives NULL, or static words that say what is wrong (*url is undefined then). */
const char *tp__redis_url_read(struct tp_redis_url *url, const char *text);

/* Writes it as people may see it: made anew from its parts, without users and passwords, %-coded nowhere; cut where `room` ends. */
void tp__redis_url_tell(const struct tp_redis_url *url, char *out, size_t room);

#endif
