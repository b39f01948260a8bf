#include "daemon/supervisor.h"

#include "daemon/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef TP_HAS_SYSTEMD

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

enum { TELL_US_MAX = 500000 }; /* that a manager which does not read is waited for */

/* Which of ours a socket of that name is; NULL: none. */
static int *find_place(struct tp_supervisor_sockets *sockets, const char *name, int count)
{
    if (strcmp(name, "stats") == 0)
        return &sockets->stats;
    return count == 1 || strcmp(name, "tickpath") == 0 ? &sockets->clients : NULL;
}

static int take_one(struct tp_supervisor_sockets *sockets, int fd, const char *name, int count, char reason[256])
{
    int *place = find_place(sockets, name, count);
    int flags = fcntl(fd, F_GETFL);
    if (sd_is_socket_inet(fd, AF_UNSPEC, SOCK_STREAM, 1, 0) <= 0)
        snprintf(reason, 256, "LISTEN_FDS: descriptor %d, %.64s, is not a listening socket of TCP", fd, name);
    else if (place == NULL)
        snprintf(reason, 256, "LISTEN_FDS: a socket's name is %.64s; there are tickpath and stats", name);
    else if (*place >= 0)
        snprintf(reason, 256, "LISTEN_FDS: two sockets are named %.64s", name);
    else if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        snprintf(reason, 256, "LISTEN_FDS: descriptor %d can't be set to non-blocking", fd);
    else {
        *place = fd;
        return 0;
    }
    return TP_ERR_IO;
}

int tp_supervisor_take(struct tp_supervisor_sockets *sockets, char reason[256])
{
    char **names = NULL;
    *sockets = (struct tp_supervisor_sockets){-1, -1};
    int count = sd_listen_fds_with_names(1, &names); /* sets FD_CLOEXEC; a child of ours is told nothing */
    int error = 0;
    if (count < 0) {
        snprintf(reason, 256, "LISTEN_FDS: %s", strerror(-count));
        error = TP_ERR_IO;
    }
    for (int i = 0; i < count && error == 0; i++)
        error = take_one(sockets, SD_LISTEN_FDS_START + i, names[i], count, reason);
    for (int i = 0; i < count; i++) {
        free(names[i]);
        if (error != 0)
            close(SD_LISTEN_FDS_START + i);
    }
    free(names);
    if (error != 0)
        *sockets = (struct tp_supervisor_sockets){-1, -1};
    return error;
}

/* The manager's socket, by its path or, after an @, its abstract name. 0, or an errno. */
static int find_manager(const char *name, struct sockaddr_un *address, socklen_t *size)
{
    size_t length = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || length < 2)
        return EINVAL;
    if (length >= sizeof address->sun_path)
        return ENAMETOOLONG;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, name, length);
    if (name[0] == '@')
        address->sun_path[0] = '\0';
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return 0;
}

/* 0, or an errno. */
static int send_to_manager(const char *name, const char *words)
{
    struct sockaddr_un address;
    socklen_t size;
    int error = find_manager(name, &address, &size);
    if (error != 0)
        return error;
    const struct timeval longest = {.tv_usec = TELL_US_MAX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest) != 0 ||
        sendto(fd, words, strlen(words), MSG_NOSIGNAL, (struct sockaddr *)&address, size) < 0)
        error = errno;
    if (fd >= 0)
        close(fd);
    return error;
}

/* sd_notify waits for as long as the manager does not read, and the thread that waits here hears the signals. */
static void send_words(const char *words)
{
    const char *name = getenv("NOTIFY_SOCKET");
    int error = name != NULL ? send_to_manager(name, words) : 0;
    if (error != 0)
        tp_log(TP_LOG_WARN, "the service manager was not told", "error=\"%s\"", strerror(error));
}

uint64_t tp_supervisor_watchdog_ms(void)
{
    uint64_t us;
    return sd_watchdog_enabled(0, &us) > 0 ? (us + 999) / 1000 : 0;
}

#else

int tp_supervisor_take(struct tp_supervisor_sockets *sockets, char reason[256])
{
    *sockets = (struct tp_supervisor_sockets){-1, -1};
    const char *pid = getenv("LISTEN_PID");
    if (pid != NULL && strtol(pid, NULL, 10) == (long)getpid()) {
        snprintf(reason, 256, "LISTEN_FDS: built without libsystemd, sockets can't be handed over");
        return TP_ERR_IO;
    }
    if (getenv("NOTIFY_SOCKET") != NULL)
        tp_log_words(TP_LOG_WARN, "built without libsystemd: the service manager is told nothing");
    return 0;
}

static void send_words(const char *words)
{
    (void)words;
}

uint64_t tp_supervisor_watchdog_ms(void)
{
    return 0;
}

#endif

void tp_supervisor_tell(const char *format, ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    send_words(words);
}
