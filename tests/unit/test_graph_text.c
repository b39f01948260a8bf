/* The parsers of the two text formats of graphs: what they take, and the exact place of every refusal. */
#include "map/dimacs.h"
#include "map/graph_csv.h"
#include "tests/lib/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*parse_function)(const struct tp_graph **, const char *, size_t, const char *, size_t,
                              struct tp_graph_refusal *);

/* Parses copies that end exactly where their memory ends, so that ASan sees any reading past the end. */
static int parse(parse_function parser, const struct tp_graph **graph, const char *edges, const char *nodes,
                 struct tp_graph_refusal *refusal)
{
    size_t edges_size = strlen(edges), nodes_size = nodes ? strlen(nodes) : 0;
    char *a = malloc(edges_size ? edges_size : 1), *b = nodes ? malloc(nodes_size ? nodes_size : 1) : NULL;
    ck_assert(a && !b == !nodes);
    memcpy(a, edges, edges_size);
    if (b)
        memcpy(b, nodes, nodes_size);
    int rc = parser(graph, a, edges_size, b, nodes_size, refusal);
    free(a);
    free(b);
    return rc;
}

/* Taken, and of these edges ("0-1:5 1-2:3") and places ("0,0 1.5,-2"; NULL for none). */
static void taken(parse_function parser, const char *edges, const char *nodes, uint32_t node_count,
                  const char *edges_wanted, const char *places_wanted)
{
    const struct tp_graph *graph;
    struct tp_graph_refusal refusal;
    int rc = parse(parser, &graph, edges, nodes, &refusal);
    ck_assert_msg(rc == 0, "%u:%u: %s in:\n%s", refusal.place.line, refusal.place.column, refusal.reason,
                  edges);
    ck_assert(refusal.place.line == 0 && refusal.place.column == 0 && !refusal.reason);
    ck_assert_uint_eq(graph->nodes, node_count);
    char found[1000] = "";
    for (uint32_t e = 0, at = 0; e < graph->edges; e++) {
        uint32_t from = 0;
        while (graph->out_first[from + 1] <= graph->edge_at[e])
            from++;
        const struct tp_graph_out *out = tp_graph_out(graph, from) + (graph->edge_at[e] - graph->out_first[from]);
        at += (uint32_t)snprintf(found + at, sizeof found - at, "%s%u-%u:%u", e ? " " : "", from, out->to,
                                 out->cost);
    }
    ck_assert_str_eq(found, edges_wanted);
    ck_assert(!graph->x == !places_wanted);
    for (uint32_t i = 0, at = 0; graph->x && i < graph->nodes; i++)
        at += (uint32_t)snprintf(found + at, sizeof found - at, "%s%g,%g", i ? " " : "", graph->x[i],
                                 graph->y[i]);
    if (places_wanted)
        ck_assert_str_eq(found, places_wanted);
    tp_graph_unref(graph);
}

struct refused {
    const char *edges, *nodes;
    enum tp_graph_text text;
    unsigned line, column;
    const char *word; /* that the reason must hold */
};

static void expect_refused(parse_function parser, const struct refused *want)
{
    const struct tp_graph *graph = (const struct tp_graph *)1;
    struct tp_graph_refusal refusal;
    int rc = parse(parser, &graph, want->edges, want->nodes, &refusal);
    ck_assert_msg(rc == TP_ERR_PARSE, "%s instead of a parse error in:\n%s", tp_error_name(rc), want->edges);
    ck_assert_msg(refusal.place.line == want->line && refusal.place.column == want->column &&
                      refusal.text == want->text,
                  "%d %u:%u (%s), not %u:%u in:\n%s", refusal.text, refusal.place.line, refusal.place.column,
                  refusal.reason, want->line, want->column, want->edges);
    ck_assert_msg(strstr(refusal.reason, want->word), "the reason `%s` does not say `%s` in:\n%s",
                  refusal.reason, want->word, want->edges);
    ck_assert_ptr_null(graph);
}

START_TEST(test_dimacs_forms)
{
    const char *edges = "0-1:5 1-2:3 1-2:4 2-2:1";
    taken(tp_dimacs_parse, "c roads\np sp 3 4\na 1 2 5\na 2 3 3\na 2 3 4\na 3 3 1\n", NULL, 3, edges, NULL);
    taken(tp_dimacs_parse, "p sp 3 4\r\nc\r\n\r\na 1 2 5\r\n  a\t2 3   3  \r\na 2 3 4\r\nc x y z\r\na 3 3 1",
          NULL, 3, edges, NULL);
    taken(tp_dimacs_parse, "p sp 1 0\n", NULL, 1, "", NULL);
    taken(tp_dimacs_parse, "p sp 65536 0", NULL, 65536, "", NULL);
    taken(tp_dimacs_parse, "p sp 2 1\na 1 2 4294967295", NULL, 2, "0-1:4294967295", NULL);
    taken(tp_dimacs_parse, "p sp 2 1\na 1 2 7", "c\np aux sp co 2\nv 2 -73530767 41085396\nv 1 0.5 -1e3\n", 2,
          "0-1:7", "0.5,-1000 -7.35308e+07,4.10854e+07");
}
END_TEST

