#include "daemon/store/redis_url.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { URL_MAX = 2048, PORT = 6379, SENTINEL_PORT = 26379 };

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Copies `length` bytes with %XX decoded; false if that does not fit or is no such code, or makes a zero
 * byte. */
static bool url_decode(char *out, size_t room, const char *in, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        char c = in[i];
        if (c == '%') {
            int high = i + 2 < length ? hex_digit(in[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(in[i + 2]) : -1;
            if (low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == 0 || n + 1 >= room)
            return false;
        out[n++] = c;
    }
    out[n] = 0;
    return true;
}

/* Reads a decimal number of `length` digits, 0..max; -1 if it is none. */
static int url_number(const char *text, size_t length, int max)
{
    int value = 0;
    if (length == 0 || length > 5)
        return -1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value <= max ? value : -1;
}

/* Reads "user[:password]", what stands before the '@'. */
static const char *read_login(struct tp_redis_url *url, const char *text, size_t length)
{
    const char *colon = memchr(text, ':', length);
    size_t user = colon ? (size_t)(colon - text) : length;
    if (!url_decode(url->user, sizeof url->user, text, user))
        return "the Redis URL's user is too long or badly %-coded";
    if (colon && !url_decode(url->password, sizeof url->password, colon + 1, length - user - 1))
        return "the Redis URL's password is too long or badly %-coded";
    url->has_password = colon != NULL;
    if (url->user[0] && !colon)
        return "the Redis URL names a user without a password";
    return NULL;
}

/* Reads "HOST[:PORT]", the host perhaps in brackets. */
static const char *read_place(struct tp_redis_place *place, int port_otherwise, const char *text,
                              size_t length)
{
    const char *end = text + length, *port;
    size_t host;
    if (length > 0 && text[0] == '[') {
        const char *close = memchr(text, ']', length);
        if (!close)
            return "the Redis URL's [ has no ]";
        text++;
        host = (size_t)(close - text);
        port = close + 1 < end ? close + 1 : NULL;
        if (port && *port != ':')
            return "after ] the Redis URL may hold :PORT only";
    } else {
        port = memchr(text, ':', length);
        host = port ? (size_t)(port - text) : length;
    }
    if (host == 0)
        return "the Redis URL names no host";
    if (!url_decode(place->host, sizeof place->host, text, host))
        return "the Redis URL's host is too long or badly %-coded";
    place->port = port ? url_number(port + 1, (size_t)(end - port) - 1, 65535) : port_otherwise;
    return place->port < 1 ? "the Redis URL's port is a number from 1 to 65535" : NULL;
}

/* Reads "HOST[:PORT][,HOST[:PORT]...]". */
static const char *read_sentinels(struct tp_redis_url *url, const char *text, size_t length)
{
    const char *end = text + length, *wrong = NULL;
    for (const char *comma = text; !wrong && comma < end; text = comma + 1) {
        comma = memchr(text, ',', (size_t)(end - text));
        if (!comma)
            comma = end;
        if (url->sentinels_count == TP_REDIS_SENTINELS_MAX)
            return "the Redis URL names more than 8 Sentinels";
        wrong =
            read_place(&url->sentinels[url->sentinels_count++], SENTINEL_PORT, text, (size_t)(comma - text));
    }
    return length == 0 ? "the Redis URL names no Sentinel" : wrong;
}

/* Reads what stands behind the places, up to '?': "[/DB]", or "/MASTER[/DB]" where Sentinels are asked. */
static const char *read_path(struct tp_redis_url *url, const char *text, size_t length)
{
    const char *end = text + length;
    if (url->sentinels_count > 0) {
        const char *name = length > 0 ? text + 1 : text;
        const char *slash = memchr(name, '/', (size_t)(end - name));
        text = slash ? slash : end;
        if (name == text)
            return "a Redis URL of Sentinels names the master: .../MASTER";
        if (!url_decode(url->master, sizeof url->master, name, (size_t)(text - name)))
            return "the Redis URL's master name is too long or badly %-coded";
    }
    if (end - text > 1 && (url->db = url_number(text + 1, (size_t)(end - text) - 1, 99999)) < 0)
        return "the Redis URL's path is a database number";
    return NULL;
}

/* Takes one KEY=VALUE. */
static const char *read_parameter(struct tp_redis_url *url, const char *key, size_t key_size,
                                  const char *value, size_t size)
{
    bool is_sentinels = url->sentinels_count > 0;
    if (key_size == 6 && memcmp(key, "prefix", 6) == 0) {
        if (!url_decode(url->prefix, sizeof url->prefix, value, size))
            return "the Redis URL's prefix is longer than 63 bytes or badly %-coded";
        if (strpbrk(url->prefix,
                    "{}")) /* in a cluster all keys of a map lie together by the {NAME} in them */
            return "the Redis URL's prefix may hold no { or }: a map's name stands in them";
        return NULL;
    }
    if (key_size == 4 && memcmp(key, "wait", 4) == 0) {
        url->wait = url_number(value, size, TP_REDIS_WAIT_MAX);
        return url->wait < 0 ? "the Redis URL's wait is a number of replicas, at most 99" : NULL;
    }
    if (is_sentinels && key_size == 13 && memcmp(key, "sentinel_user", 13) == 0)
        return url_decode(url->sentinel_user, sizeof url->sentinel_user, value, size)
                   ? NULL
                   : "the Redis URL's sentinel_user is too long or badly %-coded";
    if (is_sentinels && key_size == 17 && memcmp(key, "sentinel_password", 17) == 0) {
        url->has_sentinel_password = true;
        return url_decode(url->sentinel_password, sizeof url->sentinel_password, value, size)
                   ? NULL
                   : "the Redis URL's sentinel_password is too long or badly %-coded";
    }
    return is_sentinels
               ? "after ? the Redis URL may hold prefix, wait, sentinel_user and sentinel_password only"
               : "after ? the Redis URL may hold prefix=P and wait=N only";
}

/* Reads "KEY=VALUE[&KEY=VALUE...]". */
static const char *read_query(struct tp_redis_url *url, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, "&"), key = strcspn(text, "&=");
        const char *value = text + (key < length ? key + 1 : key);
        const char *wrong = read_parameter(url, text, key, value, (size_t)(text + length - value));
        if (wrong)
            return wrong;
        if (!text[length])
            break;
        text += length + 1;
    }
    if (url->sentinel_user[0] && !url->has_sentinel_password)
        return "the Redis URL names a sentinel_user without a sentinel_password";
    return NULL;
}

