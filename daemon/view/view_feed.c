/* Streams, and the frames that they are given. A feed composes one frame for all its streams; a stream takes it if its peer has
 * taken the one before, else it gets a key once the peer has.
 *
 * Failure modes: the map is dropped, or begins anew: the streams are told, and of the new one when it is there. Out of memory: the
 * frame is left out and all streams of the feed get a key next. A peer that takes nothing for TP_VIEW_SLOW_MS: its stream ends.
 */
#include "daemon/view/view_internal.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/view/view_terrain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 250, NUMBERS_MS = 1000, RETRY_MS = 2000 };

/* ---- Streams ---- */

static struct tp__view_feed *find_feed(struct tp_view *view, const char *map, unsigned fps)
{
    struct tp__view_feed *feed = view->feeds;
    while (feed != NULL && (feed->fps != fps || strcmp(feed->name, map) != 0))
        feed = feed->next;
    return feed;
}

static struct tp__view_feed *make_feed(struct tp_view *view, const char *map, unsigned fps)
{
    struct tp__view_feed *feed = calloc(1, sizeof *feed);
    if (feed == NULL)
        return NULL;
    feed->wanted = calloc(view->config.loops, sizeof feed->wanted[0]);
    if (feed->wanted == NULL || tp_view_agents_init(&feed->agents, view->config.loops) != 0) {
        free(feed->wanted);
        free(feed);
        return NULL;
    }
    strncpy(feed->name, map, sizeof feed->name - 1);
    feed->fps = fps;
    feed->first_ms = tp_clock_now_ms();
    feed->next = view->feeds;
    view->feeds = feed;
    return feed;
}

int tp_view_stream_open(struct tp_view *view, const char *map, unsigned fps, struct tp_view_stream **out)
{
    *out = NULL;
    struct tp_view_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return TP_ERR_NO_MEMORY;
    int error = 0;
    pthread_mutex_lock(&view->lock);
    if (view->is_over || view->is_quiet)
        error = TP_ERR_SHUTTING_DOWN;
    else if (view->streams >= TP_VIEW_STREAMS_MAX)
        error = TP_ERR_RESOURCE_EXHAUSTED;
    struct tp__view_feed *feed = error == 0 ? find_feed(view, map, fps) : NULL;
    if (error == 0 && feed == NULL && (feed = make_feed(view, map, fps)) == NULL)
        error = TP_ERR_NO_MEMORY;
    if (error == 0) {
        *stream = (struct tp_view_stream){.view = view, .feed = feed, .next = feed->streams, .needs_key = true};
        feed->streams = stream;
        view->streams++;
        feed->numbers_ms = 0;
        feed->due_ms = tp_clock_now_ms();
        tp__view_wake(view);
    }
    pthread_mutex_unlock(&view->lock);
    if (error != 0)
        free(stream);
    else
        *out = stream;
    return error;
}

long tp_view_stream_read(struct tp_view_stream *stream, void *connection, char *out, size_t max)
{
    pthread_mutex_lock(&stream->view->lock);
    long given = 0;
    size_t left = stream->out.size - stream->sent;
    if (stream->is_ended) {
        given = -1;
    } else if (left > 0) {
        size_t size = left < max ? left : max;
        memcpy(out, stream->out.bytes + stream->sent, size);
        stream->sent += size;
        given = (long)size;
        if (stream->sent == stream->out.size) {
            tp_text_clear(&stream->out);
            stream->sent = 0;
        }
        stream->behind_ms = 0;
    } else {
        stream->waiting = connection;
        stream->view->config.suspend(connection);
    }
    pthread_mutex_unlock(&stream->view->lock);
    return given;
}

void tp_view_stream_close(struct tp_view_stream *stream)
{
    struct tp_view *view = stream->view;
    pthread_mutex_lock(&view->lock);
    if (stream->feed != NULL) {
        struct tp_view_stream **link = &stream->feed->streams;
        while (*link != stream)
            link = &(*link)->next;
        *link = stream->next;
    }
    view->streams--;
    tp__view_wake(view);
    pthread_mutex_unlock(&view->lock);
    tp_text_fini(&stream->out);
    free(stream);
}

static void wake_reader(struct tp_view_stream *stream)
{
    void *connection = stream->waiting;
    stream->waiting = NULL;
    if (connection != NULL)
        stream->view->config.resume(connection);
}

static void free_feed(struct tp_view *view, struct tp__view_feed *feed)
{
    for (unsigned i = 0; i < view->config.loops; i++)
        if (view->slots[i].feed == feed)
            view->slots[i].feed = NULL;
    tp_map_unref(feed->map);
    tp_view_agents_fini(&feed->agents);
    free(feed->wanted);
    free(feed);
}

void tp__view_feeds_sweep(struct tp_view *view)
{
    struct tp__view_feed **link = &view->feeds;
    while (*link != NULL) {
        struct tp__view_feed *feed = *link;
        if (feed->streams != NULL) {
            link = &feed->next;
            continue;
        }
        *link = feed->next;
        free_feed(view, feed);
    }
}

void tp__view_streams_end(struct tp_view *view)
{
    for (struct tp__view_feed *feed = view->feeds; feed != NULL; feed = feed->next)
        while (feed->streams != NULL) {
            struct tp_view_stream *stream = feed->streams;
            feed->streams = stream->next;
            stream->feed = NULL;
            stream->is_ended = true;
            wake_reader(stream);
        }
}

/* ---- Rounds ---- */

uint64_t tp__view_feed_patience_ms(const struct tp__view_feed *feed)
{
    uint64_t two_ms = 2000 / feed->fps;
    return two_ms > PATIENCE_MS ? two_ms : PATIENCE_MS;
}

