/* The stats endpoint by itself: what is rendered from the metrics table, and how the HTTP server treats its
 * peers. test_stats_served.c asks a real daemon's. */
#include "base/version.h"
#include "daemon/stats/http.h"
#include "daemon/stats/stats.h"
#include "tests/lib/exposition.h"
#include "tests/lib/harness.h"
#include "tests/lib/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Reading the text ---- */

/* Whether a family of that name is due: a line of the table with its suffix and type. */
static bool family_known(const char *name, const char *type)
{
    static const char *const words[] = {"counter", "gauge", "histogram", "gauge"};
    for (size_t i = 0; i < tp_metric_count; i++) {
        char exported[128];
        snprintf(exported, sizeof exported, "%s%s", tp_metric_table[i].name,
                 tp_metric_table[i].type == TP_METRIC_COUNTER ? "_total" : "");
        if (strcmp(name, exported) == 0)
            return strcmp(type, words[tp_metric_table[i].type]) == 0;
    }
    return false;
}

/* Walks the text line by line: HELP, TYPE, then the samples of that family and no other; families are those
 * of the table, each once; histograms rise and end with their count. */
static void check_exposition(const char *text)
{
    char family[128] = "";
    size_t families = 0;
    double below = 0;
    const char *line = text;
    while (*line) {
        size_t length = strcspn(line, "\n");
        ck_assert_msg(line[length] == '\n', "the last line has no end");
        char name[160], type[32];
        if (sscanf(line, "# HELP tickpath_%159s ", name) == 1) {
            ck_assert_uint_gt(length, strlen("# HELP tickpath_ ") + strlen(name));
            ck_assert_msg(strlen(name) < sizeof family, "%s", name);
            strcpy(family, name);
            families++;
            line += length + 1;
            ck_assert_msg(sscanf(line, "# TYPE tickpath_%159s %31s", name, type) == 2, "no TYPE for %s",
                          family);
            ck_assert_str_eq(name, family);
            ck_assert_msg(family_known(family, type), "%s of type %s is in no table", family, type);
            below = 0;
        } else {
            ck_assert_msg(strncmp(line, "tickpath_", 9) == 0, "%.*s", (int)length, line);
            ck_assert_msg(strncmp(line + 9, family, strlen(family)) == 0, "%.*s stands under %s", (int)length,
                          line, family);
            const char *space = memrchr(line, ' ', length);
            ck_assert_ptr_nonnull(space);
            char *end;
            double value = strtod(space + 1, &end);
            ck_assert_msg(end == line + length, "%.*s: no number", (int)length, line);
            if (strstr(family, "bytes") || strstr(line, "_bucket{le=") == NULL)
                ck_assert(value >= 0);
            if (strncmp(line + 9 + strlen(family), "_bucket{", 8) == 0) {
                ck_assert_msg(value >= below, "%.*s falls", (int)length, line);
                below = value;
            } else if (strncmp(line + 9 + strlen(family), "_count ", 7) == 0) {
                ck_assert(value == below);
            }
        }
        line += strcspn(line, "\n") + 1;
    }
    ck_assert_uint_eq(families, tp_metric_count);
}

/* What OpenMetrics has of its own: counters' families without _total, units that end the names, an info, the mark at the end and nothing after it. */
static void check_openmetrics(const char *text)
{
    static const char *const due[] = {
        "\n# TYPE tickpath_requests counter\n", "\ntickpath_requests_total ", "# TYPE tickpath_build info\ntickpath_build_info{",
        "# TYPE tickpath_tick_seconds histogram\n# UNIT tickpath_tick_seconds seconds\n", "_bucket{le=\"+Inf\"} "};
    for (size_t i = 0; i < sizeof due / sizeof *due; i++)
        ck_assert_msg(strstr(text, due[i]), "%s is missing", due[i]);
    ck_assert_ptr_null(strstr(text, "# TYPE tickpath_requests_total"));
    size_t units = 0;
    for (const char *at = text; (at = strstr(at, "\n# UNIT ")) != NULL; units++) {
        char name[128], unit[32];
        ck_assert_int_eq(sscanf(at += 8, "%127s %31s", name, unit), 2);
        size_t length = strlen(name), tail = strlen(unit);
        ck_assert_msg(length > tail && name[length - tail - 1] == '_' && strcmp(name + length - tail, unit) == 0, "%s", name);
    }
    ck_assert_uint_gt(units, 0);
    const char *end = strstr(text, "# EOF\n");
    ck_assert_msg(end != NULL && end[6] == '\0', "no mark at the end");
}

