/* `tickpath health`: asks a daemon's stats port whether it serves, for containers, supervisors and scripts: it needs no shell and no other program.
 *
 * The happy path: connect, ask for the page, read until the daemon closes, print what the page says. Each try has its time, connecting
 * included; a daemon that is not there, says nothing, says too much or says another status than 200 is not well, and the next
 * try begins until --wait-ms is over. */
#include "client/cli/commands.h"
#include "client/cli/options.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    STATS_PORT = 7879,
    AGAIN_MS = 50,            /* between two tries */
    ANSWER_BYTES_MAX = 16384, /* of a page with its head */
};

struct health_options {
    struct tp_cli_host_port stats;
    const char *page;
    uint64_t timeout_ms, wait_ms;
};

#define AT(field) offsetof(struct health_options, field)

static const struct tp_cli_option health_options[] = {
    {"stats", TP_CLI_HOST_PORT, AT(stats), "HOST:PORT",
     "the daemon's --stats (TICKPATHD_STATS of the environment, else 127.0.0.1:7879)", 0, 0, NULL, false},
    {"page", TP_CLI_STRING, AT(page), "PAGE", "what to ask for (/readyz)", 0, 0, NULL, false},
    {"timeout-ms", TP_CLI_UINT, AT(timeout_ms), "N", "longest time for one answer (3000)", 1, 3600000, NULL,
     false},
    {"wait-ms", TP_CLI_UINT, AT(wait_ms), "N", "ask again for so long until it is well (0: once)", 0, 3600000,
     NULL, false},
    {NULL, TP_CLI_FLAG, 0, NULL, NULL, 0, 0, NULL, false},
};

static const struct tp_cli_usage usage = {
    .command = "health",
    .summary = "Asks a daemon whether it serves, and prints what it says.",
    .notes = "Exit code 0: the page says 200. 1: it says something else, or nobody answers in time.",
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Bounds the socket's next call by the time left. False: none is left. */
static bool bound(int fd, int64_t until_ms)
{
    int64_t left_ms = until_ms - now_ms();
    const struct timeval left = {.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};
    if (left_ms <= 0) {
        errno = ETIMEDOUT;
        return false;
    }
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof left) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof left) == 0; /* of connect too */
}

/* A socket connected to the first address that takes it; -1 with words. */
static int reach(const struct tp_cli_host_port *place, int64_t until_ms, char words[160])
{
    char port[8];
    snprintf(port, sizeof port, "%u", place->port);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *addresses = NULL;
    int looked_up = getaddrinfo(place->host, port, &hints, &addresses);
    if (looked_up != 0) {
        snprintf(words, 160, "no such host: %s", gai_strerror(looked_up));
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *a = addresses; a != NULL && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && bound(fd, until_ms) && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
            continue;
        /* a connect that its time ends says EINPROGRESS */
        snprintf(words, 160, "no connection: %s", strerror(errno == EINPROGRESS ? ETIMEDOUT : errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(addresses);
    return fd;
}

/* Sends the question and reads until the daemon closes, into a string. */
static bool converse(int fd, const struct health_options *options, int64_t until_ms, char *answer)
{
    char ask[512];
    int length =
        snprintf(ask, sizeof ask, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", options->page, options->stats.host);
    if (length < 0 || (size_t)length >= sizeof ask) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (!bound(fd, until_ms) || send(fd, ask, (size_t)length, MSG_NOSIGNAL) != length)
        return false;
    size_t used = 0;
    for (;;) {
        ssize_t got = bound(fd, until_ms) ? recv(fd, answer + used, ANSWER_BYTES_MAX - used, 0) : -1;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        used += (size_t)got;
        if (got == 0 || used == ANSWER_BYTES_MAX) {
            answer[used] = '\0';
            return true;
        }
    }
}

/* One try: whether the page says 200; its text, or why there is none, in words[]. */
static bool is_well(const struct health_options *options, char words[ANSWER_BYTES_MAX + 1])
{
    static char answer[ANSWER_BYTES_MAX + 1];
    int64_t until_ms = now_ms() + (int64_t)options->timeout_ms;
    int fd = reach(&options->stats, until_ms, words);
    if (fd < 0)
        return false;
    bool heard = converse(fd, options, until_ms, answer);
    if (!heard)
        snprintf(words, 160, "no answer: %s", strerror(errno == EAGAIN ? ETIMEDOUT : errno));
    close(fd);
    if (!heard)
        return false;
    int status = 0;
    const char *body = strstr(answer, "\r\n\r\n");
    if (sscanf(answer, "HTTP/%*d.%*d %d", &status) != 1 || body == NULL) {
        snprintf(words, 160, "what answered speaks no HTTP: not a daemon's port for numbers");
        return false;
    }
    snprintf(words, ANSWER_BYTES_MAX + 1, "%s", body + 4);
    return status == 200;
}

/* Where the daemon of this environment answers: a wildcard address is reached by loopback. False: the variable is no address. */
static bool default_place(struct tp_cli_host_port *place)
{
    const char *text = getenv("TICKPATHD_STATS");
    if (text == NULL || text[0] == '\0') {
        *place = (struct tp_cli_host_port){.host = "127.0.0.1", .port = STATS_PORT};
        return true;
    }
    if (!tp_cli_read_host_port(text, place))
        return false;
    if (strcmp(place->host, "0.0.0.0") == 0)
        strcpy(place->host, "127.0.0.1");
    else if (strcmp(place->host, "::") == 0)
        strcpy(place->host, "::1");
    return true;
}

int tp_cli_health(int argc, char **argv)
{
    static char words[ANSWER_BYTES_MAX + 1];
    struct health_options options = {.page = "/readyz", .timeout_ms = 3000};
    const struct tp_cli_group groups[] = {{health_options, &options}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result != TP_CLI_GO_ON)
        return result;
    if (options.page[0] != '/' || strpbrk(options.page, " \r\n") != NULL)
        return tp_cli_refuse(&usage, "page", "\"%s\" is no page: it begins with / and has no blanks",
                             options.page);
    if (options.stats.host[0] == '\0' && !default_place(&options.stats))
        return tp_cli_refuse(&usage, "stats", "TICKPATHD_STATS is no HOST:PORT; give one");
    int64_t until_ms = now_ms() + (int64_t)options.wait_ms;
    bool well = is_well(&options, words);
    while (!well && now_ms() < until_ms) {
        const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000L};
        nanosleep(&pause, NULL);
        well = is_well(&options, words);
    }
    size_t length = strlen(words);
    printf("%s%s", words, length > 0 && words[length - 1] == '\n' ? "" : "\n");
    return well ? TP_CLI_OK : TP_CLI_FAILED;
}
