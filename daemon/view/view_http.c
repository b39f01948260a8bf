/* Happy path: a page is rendered and handed over whole, a part of the terrain a slice at a time as the peer reads, so that others have
 * their turns in between. A stream's response asks for bytes likewise; while there are none the connection is suspended, and the view's
 * thread resumes it. A session asked for suspends the connection until the loops have answered; then the request is handled a second time,
 * with the answer in its state.
 *
 * Failure modes: a peer that goes away ends its stream through the response's free callback, its question through the end of
 * the request. Out of memory answers 503, or ends the connection. One that takes its terrain too slowly is cut off, so that it does not hold
 * that version of the map for long.
 */
#include "daemon/view/view_http.h"

#include "daemon/clock.h"
#include "daemon/stats/http_send.h"
#include "daemon/world/name.h"
#include "daemon/view/view_assets.h"
#include "daemon/view/view_terrain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    FPS_DEFAULT = 10,
    STREAM_BLOCK_BYTES = 8192,
    TERRAIN_BLOCK_BYTES = 32768,
    TERRAIN_MS = 60000, /* in which a part is to be taken */
};

/* The page runs its own scripts, shows its own pictures and asks its own daemon; nothing else. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                             "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/* Takes the response. */
static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status, const char *type, struct MHD_Response *response)
{
    const struct tp_http_header headers[] = {
        {MHD_HTTP_HEADER_CONTENT_TYPE, type},
        {"Content-Security-Policy", policy},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
        {NULL, NULL},
    };
    return tp_http_send(connection, status, response, headers);
}

static enum MHD_Result send_words(struct MHD_Connection *connection, unsigned status, const char *words)
{
    return send_response(connection, status, "text/plain; charset=utf-8",
                MHD_create_response_from_buffer(strlen(words), (void *)(uintptr_t)words, MHD_RESPMEM_PERSISTENT));
}

/* Takes the buffer's memory. */
static enum MHD_Result send_buffer(struct MHD_Connection *connection, const char *type, struct tp_text *buffer)
{
    if (buffer->failed) {
        tp_text_fini(buffer);
        return send_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(buffer->size, buffer->bytes, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        tp_text_fini(buffer);
    return send_response(connection, MHD_HTTP_OK, type, response);
}

static enum MHD_Result send_error(struct MHD_Connection *connection, int error)
{
    switch (error) {
    case TP_ERR_NOT_FOUND:
        return send_words(connection, MHD_HTTP_NOT_FOUND, "no map or session of that name or id\n");
    case TP_ERR_OUT_OF_RANGE:
        return send_words(connection, MHD_HTTP_BAD_REQUEST, "that part lies outside the map\n");
    case TP_ERR_UNSUPPORTED:
        return send_words(connection, MHD_HTTP_BAD_REQUEST, "the map is no grid\n");
    case TP_ERR_TIMEOUT:
        return send_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the session's loop is busy; try again\n");
    case TP_ERR_SHUTTING_DOWN:
        return send_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the daemon is ending\n");
    case TP_ERR_NO_MEMORY:
        return send_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
    default:
        return send_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "too much at once; try again\n");
    }
}

/* ---- Queries ---- */

static const char *query(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/* A number of the query in least..most, or `otherwise` where it is not given. False: it is none of those. */
static bool read_number(struct MHD_Connection *connection, const char *name, uint64_t least, uint64_t most,
                        uint64_t otherwise, uint64_t *out)
{
    const char *text = query(connection, name);
    *out = otherwise;
    if (text == NULL)
        return true;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least || value > most)
        return false;
    *out = value;
    return true;
}

/* ---- Maps and terrain ---- */

static enum MHD_Result answer_maps(struct tp_view *view, struct MHD_Connection *connection)
{
    struct tp_text text = {0};
    tp_stats_add_maps(&text, tp_view_source(view));
    tp_text_add(&text, "\n");
    return send_buffer(connection, "application/json", &text);
}

/* A part of the terrain on its way to a peer. */
struct terrain {
    struct tp_view_terrain terrain; /* with a reference to the map */
    struct tp_text text;            /* rendered, and sent up to `sent` */
    size_t sent;
    bool goes_on;
    uint64_t until_ms;
};

static ssize_t terrain_read_cb(void *context, uint64_t position, char *out, size_t max)
{
    struct terrain *terrain = context;
    (void)position;
    if (terrain->sent == terrain->text.size && !terrain->text.failed) {
        if (!terrain->goes_on)
            return MHD_CONTENT_READER_END_OF_STREAM;
        tp_text_clear(&terrain->text);
        terrain->sent = 0;
        terrain->goes_on = tp_view_terrain_more(&terrain->terrain, &terrain->text);
    }
    if (terrain->text.failed || tp_clock_now_ms() > terrain->until_ms)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t left = terrain->text.size - terrain->sent, size = left < max ? left : max;
    memcpy(out, terrain->text.bytes + terrain->sent, size);
    terrain->sent += size;
    return (ssize_t)size;
}

static void terrain_free_cb(void *context)
{
    struct terrain *terrain = context;
    tp_map_unref(terrain->terrain.map);
    tp_text_fini(&terrain->text);
    free(terrain);
}

/* Takes the reference to the map. */
static enum MHD_Result send_terrain(struct MHD_Connection *connection, const struct tp_map *map, const struct tp_view_part *part)
{
    struct terrain *terrain = calloc(1, sizeof *terrain);
    int error = terrain == NULL ? TP_ERR_NO_MEMORY : tp_view_terrain_begin(&terrain->terrain, map, part, &terrain->text);
    if (error != 0) {
        free(terrain);
        tp_map_unref(map);
        return error == TP_ERR_RESOURCE_EXHAUSTED
                   ? send_words(connection, MHD_HTTP_BAD_REQUEST, "too many cells at once: ask for parts of 4194304 at most\n")
                   : send_error(connection, error);
    }
    terrain->goes_on = true;
    terrain->until_ms = tp_clock_now_ms() + TERRAIN_MS;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, TERRAIN_BLOCK_BYTES, terrain_read_cb, terrain, terrain_free_cb);
    if (response == NULL)
        terrain_free_cb(terrain);
    return send_response(connection, MHD_HTTP_OK, "application/octet-stream", response);
}

