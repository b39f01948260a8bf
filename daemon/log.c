/* Happy path: a call walks its format pair by pair, prints each value raw into a buffer, and adds it to the line with the quotes and
 * escapes of the format in force; the line goes out in one write.
 *
 * Failure modes: a line that would be longer than LINE_BYTES ends where it still fits, never within an escape, and says so. A write that
 * fails, or takes part of a line, is counted, and told with the next line that goes out (lost=N). A place that logs too often is counted.
 */
#include "daemon/log.h"
#include "daemon/utf8.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_BYTES = 1024,
    TAIL_BYTES = 16, /* a closing quote, the mark of a cut, a closing brace, the line's end */
};

_Atomic int tp_log_level_max = TP_LOG_INFO;
_Atomic int tp_log_format = TP_LOG_PAIRS;
_Atomic uint32_t tp_log_lines_max = 20;

static _Thread_local char thread_name[16] = "main";

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *const format_names[] = {"pairs", "json"};

static _Atomic(struct tp_log_site *) listed; /* places that ever suppressed a line */
static _Atomic uint64_t lost;                /* lines that could not be written, not told yet */

void tp_log_thread_name(const char *name)
{
    strncpy(thread_name, name, sizeof thread_name - 1);
    if (gettid() != getpid()) /* the first thread's is the process's */
        pthread_setname_np(pthread_self(), thread_name);
}

