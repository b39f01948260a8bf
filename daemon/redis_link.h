/* One connection to a Redis server, lost and found again.
 *
 * What it is: connecting (AUTH, SELECT, PING), commands with a time limit, and after any failure the cause in
 * words and the time of the next try: a pause that doubles up to 5 s, jittered so that a fleet does not come
 * back in step. What it refuses: waiting longer than a second or so for the server; telling a password (an
 * AUTH that is refused is told by its code alone). Who calls it: the Redis store's thread; one thread at a
 * time.
 *
 *     AWAY --tp__redis_link_open--> UP        UP --any failure--> AWAY until retry_at_ms
 */
#ifndef TP_DAEMON_REDIS_LINK_H
#define TP_DAEMON_REDIS_LINK_H

#include "daemon/redis_url.h"

#include <hiredis/hiredis.h>
#include <stddef.h>
#include <stdint.h>

struct tp_redis_link {
    struct tp_redis_url url;
    redisContext *context; /* NULL: AWAY */
    char cause[128];       /* of the last failure; empty once tp__redis_link_well was called */
    uint64_t failures;     /* so far */
    uint64_t retry_at_ms;  /* AWAY: on the clock of tp_clock_now_ms */
    uint64_t ping_at_ms;   /* UP: when it was idle for long enough to be probed */
    uint64_t pause_ms;
    uint64_t random;
};

/* Starts AWAY, to be tried at once. Borrows nothing, connects to nothing. */
void tp__redis_link_init(struct tp_redis_link *link, const struct tp_redis_url *url);
void tp__redis_link_fini(struct tp_redis_link *link);

/* One try to come UP. Blocks for at most about two seconds, and for as long as the resolver takes to find the
 * host. */
void tp__redis_link_open(struct tp_redis_link *link);

/* Drops the connection for a cause of the caller's; the next try comes after a pause. */
void tp__redis_link_lose(struct tp_redis_link *link, const char *what, const char *words);

/* Says that all is well: forgets the cause, and the pauses begin small again. */
void tp__redis_link_well(struct tp_redis_link *link);

/* Queues a command of `argc` strings (`sizes` NULL: each ends with a 0) to be sent with the next read.
 * Copies. False, and the link AWAY, if there is no memory. */
bool tp__redis_link_queue(struct tp_redis_link *link, int argc, const char **argv, const size_t *sizes);

/* Sends what is queued and gives the next reply (freeReplyObject). NULL, and the link AWAY, if none came in
 * time or it is an error, alone or inside an array; an error that begins with `tolerated` is given like any
 * reply. `what` names the command in the cause. */
redisReply *tp__redis_link_read(struct tp_redis_link *link, const char *what, const char *tolerated);

/* Queues and reads one command of strings. */
redisReply *tp__redis_link_ask(struct tp_redis_link *link, const char *tolerated, int argc,
                               const char **argv);

/* Sends a PING. The link is AWAY after it if no answer came. */
void tp__redis_link_ping(struct tp_redis_link *link);

#endif
