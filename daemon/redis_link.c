#include "daemon/redis_link.h"

#include "daemon/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { CONNECT_MS = 1000, COMMAND_MS = 1000, PING_MS = 1000, PAUSE_MIN_MS = 100, PAUSE_MAX_MS = 5000 };

void tp__redis_link_init(struct tp_redis_link *link, const struct tp_redis_url *url)
{
    *link = (struct tp_redis_link){.url = *url};
    strcpy(link->cause, "not reached yet");
    if (getrandom(&link->random, sizeof link->random, GRND_NONBLOCK) < 0)
        link->random = tp_clock_now_ms();
}

void tp__redis_link_fini(struct tp_redis_link *link)
{
    if (link->context)
        redisFree(link->context);
    link->context = NULL;
}

void tp__redis_link_lose(struct tp_redis_link *link, const char *what, const char *words)
{
    int length = (int)strcspn(words, "\r\n"); /* the words may be the context's own: read before it goes */
    snprintf(link->cause, sizeof link->cause, "%.60s: %.*s", what, length, words);
    tp__redis_link_fini(link);
    link->failures++;
    link->pause_ms = link->pause_ms == 0 ? PAUSE_MIN_MS : link->pause_ms * 2;
    if (link->pause_ms > PAUSE_MAX_MS)
        link->pause_ms = PAUSE_MAX_MS;
    link->random = link->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    link->retry_at_ms =
        tp_clock_now_ms() + link->pause_ms / 2 + (link->random >> 33) % (link->pause_ms / 2 + 1);
}

void tp__redis_link_well(struct tp_redis_link *link)
{
    link->cause[0] = 0;
    link->pause_ms = 0;
}

static const char *error_words(const redisContext *context)
{
    if (context->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK))
        return "no answer in time";
    return context->errstr[0] ? context->errstr : strerror(errno);
}

bool tp__redis_link_queue(struct tp_redis_link *link, int argc, const char **argv, const size_t *sizes)
{
    if (redisAppendCommandArgv(link->context, argc, argv, sizes) == REDIS_OK)
        return true;
    tp__redis_link_lose(link, argv[0], error_words(link->context));
    return false;
}

redisReply *tp__redis_link_read(struct tp_redis_link *link, const char *what, const char *tolerated)
{
    void *got = NULL;
    errno = 0;
    if (redisGetReply(link->context, &got) != REDIS_OK) {
        tp__redis_link_lose(link, what, error_words(link->context));
        return NULL;
    }
    redisReply *reply = got;
    char *refused = reply->type == REDIS_REPLY_ERROR ? reply->str : NULL;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements && !refused; i++)
        if (reply->element[i]->type == REDIS_REPLY_ERROR)
            refused = reply->element[i]->str;
    if (refused && !(tolerated && strncmp(refused, tolerated, strlen(tolerated)) == 0)) {
        if (strcmp(what, "AUTH") == 0) /* its words may repeat the password: only their code is told */
            refused[strcspn(refused, " ")] = 0;
        tp__redis_link_lose(link, what, refused);
        freeReplyObject(reply);
        return NULL;
    }
    link->ping_at_ms = tp_clock_now_ms() + PING_MS;
    return reply;
}

redisReply *tp__redis_link_ask(struct tp_redis_link *link, const char *tolerated, int argc, const char **argv)
{
    if (!tp__redis_link_queue(link, argc, argv, NULL))
        return NULL;
    return tp__redis_link_read(link, argv[0], tolerated);
}

/* A command whose reply says no more than yes. */
static bool do_it(struct tp_redis_link *link, int argc, const char **argv)
{
    redisReply *reply = tp__redis_link_ask(link, NULL, argc, argv);
    if (reply)
        freeReplyObject(reply);
    return reply != NULL;
}

void tp__redis_link_ping(struct tp_redis_link *link)
{
    do_it(link, 1, (const char *[]){"PING"});
}

/* Says who we are. */
static bool authenticate(struct tp_redis_link *link)
{
    const char *words[3] = {"AUTH"};
    int count = 1;
    if (!link->url.has_password)
        return true;
    if (link->url.user[0])
        words[count++] = link->url.user;
    words[count++] = link->url.password;
    return do_it(link, count, words);
}

static bool choose_database(struct tp_redis_link *link)
{
    char db[16];
    if (link->url.db == 0)
        return true;
    snprintf(db, sizeof db, "%d", link->url.db);
    return do_it(link, 2, (const char *[]){"SELECT", db});
}

static struct timeval timeval_ms(long ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

void tp__redis_link_open(struct tp_redis_link *link)
{
    char what[300];
    snprintf(what, sizeof what, "%s:%d", link->url.host, link->url.port);
    tp__redis_link_fini(link);
    errno = 0;
    link->context = redisConnectWithTimeout(link->url.host, link->url.port, timeval_ms(CONNECT_MS));
    if (!link->context || link->context->err) {
        tp__redis_link_lose(link, what, link->context ? error_words(link->context) : "out of memory");
        return;
    }
    fcntl(link->context->fd, F_SETFD, FD_CLOEXEC);
    redisSetTimeout(link->context, timeval_ms(COMMAND_MS));
    if (authenticate(link) && choose_database(link))
        tp__redis_link_ping(link);
}
