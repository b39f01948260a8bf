#include "daemon/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Atomic int tp_log_level_max = TP_LOG_INFO;

static _Thread_local char thread_name[16] = "main";

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void tp_log_thread_name(const char *name)
{
    strncpy(thread_name, name, sizeof thread_name - 1);
    if (gettid() != getpid()) /* the first thread's is the process's */
        pthread_setname_np(pthread_self(), thread_name);
}

int tp_log_level_find(const char *name)
{
    for (int i = 0; i < (int)(sizeof level_names / sizeof level_names[0]); i++)
        if (strcmp(name, level_names[i]) == 0)
            return i;
    return -1;
}

/* Whether this place may write one more line in this second; *suppressed is what to tell with it. */
static bool may_write(struct tp_log_site *site, int64_t second, uint64_t *suppressed)
{
    *suppressed = 0;
    int64_t before = atomic_load(&site->second);
    if (before != second && atomic_compare_exchange_strong(&site->second, &before, second)) {
        atomic_store(&site->lines, 0);
        *suppressed = atomic_exchange(&site->suppressed, 0);
    }
    if (atomic_fetch_add(&site->lines, 1) < TP_LOG_SITE_LINES_MAX)
        return true;
    atomic_fetch_add(&site->suppressed, 1 + *suppressed);
    return false;
}

void tp__log_write(struct tp_log_site *site, enum tp_log_level level, const char *message, const char *format,
                   ...)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t suppressed;
    if (!may_write(site, now.tv_sec, &suppressed))
        return;

    char line[1024];
    struct tm utc;
    gmtime_r(&now.tv_sec, &utc);
    int n =
        snprintf(line, sizeof line, "time=%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ level=%s thread=%s msg=\"%s\"",
                 utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                 now.tv_nsec / 1000000, level_names[level], thread_name, message);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    if (suppressed > 0 && used < sizeof line - 40)
        used += (size_t)snprintf(line + used, sizeof line - used, " suppressed=%llu",
                                 (unsigned long long)suppressed);
    if (format[0] != '\0' && used < sizeof line - 2) {
        line[used++] = ' ';
        va_list arguments;
        va_start(arguments, format);
        n = vsnprintf(line + used, sizeof line - used, format, arguments);
        va_end(arguments);
        if (n <= 0)
            used--; /* no pairs: no blank */
        else
            used += (size_t)n < sizeof line - used ? (size_t)n : sizeof line - used - 1;
    }
    if (used > sizeof line - 1)
        used = sizeof line - 1;
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written; /* nowhere left to report it */
}

char *tp_log_quote(char *out, size_t out_bytes, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    size_t used = 0;
    if (out_bytes < 8) {
        if (out_bytes > 0)
            out[0] = '\0';
        return out;
    }
    out[used++] = '"';
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0' && used + 6 < out_bytes; c++) {
        if (*c == '"' || *c == '\\') {
            out[used++] = '\\';
            out[used++] = (char)*c;
        } else if (*c >= 0x20 && *c < 0x7f) {
            out[used++] = (char)*c;
        } else {
            out[used++] = '\\';
            out[used++] = 'x';
            out[used++] = hex[*c >> 4];
            out[used++] = hex[*c & 15];
        }
    }
    out[used++] = '"';
    out[used] = '\0';
    return out;
}