/* Whether Python's parser takes it as JSON, and an expression over it, `j`, is true. */
static void check_json(const char *text, const char *expression)
{
    char path[256], command[1024];
    snprintf(path, sizeof path, "%s/json-XXXXXX", getenv("TMPDIR"));
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    const char *python = getenv("TICKPATH_PYTHON");
    snprintf(command, sizeof command,
             "%s -c 'import json, sys\nj = json.load(open(sys.argv[1]))\nsys.exit(0 if (%s) else 1)' %s",
             python ? python : "python3", expression, path);
    int status = system(command);
    unlink(path);
    ck_assert_msg(status == 0, "not true of the JSON: %s\n%s", expression, text);
}

/* ---- Rendering ---- */

static struct tp_metrics *threads[3];
static struct tp_pool_cap cap;
static struct tp_map_held held = {.bytes = 123456, .versions = 7};
static struct tp_upload_quota uploads = {.bytes = 77};
static struct tp_store_status store_status;
static bool is_ready;

static uint64_t source_uptime(void *context)
{
    (void)context;
    return 61007;
}

static void source_store(void *context, struct tp_store_status *out)
{
    (void)context;
    *out = store_status;
}

static size_t source_not_ready(void *context, const char **reasons)
{
    (void)context;
    reasons[0] = "maps are being loaded";
    reasons[1] = "draining";
    return is_ready ? 0 : 2;
}

static void source_maps(void *context, tp_stats_map_cb each, void *each_context)
{
    (void)context;
    struct tp_stats_map map = {.name = "a/b", .width = 3, .height = 4, .epoch = 5, .version = 6};
    each(&map, each_context);
    map = (struct tp_stats_map){
        .name = "odd \"\\\n\x01 name", .passable_cells = UINT64_C(1) << 40, .sessions = 7};
    each(&map, each_context);
}

static struct tp_stats_source source;

static void source_begin(void)
{
    static const char *const names[] = {"loop0", "loop1", "world"};
    for (int i = 0; i < 3; i++) {
        threads[i] = tp_metrics_new(names[i]);
        ck_assert_ptr_nonnull(threads[i]);
    }
    atomic_store(&cap.bytes, 65536);
    atomic_store(&cap.bytes_max, UINT64_MAX);
    store_status = (struct tp_store_status){.state = TP_STORE_OK};
    is_ready = true;
    source = (struct tp_stats_source){.metrics = (const struct tp_metrics *const *)threads,
                                      .metrics_count = 3,
                                      .pool_cap = &cap,
                                      .held = &held,
                                      .uploads = &uploads,
                                      .store_name = "memory",
                                      .store_volatile = true,
                                      .started_unix_ms = 1767323045678, /* 2026-01-02T03:04:05.678Z */
                                      .threads = 2,
                                      .uptime_ms = source_uptime,
                                      .store_status = source_store,
                                      .not_ready = source_not_ready,
                                      .each_map = source_maps};
}

static void source_end(void)
{
    for (int i = 0; i < 3; i++)
        free(threads[i]);
}