static enum MHD_Result answer_terrain(struct tp_view *view, struct MHD_Connection *connection)
{
    const char *name = query(connection, "map");
    uint64_t x, y, width, height, shrink;
    if (name == NULL || !read_number(connection, "x", 0, UINT32_MAX, 0, &x) ||
        !read_number(connection, "y", 0, UINT32_MAX, 0, &y) || !read_number(connection, "w", 0, UINT32_MAX, 0, &width) ||
        !read_number(connection, "h", 0, UINT32_MAX, 0, &height) ||
        !read_number(connection, "shrink", 1, TP_VIEW_SHRINK_MAX, 1, &shrink))
        return send_words(connection, MHD_HTTP_BAD_REQUEST, "wanted: map=NAME, and perhaps x, y, w, h, shrink\n");
    const struct tp_world_map *of;
    const struct tp_map *map = tp_world_peek(tp_view_world(view), name, &of);
    if (map == NULL)
        return send_error(connection, TP_ERR_NOT_FOUND);
    const struct tp_view_part part = {(uint32_t)x, (uint32_t)y, (uint32_t)width, (uint32_t)height, (uint32_t)shrink};
    return send_terrain(connection, map, &part);
}

/* ---- Streams ---- */

struct reader {
    struct tp_view_stream *stream;
    struct MHD_Connection *connection;
};

static ssize_t reader_read_cb(void *context, uint64_t position, char *out, size_t max)
{
    struct reader *reader = context;
    (void)position;
    long given = tp_view_stream_read(reader->stream, reader->connection, out, max);
    return given < 0 ? (ssize_t)MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)given;
}

static void reader_free_cb(void *context)
{
    struct reader *reader = context;
    tp_view_stream_close(reader->stream);
    free(reader);
}

