#include "map/dimacs.h"

#include <math.h>

/* ---- Words ---- */

/* Steps to the next word of the line. */
static int next_word(struct tp__text *t, const char *missing)
{
    tp__text_skip_blanks(t);
    return t->at == t->end ? tp__text_refuse(t, t->at, missing) : 0;
}

static int line_end(struct tp__text *t)
{
    tp__text_skip_blanks(t);
    return t->at < t->end ? tp__text_refuse(t, t->at, "more words than this line has") : 0;
}

static int read_number(struct tp__text *t, const char *missing, uint32_t *number, size_t *at)
{
    int rc = next_word(t, missing);
    *at = t->at;
    return rc ? rc : tp__text_read_number(t, number);
}

/* A node as the text numbers it; gives it as the graph does. */
static int read_node(struct tp__text *t, uint32_t nodes, uint32_t *node)
{
    size_t at;
    int rc = read_number(t, "a node is missing", node, &at);
    if (rc)
        return rc;
    if (*node < 1 || *node > nodes)
        return tp__text_refuse(t, at,
                               "no such node: they are numbered from 1 to the number on the problem line");
    *node -= 1;
    return 0;
}

/* Steps to the next line that says something, standing on its first word. False at the end of the text. */
static bool next_statement(struct tp__text *t)
{
    while (tp__text_next_line(t)) {
        tp__text_skip_blanks(t);
        if (t->at < t->end && !tp__text_take_word(t, "c"))
            return true;
    }
    return false;
}

static int expect_words(struct tp__text *t, const char *const *words, const char *reason)
{
    for (; *words; words++) {
        tp__text_skip_blanks(t);
        if (!tp__text_take_word(t, *words))
            return tp__text_refuse(t, t->at, reason);
    }
    return 0;
}

/* ---- Arcs ---- */

static int read_problem(struct tp__text *t, struct tp_graph_draft *draft, uint32_t *arcs, bool placed)
{
    static const char *const words[] = {"p", "sp", NULL};
    static const char *const wanted = "the first line that is no comment must be `p sp NODES ARCS`";
    if (!next_statement(t))
        return tp__text_refuse(t, t->start, wanted);
    size_t at, nodes_at;
    int rc = expect_words(t, words, wanted);
    if (!rc)
        rc = read_number(t, "the number of nodes is missing", &draft->nodes, &nodes_at);
    if (!rc && draft->nodes == 0)
        return tp__text_refuse(t, nodes_at, "a graph has at least one node");
    if (!rc && draft->nodes > TP_GRAPH_NODES_MAX) {
        tp__text_refuse(t, nodes_at, "more nodes than a graph may have");
        return TP_ERR_RESOURCE_EXHAUSTED;
    }
    if (!rc)
        rc = read_number(t, "the number of arcs is missing", arcs, &at);
    if (!rc && *arcs > TP_GRAPH_EDGES_MAX) {
        tp__text_refuse(t, at, "more arcs than a graph may have");
        return TP_ERR_RESOURCE_EXHAUSTED;
    }
    if (!rc && !placed && draft->nodes > 2 * (uint64_t)*arcs + TP_GRAPH_ISOLATED_MAX)
        return tp__text_refuse(t, nodes_at, "many more nodes than these arcs can reach, without coordinates");
    return rc ? rc : line_end(t);
}

static int read_arc(struct tp__text *t, uint32_t nodes, struct tp_graph_edge *arc)
{
    int rc = read_node(t, nodes, &arc->from);
    if (!rc)
        rc = read_node(t, nodes, &arc->to);
    if (!rc)
        rc = next_word(t, "a cost is missing");
    if (!rc)
        rc = tp__graph_read_cost(t, &arc->cost);
    return rc ? rc : line_end(t);
}

/* Reads arcs until the text ends or `arcs_max` are read, no more than were promised; stores them where the draft has room. */
static int read_arcs(struct tp__text *t, struct tp_graph_draft *draft, size_t arcs_max, void *promised)
{
    uint32_t arcs_promised = *(const uint32_t *)promised;
    draft->edge_count = 0;
    while (draft->edge_count < arcs_max && next_statement(t)) {
        struct tp_graph_edge arc = {0};
        size_t at = t->at;
        if (tp__text_take_word(t, "p"))
            return tp__text_refuse(t, at, "a second problem line");
        if (!tp__text_take_word(t, "a"))
            return tp__text_refuse(t, at, "a line must begin with `c`, `p` or `a`");
        if (draft->edge_count == arcs_promised)
            return tp__text_refuse(t, at, "more arcs than the problem line says");
        int rc = read_arc(t, draft->nodes, &arc);
        if (rc)
            return rc;
        if (draft->edges)
            draft->edges[draft->edge_count] = arc;
        draft->edge_count++;
    }
    return 0;
}