#define COST_WORDS "a cost is a whole number from 1 to 4294967295"

static const struct refused dimacs_refusals[] = {
    {"", NULL, 0, 1, 1, "p sp"},
    {"comment\np sp 1 0\n", NULL, 0, 1, 1, "p sp"},
    {"c only\n", NULL, 0, 2, 1, "p sp"},
    {"x\n", NULL, 0, 1, 1, "p sp"},
    {"a 1 2 3\n", NULL, 0, 1, 1, "p sp"},
    {"psp 3 4\n", NULL, 0, 1, 1, "p sp"},
    {"p max 3 4\n", NULL, 0, 1, 3, "p sp"},
    {"p sp\n", NULL, 0, 1, 5, "number of nodes is missing"},
    {"p sp 3\n", NULL, 0, 1, 7, "number of arcs is missing"},
    {"p sp x 4\n", NULL, 0, 1, 6, "digit"},
    {"p sp -3 4\n", NULL, 0, 1, 6, "digit"},
    {"p sp 0 0\n", NULL, 0, 1, 6, "at least one node"},
    {"p sp 3 4 5\n", NULL, 0, 1, 10, "more words"},
    {"p sp 65537 0\n", NULL, 0, 1, 6, "many more nodes"},
    {"p sp 65539 1\na 1 2 3\n", NULL, 0, 1, 6, "many more nodes"},
    {"p sp 3 1\nb 1 2 3\n", NULL, 0, 2, 1, "begin with"},
    {"p sp 3 1\narc 1 2 3\n", NULL, 0, 2, 1, "begin with"},
    {"p sp 3 1\n e 1 2 3\n", NULL, 0, 2, 2, "begin with"},
    {"p sp 3 1\np sp 3 1\n", NULL, 0, 2, 1, "second problem line"},
    {"p sp 3 1\na\n", NULL, 0, 2, 2, "node is missing"},
    {"p sp 3 1\na 1\n", NULL, 0, 2, 4, "node is missing"},
    {"p sp 3 1\na 1 2\n", NULL, 0, 2, 6, "cost is missing"},
    {"p sp 3 1\na 1 2 \n", NULL, 0, 2, 7, "cost is missing"},
    {"p sp 3 1\na 1 2 3 4\n", NULL, 0, 2, 9, "more words"},
    {"p sp 3 1\na 0 2 3\n", NULL, 0, 2, 3, "no such node"},
    {"p sp 3 1\na 4 2 3\n", NULL, 0, 2, 3, "no such node"},
    {"p sp 3 1\na 1 4 3\n", NULL, 0, 2, 5, "no such node"},
    {"p sp 3 1\na 1 99999999999 3\n", NULL, 0, 2, 5, "too large"},
    {"p sp 3 1\na 1 2 0\n", NULL, 0, 2, 7, COST_WORDS},
    {"p sp 3 1\na 1 2 4294967296\n", NULL, 0, 2, 7, COST_WORDS},
    {"p sp 3 1\na 1 2 1.5\n", NULL, 0, 2, 7, COST_WORDS},
    {"p sp 3 1\na 1 2 -1\n", NULL, 0, 2, 7, COST_WORDS},
    {"p sp 3 2\na 1 2 3\n", NULL, 0, 3, 1, "fewer arcs"},
    {"p sp 3 2\na 1 2 3", NULL, 0, 3, 1, "fewer arcs"},
    {"p sp 3 1\na 1 2 3\nc\na 1 2 3\n", NULL, 0, 4, 1, "more arcs"},
    {"p sp 2 0\n", "", TP_GRAPH_TEXT_NODES, 1, 1, "p aux sp co"},
    {"p sp 2 0\n", "v 1 2 3\n", TP_GRAPH_TEXT_NODES, 1, 1, "p aux sp co"},
    {"p sp 2 0\n", "p aux sp 2\n", TP_GRAPH_TEXT_NODES, 1, 10, "p aux sp co"},
    {"p sp 2 0\n", "p aux sp co\n", TP_GRAPH_TEXT_NODES, 1, 12, "number of nodes is missing"},
    {"p sp 2 0\n", "p aux sp co 3\n", TP_GRAPH_TEXT_NODES, 1, 13, "another number"},
    {"p sp 2 0\n", "p aux sp co 2 2\n", TP_GRAPH_TEXT_NODES, 1, 15, "more words"},
    {"p sp 2 0\n", "p aux sp co 2\na 1 2 3\n", TP_GRAPH_TEXT_NODES, 2, 1, "begin with"},
    {"p sp 2 0\n", "p aux sp co 2\nv 3 2 3\n", TP_GRAPH_TEXT_NODES, 2, 3, "no such node"},
    {"p sp 2 0\n", "p aux sp co 2\nv 1 2\n", TP_GRAPH_TEXT_NODES, 2, 6, "coordinate is missing"},
    {"p sp 2 0\n", "p aux sp co 2\nv 1 2 x\n", TP_GRAPH_TEXT_NODES, 2, 7, "number is missing"},
    {"p sp 2 0\n", "p aux sp co 2\nv 1 2 3x\n", TP_GRAPH_TEXT_NODES, 2, 8, "digit"},
    {"p sp 2 0\n", "p aux sp co 2\nv 1 2 -1e16\n", TP_GRAPH_TEXT_NODES, 2, 7, "within"},
    {"p sp 2 0\n", "p aux sp co 2\nv 1 2 3 4\n", TP_GRAPH_TEXT_NODES, 2, 9, "more words"},
    {"p sp 2 0\n", "p aux sp co 2\nv 1 2 3\n", TP_GRAPH_TEXT_NODES, 3, 1, "not placed"},
    {"p sp 2 0\n", "p aux sp co 2\nv 1 2 3\n v  1 4 5\n", TP_GRAPH_TEXT_NODES, 3, 5, "before"},
    {"p sp 2 0\n", "p aux sp co 2\nv 1 2 3\nv 2 3 4\nv 1 2 3\n", TP_GRAPH_TEXT_NODES, 4, 1, "more lines"},
};