START_TEST(test_prometheus)
{
    tp_metric_add(&threads[0]->requests, 40);
    tp_metric_add(&threads[1]->requests, 2);
    tp_metric_gauge_add(&threads[0]->connections_open, 5);
    tp_metric_gauge_add(&threads[1]->connections_open, -2);
    tp_metric_gauge_set(&threads[0]->pool_bytes[TP_METRIC_POOL_SESSIONS], 30000);
    tp_metric_gauge_set(&threads[1]->pool_bytes[TP_METRIC_POOL_SESSIONS], 10000);
    tp_metric_gauge_set(&threads[1]->pool_bytes[TP_METRIC_POOL_GUIDE], 5000);
    tp_metric_add(&threads[0]->errors[-TP_ERR_NOT_FOUND - 1], 3);
    tp_metric_observe(&threads[0]->tick_seconds, 1500);
    tp_metric_observe(&threads[1]->tick_seconds, 7);
    const uint64_t observed[] = {0, 1, 2, 3, 4, 5, 1000, UINT64_C(1) << 40};
    for (size_t i = 0; i < sizeof observed / sizeof *observed; i++)
        tp_metric_observe(&threads[i % 2]->tick_expansions, observed[i]);

    size_t size;
    char *text = tp_stats_render_metrics(&source, TP_STATS_TEXT, &size);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(strlen(text), size);
    check_exposition(text);
    ck_assert(tp_test_sample(text, "tickpath_build_info{version=\"" TP_VERSION "\",compiler=\"" TP_STATS_COMPILER "\"}") == 1);
    ck_assert(tp_test_sample(text, "tickpath_uptime_seconds") == 61.007);
    ck_assert(tp_test_sample(text, "tickpath_ready") == 1);
    ck_assert(tp_test_sample(text, "tickpath_store_degraded") == 0);
    ck_assert(tp_test_sample(text, "tickpath_store_volatile") == 1);
    ck_assert(tp_test_sample(text, "tickpath_node_bytes") == 65536);
    ck_assert_ptr_nonnull(strstr(text, "\ntickpath_node_bytes_max +Inf\n"));
    ck_assert(tp_test_sample(text, "tickpath_pool_bytes{pool=\"maps\"}") == 123456);
    ck_assert(tp_test_sample(text, "tickpath_pool_bytes{pool=\"uploads\"}") == 77);
    ck_assert(tp_test_sample(text, "tickpath_pool_bytes{pool=\"sessions\"}") == 40000);
    ck_assert(tp_test_sample(text, "tickpath_pool_bytes{pool=\"guide\"}") == 5000);
    ck_assert(tp_test_sample(text, "tickpath_pool_bytes{pool=\"spare\"}") == 65536 - 45000);
    ck_assert(tp_test_sample(text, "tickpath_map_versions") == 7);
    ck_assert(tp_test_sample(text, "tickpath_threads") == 2);
    ck_assert_uint_eq(tp_test_metric(text, "requests"), 42 + 2); /* ticks */
    ck_assert_uint_eq(tp_test_metric(text, "connections_open"), 3);
    ck_assert_uint_eq(tp_test_metric(text, "tick_expansions"), 8);
    ck_assert(tp_test_sample(text, "tickpath_tick_expansions_bucket{le=\"1.0\"}") == 2);
    ck_assert(tp_test_sample(text, "tickpath_tick_expansions_bucket{le=\"2.0\"}") == 3);
    ck_assert(tp_test_sample(text, "tickpath_tick_expansions_bucket{le=\"4.0\"}") == 5);
    ck_assert(tp_test_sample(text, "tickpath_tick_expansions_bucket{le=\"8.0\"}") == 6);
    ck_assert(tp_test_sample(text, "tickpath_tick_expansions_bucket{le=\"512.0\"}") == 6);
    ck_assert(tp_test_sample(text, "tickpath_tick_expansions_bucket{le=\"1024.0\"}") == 7);
    ck_assert(tp_test_sample(text, "tickpath_tick_expansions_bucket{le=\"+Inf\"}") == 8);
    ck_assert(tp_test_sample(text, "tickpath_tick_expansions_sum") == 1015 + (double)(UINT64_C(1) << 40));
    ck_assert(tp_test_sample(text, "tickpath_tick_seconds_bucket{le=\"4e-06\"}") == 0);
    ck_assert(tp_test_sample(text, "tickpath_tick_seconds_bucket{le=\"8e-06\"}") == 1);
    ck_assert(tp_test_sample(text, "tickpath_tick_seconds_bucket{le=\"0.001024\"}") == 1);
    ck_assert(tp_test_sample(text, "tickpath_tick_seconds_bucket{le=\"0.002048\"}") == 2);
    ck_assert(tp_test_sample(text, "tickpath_tick_seconds_bucket{le=\"67.108864\"}") == 2);
    ck_assert(tp_test_sample(text, "tickpath_tick_seconds_sum") == 0.001507);
    ck_assert(tp_test_sample(text, "tickpath_errors_total{code=\"NOT_FOUND\"}") == 3);
    ck_assert(tp_test_sample(text, "tickpath_errors_total{code=\"INTERNAL\"}") == 0);
    /* no name that a client chose */
    ck_assert_ptr_null(strstr(text, "a/b"));
    free(text);

    is_ready = false;
    store_status = (struct tp_store_status){.state = TP_STORE_DEGRADED, .reason = "away"};
    atomic_store(&cap.bytes_max, 1000000);
    text = tp_stats_render_metrics(&source, TP_STATS_TEXT, &size);
    check_exposition(text);
    ck_assert(tp_test_sample(text, "tickpath_ready") == 0);
    ck_assert(tp_test_sample(text, "tickpath_store_degraded") == 1);
    ck_assert(tp_test_sample(text, "tickpath_node_bytes_max") == 1000000);
    free(text);
}
END_TEST

