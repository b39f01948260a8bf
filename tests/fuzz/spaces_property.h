/* What must hold of the parsers of graphs and tracks for any bytes at all. Used by the seeded test (test_spaces.c) and by the
 * libFuzzer entry (fuzz_spaces.c); a broken promise prints the input and aborts. */
#ifndef TP_TESTS_FUZZ_SPACES_PROPERTY_H
#define TP_TESTS_FUZZ_SPACES_PROPERTY_H

#include "base/limits.h"
#include "map/dimacs.h"
#include "map/graph_csv.h"
#include "map/track.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void spaces_broken(const char *promise, int line, const char *text, size_t size)
{
    fprintf(stderr, "spaces_property.h:%d: broken: %s\ninput (%zu bytes): \"", line, promise, size);
    for (size_t i = 0; i < size && i < 4096; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
            fprintf(stderr, "\\x%02x", byte);
        else
            fputc(byte, stderr);
    }
    fputs("\"\n", stderr);
    abort();
}

#define SPACES_PROMISE(condition)                                                                            \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            spaces_broken(#condition, __LINE__, text, size);                                                 \
    } while (0)

/* A refusal names a place in the text or just past its end, and says why. */
static void spaces_check_refusal(const char *text, size_t size, struct tp_place place, const char *reason)
{
    SPACES_PROMISE(reason && *reason);
    SPACES_PROMISE(place.line >= 1 && place.column >= 1);
    const char *line = text, *end = text + size;
    for (unsigned n = 1; n < place.line; n++) {
        const char *lf = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
        if (!lf) { /* the line after the last: only its beginning can be named */
            SPACES_PROMISE(n + 1 == place.line && place.column == 1);
            return;
        }
        line = lf + 1;
    }
    const char *lf = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    SPACES_PROMISE(place.column <= (size_t)((lf ? lf : end) - line) + 1);
}

/* A graph that was taken is no larger than its text can say, its edges lead to its nodes, and its h is within their costs. */
static void spaces_check_graph(const struct tp_graph *graph, const char *text, size_t size)
{
    SPACES_PROMISE(graph->nodes >= 1 && graph->nodes <= size + 2 * TP_GRAPH_ISOLATED_MAX &&
                   graph->edges <= size);
    uint32_t goal = (uint32_t)(size % graph->nodes);
    for (uint32_t node = 0; node < graph->nodes; node++)
        for (uint32_t i = graph->out_first[node]; i < graph->out_first[node + 1]; i++) {
            const struct tp_graph_out *out = tp_graph_out(graph, node) + (i - graph->out_first[node]);
            SPACES_PROMISE(out->to < graph->nodes && out->cost >= 1);
            SPACES_PROMISE(tp_graph_h(graph, node, goal) <= out->cost + tp_graph_h(graph, out->to, goal));
        }
    SPACES_PROMISE(graph->out_first[graph->nodes] == graph->edges &&
                   graph->in_first[graph->nodes] == graph->edges);
}

typedef int (*spaces_parser)(const struct tp_graph **, const char *, size_t, const char *, size_t,
                             struct tp_graph_refusal *);

/* One of the graph parsers, the text cut in two at the first byte 0xff, if there is one, for the text of nodes. True if taken. */
static bool spaces_check_graph_text(spaces_parser parse, const char *text, size_t size)
{
    const char *cut = size ? memchr(text, 0xff, size) : NULL;
    size_t edges_size = cut ? (size_t)(cut - text) : size, nodes_size = cut ? size - edges_size - 1 : 0;
    const char *nodes = cut ? cut + 1 : NULL;
    const struct tp_graph *graph = NULL;
    struct tp_graph_refusal refusal = {TP_GRAPH_TEXT_NODES, {9, 9}, "unset"};
    int rc = parse(&graph, text, edges_size, nodes, nodes_size, &refusal);
    SPACES_PROMISE(rc == TP_OK || rc == TP_ERR_PARSE || rc == TP_ERR_RESOURCE_EXHAUSTED ||
                   rc == TP_ERR_NO_MEMORY);
    SPACES_PROMISE(!rc == (graph != NULL));
    if (rc == TP_ERR_PARSE || rc == TP_ERR_RESOURCE_EXHAUSTED) {
        bool in_nodes = refusal.text == TP_GRAPH_TEXT_NODES;
        SPACES_PROMISE(!in_nodes || nodes);
        spaces_check_refusal(in_nodes ? nodes : text, in_nodes ? nodes_size : edges_size, refusal.place,
                             refusal.reason);
    }
    if (rc)
        return false;
    SPACES_PROMISE(!refusal.place.line && !refusal.place.column && !refusal.reason);
    spaces_check_graph(graph, text, size);
    tp_graph_unref(graph);
    return true;
}

/* A track that was taken has cells of two classes, and its starts and finishes are free ones. True if taken. */
static bool spaces_check_track(const char *text, size_t size)
{
    struct tp_track track;
    struct tp_place place = {9, 9};
    const char *reason = "unset";
    int rc = tp_track_parse(&track, text, size, &place, &reason);
    SPACES_PROMISE(rc == TP_OK || rc == TP_ERR_PARSE || rc == TP_ERR_NO_MEMORY);
    if (rc) {
        SPACES_PROMISE(!track.cells && !track.starts && !track.finishes && !track.width && !track.height);
        if (rc == TP_ERR_PARSE)
            spaces_check_refusal(text, size, place, reason);
        return false;
    }
    size_t cells = (size_t)track.width * track.height;
    SPACES_PROMISE(cells >= 1 && cells <= size && track.start_count + track.finish_count <= cells);
    for (size_t i = 0; i < cells; i++)
        SPACES_PROMISE(track.cells[i] == '.' || track.cells[i] == '@');
    for (size_t i = 0; i < track.start_count; i++)
        SPACES_PROMISE(track.starts[i] < cells && track.cells[track.starts[i]] == '.');
    for (size_t i = 0; i < track.finish_count; i++)
        SPACES_PROMISE(track.finishes[i] < cells && track.cells[track.finishes[i]] == '.');
    tp_track_fini(&track);
    return true;
}

/* All parsers on a copy that ends where its memory ends. Returns how many took it. */
static inline unsigned spaces_check(const void *bytes, size_t size)
{
    char *text = malloc(size ? size : 1);
    if (!text)
        return 0;
    memcpy(text, bytes, size);
    unsigned taken = spaces_check_graph_text(tp_dimacs_parse, text, size);
    taken += spaces_check_graph_text(tp_graph_csv_parse, text, size);
    taken += spaces_check_track(text, size);
    free(text);
    return taken;
}

#endif
