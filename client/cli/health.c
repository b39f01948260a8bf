/* `tickpath health`: asks a daemon's stats port whether it serves, for containers, supervisors and scripts: it needs no shell and no other program.
 *
 * The happy path: ask for the page (http_get.c), print what it says. Each try has its time, connecting included; a daemon that is not there,
 * says nothing, says too much or says another status than 200 is not well, and the next try begins until --wait-ms is over. */
#include "client/cli/clock.h"
#include "client/cli/commands.h"
#include "client/cli/http_get.h"
#include "client/cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AGAIN_MS = 50 }; /* between two tries */

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

/* One try: whether the page says 200; its text, or why there is none, printed if it is the last. */
static bool is_well(const struct health_options *options, bool *is_last, int64_t until_ms)
{
    int status = 0;
    char *body = NULL;
    const char *words = "";
    bool heard = tp_cli_http_get(&options->stats, options->page, NULL, (int)options->timeout_ms, &status, &body, &words);
    bool well = heard && status == 200;
    *is_last = well || tp_cli_now_ms() >= until_ms;
    if (*is_last && heard)
        printf("%s%s", body, body[0] != '\0' && body[strlen(body) - 1] == '\n' ? "" : "\n");
    else if (*is_last)
        printf("%s:%u%s: %s\n", options->stats.host, options->stats.port, options->page, words);
    free(body);
    return well;
}

int tp_cli_health(int argc, char **argv)
{
    struct health_options options = {.page = "/readyz", .timeout_ms = 3000};
    const struct tp_cli_group groups[] = {{health_options, &options}, {NULL, NULL}};
    int result = tp_cli_parse(&usage, groups, argc, argv);
    if (result != TP_CLI_GO_ON)
        return result;
    if (options.page[0] != '/' || strpbrk(options.page, " \r\n") != NULL)
        return tp_cli_refuse(&usage, "page", "\"%s\" is no page: it begins with / and has no blanks",
                             options.page);
    if (options.stats.host[0] == '\0' && !tp_cli_stats_place(&options.stats))
        return tp_cli_refuse(&usage, "stats", "TICKPATHD_STATS is no HOST:PORT; give one");
    int64_t until_ms = tp_cli_now_ms() + (int64_t)options.wait_ms;
    bool is_last, well = is_well(&options, &is_last, until_ms);
    while (!is_last) {
        const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000L};
        nanosleep(&pause, NULL);
        well = is_well(&options, &is_last, until_ms);
    }
    return well ? TP_CLI_OK : TP_CLI_FAILED;
}