const char *tp__redis_url_read(struct tp_redis_url *url, const char *text)
{
    static const char scheme[] = "redis://", sentinels[] = "redis-sentinel://";
    *url = (struct tp_redis_url){.port = PORT, .prefix = "tickpath:"};
    if (strncmp(text, "rediss://", 9) == 0 || strncmp(text, "rediss-sentinel://", 18) == 0)
        return "TLS (rediss://) is not served: the client library that tickpath is built on has none";
    bool is_sentinels = strncmp(text, sentinels, sizeof sentinels - 1) == 0;
    if (!is_sentinels && strncmp(text, scheme, sizeof scheme - 1) != 0)
        return "a Redis URL begins with redis:// or redis-sentinel://";
    text += is_sentinels ? sizeof sentinels - 1 : sizeof scheme - 1;
    if (strlen(text) >= URL_MAX)
        return "the Redis URL is too long";

    size_t authority = strcspn(text, "/?"), login = authority;
    while (login > 0 && text[login - 1] != '@') /* the last one: a password may hold others */
        login--;
    const char *places = text + login, *path = text + authority, *wrong = NULL;
    size_t path_size = strcspn(path, "?");
    if (login > 0)
        wrong = read_login(url, text, login - 1);
    if (!wrong && is_sentinels)
        wrong = read_sentinels(url, places, authority - login);
    if (!wrong && !is_sentinels) {
        struct tp_redis_place place;
        wrong = read_place(&place, PORT, places, authority - login);
        if (!wrong) {
            strcpy(url->host, place.host);
            url->port = place.port;
        }
    }
    if (!wrong)
        wrong = read_path(url, path, path_size);
    return wrong || !path[path_size] ? wrong : read_query(url, path + path_size + 1);
}

__attribute__((format(printf, 3, 4))) static void add(char *out, size_t room, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, room - used, format, arguments);
    va_end(arguments);
}

static void add_place(char *out, size_t room, const char *host, int port)
{
    add(out, room, strchr(host, ':') != NULL ? "[%s]:%d" : "%s:%d", host, port);
}

void tp__redis_url_tell(const struct tp_redis_url *url, char *out, size_t room)
{
    bool is_sentinels = url->sentinels_count > 0;
    snprintf(out, room, "%s", is_sentinels ? "redis-sentinel://" : "redis://");
    for (unsigned i = 0; i < url->sentinels_count; i++) {
        add(out, room, "%s", i > 0 ? "," : "");
        add_place(out, room, url->sentinels[i].host, url->sentinels[i].port);
    }
    if (!is_sentinels)
        add_place(out, room, url->host, url->port);
    add(out, room, "%s%s/%d?prefix=%s&wait=%d", is_sentinels ? "/" : "", url->master, url->db, url->prefix, url->wait);
}
