#include "daemon/stats/http_gate.h"

#include "daemon/stats/http_send.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_MIN = 16 };
static const char cookie_name[] = "tickpath_token";

#define FORM(words)                                                                                                        \
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"                                                      \
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">" \
    "<title>tickpath: token</title><link rel=\"stylesheet\" href=\"/view/page.css\"></head>"                             \
    "<body class=\"gate\"><form class=\"card\"><h1>tickpath</h1>" words                                                  \
    "<p><label for=\"token\">The read-only token of this daemon (its <code>--stats-token</code>)</label></p>"             \
    "<p class=\"row\"><input id=\"token\" type=\"password\" name=\"token\" autocomplete=\"current-password\" required autofocus>" \
    "<button>Look on</button></p></form></body></html>\n"
static const char form[] = FORM("");
static const char form_again[] = FORM("<p class=\"wrong\" role=\"alert\">That is not its token.</p>");
static const char words_of_form[] =
    "This page wants the daemon's read-only token (its --stats-token): Authorization: Bearer TOKEN\n";
static const char closed[] =
    "The view and /stats are off: this port is not loopback and no token was given.\n"
    "Start the daemon with TICKPATHD_STATS_TOKEN (or --stats-token), 16 characters or more; /livez, /readyz and /metrics need none.\n";
static const char strange[] =
    "Without a token this port answers under a name of loopback only: localhost, 127.0.0.1 or [::1].\n"
    "Give the daemon a token (TICKPATHD_STATS_TOKEN or --stats-token) to look on under another.\n";

bool tp_http_gate_is_token(const char *text)
{
    size_t size = strlen(text);
    return size >= TOKEN_MIN && size <= TP_HTTP_TOKEN_MAX &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-") == size;
}

bool tp_http_gate_is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

/* Looks at every character of what was given, whatever it holds. */
static bool is_same(const char *given, size_t given_size, const char *token)
{
    size_t size = strlen(token);
    volatile unsigned char differs = given_size != size;
    for (size_t i = 0; i < given_size; i++)
        differs |= (unsigned char)(given[i] ^ token[size > 0 ? i % size : 0]);
    return size > 0 && !differs;
}

static bool has_header(struct MHD_Connection *connection, const char *token)
{
    static const char scheme[] = "Bearer ";
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    if (value == NULL || strncmp(value, scheme, sizeof scheme - 1) != 0)
        return false;
    value += sizeof scheme - 1;
    return is_same(value, strlen(value), token);
}

static bool has_cookie(struct MHD_Connection *connection, const char *token)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, cookie_name);
    return value != NULL && is_same(value, strlen(value), token);
}

/* Whether the Host header is a name of this machine's own; one that is not there is no browser's. */
static bool is_called_loopback(struct MHD_Connection *connection)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    if (host == NULL)
        return true;
    size_t size = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    char name[64];
    if (size >= sizeof name || size > strlen(host))
        return false;
    memcpy(name, host, size);
    name[size] = '\0';
    return strcmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
           (strncmp(name, "127.", 4) == 0 && strspn(name, "0123456789.") == size);
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *type, const char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    const struct tp_http_header headers[] = {
        {MHD_HTTP_HEADER_CONTENT_TYPE, type},
        {MHD_HTTP_HEADER_WWW_AUTHENTICATE, status == MHD_HTTP_UNAUTHORIZED ? "Bearer realm=\"tickpath\"" : NULL},
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
        {"Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'"},
        {"Referrer-Policy", "no-referrer"},
        {NULL, NULL},
    };
    return tp_http_send(connection, status, response, headers);
}

/* A browser is asked for the token; a program is told how to give it. */
static enum MHD_Result ask(struct MHD_Connection *connection, bool was_given)
{
    const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    if (accept == NULL || strstr(accept, "text/html") == NULL)
        return refuse(connection, MHD_HTTP_UNAUTHORIZED, "text/plain; charset=utf-8", words_of_form);
    return refuse(connection, MHD_HTTP_UNAUTHORIZED, "text/html; charset=utf-8", was_given ? form_again : form);
}

/* The token was right in the address: it goes into a cookie, and the address is asked for again without it. */
static enum MHD_Result welcome(struct MHD_Connection *connection, const char *path, const char *token)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    char cookie[TP_HTTP_TOKEN_MAX + 128];
    snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", cookie_name, token);
    const struct tp_http_header headers[] = {
        {MHD_HTTP_HEADER_SET_COOKIE, cookie},
        {MHD_HTTP_HEADER_LOCATION, strcmp(path, "/stats") == 0 ? "/stats" : "/"},
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
        {"Referrer-Policy", "no-referrer"},
        {NULL, NULL},
    };
    return tp_http_send(connection, MHD_HTTP_SEE_OTHER, response, headers);
}

bool tp_http_gate_opens(struct MHD_Connection *connection, const char *path, const char *token, bool is_loopback,
                        enum MHD_Result *result)
{
    if (token[0] == '\0') {
        if (is_loopback && is_called_loopback(connection))
            return true;
        *result = refuse(connection, MHD_HTTP_FORBIDDEN, "text/plain; charset=utf-8", is_loopback ? strange : closed);
        return false;
    }
    if (has_header(connection, token) || has_cookie(connection, token))
        return true;
    const char *given = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
    if (given != NULL && is_same(given, strlen(given), token))
        *result = welcome(connection, path, token);
    else
        *result = ask(connection, given != NULL);
    return false;
}