/* The histogram of that name, of one thread's numbers. */
static struct tp_histogram_view view_of(const struct tp_metrics *metrics, const char *name)
{
    struct tp_histogram_view view;
    size_t i = 0;
    while (i < tp_metric_count && strcmp(tp_metric_table[i].name, name) != 0)
        i++;
    ck_assert_uint_lt(i, tp_metric_count);
    tp_metrics_read_histogram(&metrics, 1, &tp_metric_table[i], &view);
    return view;
}

/* The smallest ticks are counted once for three histograms; what these say is what they would say had each been counted in each. */
START_TEST(test_smallest_ticks)
{
    static const struct {
        uint64_t took_us, wait_us, expansions, sessions;
    } ticks[] = {{7, 0, 0, 1}, {1, 0, 0, 1}, {0, 0, 0, 1}, {9, 0, 0, 2}, {9, 1, 0, 1}, {9, 0, 1, 1}, {9, 0, 0, 0}, {UINT64_MAX / 2, 5, 3, 1000}};
    enum { TICKS = sizeof ticks / sizeof *ticks };
    struct tp_metrics *metrics = tp_metrics_new("loop0");
    struct tp_histogram each[4] = {0};
    ck_assert_ptr_nonnull(metrics);
    for (size_t i = 0; i < TICKS; i++) {
        tp_metric_tick(metrics, ticks[i].took_us, ticks[i].wait_us, ticks[i].expansions, ticks[i].sessions);
        const uint64_t values[4] = {ticks[i].took_us, ticks[i].wait_us, ticks[i].expansions, ticks[i].sessions};
        for (size_t h = 0; h < 4; h++)
            tp_metric_observe(&each[h], values[h]);
    }
    static const char *const names[4] = {"tick_seconds", "tick_wait_seconds", "tick_expansions", "tick_sessions"};
    for (size_t h = 0; h < 4; h++) {
        struct tp_histogram_view view = view_of(metrics, names[h]);
        ck_assert_uint_eq(view.count, TICKS);
        ck_assert_uint_eq(view.sum, atomic_load(&each[h].sum));
        for (size_t b = 0; b < TP_HISTOGRAM_BUCKETS - 1; b++)
            ck_assert_msg(view.bucket[b] == atomic_load(&each[h].bucket[b]), "%s: bucket %zu", names[h], b);
    }
    ck_assert_uint_eq(view_of(metrics, "tick_seconds").bucket[TP_HISTOGRAM_BUCKETS - 1], 1);
    free(metrics);
}
END_TEST