static int find(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

int tp_log_level_find(const char *name)
{
    return find(level_names, sizeof level_names / sizeof level_names[0], name);
}

int tp_log_format_find(const char *name)
{
    return find(format_names, sizeof format_names / sizeof format_names[0], name);
}

const char *tp_log_level_name(int level)
{
    return level_names[level];
}

const char *tp_log_format_name(int format)
{
    return format_names[format];
}

/* ---- Characters ---- */

/* How the character that begins at text[0] stands between quotes, into unit[]. Gives its bytes there; those of the text in *taken. */
static size_t escape(enum tp_log_format format, const unsigned char *text, size_t left, char unit[8], size_t *taken)
{
    unsigned char c = text[0];
    *taken = 1;
    if (c == '"' || c == '\\')
        return (size_t)snprintf(unit, 8, "\\%c", c);
    if (c >= 0x20 && c < 0x7f) {
        unit[0] = (char)c;
        return 1;
    }
    if (format == TP_LOG_PAIRS)
        return (size_t)snprintf(unit, 8, "\\x%02x", c);
    if (c < 0x80)
        return (size_t)snprintf(unit, 8, "\\u%04x", c);
    size_t size = tp_utf8_size(text, left);
    if (size == 0)
        return (size_t)snprintf(unit, 8, "\\ufffd");
    memcpy(unit, text, size);
    *taken = size;
    return size;
}

/* Whether a value may stand without quotes as key=value. */
static bool is_bare(const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (value[i] <= ' ' || value[i] >= 0x7f || value[i] == '"' || value[i] == '\\' || value[i] == '=')
            return false;
    return size > 0;
}

char *tp_log_quote(char *out, size_t out_bytes, const char *text)
{
    size_t used = 0, left = strlen(text);
    if (out_bytes < 8) {
        if (out_bytes > 0)
            out[0] = '\0';
        return out;
    }
    out[used++] = '"';
    while (left > 0) {
        char unit[8];
        size_t taken, size = escape(TP_LOG_PAIRS, (const unsigned char *)text, left, unit, &taken);
        if (used + size + 2 > out_bytes)
            break;
        memcpy(out + used, unit, size);
        used += size;
        text += taken;
        left -= taken;
    }
    out[used++] = '"';
    out[used] = '\0';
    return out;
}

/* ---- A line ---- */

struct line {
    enum tp_log_format format;
    size_t used;
    bool is_cut; /* something did not fit: nothing more is added */
    char bytes[LINE_BYTES];
};

/* All of it or nothing. */
static bool put(struct line *line, const char *bytes, size_t size)
{
    line->is_cut = line->is_cut || line->used + size > LINE_BYTES - TAIL_BYTES;
    if (line->is_cut)
        return false;
    memcpy(line->bytes + line->used, bytes, size);
    line->used += size;
    return true;
}

/* In the room that put() leaves. */
static void put_tail(struct line *line, const char *words)
{
    memcpy(line->bytes + line->used, words, strlen(words));
    line->used += strlen(words);
}

enum kind { NUMBER, BARE, QUOTED };

static void add_pair(struct line *line, const char *key, int key_size, enum kind kind, const char *value, size_t value_size)
{
    char head[64];
    bool is_json = line->format == TP_LOG_JSON;
    bool has_quotes = kind != NUMBER && (is_json || kind == QUOTED || !is_bare(value, value_size));
    const char *between = line->used == 0 ? (is_json ? "{" : "") : is_json ? "," : " ";
    int size = snprintf(head, sizeof head, is_json ? "%s\"%.*s\":%s" : "%s%.*s=%s", between, key_size < 40 ? key_size : 40, key,
                        has_quotes ? "\"" : "");
    if (line->used + (size_t)size + (has_quotes ? 0 : value_size) > LINE_BYTES - TAIL_BYTES) {
        line->is_cut = true; /* what has no quotes is whole or not there */
        return;
    }
    if (!put(line, head, (size_t)size))
        return;
    if (!has_quotes) {
        put(line, value, value_size);
        return;
    }
    for (size_t at = 0, taken; at < value_size; at += taken) {
        char unit[8];
        size_t unit_size = escape(line->format, (const unsigned char *)value + at, value_size - at, unit, &taken);
        if (!put(line, unit, unit_size))
            break;
    }
    put_tail(line, "\"");
    line->is_cut = line->is_cut || line->used > LINE_BYTES - TAIL_BYTES;
}

static void add_text(struct line *line, const char *key, enum kind kind, const char *value)
{
    add_pair(line, key, (int)strlen(key), kind, value, strlen(value));
}

static void add_number(struct line *line, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    add_text(line, key, NUMBER, digits);
}

/* ---- The pairs of a format ---- */

struct arguments {
    va_list list;
};

/* Prints the conversion at *at, behind which *at is then, into out[] (cut to fit). Gives its bytes, -1 for one that is none of ours. */
static int convert(const char **at, struct arguments *from, char *out, size_t out_bytes, bool *is_number)
{
    char spec[24];
    size_t size = 1 + strspn(*at + 1, "-+ 0123456789.");
    size_t modifiers = strspn(*at + size, "lz");
    char kind = (*at)[size + modifiers], modifier = modifiers > 0 ? (*at)[size] : '\0';
    if (kind == '\0' || size + modifiers + 2 > sizeof spec || modifiers > 2)
        return -1;
    memcpy(spec, *at, size + modifiers + 1);
    spec[size + modifiers + 1] = '\0';
    *at += size + modifiers + 1;
    *is_number = kind == 'd' || kind == 'i' || kind == 'u';
    if (kind == 's')
        return snprintf(out, out_bytes, spec, va_arg(from->list, const char *));
    if (kind == 'c')
        return snprintf(out, out_bytes, spec, va_arg(from->list, int));
    if (!*is_number && kind != 'x')
        return -1;
    if (modifiers == 2)
        return snprintf(out, out_bytes, spec, va_arg(from->list, unsigned long long));
    if (modifier == 'l')
        return snprintf(out, out_bytes, spec, va_arg(from->list, unsigned long));
    if (modifier == 'z')
        return snprintf(out, out_bytes, spec, va_arg(from->list, size_t));
    return snprintf(out, out_bytes, spec, va_arg(from->list, unsigned));
}

static void add_pairs(struct line *line, const char *format, struct arguments *from)
{
    for (const char *at = format + strspn(format, " "); strchr(at, '=') != NULL; at += strspn(at, " ")) {
        const char *key = at, *equals = strchr(at, '=');
        char value[LINE_BYTES];
        size_t used = 0, parts = 0;
        enum kind kind = BARE;
        bool is_open = false, is_number = false;
        for (at = equals + 1; *at != '\0' && (is_open || *at != ' ');) {
            if (*at == '"') {
                kind = QUOTED;
                is_open = !is_open;
                at++;
                continue;
            }
            int size = 1;
            parts++;
            if (at[0] == '%' && at[1] != '%') {
                size = convert(&at, from, value + used, sizeof value - used, &is_number);
                if (size < 0) { /* where the rest of the arguments are is not known */
                    add_text(line, "format", QUOTED, format);
                    return;
                }
            } else {
                at += at[0] == '%';
                value[used] = *at++;
            }
            used += (size_t)size < sizeof value - used ? (size_t)size : sizeof value - used - 1;
        }
        if (kind == BARE && parts == 1 && is_number)
            kind = NUMBER;
        add_pair(line, key, (int)(equals - key), kind, value, used);
    }
}

/* ---- Writing ---- */

static void begin_line(struct line *line, const struct timespec *now, enum tp_log_level level, const char *message)
{
    char when[96]; /* room for any year an int holds */
    struct tm utc;
    gmtime_r(&now->tv_sec, &utc);
    snprintf(when, sizeof when, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
             utc.tm_min, utc.tm_sec, now->tv_nsec / 1000000);
    line->format = (enum tp_log_format)atomic_load_explicit(&tp_log_format, memory_order_relaxed);
    line->used = 0;
    line->is_cut = false;
    add_text(line, "time", BARE, when);
    add_text(line, "level", BARE, level_names[level]);
    add_text(line, "thread", BARE, thread_name);
    add_text(line, "msg", QUOTED, message);
}

static void end_line(struct line *line)
{
    uint64_t untold = atomic_load_explicit(&lost, memory_order_relaxed);
    if (untold > 0)
        add_number(line, "lost", untold);
    if (line->is_cut)
        untold = 0; /* told another time */
    bool is_json = line->format == TP_LOG_JSON;
    if (line->is_cut)
        put_tail(line, is_json ? ",\"cut\":true" : " cut=true");
    put_tail(line, is_json ? "}\n" : "\n");
    if (write(STDERR_FILENO, line->bytes, line->used) != (ssize_t)line->used)
        atomic_fetch_add(&lost, 1);
    else if (untold > 0)
        atomic_fetch_sub(&lost, untold);
}

/* From now on tp_log_tell_suppressed looks at it. */
static void list_site(struct tp_log_site *site, enum tp_log_level level, const char *message)
{
    if (atomic_exchange(&site->is_listed, true))
        return;
    site->message = message;
    site->level = level;
    site->next = atomic_load(&listed);
    while (!atomic_compare_exchange_weak(&listed, &site->next, site)) {
    }
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
    if (atomic_fetch_add(&site->lines, 1) < atomic_load_explicit(&tp_log_lines_max, memory_order_relaxed))
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
    if (!may_write(site, now.tv_sec, &suppressed)) {
        list_site(site, level, message);
        return;
    }
    struct line line;
    struct arguments arguments;
    begin_line(&line, &now, level, message);
    if (suppressed > 0)
        add_number(&line, "suppressed", suppressed);
    va_start(arguments.list, format);
    add_pairs(&line, format, &arguments);
    va_end(arguments.list);
    end_line(&line);
}

void tp_log_tell_suppressed(bool is_last)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (struct tp_log_site *site = atomic_load(&listed); site != NULL; site = site->next) {
        bool is_over = is_last || atomic_load(&site->second) != now.tv_sec;
        uint64_t suppressed = is_over ? atomic_exchange(&site->suppressed, 0) : 0;
        if (suppressed == 0)
            continue;
        struct line line;
        begin_line(&line, &now, site->level, "lines suppressed");
        add_number(&line, "suppressed", suppressed);
        add_text(&line, "of", QUOTED, site->message);
        end_line(&line);
    }
}

void tp_log_last_words(const char *message)
{
    bool is_json = atomic_load_explicit(&tp_log_format, memory_order_relaxed) == TP_LOG_JSON;
    const char *const parts[] = {is_json ? "{\"level\":\"error\",\"msg\":\"" : "level=error msg=\"", message, is_json ? "\"}\n" : "\"\n"};
    char bytes[256];
    size_t used = 0;
    for (size_t i = 0; i < 3; i++)
        for (const char *c = parts[i]; *c != '\0' && used < sizeof bytes; c++)
            bytes[used++] = *c;
    ssize_t written = write(STDERR_FILENO, bytes, used);
    (void)written; /* the process ends */
}
