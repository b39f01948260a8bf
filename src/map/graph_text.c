#include "map/graph_text.h"

#include <math.h>
#include <stdlib.h>

/* Allocates room for what was counted; false when there is no memory. */
static bool allocate(struct tp_graph_draft *draft, bool placed)
{
    draft->edges = malloc((draft->edge_count ? draft->edge_count : 1) * sizeof *draft->edges);
    if (!draft->edges)
        return false;
    if (!placed)
        return true;
    draft->x = malloc(draft->nodes * sizeof *draft->x);
    draft->y = malloc(draft->nodes * sizeof *draft->y);
    if (!draft->x || !draft->y)
        return false;
    for (uint32_t i = 0; i < draft->nodes; i++)
        draft->x[i] = draft->y[i] = NAN;
    return true;
}

void tp__graph_draft_fini(struct tp_graph_draft *draft)
{
    free(draft->edges);
    free(draft->x);
    free(draft->y);
    *draft = (struct tp_graph_draft){0};
}

static int read_edges(const struct tp_graph_reading *reading, struct tp_graph_draft *draft, size_t edges_max)
{
    tp__text_start_over(reading->edges, reading->edges_at, reading->edges_line);
    return reading->read_edges(reading->edges, draft, edges_max, reading->context);
}

int tp__graph_read_cost(struct tp__text *t, uint32_t *cost)
{
    size_t at = t->at;
    int rc = tp__text_read_number(t, cost);
    return rc || *cost == 0 ? tp__text_refuse(t, at, "a cost is a whole number from 1 to 4294967295") : 0;
}

int tp__graph_read_coordinate(struct tp__text *t, double *coordinate)
{
    size_t at = t->at;
    int rc = tp__text_read_signed(t, coordinate);
    if (!rc && fabs(*coordinate) > TP_GRAPH_COORDINATE_MAX)
        return tp__text_refuse(t, at, "a coordinate must lie within 1e15 of 0");
    return rc;
}

int tp__graph_read_again(const struct tp_graph_reading *reading, struct tp_graph_draft *draft,
                         struct tp_graph_refusal *refusal, const struct tp_graph **out)
{
    if (!allocate(draft, reading->nodes != NULL))
        return TP_ERR_NO_MEMORY;
    int rc = reading->nodes ? reading->read_nodes(reading->nodes, reading->nodes_size, draft, refusal) : 0;
    if (rc)
        return rc;
    *refusal = (struct tp_graph_refusal){0};
    rc = read_edges(reading, draft, SIZE_MAX);
    if (rc)
        return rc;
    size_t bad;
    rc = tp_graph_build(out, draft->nodes, draft->edges, draft->edge_count, draft->x, draft->y, &bad);
    if (rc != TP_ERR_RESOURCE_EXHAUSTED)
        return rc;
    if (!read_edges(reading, draft, bad + 1)) /* up to that edge once more, to name it */
        tp__text_refuse(reading->edges, reading->edges->start, reading->too_many);
    return TP_ERR_RESOURCE_EXHAUSTED;
}
