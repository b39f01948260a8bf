/* Structured log lines on standard error: time, level, thread, message, then key=value pairs.
 *
 *     time=2026-01-31T10:11:12.345Z level=info thread=loop0 msg="listening" host=127.0.0.1 port=7878
 *
 * What it is: one line per call, written with one write(2); each place in the source may write
 * TP_LOG_SITE_LINES_MAX lines in a second, the rest are counted and told with the next line of that place.
 * What it refuses: unbounded lines (cut at 1 KiB), raw bytes from clients (use tp_log_quote).
 * Who calls it: any thread of the daemon.
 */
#ifndef TP_DAEMON_LOG_H
#define TP_DAEMON_LOG_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum tp_log_level { TP_LOG_ERROR, TP_LOG_WARN, TP_LOG_INFO, TP_LOG_DEBUG };
enum { TP_LOG_SITE_LINES_MAX = 20 };

struct tp_log_site {
    _Atomic int64_t second;
    _Atomic uint32_t lines;
    _Atomic uint64_t suppressed;
};

extern _Atomic int tp_log_level_max; /* enum tp_log_level; TP_LOG_INFO at start */

/* Names the calling thread in its lines ("main" until then) and, but for the first, to the system (`top -H`); copies at most 15
 * bytes. */
void tp_log_thread_name(const char *name);

/* tp_log(TP_LOG_INFO, "listening", "host=%s port=%d", host, port): `message` is a literal; the rest is a
 * printf format of key=value pairs, "" for none. */
#define tp_log(level, message, ...)                                                                          \
    do {                                                                                                     \
        if ((int)(level) <= atomic_load_explicit(&tp_log_level_max, memory_order_relaxed)) {                 \
            static struct tp_log_site tp__log_site;                                                          \
            tp__log_write(&tp__log_site, (level), (message), __VA_ARGS__);                                   \
        }                                                                                                    \
    } while (0)

/* A line of words alone. */
#define tp_log_words(level, message) tp_log(level, message, "%s", "")

void tp__log_write(struct tp_log_site *site, enum tp_log_level level, const char *message, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* Copies `text` into out[] in double quotes, other than printable ASCII escaped, cut to fit; returns out. */
char *tp_log_quote(char *out, size_t out_bytes, const char *text);

/* The level of that name (error, warn, info, debug), -1 if none. */
int tp_log_level_find(const char *name);

#endif
