/* Structured log lines on standard error: time, level, thread, message, then pairs; as key=value or as one JSON object a line.
 *
 *     time=2026-01-31T10:11:12.345Z level=info thread=loop0 msg="listening" host=127.0.0.1 port=7878
 *     {"time":"2026-01-31T10:11:12.345Z","level":"info","thread":"loop0","msg":"listening","host":"127.0.0.1","port":7878}
 *
 * What it is: one line per call, written with one write(2), rendered in one place for both formats; values are given as they are, and
 * quoted here. Each place in the source may write so many lines in a second; the rest are counted and told with the next line of that place,
 * or by tp_log_tell_suppressed where none comes. What it refuses: unbounded lines (cut at 1 KiB, and marked with cut=true), raw bytes: other
 * than printable ASCII is \xNN as key=value; as JSON, what is UTF-8 stays and any other byte is U+FFFD.
 * Who calls it: any thread of the daemon.
 */
#ifndef TP_DAEMON_LOG_H
#define TP_DAEMON_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tp_log_level { TP_LOG_ERROR, TP_LOG_WARN, TP_LOG_INFO, TP_LOG_DEBUG };
enum tp_log_format { TP_LOG_PAIRS, TP_LOG_JSON };

/* A place in the source that logs; static, so that it stays. */
struct tp_log_site {
    _Atomic int64_t second;
    _Atomic uint32_t lines;
    _Atomic uint64_t suppressed; /* and not told yet */
    atomic_bool is_listed;       /* it has once suppressed lines: */
    struct tp_log_site *next;    /* in the list of those */
    const char *message;
    enum tp_log_level level;
};

/* May be changed at any time, by any thread. */
extern _Atomic int tp_log_level_max;  /* enum tp_log_level; TP_LOG_INFO at start */
extern _Atomic int tp_log_format;     /* enum tp_log_format; TP_LOG_PAIRS at start */
extern _Atomic uint32_t tp_log_lines_max; /* of one place in one second; 20 at start */

/* Names the calling thread in its lines ("main" until then) and, but for the first, to the system (`top -H`); copies at most 15
 * bytes. */
void tp_log_thread_name(const char *name);

/* tp_log(TP_LOG_INFO, "listening", "host=%s port=%d", host, port): `message` is a literal; the rest is a printf format of key=value pairs,
 * parted by blanks. A value is text, or a number where one %d or %u (with l, ll, z) is all of it; what may be empty or hold blanks is best given as "\"%s\"", which is
 * always quoted. Of printf's conversions there are d i u x s c; a width or a precision may be given, but not as *. */
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

/* Tells, in a line for each place, of lines that were suppressed in seconds gone by and that no later line of that place has told of;
 * with `is_last` of those of this second too. Cost: the places that ever suppressed a line. Any thread. */
void tp_log_tell_suppressed(bool is_last);

/* A line of level and message alone, for a signal's handler: it takes no lock and asks the libc for nothing but write(2). `message` is a
 * literal without quotes. */
void tp_log_last_words(const char *message);

/* Copies `text` into out[] in double quotes, other than printable ASCII escaped, cut to fit; returns out. For words that are no log line:
 * those are quoted by themselves. */
char *tp_log_quote(char *out, size_t out_bytes, const char *text);

/* The level of that name (error, warn, info, debug), -1 if none; the format of that name (pairs, json), likewise. */
int tp_log_level_find(const char *name);
int tp_log_format_find(const char *name);

/* And back: static words. */
const char *tp_log_level_name(int level);
const char *tp_log_format_name(int format);

#endif