/* What the streams are told of the map itself. */
static void put_map_event(struct tp_view *view, const struct tp__view_feed *feed, struct tp_text *out)
{
    const struct tp_map *map = feed->map;
    struct tp_text *data = &view->scratch;
    tp_text_clear(data);
    if (map == NULL) {
        tp_text_add(data, "{}");
    } else {
        tp_text_add(data, "{\"kind\":\"%s\",\"width\":%" PRIu32 ",\"height\":%" PRIu32 ",\"epoch\":\"%" PRIu64
                            "\",\"version\":%" PRIu64 "}",
                      map->graph != NULL ? "graph" : "grid", map->width, map->height, map->epoch, map->version);
    }
    tp_view_put_event(out, map != NULL ? "map" : "gone", data, false);
}

static void put_changes_event(struct tp_view *view, const struct tp_map *before, const struct tp_map *now)
{
    tp_text_clear(&view->scratch);
    tp_view_terrain_put_changes(&view->scratch, before, now);
    tp_view_put_event(&view->events, "changes", &view->scratch, true);
}

/* The map of this round; puts what is new of it into view->events. */
static void follow_map(struct tp_view *view, struct tp__view_feed *feed)
{
    const struct tp_map *before = feed->map;
    feed->map = tp_world_peek(view->config.world, feed->name, &feed->of);
    const struct tp_map *now = feed->map;
    if (before != NULL && now != NULL && before->epoch == now->epoch && before->width == now->width) {
        if (before->version != now->version && now->graph == NULL)
            put_changes_event(view, before, now);
    } else if ((before != NULL) != (now != NULL) || now != NULL || !feed->is_told) {
        if (feed->is_told) /* else what the loops have just told is of this map already */
            tp_view_agents_end(&feed->agents);
        put_map_event(view, feed, &view->events);
    }
    feed->is_told = true;
    tp_map_unref(before);
}

void tp__view_feed_begin(struct tp_view *view, struct tp__view_feed *feed, uint64_t now_ms)
{
    if (feed->is_out || now_ms < feed->due_ms || view->is_quiet)
        return;
    uint64_t pace_ms = 1000 / feed->fps;
    feed->due_ms = now_ms - feed->due_ms < pace_ms ? feed->due_ms + pace_ms : now_ms + pace_ms;
    feed->round_ms = now_ms;
    feed->is_out = true;
    const struct tp_map *map = tp_world_peek(view->config.world, feed->name, &feed->of);
    tp_map_unref(map);
    memset(feed->wanted, true, view->config.loops * sizeof feed->wanted[0]);
}

/* Gives the frame, or a key, to a stream. Whether it goes on. */
static bool give(struct tp_view *view, struct tp__view_feed *feed, struct tp_view_stream *stream, uint64_t now_ms)
{
    if (stream->out.size > 0) {
        stream->needs_key = true;
        if (stream->behind_ms == 0)
            stream->behind_ms = now_ms;
        return now_ms - stream->behind_ms < TP_VIEW_SLOW_MS;
    }
    if (stream->needs_key && view->key.size == 0) {
        tp_text_add(&view->key, "retry: %d\n\n", RETRY_MS);
        put_map_event(view, feed, &view->key);
        tp_text_clear(&view->scratch);
        tp_view_agents_key(&feed->agents, now_ms - feed->first_ms, &view->scratch);
        tp_view_put_event(&view->key, "key", &view->scratch, true);
    }
    const struct tp_text *what = stream->needs_key ? &view->key : &view->frame;
    if (what->failed || view->events.failed) {
        stream->needs_key = true;
        return true;
    }
    if (!stream->needs_key)
        tp_text_put(&stream->out, view->events.bytes, view->events.size);
    tp_text_put(&stream->out, what->bytes, what->size);
    stream->needs_key = false;
    return true;
}

void tp__view_feed_compose(struct tp_view *view, struct tp__view_feed *feed, uint64_t now_ms)
{
    feed->is_out = false;
    tp_text_clear(&view->events);
    tp_text_clear(&view->frame);
    tp_text_clear(&view->key);
    follow_map(view, feed);
    tp_text_clear(&view->scratch);
    tp_view_agents_frame(&feed->agents, feed->map != NULL ? feed->map->width : 1, now_ms - feed->first_ms, &view->scratch);
    tp_view_put_event(&view->frame, "frame", &view->scratch, true);

    bool has_numbers = feed->numbers_ms == 0 || now_ms - feed->numbers_ms >= NUMBERS_MS;
    tp_text_clear(&view->scratch);
    struct tp_text numbers = {0};
    if (has_numbers) {
        feed->numbers_ms = now_ms;
        tp_view_numbers_put(&feed->numbers, view->config.source, now_ms, &view->scratch);
        tp_view_put_event(&numbers, "numbers", &view->scratch, false);
    }
    struct tp_view_stream **link = &feed->streams;
    while (*link != NULL) {
        struct tp_view_stream *stream = *link;
        bool goes_on = give(view, feed, stream, now_ms);
        if (goes_on && has_numbers && !numbers.failed && !stream->needs_key)
            tp_text_put(&stream->out, numbers.bytes, numbers.size);
        if (!goes_on || stream->out.failed) {
            tp_log(TP_LOG_INFO, "a stream of the view is dropped", "reason=\"%s\"", goes_on ? "out of memory" : "it does not read");
            *link = stream->next;
            stream->feed = NULL;
            stream->is_ended = true;
        } else {
            link = &stream->next;
        }
        if (stream->is_ended || stream->out.size > 0)
            wake_reader(stream);
    }
    tp_text_fini(&numbers);
}