START_TEST(test_json)
{
    tp_metric_add(&threads[0]->requests, 40);
    tp_metric_add(&threads[1]->requests, 2);
    for (uint64_t i = 1; i <= 100; i++)
        tp_metric_observe(&threads[1]->tick_seconds, i);
    tp_metric_observe(&threads[1]->change_seconds, UINT64_MAX / 2);
    size_t size;
    char *text = tp_stats_render_json(&source, &size);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(strlen(text), size);
    check_json(text,
               "j[\"version\"] == \"" TP_VERSION "\" and j[\"started\"] == \"2026-01-02T03:04:05.678Z\"");
    check_json(text, "j[\"metrics\"][\"uptime_seconds\"] == 61.007 and j[\"metrics\"][\"threads\"] == 2 and j[\"ready\"] is True "
                     "and j[\"not_ready_because\"] == []");
    check_json(text, "j[\"store\"] == {\"name\": \"memory\", \"volatile\": True, \"degraded\": None}");
    check_json(text, "j[\"metrics\"][\"node_bytes\"] == 65536 and j[\"metrics\"][\"node_bytes_max\"] is None");
    check_json(text, "j[\"metrics\"][\"pool_bytes\"][\"maps\"] == 123456 and j[\"metrics\"][\"map_versions\"] == 7");
    check_json(text, "[m[\"name\"] for m in j[\"maps\"]] == [\"a/b\", \"odd \\\"\\\\\\n\\x01 name\"]");
    check_json(text, "j[\"maps\"][0][\"version\"] == 6 and j[\"maps\"][1][\"passable_cells\"] == 1 << 40");
    check_json(text,
               "j[\"metrics\"][\"requests\"] == 42 + 100 and j[\"by_thread\"][\"loop0\"][\"requests\"] == 40");
    check_json(text, "list(j[\"by_thread\"]) == [\"loop0\", \"loop1\", \"world\"]");
    check_json(
        text,
        "j[\"metrics\"][\"tick_seconds\"][\"count\"] == 100 and j[\"metrics\"][\"tick_seconds\"][\"sum\"] == 0.00505");
    check_json(
        text,
        "j[\"metrics\"][\"tick_seconds\"][\"p50_max\"] == 64e-6 and j[\"metrics\"][\"tick_seconds\"][\"p99_max\"] == 128e-6");
    check_json(text, "sum(n for b, n in j[\"metrics\"][\"tick_seconds\"][\"buckets\"]) == 100");
    check_json(text, "j[\"metrics\"][\"change_seconds\"][\"buckets\"] == [[None, 1]]");
    for (size_t i = 0; i < tp_metric_count; i++) {
        char key[96];
        snprintf(key, sizeof key, "\"%s\":", tp_metric_table[i].name);
        ck_assert_msg(strstr(text, key), "%s is missing", key);
    }
    free(text);

    is_ready = false;
    store_status = (struct tp_store_status){.state = TP_STORE_DEGRADED, .reason = "redis: \"away\""};
    text = tp_stats_render_json(&source, &size);
    check_json(text, "j[\"ready\"] is False and j[\"not_ready_because\"] == [\"maps are being loaded\", \"draining\"]");
    check_json(text, "j[\"store\"][\"degraded\"] == \"redis: \\\"away\\\"\"");
    free(text);
}
END_TEST

/* ---- The HTTP server ---- */

static struct tp_http *http;
static uint16_t http_port;

static void http_begin(void)
{
    source_begin();
    struct tp_http_config config = {.host = "127.0.0.1", .port = 0, .source = &source, .token = ""};
    char reason[160];
    ck_assert_msg(tp_http_start(&http, &config, &http_port, reason) == 0, "%s", reason);
    ck_assert_uint_ne(http_port, 0);
}

static void http_end(void)
{
    tp_http_stop(http);
    source_end();
}