START_TEST(test_dimacs_refused)
{
    expect_refused(tp_dimacs_parse, &dimacs_refusals[_i]);
}
END_TEST

START_TEST(test_csv_forms)
{
    const char *edges = "0-1:5 1-2:3 2-1:3 2-2:1";
    taken(tp_graph_csv_parse, "0,1,5\n1,2,3,both\n2,2,1\n", NULL, 3, edges, NULL);
    taken(tp_graph_csv_parse, "from,to,cost\n0,1,5\n1,2,3,both\n2,2,1", NULL, 3, edges, NULL);
    taken(tp_graph_csv_parse,
          "# roads\r\nfrom, to ,cost,both\r\n\r\n 0 , 1\t,5 # a\r\n1,2,3 , both\r\n#\r\n2,2,1#", NULL, 3,
          edges, NULL);
    taken(tp_graph_csv_parse, "0,4,5", NULL, 5, "0-4:5", NULL);
    taken(tp_graph_csv_parse, "0,65538,4294967295", NULL, 65539, "0-65538:4294967295", NULL);
    taken(tp_graph_csv_parse, "0,1,5\n1,2,3,both\n2,2,1\n", "2,1,-2\n0,0,0.5\n1,-1.5,1e2\n", 3, edges,
          "0,0.5 -1.5,100 1,-2");
    taken(tp_graph_csv_parse, "", "id,x,y\n0,1,2\n", 1, "", "1,2");
}
END_TEST