static enum MHD_Result answer_stream(struct tp_view *view, struct MHD_Connection *connection)
{
    const char *name = query(connection, "map");
    uint64_t fps;
    if (name == NULL || strlen(name) > TP_WORLD_NAME_MAX ||
        !read_number(connection, "fps", 1, TP_VIEW_FPS_MAX, FPS_DEFAULT, &fps))
        return send_words(connection, MHD_HTTP_BAD_REQUEST, "wanted: map=NAME, and perhaps fps=1..30\n");
    struct reader *reader = malloc(sizeof *reader);
    if (reader == NULL)
        return send_error(connection, TP_ERR_NO_MEMORY);
    reader->connection = connection;
    int error = tp_view_stream_open(view, name, (unsigned)fps, &reader->stream);
    if (error != 0) {
        free(reader);
        return send_error(connection, error);
    }
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, reader_read_cb, reader, reader_free_cb);
    if (response == NULL) {
        reader_free_cb(reader);
        return MHD_NO;
    }
    return send_response(connection, MHD_HTTP_OK, "text/event-stream", response);
}

/* ---- One session ---- */

static enum MHD_Result ask_session(struct tp_view *view, struct MHD_Connection *connection, void **state)
{
    uint64_t id, x, y, width, height, cursor;
    if (!read_number(connection, "id", 1, UINT64_MAX, 0, &id) || id == 0 ||
        !read_number(connection, "x", 0, UINT32_MAX, 0, &x) || !read_number(connection, "y", 0, UINT32_MAX, 0, &y) ||
        !read_number(connection, "w", 1, UINT32_MAX, UINT32_MAX, &width) ||
        !read_number(connection, "h", 1, UINT32_MAX, UINT32_MAX, &height) ||
        !read_number(connection, "cursor", 0, UINT64_MAX, 0, &cursor))
        return send_words(connection, MHD_HTTP_BAD_REQUEST, "wanted: id=ID, and perhaps x, y, w, h, cursor\n");
    const struct tp_inspect_scan scan = {
        .x = (uint32_t)x, .y = (uint32_t)y, .width = (uint32_t)width, .height = (uint32_t)height, .cursor = cursor};
    struct tp_view_ask *ask;
    int error = tp_view_ask_open(view, id, &scan, connection, &ask);
    *state = ask;
    return error == 0 ? MHD_YES : send_error(connection, error);
}

static enum MHD_Result answer_session(struct tp_view *view, struct MHD_Connection *connection, void **state)
{
    if (*state == NULL)
        return ask_session(view, connection, state);
    const struct tp_dump *dump;
    int error = tp_view_ask_answer(*state, &dump);
    if (error != 0)
        return send_error(connection, error);
    size_t size;
    char *text = tp_dump_json(dump, &size);
    struct tp_text out = {.bytes = text, .size = size, .room = size, .failed = text == NULL};
    return send_buffer(connection, "application/json", &out);
}

void tp_view_http_end(void *state)
{
    if (state != NULL)
        tp_view_ask_close(state);
}

/* ---- All ---- */

void tp_view_http_suspend(void *connection)
{
    MHD_suspend_connection(connection);
}

void tp_view_http_resume(void *connection)
{
    MHD_resume_connection(connection);
}

static const char stream_path[] = "/view/stream";

bool tp_view_http_is_ours(const char *path)
{
    return strcmp(path, "/") == 0 || strncmp(path, "/view/", 6) == 0;
}

bool tp_view_http_is_stream(const char *path)
{
    return strcmp(path, stream_path) == 0;
}

enum MHD_Result tp_view_http_answer(struct tp_view *view, struct MHD_Connection *connection, const char *path, void **state)
{
    const struct tp_view_asset *asset = tp_view_asset_find(path);
    if (asset != NULL)
        return send_response(connection, MHD_HTTP_OK, asset->type,
                    MHD_create_response_from_buffer((size_t)(asset->end - asset->bytes), (void *)(uintptr_t)asset->bytes,
                                                    MHD_RESPMEM_PERSISTENT));
    if (strcmp(path, "/view/maps") == 0)
        return answer_maps(view, connection);
    if (strcmp(path, "/view/terrain") == 0)
        return answer_terrain(view, connection);
    if (tp_view_http_is_stream(path))
        return answer_stream(view, connection);
    if (strcmp(path, "/view/session") == 0)
        return answer_session(view, connection, state);
    return send_words(connection, MHD_HTTP_NOT_FOUND, "the view has no such page\n");
}