static int http_connect(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(http_port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Sends a text and reads all that comes until the end of the connection, or `timeout_ms` of silence. Static
 * memory. */
static const char *http_say(int fd, const char *request, int timeout_ms)
{
    static char text[262144];
    size_t size = 0;
    ck_assert_int_eq(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, timeout_ms) <= 0)
            break;
        ssize_t got = read(fd, text + size, sizeof text - 1 - size);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    text[size] = 0;
    return text;
}

static const char *http_once(const char *request)
{
    int fd = http_connect();
    const char *text = http_say(fd, request, WIRE_TIMEOUT_MS);
    close(fd);
    return text;
}

#define ASK(method, path) method " " path " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"

static void check_status(const char *answer, int status)
{
    int got = 0;
    ck_assert_msg(sscanf(answer, "HTTP/1.%*d %d ", &got) == 1 && got == status, "status %d was due: %s",
                  status, answer);
}

static const char *body_of(const char *answer)
{
    const char *body = strstr(answer, "\r\n\r\n");
    ck_assert_msg(body, "no end of the header: %s", answer);
    return body + 4;
}

START_TEST(test_http_pages)
{
    const char *answer = http_once(ASK("GET", "/livez"));
    check_status(answer, 200);
    ck_assert_str_eq(body_of(answer), "ok\n");
    answer = http_once(ASK("GET", "/readyz"));
    check_status(answer, 200);
    ck_assert_str_eq(body_of(answer), "ready\n");
    is_ready = false;
    answer = http_once(ASK("GET", "/readyz"));
    check_status(answer, 503);
    ck_assert_str_eq(body_of(answer), "maps are being loaded\ndraining\n");
    check_status(http_once(ASK("GET", "/livez")), 200);
    answer = http_once(ASK("GET", "/metrics"));
    check_status(answer, 200);
    ck_assert_ptr_nonnull(strstr(answer, "Content-Type: text/plain; version=0.0.4"));
    check_exposition(body_of(answer));
    answer = http_once("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                       "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n");
    check_status(answer, 200);
    ck_assert_ptr_nonnull(strstr(answer, "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
    check_openmetrics(body_of(answer));
    answer = http_once(ASK("GET", "/stats?pretty=1"));
    check_status(answer, 200);
    ck_assert_ptr_nonnull(strstr(answer, "Content-Type: application/json"));
    ck_assert_ptr_nonnull(strstr(answer, "Cache-Control: no-store"));
    check_json(body_of(answer), "j[\"ready\"] is False");
}
END_TEST

START_TEST(test_http_head)
{
    const char *answer = http_once(ASK("HEAD", "/metrics"));
    check_status(answer, 200);
    ck_assert_str_eq(body_of(answer), "");
    const char *length = strstr(answer, "Content-Length: ");
    ck_assert_ptr_nonnull(length);
    ck_assert_int_gt(atoi(length + 16), 1000);
    answer = http_once(ASK("HEAD", "/nothing"));
    check_status(answer, 404);
    ck_assert_str_eq(body_of(answer), "");
}
END_TEST

START_TEST(test_http_refusals)
{
    static const char *const missing[] = {ASK("GET", "/"), ASK("GET", "/Livez"), ASK("GET", "/livez/"),
                                          ASK("GET", "/metrics/../stats"), ASK("GET", "//metrics")};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        const char *answer = http_once(missing[i]);
        check_status(answer, 404);
        ck_assert_ptr_nonnull(strstr(body_of(answer), "/metrics"));
    }
    static const char *const refused[] = {
        ASK("POST", "/metrics"), ASK("DELETE", "/stats"), ASK("OPTIONS", "/livez"), ASK("BREW", "/livez"),
        "PUT /stats HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *answer = http_once(refused[i]);
        check_status(answer, 405);
        ck_assert_ptr_nonnull(strstr(answer, "Allow: GET, HEAD"));
    }
    /* no HTTP at all, and a header without end: an error or the end of the connection, and the server stands
     */
    const char *answer = http_once("\x12\x03hello\r\n\r\n");
    ck_assert(answer[0] == 0 || strncmp(answer, "HTTP/1.", 7) == 0);
    char *long_request = malloc(40001);
    memset(long_request, 'a', 40000);
    memcpy(long_request, "GET /livez HTTP/1.1\r\nHost: ", 27);
    long_request[40000] = 0;
    int fd = http_connect();
    ssize_t sent = send(fd, long_request, 40000, MSG_NOSIGNAL);
    ck_assert_int_gt(sent, 0);
    free(long_request);
    char first[64] = "";
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&ready, 1, WIRE_TIMEOUT_MS), 1); /* an answer or an end: not silence */
    if (read(fd, first, sizeof first - 1) > 0)
        ck_assert_msg(strncmp(first, "HTTP/1.1 4", 10) == 0, "%s", first);
    close(fd);
    check_status(http_once(ASK("GET", "/livez")), 200);
}
END_TEST

/* Several requests on one connection, and a peer that dribbles its request does not hold up another. */
START_TEST(test_http_keep_alive_and_slow_peers)
{
    int slow = http_connect();
    ck_assert_int_eq(send(slow, "GET /li", 7, MSG_NOSIGNAL), 7);
    int fd = http_connect();
    for (int i = 0; i < 3; i++) {
        const char *answer = http_say(fd, "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 300);
        check_status(answer, 200);
    }
    close(fd);
    const char *answer =
        http_say(slow, "vez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", WIRE_TIMEOUT_MS);
    check_status(answer, 200);
    close(slow);
}
END_TEST

/* Peers that connect and say nothing: their number is bounded, they are sent away in time, and then others
 * are served again. */
START_TEST(test_http_silent_crowd)
{
    enum { CROWD = 100 };
    int crowd[CROWD];
    for (int i = 0; i < CROWD; i++)
        crowd[i] = http_connect();
    int fd = http_connect();
    uint64_t from = wire_now_ms();
    const char *answer = http_say(fd, ASK("GET", "/livez"), 40000);
    close(fd);
    check_status(answer, 200);
    ck_assert_uint_lt(wire_now_ms() - from, 40000);
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
}
END_TEST

START_TEST(test_http_start_errors)
{
    struct tp_http *other;
    uint16_t port;
    char reason[160];
    struct tp_http_config config = {.host = "127.0.0.1", .port = http_port, .source = &source};
    ck_assert_int_eq(tp_http_start(&other, &config, &port, reason), TP_ERR_IO);
    ck_assert_ptr_null(other);
    ck_assert_msg(strstr(reason, strerror(EADDRINUSE)), "%s", reason);
    static const char *const hosts[] = {"localhost", "", "300.1.1.1", "[::1]", "192.0.2.1"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        config = (struct tp_http_config){.host = hosts[i], .port = 0, .source = &source};
        ck_assert_int_eq(tp_http_start(&other, &config, &port, reason), TP_ERR_IO);
        ck_assert_ptr_null(other);
        ck_assert_str_ne(reason, "");
    }
    tp_http_stop(NULL);
}
END_TEST

START_TEST(test_http_ipv6)
{
    struct tp_http *other;
    uint16_t port;
    char reason[160];
    struct tp_http_config config = {.host = "::1", .port = 0, .source = &source};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        /* a machine without IPv6: then the start says so */
        ck_assert_int_eq(tp_http_start(&other, &config, &port, reason), TP_ERR_IO);
        ck_assert_str_ne(reason, "");
    } else {
        close(fd);
        ck_assert_msg(tp_http_start(&other, &config, &port, reason) == 0, "%s", reason);
        fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        address.sin6_port = htons(port);
        ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
        check_status(http_say(fd, ASK("GET", "/livez"), WIRE_TIMEOUT_MS), 200);
        tp_http_stop(other);
    }
    if (fd >= 0)
        close(fd);
}
END_TEST

static Suite *stats_suite(void)
{
    Suite *suite = suite_create("stats");
    TCase *render = tcase_create("render");
    tcase_add_checked_fixture(render, source_begin, source_end);
    tcase_add_test(render, test_prometheus);
    tcase_add_test(render, test_smallest_ticks);
    tcase_add_test(render, test_json);
    suite_add_tcase(suite, render);
    TCase *server = tcase_create("http");
    tcase_add_checked_fixture(server, http_begin, http_end);
    tcase_add_test(server, test_http_pages);
    tcase_add_test(server, test_http_head);
    tcase_add_test(server, test_http_refusals);
    tcase_add_test(server, test_http_keep_alive_and_slow_peers);
    tcase_add_test(server, test_http_silent_crowd);
    tcase_add_test(server, test_http_start_errors);
    tcase_add_test(server, test_http_ipv6);
    suite_add_tcase(suite, server);
    return suite;
}

int main(void)
{
    return tp_test_main("test_stats", stats_suite);
}
