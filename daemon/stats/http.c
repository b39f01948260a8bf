/* Happy path: libmicrohttpd's own thread accepts, reads a request, asks `answer`, which renders the page from the
 * source and hands it over; the thread writes it as the peer reads.
 *
 * Failure modes: a taken port or a bad address fail the start, with words. Out of memory while a page is rendered
 * answers 503. A peer that is silent is closed after CONNECTION_TIMEOUT_S; where many are there, the one that has been
 * longest at its request makes room for who comes (daemon/stats/http_peers.h). None of it touches an event loop: all
 * that this thread shares with them are numbers that it only reads.
 */
#include "daemon/stats/http.h"

#include "daemon/net/address.h"
#include "daemon/stats/http_accept.h"
#include "daemon/stats/http_gate.h"
#include "daemon/stats/http_peers.h"
#include "daemon/stats/http_send.h"
#include "daemon/log.h"
#include "daemon/stats/text.h"
#include "daemon/view/view.h"
#include "daemon/view/view_http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 160, /* TP_HTTP_WAITING_MAX, the view's streams, and those that were shut and are not closed yet */
    CONNECTION_TIMEOUT_S = 5,
    CONNECTION_BYTES = 16384,
    UNSENT_BYTES = 65536, /* that the system holds for a peer that reads slowly; more would be old when it comes */
};
_Static_assert((int)CONNECTIONS_MAX > (int)TP_HTTP_WAITING_MAX + (int)TP_VIEW_STREAMS_MAX,
               "there is room for who is accepted before another is closed");

struct tp_http {
    struct MHD_Daemon *daemon;
    const struct tp_stats_source *source;
    struct tp_view *view;
    struct tp_http_peers peers; /* its thread's */
    pthread_mutex_t token_lock;
    char token[TP_HTTP_TOKEN_MAX + 1];
    bool is_loopback;
    bool is_inherited; /* the listening socket */
};

/* ---- Pages ---- */

struct page {
    unsigned status;
    const char *type;
    char *bytes; /* malloc'd; NULL: `words` are sent */
    const char *words;
    size_t size;
};

static struct page page_of_words(unsigned status, const char *words)
{
    return (struct page){
        .status = status, .type = "text/plain; charset=utf-8", .words = words, .size = strlen(words)};
}

