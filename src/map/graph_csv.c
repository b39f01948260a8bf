#include "map/graph_csv.h"

#include <math.h>
#include <string.h>

/* ---- Lines and fields ---- */

/* Steps to the next line that holds a field, standing on it. False at the end of the text. */
static bool next_row(struct tp__text *t)
{
    while (tp__text_next_line(t)) {
        const char *comment = t->end > t->at ? memchr(t->text + t->at, '#', t->end - t->at) : NULL;
        if (comment)
            t->end = (size_t)(comment - t->text);
        tp__text_skip_blanks(t);
        if (t->at < t->end)
            return true;
    }
    return false;
}

/* Takes the comma before a further field, if there is one. */
static bool take_comma(struct tp__text *t)
{
    tp__text_skip_blanks(t);
    if (t->at == t->end || t->text[t->at] != ',')
        return false;
    t->at++;
    tp__text_skip_blanks(t);
    return true;
}

static int next_field(struct tp__text *t, const char *missing)
{
    return take_comma(t) ? 0
                         : tp__text_refuse(t, t->at, t->at < t->end ? "a comma is expected here" : missing);
}

static int row_end(struct tp__text *t, const char *left_over)
{
    tp__text_skip_blanks(t);
    return t->at < t->end ? tp__text_refuse(t, t->at, left_over) : 0;
}

/* Steps over a row that is the given names, which only the first may be. */
static bool take_names(struct tp__text *t, const char *const *names)
{
    size_t at = t->at;
    bool whole = true;
    for (size_t i = 0; names[i] && whole; i++)
        whole = (i == 0 || take_comma(t)) && tp__text_take_word(t, names[i]);
    tp__text_skip_blanks(t);
    if (whole && t->at == t->end)
        return true;
    t->at = at;
    return false;
}

/* ---- Nodes ---- */

static int read_coordinate(struct tp__text *t, double *coordinate, const char *missing)
{
    int rc = next_field(t, missing);
    return rc ? rc : tp__graph_read_coordinate(t, coordinate);
}

/* Counts the nodes or, where the draft has room, stores them. */
static int read_nodes(struct tp__text *t, struct tp_graph_draft *draft)
{
    static const char *const names[] = {"id", "x", "y", NULL};
    uint32_t count = 0;
    for (bool first = true; next_row(t); first = false) {
        if (first && take_names(t, names))
            continue;
        uint32_t node;
        double x, y;
        size_t at = t->at;
        int rc = tp__text_read_number(t, &node);
        if (!rc)
            rc = read_coordinate(t, &x, "x is missing");
        if (!rc)
            rc = read_coordinate(t, &y, "y is missing");
        if (!rc)
            rc = row_end(t, "more than 3 fields: id,x,y");
        if (rc)
            return rc;
        if (count++ == TP_GRAPH_NODES_MAX) {
            tp__text_refuse(t, at, "more nodes than a graph may have");
            return TP_ERR_RESOURCE_EXHAUSTED;
        }
        if (!draft->x)
            continue;
        if (node >= draft->nodes)
            return tp__text_refuse(t, at, "nodes are numbered from 0 to one less than there are of them");
        if (!isnan(draft->x[node]))
            return tp__text_refuse(t, at, "this node stands here twice");
        draft->x[node] = x;
        draft->y[node] = y;
    }
    draft->nodes = count;
    return count ? 0 : tp__text_refuse(t, t->start, "there is no node");
}

static int read_nodes_text(const char *nodes, size_t nodes_size, struct tp_graph_draft *draft,
                           struct tp_graph_refusal *refusal)
{
    struct tp__text t = tp__text_open(nodes, nodes_size, &refusal->place, &refusal->reason);
    t.separator = ',';
    refusal->text = TP_GRAPH_TEXT_NODES;
    return read_nodes(&t, draft);
}

/* ---- Edges ---- */

/* The largest node that an edge names, and where. */
struct largest {
    uint32_t node;
    struct tp_place place;
};

/* Reads an end of an edge: below `nodes`, unless that is 0. */
static int read_end(struct tp__text *t, uint32_t nodes, uint32_t *node, struct largest *largest)
{
    size_t at = t->at;
    int rc = tp__text_read_number(t, node);
    if (rc)
        return rc;
    if (nodes && *node >= nodes)
        return tp__text_refuse(t, at,
                               "no such node: they are numbered from 0 to one less than there are of them");
    if (*node >= TP_GRAPH_NODES_MAX) {
        tp__text_refuse(t, at, "more nodes than a graph may have");
        return TP_ERR_RESOURCE_EXHAUSTED;
    }
    if (*node > largest->node)
        *largest = (struct largest){*node, {t->line, (unsigned)(at - t->start) + 1}};
    return 0;
}

