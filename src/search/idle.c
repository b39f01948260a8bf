/* A session that is not ticked holds the version of the map it saw last, to compare the next one with it. This is how it lets go.
 *
 * Nothing is compared: what a search knows is of a version that nobody has any more, so that it begins anew, or, if none was
 * begun, goes on as if it had been opened now. Called between ticks, on the thread that ticks the session. Cost: what freeing the
 * version costs, if nobody else holds it.
 */
#include "search/internal.h"

#include "base/check.h"

#include <string.h>

void tp__mind_let_go(struct tp_mind *session, const struct tp_map *map)
{
    const struct tp_map *before = session->map;
    if (map == before)
        return;
    TP_CHECK(map->width == before->width && map->height == before->height && !map->graph == !before->graph &&
             map->puzzle == before->puzzle);
    session->strolls = TP_STROLLS_NOT;
    tp__watch_forget(session);
    tp__guide_let_go(session);
    tp__bound_trip(session);
    if (session->params.algorithm->engine->close) /* what it keeps besides, versions among it */
        session->params.algorithm->engine->close(session);
    if (session->search.learned) /* a cost that fell since may have made any of it too large */
        tp__learning_forget(session);
    if (session->begun) {
        tp__nearest_drop(session);
        session->restart_wanted = true;
        session->path_complete = false;
    }
    session->map = tp_map_ref(map);
    tp_belief_set_truth(&session->belief, map);
    tp_map_unref(before);
}
