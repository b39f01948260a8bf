#include "map/graph_text.h"

#include <math.h>
#include <stdlib.h>

bool tp__graph_draft_allocate(struct tp_graph_draft *draft, bool placed)
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
