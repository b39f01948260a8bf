/* tickpathd: reads the options, then runs the server. */
#include "base/check.h"
#include "base/version.h"
#include "daemon/config.h"
#include "daemon/log.h"
#include "daemon/exit.h"
#include "daemon/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

extern char **environ;

static void check_failed_cb(const char *condition, const char *file, int line)
{
    tp_log(TP_LOG_ERROR, "a check failed: this is a bug", "check=\"%s\" at=%s:%d", condition, file, line);
}

int main(int argc, char **argv)
{
    static struct tp_config config;
    char reason[TP_CONFIG_REASON_BYTES];
    sigset_t hangup;
    tp_check_failed_cb = check_failed_cb;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP); /* waits until the life cycle's thread, the only one that takes it, can act on it */
    pthread_sigmask(SIG_BLOCK, &hangup, NULL);
    signal(SIGPIPE, SIG_IGN); /* a closed socket and a full file are error codes where they happen */
    signal(SIGXFSZ, SIG_IGN);
    if (tp_config_read(&config, argc, argv, environ, reason) != 0) {
        fprintf(stderr, "tickpathd: %s\ntickpathd --help lists the options\n", reason);
        return TP_EXIT_USAGE;
    }
    if (config.run == TP_RUN_VERSION) {
        puts("tickpathd " TP_VERSION);
        return TP_EXIT_CLEAN;
    }
    if (config.run == TP_RUN_HELP) {
        char *text = tp_config_help();
        if (text == NULL)
            return TP_EXIT_FAILED;
        fputs(text, stdout);
        free(text);
        return TP_EXIT_CLEAN;
    }
    if (config.run == TP_RUN_CHECK) {
        puts("tickpathd: the configuration is good");
        return TP_EXIT_CLEAN;
    }
    return tp_server_run(&config);
}