static int read_edge(struct tp__text *t, uint32_t nodes, struct tp_graph_edge *edge, bool *both,
                     struct largest *largest)
{
    int rc = read_end(t, nodes, &edge->from, largest);
    if (!rc)
        rc = next_field(t, "the node that the edge leads to is missing");
    if (!rc)
        rc = read_end(t, nodes, &edge->to, largest);
    if (!rc)
        rc = next_field(t, "the cost is missing");
    if (!rc)
        rc = tp__graph_read_cost(t, &edge->cost);
    *both = false;
    if (!rc && take_comma(t)) {
        *both = tp__text_take_word(t, "both");
        if (!*both)
            return tp__text_refuse(t, t->at, "the fourth field can only be `both`");
    }
    return rc ? rc : row_end(t, "more fields than from,to,cost,both");
}

/* Counts edges until the text ends or `edges_max` are read; stores them where the draft has room. context: the largest node that
 * they name. */
static int read_edges(struct tp__text *t, struct tp_graph_draft *draft, size_t edges_max, void *context)
{
    struct largest *largest = context;
    static const char *const names[] = {"from", "to", "cost", NULL};
    static const char *const all_names[] = {"from", "to", "cost", "both", NULL};
    uint32_t nodes = draft->nodes;
    draft->edge_count = 0;
    for (bool first = true; draft->edge_count < edges_max && next_row(t); first = false) {
        if (first && (take_names(t, names) || take_names(t, all_names)))
            continue;
        struct tp_graph_edge edge = {0};
        bool both = false;
        size_t at = t->at;
        int rc = read_edge(t, nodes, &edge, &both, largest);
        if (rc)
            return rc;
        if (draft->edge_count + 1 + both > TP_GRAPH_EDGES_MAX) {
            tp__text_refuse(t, at, "more edges than a graph may have");
            return TP_ERR_RESOURCE_EXHAUSTED;
        }
        if (draft->edges) {
            draft->edges[draft->edge_count] = edge;
            if (both)
                draft->edges[draft->edge_count + 1] = (struct tp_graph_edge){edge.to, edge.from, edge.cost};
        }
        draft->edge_count += 1 + (size_t)both;
    }
    return 0;
}

/* The number of nodes that the edges name, where no text of nodes tells it. */
static int count_nodes(struct tp__text *t, struct tp_graph_draft *draft, const struct largest *largest)
{
    if (draft->edge_count == 0)
        return tp__text_refuse(t, t->start, "there is no edge, and no text of nodes");
    if (largest->node > 2 * (uint64_t)draft->edge_count + TP_GRAPH_ISOLATED_MAX) {
        *t->place = largest->place;
        *t->reason = "many more nodes than these edges can reach, without a text of nodes";
        return TP_ERR_PARSE;
    }
    draft->nodes = largest->node + 1;
    return 0;
}

static int parse(struct tp_graph_draft *draft, const char *edges, size_t edges_size, const char *nodes,
                 size_t nodes_size, struct tp_graph_refusal *refusal, const struct tp_graph **out)
{
    struct largest largest = {0};
    int rc = nodes ? read_nodes_text(nodes, nodes_size, draft, refusal) : 0;
    if (rc)
        return rc;
    *refusal = (struct tp_graph_refusal){0};
    struct tp__text t = tp__text_open(edges, edges_size, &refusal->place, &refusal->reason);
    t.separator = ',';
    rc = read_edges(&t, draft, SIZE_MAX, &largest);
    if (!rc && !nodes)
        rc = count_nodes(&t, draft, &largest);
    if (rc)
        return rc;
    const struct tp_graph_reading reading = {
        .edges = &t,
        .read_edges = read_edges,
        .context = &largest,
        .nodes = nodes,
        .nodes_size = nodes_size,
        .read_nodes = read_nodes_text,
        .too_many = "too many edges out of or into a node",
    };
    return tp__graph_read_again(&reading, draft, refusal, out);
}

int tp_graph_csv_parse(const struct tp_graph **out, const char *edges, size_t edges_size, const char *nodes,
                       size_t nodes_size, struct tp_graph_refusal *refusal)
{
    struct tp_graph_draft draft = {0};
    *out = NULL;
    *refusal = (struct tp_graph_refusal){0};
    int rc = parse(&draft, edges, edges_size, nodes, nodes_size, refusal, out);
    tp__graph_draft_fini(&draft);
    if (rc == TP_ERR_NO_MEMORY)
        *refusal = (struct tp_graph_refusal){0};
    return rc;
}