/* ---- Coordinates ---- */

static int read_co_problem(struct tp__text *t, uint32_t nodes)
{
    static const char *const words[] = {"p", "aux", "sp", "co", NULL};
    static const char *const wanted = "the first line that is no comment must be `p aux sp co NODES`";
    if (!next_statement(t))
        return tp__text_refuse(t, t->start, wanted);
    uint32_t number;
    size_t at;
    int rc = expect_words(t, words, wanted);
    if (!rc)
        rc = read_number(t, "the number of nodes is missing", &number, &at);
    if (!rc && number != nodes)
        return tp__text_refuse(t, at, "another number of nodes than the graph's");
    return rc ? rc : line_end(t);
}

static int read_coordinate(struct tp__text *t, double *coordinate)
{
    int rc = next_word(t, "a coordinate is missing");
    return rc ? rc : tp__graph_read_coordinate(t, coordinate);
}

/* Reads the places of all nodes; stores them, and refuses a second one of a node, where the draft has room. */
static int read_places(struct tp__text *t, struct tp_graph_draft *draft)
{
    uint32_t placed = 0;
    while (next_statement(t)) {
        uint32_t node;
        double x, y;
        size_t at = t->at;
        if (!tp__text_take_word(t, "v"))
            return tp__text_refuse(t, at, "a line must begin with `c` or `v`");
        tp__text_skip_blanks(t);
        size_t node_at = t->at;
        int rc = read_node(t, draft->nodes, &node);
        if (!rc)
            rc = read_coordinate(t, &x);
        if (!rc)
            rc = read_coordinate(t, &y);
        if (!rc)
            rc = line_end(t);
        if (rc)
            return rc;
        if (draft->x && !isnan(draft->x[node]))
            return tp__text_refuse(t, node_at, "this node has been placed before");
        if (draft->x) {
            draft->x[node] = x;
            draft->y[node] = y;
        }
        if (placed++ == draft->nodes)
            return tp__text_refuse(t, at, "more lines than nodes");
    }
    return placed < draft->nodes ? tp__text_refuse(t, t->start, "some node is not placed") : 0;
}

/* Checks the coordinates against the graph's size or, where the draft has room, stores them too. */
static int read_co(const char *co, size_t co_size, struct tp_graph_draft *draft,
                   struct tp_graph_refusal *refusal)
{
    struct tp__text t = tp__text_open(co, co_size, &refusal->place, &refusal->reason);
    refusal->text = TP_GRAPH_TEXT_NODES;
    int rc = read_co_problem(&t, draft->nodes);
    return rc ? rc : read_places(&t, draft);
}

/* ---- Both ---- */

static int parse(struct tp_graph_draft *draft, const char *gr, size_t gr_size, const char *co, size_t co_size,
                 struct tp_graph_refusal *refusal, const struct tp_graph **out)
{
    struct tp__text t = tp__text_open(gr, gr_size, &refusal->place, &refusal->reason);
    uint32_t promised;
    int rc = read_problem(&t, draft, &promised, co != NULL);
    if (rc)
        return rc;
    size_t arcs_start = t.next;
    unsigned arcs_line = t.line;
    rc = read_arcs(&t, draft, SIZE_MAX, &promised);
    if (rc)
        return rc;
    if (draft->edge_count < promised)
        return tp__text_refuse(&t, t.start, "fewer arcs than the problem line says");
    if (co && (rc = read_co(co, co_size, draft, refusal)))
        return rc;
    const struct tp_graph_reading reading = {
        .edges = &t,
        .edges_at = arcs_start,
        .edges_line = arcs_line,
        .read_edges = read_arcs,
        .context = &promised,
        .nodes = co,
        .nodes_size = co_size,
        .read_nodes = read_co,
        .too_many = "too many arcs out of or into a node",
    };
    return tp__graph_read_again(&reading, draft, refusal, out);
}

int tp_dimacs_parse(const struct tp_graph **out, const char *gr, size_t gr_size, const char *co,
                    size_t co_size, struct tp_graph_refusal *refusal)
{
    struct tp_graph_draft draft = {0};
    *out = NULL;
    *refusal = (struct tp_graph_refusal){0};
    int rc = parse(&draft, gr, gr_size, co, co_size, refusal, out);
    tp__graph_draft_fini(&draft);
    if (rc == TP_ERR_NO_MEMORY)
        *refusal = (struct tp_graph_refusal){0};
    return rc;
}