static const struct refused csv_refusals[] = {
    {"", NULL, 0, 1, 1, "no edge"},
    {"# none\n", NULL, 0, 2, 1, "no edge"},
    {"from,to,cost\n", NULL, 0, 2, 1, "no edge"},
    {"x,1,5\n", NULL, 0, 1, 1, "digit"},
    {",1,5\n", NULL, 0, 1, 1, "number is missing"},
    {"0\n", NULL, 0, 1, 2, "leads to is missing"},
    {"0,\n", NULL, 0, 1, 3, "number is missing"},
    {"0,1\n", NULL, 0, 1, 4, "cost is missing"},
    {"0;1;5\n", NULL, 0, 1, 2, "digit"},
    {"0 1 5\n", NULL, 0, 1, 3, "comma"},
    {"0,1 5\n", NULL, 0, 1, 5, "comma"},
    {"0,1,\n", NULL, 0, 1, 5, COST_WORDS},
    {"0,1,0\n", NULL, 0, 1, 5, COST_WORDS},
    {"0,1,-1\n", NULL, 0, 1, 5, COST_WORDS},
    {"0,1,4294967296\n", NULL, 0, 1, 5, COST_WORDS},
    {"0,1,5,\n", NULL, 0, 1, 7, "both"},
    {"0,1,5,bot\n", NULL, 0, 1, 7, "both"},
    {"0,1,5,boths\n", NULL, 0, 1, 7, "both"},
    {"0,1,5 both\n", NULL, 0, 1, 7, "more fields"},
    {"0,1,5,both,x\n", NULL, 0, 1, 11, "more fields"},
    {"0,1,5\nfrom,to,cost\n", NULL, 0, 2, 1, "digit"},
    {"from,to\n", NULL, 0, 1, 1, "digit"},
    {"0,65539,5\n", NULL, 0, 1, 3, "many more nodes"},
    {"0,1,5\n#\n 67000000 ,2,5\n", NULL, 0, 3, 2, "many more nodes"},
    {"0,1,5\n", "", TP_GRAPH_TEXT_NODES, 1, 1, "no node"},
    {"0,1,5\n", "id,x,y\n", TP_GRAPH_TEXT_NODES, 2, 1, "no node"},
    {"0,1,5\n", "0,1\n", TP_GRAPH_TEXT_NODES, 1, 4, "y is missing"},
    {"0,1,5\n", "0\n", TP_GRAPH_TEXT_NODES, 1, 2, "x is missing"},
    {"0,1,5\n", "0,1,2,3\n", TP_GRAPH_TEXT_NODES, 1, 6, "more than 3"},
    {"0,1,5\n", "0,1,z\n", TP_GRAPH_TEXT_NODES, 1, 5, "number is missing"},
    {"0,1,5\n", "0,1e16,2\n", TP_GRAPH_TEXT_NODES, 1, 3, "within"},
    {"0,1,5\n", "0,1,2\n0,1,2\n", TP_GRAPH_TEXT_NODES, 2, 1, "twice"},
    {"0,1,5\n", "0,1,2\n2,1,2\n", TP_GRAPH_TEXT_NODES, 2, 1, "numbered from 0"},
    {"0,2,5\n", "0,1,2\n1,1,2\n", TP_GRAPH_TEXT_EDGES, 1, 3, "no such node"},
    {"2,0,5\n", "0,1,2\n1,1,2\n", TP_GRAPH_TEXT_EDGES, 1, 1, "no such node"},
};

START_TEST(test_csv_refused)
{
    expect_refused(tp_graph_csv_parse, &csv_refusals[_i]);
}
END_TEST

/* Too many out of one node, and sizes beyond a graph's: named like other refusals, under another error. */
START_TEST(test_text_limits)
{
    char *gr = malloc(100000), *csv = malloc(100000);
    ck_assert(gr && csv);
    int a = sprintf(gr, "p sp 2 %d\n", TP_GRAPH_DEGREE_MAX + 1), b = 0;
    for (int i = 0; i <= TP_GRAPH_DEGREE_MAX; i++) {
        a += sprintf(gr + a, "a 1 2 %d\n", i + 1);
        b += sprintf(csv + b, i % 2 ? "0,1,%d\n" : "1,0,%d,both\n", i + 1);
    }
    const struct tp_graph *graph;
    struct tp_graph_refusal refusal;
    ck_assert_int_eq(parse(tp_dimacs_parse, &graph, gr, NULL, &refusal), TP_ERR_RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(refusal.place.line, TP_GRAPH_DEGREE_MAX + 2);
    ck_assert_ptr_nonnull(strstr(refusal.reason, "too many"));
    ck_assert_ptr_null(graph);
    ck_assert_int_eq(parse(tp_graph_csv_parse, &graph, csv, NULL, &refusal), TP_ERR_RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(refusal.place.line, TP_GRAPH_DEGREE_MAX + 1);
    ck_assert_ptr_null(graph);
    ck_assert_int_eq(parse(tp_dimacs_parse, &graph, "p sp 67108865 134217728", NULL, &refusal),
                     TP_ERR_RESOURCE_EXHAUSTED);
    ck_assert(refusal.place.line == 1 && refusal.place.column == 6);
    ck_assert_int_eq(parse(tp_dimacs_parse, &graph, "p sp 5 134217729", NULL, &refusal),
                     TP_ERR_RESOURCE_EXHAUSTED);
    ck_assert(refusal.place.line == 1 && refusal.place.column == 8);
    ck_assert_int_eq(parse(tp_graph_csv_parse, &graph, "0,67108864,1", NULL, &refusal),
                     TP_ERR_RESOURCE_EXHAUSTED);
    ck_assert(refusal.place.line == 1 && refusal.place.column == 3);
    free(gr);
    free(csv);
}
END_TEST

static Suite *graph_text_suite(void)
{
    Suite *suite = suite_create("graph text");
    TCase *texts = tcase_create("texts");
    tcase_add_test(texts, test_dimacs_forms);
    tcase_add_loop_test(texts, test_dimacs_refused, 0, sizeof dimacs_refusals / sizeof *dimacs_refusals);
    tcase_add_test(texts, test_csv_forms);
    tcase_add_loop_test(texts, test_csv_refused, 0, sizeof csv_refusals / sizeof *csv_refusals);
    tcase_add_test(texts, test_text_limits);
    suite_add_tcase(suite, texts);
    return suite;
}

int main(void)
{
    return tp_test_main("test_graph_text", graph_text_suite);
}
