#include "daemon/redis_url.h"

#include <string.h>

enum { URL_MAX = 512 };

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
static const char *read_place(struct tp_redis_url *url, const char *text, size_t length)
{
    const char *end = text + length, *port;
    size_t host;
    if (text[0] == '[') {
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
    if (!url_decode(url->host, sizeof url->host, text, host))
        return "the Redis URL's host is too long or badly %-coded";
    if (port && (url->port = url_number(port + 1, (size_t)(end - port) - 1, 65535)) < 1)
        return "the Redis URL's port is a number from 1 to 65535";
    return NULL;
}

/* Reads "[/DB][?prefix=P]". */
static const char *read_rest(struct tp_redis_url *url, const char *text)
{
    static const char key[] = "?prefix=";
    const char *query = strchr(text, '?');
    size_t path = query ? (size_t)(query - text) : strlen(text);
    if (path > 1 && (url->db = url_number(text + 1, path - 1, 99999)) < 0)
        return "the Redis URL's path is a database number";
    if (query && (strncmp(query, key, sizeof key - 1) != 0 ||
                  !url_decode(url->prefix, sizeof url->prefix, query + sizeof key - 1,
                              strlen(query + sizeof key - 1))))
        return "after ? the Redis URL may hold prefix=P only, P of at most 63 bytes";
    return NULL;
}

const char *tp__redis_url_read(struct tp_redis_url *url, const char *text)
{
    static const char scheme[] = "redis://";
    *url = (struct tp_redis_url){.port = 6379, .prefix = "tickpath:"};
    if (strncmp(text, "rediss://", 9) == 0)
        return "TLS (rediss://) is not served";
    if (strncmp(text, scheme, sizeof scheme - 1) != 0)
        return "a Redis URL begins with redis://";
    text += sizeof scheme - 1;
    if (strlen(text) >= URL_MAX)
        return "the Redis URL is too long";

    size_t authority = strcspn(text, "/?"), login = authority;
    while (login > 0 && text[login - 1] != '@') /* the last one: a password may hold others */
        login--;
    const char *wrong = login > 0 ? read_login(url, text, login - 1) : NULL;
    if (!wrong)
        wrong = read_place(url, text + login, authority - login);
    return wrong ? wrong : read_rest(url, text + authority);
}
