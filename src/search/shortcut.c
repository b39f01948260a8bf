/* TBA*'s first enhancement (2009, section 3.4): while the agent moves back towards a complete path, a search from
 * that path's states looks for a shorter way from where the agent stands.
 *
 * The states of the path between the goal and the point where the agent's way back meets it are entered into an
 * open list with their true distance to the goal; the search's target is the agent's state. The paper begins such a
 * search at every back-move; here one search goes on from move to move, its target following the agent (the
 * distances stay true), which expands less. Entering a state costs one traceback step, and takes
 * as many ticks as the budget asks.
 * When the target is reached, the agent walks down the search's tree to the path: nothing is traced or marked. A search whose
 * target moved may reach it by a way that is not the shortest; one that is no shorter than moving back is not walked.
 * It searches backwards, and is for grids alone, whose moves go both ways.
 * Failure: no memory, or a space left without reaching the agent: no shortcut, and the agent goes on moving back.
 */
#include "search/internal.h"

#include <stdlib.h>

enum shortcut_phase {
    SHORTCUT_NONE,      /* nothing begun for the present path */
    SHORTCUT_SEEDING,   /* the path's states are being entered */
    SHORTCUT_RUNNING,   /* all entered; searching */
    SHORTCUT_FOLLOWING, /* found: the search's tree leads to the path */
    SHORTCUT_FAILED,    /* not for this path */
};

/*  NONE -> SEEDING -> RUNNING -> FOLLOWING
 *             |          |
 *             +----------+-----> FAILED       forget: any -> NONE */
struct tp_shortcut {
    enum shortcut_phase phase;
    tp_state cursor; /* SEEDING: the next state to enter */
    bool meeting;    /* SEEDING: the cursor still looks for the meeting point */
    tp_cost met;     /* its g in the session's tree */
    struct tp_search search;
};

static struct tp_shortcut *shortcut_open(struct tp_mind *session)
{
    struct tp_shortcut *shortcut = malloc(sizeof *shortcut);
    if (!shortcut)
        return NULL;
    shortcut->phase = SHORTCUT_NONE;
    tp__beside_init(session, &shortcut->search);
    return shortcut;
}

/* Enters states while steps are left: first from the agent up the tree to the path, then along the path to the
 * goal. */
static void seed(struct tp_tick *tick, struct tp_shortcut *shortcut)
{
    struct tp_mind *session = tick->session;
    const struct tp_search *tree = &session->search;
    tp_cost whole = tp_search_g(tree, tree->end);
    while (tp__tick_step(tick)) {
        uint8_t mark = tp__trace_mark(session, shortcut->cursor);
        if (shortcut->meeting && mark == TP_MARK_NONE) {
            uint8_t move;
            tp_state parent = tp_search_parent(tree, shortcut->cursor, &move);
            if (parent == TP_STATE_NONE) {
                shortcut->phase = SHORTCUT_FAILED;
                return;
            }
            shortcut->cursor = parent;
            continue;
        }
        if (shortcut->meeting)
            shortcut->met = tp_search_g(tree, shortcut->cursor);
        shortcut->meeting = false;
        if (!tp_search_add_seed(&shortcut->search, shortcut->cursor, whole - tp_search_g(tree, shortcut->cursor))) {
            shortcut->phase = SHORTCUT_FAILED;
            tick->node_cap = true;
            return;
        }
        if (mark == TP_MARK_END) {
            shortcut->phase = SHORTCUT_RUNNING;
            return;
        }
        shortcut->cursor = tp_state_step(tree, shortcut->cursor, mark - TP_MARK_NEXT);
    }
}

/* Whether the way found from the agent's state is shorter than moving back to the path and along it. */
static bool shortens(const struct tp_mind *session, const struct tp_shortcut *shortcut)
{
    const struct tp_search *tree = &session->search;
    tp_cost back = tp_search_g(tree, session->at) - shortcut->met + tp_search_g(tree, tree->end) - shortcut->met;
    return tp_search_g(&shortcut->search, session->at) < back;
}

uint8_t tp__shortcut_next(const struct tp_mind *session)
{
    const struct tp_shortcut *shortcut = session->shortcut;
    if (!shortcut || shortcut->phase != SHORTCUT_FOLLOWING || !tp_search_knows(&shortcut->search, session->at))
        return TP_MOVE_NONE;
    return tp_search_move_to_parent(&shortcut->search, session->at);
}

bool tp__shortcut_try(struct tp_tick *tick)
{
    struct tp_mind *session = tick->session;
    struct tp_shortcut *shortcut = session->shortcut;
    if (!shortcut)
        shortcut = session->shortcut = shortcut_open(session);
    if (!shortcut || shortcut->phase == SHORTCUT_FAILED || shortcut->phase == SHORTCUT_FOLLOWING)
        return false;
    if (shortcut->phase == SHORTCUT_NONE) {
        tp_search_begin_seeds(&shortcut->search, session->at);
        shortcut->cursor = session->at;
        shortcut->meeting = true;
        shortcut->phase = SHORTCUT_SEEDING;
    }
    if (shortcut->phase == SHORTCUT_SEEDING)
        seed(tick, shortcut);
    if (shortcut->phase != SHORTCUT_RUNNING)
        return false;

    if (shortcut->search.goal != session->at)
        tp_search_retarget(&shortcut->search, session->at);
    tick->node_cap |= !tp__beside_run(tick, &shortcut->search, UINT64_MAX);
    if (shortcut->search.exhausted && !shortcut->search.found)
        shortcut->phase = SHORTCUT_FAILED;
    if (!shortcut->search.found || !shortens(session, shortcut))
        return false;
    shortcut->phase = SHORTCUT_FOLLOWING;
    return true;
}

void tp__shortcut_forget(struct tp_mind *session)
{
    if (session->shortcut)
        session->shortcut->phase = SHORTCUT_NONE;
}

void tp__shortcut_close(struct tp_mind *session)
{
    if (!session->shortcut)
        return;
    tp_search_fini(&session->shortcut->search);
    free(session->shortcut);
    session->shortcut = NULL;
}