static struct page page_of_bytes(const char *type, char *bytes, size_t size)
{
    if (!bytes)
        return page_of_words(MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
    return (struct page){.status = MHD_HTTP_OK, .type = type, .bytes = bytes, .size = size};
}

static struct page page_livez(const struct tp_stats_source *source, const char *accept)
{
    (void)source, (void)accept;
    return page_of_words(MHD_HTTP_OK, "ok\n");
}

/* Every reason on a line of its own. */
static struct page page_readyz(const struct tp_stats_source *source, const char *accept)
{
    (void)accept;
    const char *reasons[TP_STATS_REASONS_MAX];
    size_t count = source->not_ready(source->context, reasons), size;
    if (count == 0)
        return page_of_words(MHD_HTTP_OK, "ready\n");
    struct tp_text text = {0};
    for (size_t i = 0; i < count; i++)
        tp_text_add(&text, "%s\n", reasons[i]);
    struct page page = page_of_words(MHD_HTTP_SERVICE_UNAVAILABLE, "not ready\n");
    page.bytes = tp_text_give(&text, &size);
    if (page.bytes)
        page.size = size;
    return page;
}

static struct page page_metrics(const struct tp_stats_source *source, const char *accept)
{
    static const char *const types[] = {
        [TP_STATS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
        [TP_STATS_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
    };
    size_t size;
    enum tp_stats_format format = tp_http_accept_format(accept);
    char *bytes = tp_stats_render_metrics(source, format, &size);
    return page_of_bytes(types[format], bytes, size);
}

static struct page page_stats(const struct tp_stats_source *source, const char *accept)
{
    (void)accept;
    size_t size;
    char *bytes = tp_stats_render_json(source, &size);
    return page_of_bytes("application/json", bytes, size);
}

static const struct {
    const char *path;
    struct page (*make)(const struct tp_stats_source *source, const char *accept); /* NULL: no such header */
} pages[] = {
    {"/livez", page_livez},
    {"/readyz", page_readyz},
    {"/metrics", page_metrics},
    {"/stats", page_stats},
};

static struct page page_find(const struct tp_stats_source *source, const char *path, const char *accept)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strcmp(path, pages[i].path) == 0)
            return pages[i].make(source, accept);
    return page_of_words(MHD_HTTP_NOT_FOUND, "there are /, /livez, /readyz, /metrics and /stats\n");
}

/* ---- libmicrohttpd ---- */

/* Sends a page, and frees its bytes once sent. */
static enum MHD_Result page_send(struct MHD_Connection *connection, const struct page *page)
{
    struct MHD_Response *response =
        page->bytes ? MHD_create_response_from_buffer(page->size, page->bytes, MHD_RESPMEM_MUST_FREE)
                    : MHD_create_response_from_buffer(page->size, (void *)(uintptr_t)page->words,
                                                      MHD_RESPMEM_PERSISTENT);
    if (!response) {
        free(page->bytes);
        return MHD_NO;
    }
    const struct tp_http_header headers[] = {
        {MHD_HTTP_HEADER_CONTENT_TYPE, page->type},
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
        {MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT},
        {MHD_HTTP_HEADER_ALLOW, page->status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET, HEAD" : NULL},
        {NULL, NULL},
    };
    return tp_http_send(connection, page->status, response, headers);
}

static struct tp_http_peer *peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* The system's own buffers would hold minutes of a stream for a peer that reads nothing. A system that knows no such option goes without. */
static void bound_unsent(int fd)
{
    int bytes = UNSENT_BYTES, ms = CONNECTION_TIMEOUT_S * 1000;
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

static void peer_notify_cb(void *context, struct MHD_Connection *connection, void **state,
                           enum MHD_ConnectionNotificationCode what)
{
    struct tp_http *http = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        bound_unsent(info->connect_fd);
        *state = tp_http_peer_came(&http->peers, info->connect_fd);
    } else {
        tp_http_peer_went(&http->peers, *state);
        *state = NULL;
    }
}

/* The first state of every request: its header has been seen. The view has states of its own after that. */
static char seen;

/* The style sheet too: the form that asks for the token wears it. */
static bool is_open_to_all(const char *path)
{
    return strcmp(path, "/livez") == 0 || strcmp(path, "/readyz") == 0 || strcmp(path, "/metrics") == 0 || strcmp(path, "/view/page.css") == 0;
}

static enum MHD_Result answer_good(struct tp_http *http, struct MHD_Connection *connection, const char *url,
                                   void **state)
{
    bool is_view = http->view != NULL && tp_view_http_is_ours(url);
    void *view_state = *state != &seen ? *state : NULL;
    enum MHD_Result result;
    char token[sizeof http->token];
    pthread_mutex_lock(&http->token_lock);
    memcpy(token, http->token, sizeof token);
    pthread_mutex_unlock(&http->token_lock);
    if (!is_open_to_all(url) && view_state == NULL &&
        !tp_http_gate_opens(connection, url, token, http->is_loopback, &result))
        return result;
    if (is_view) {
        if (tp_view_http_is_stream(url))
            tp_http_peer_streams(&http->peers, peer_of(connection));
        result = tp_view_http_answer(http->view, connection, url, &view_state);
        *state = view_state != NULL ? view_state : &seen;
        return result;
    }
    const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    struct page page = page_find(http->source, url, accept);
    return page_send(connection, &page);
}

/* libmicrohttpd asks at the end of the header, where an answer would also end the connection, and again at
 * the end of the request: that is when a good one is answered. One that carries a body is none of ours. */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    (void)version, (void)upload;
    struct tp_http *http = context;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        struct page page = page_of_words(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        return page_send(connection, &page);
    }
    if (*upload_size != 0)
        return MHD_NO;
    if (*state == NULL) {
        *state = &seen;
        return MHD_YES;
    }
    return answer_good(http, connection, url, state);
}

static void request_end_cb(void *context, struct MHD_Connection *connection, void **state,
                           enum MHD_RequestTerminationCode how)
{
    struct tp_http *http = context;
    (void)how;
    tp_http_peer_answered(&http->peers, peer_of(connection));
    if (*state != &seen)
        tp_view_http_end(*state);
    *state = NULL;
}

/* libmicrohttpd's own words: about its peers, so for whoever looks closely only. */
__attribute__((format(printf, 2, 0))) static void log_words(void *context, const char *format,
                                                            va_list arguments)
{
    (void)context;
    char words[256];
    vsnprintf(words, sizeof words, format, arguments);
    words[strcspn(words, "\r\n")] = 0;
    tp_log(TP_LOG_DEBUG, "http", "said=\"%s\"", words);
}

/* ---- Start and stop ---- */

void tp_http_set_token(struct tp_http *http, const char *token)
{
    if (http == NULL)
        return;
    pthread_mutex_lock(&http->token_lock);
    snprintf(http->token, sizeof http->token, "%s", token);
    pthread_mutex_unlock(&http->token_lock);
}

int tp_http_start(struct tp_http **out, const struct tp_http_config *config, uint16_t *port, char reason[160])
{
    *out = NULL;
    reason[0] = 0;
    struct sockaddr_storage address;
    if (tp_address_socket(&address, config->host, config->port) == 0) {
        snprintf(reason, 160, "%.100s is no numeric address", config->host);
        return TP_ERR_IO;
    }
    struct tp_http *http = calloc(1, sizeof *http);
    if (!http)
        return TP_ERR_NO_MEMORY;
    http->source = config->source;
    http->view = config->view;
    pthread_mutex_init(&http->token_lock, NULL);
    tp_http_set_token(http, config->token);
    http->is_loopback = tp_http_gate_is_loopback(config->host);

    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_USE_ITC | MHD_USE_ERROR_LOG |
                     MHD_ALLOW_SUSPEND_RESUME;
    if (address.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    errno = 0;
    const struct MHD_OptionItem where[] = {
        config->is_inherited ? (struct MHD_OptionItem){MHD_OPTION_LISTEN_SOCKET, config->fd, NULL}
                             : (struct MHD_OptionItem){MHD_OPTION_SOCK_ADDR, 0, &address},
        {MHD_OPTION_END, 0, NULL}};
    http->is_inherited = config->is_inherited;
    http->daemon = MHD_start_daemon(
        flags, config->port, NULL, NULL, answer, http, MHD_OPTION_EXTERNAL_LOGGER, log_words, NULL,
        MHD_OPTION_NOTIFY_COMPLETED,
        request_end_cb, http, MHD_OPTION_NOTIFY_CONNECTION, peer_notify_cb, http, MHD_OPTION_ARRAY, where, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
    if (!http->daemon) {
        snprintf(reason, 160, "the stats port cannot listen: %.60s port %u: %.50s", config->host, (unsigned)config->port,
                 errno ? strerror(errno) : "the http thread could not be started");
        pthread_mutex_destroy(&http->token_lock);
        free(http);
        return TP_ERR_IO;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
    *port = info && !config->is_inherited ? info->port : config->port;
    *out = http;
    return TP_OK;
}

void tp_http_stop(struct tp_http *http)
{
    if (!http)
        return;
    int fd = http->is_inherited ? MHD_quiesce_daemon(http->daemon) : -1; /* a stop alone might shut it for others too */
    MHD_stop_daemon(http->daemon);
    if (fd >= 0)
        close(fd);
    pthread_mutex_destroy(&http->token_lock);
    free(http);
}
