/* A session's mind, for tests that look into it: given to it if it rests (search/rest.h). Fails the running test without memory. */
#ifndef TESTS_LIB_MIND_H
#define TESTS_LIB_MIND_H

#include "search/rest.h"
#include "tests/lib/harness.h"

static inline struct tp_mind *mind_of(struct tp_session *session)
{
    struct tp_mind *mind = tp__session_wake(session);
    if (!mind) /* inner loops ask for it: a ck_assert reports its place each time */
        ck_abort_msg("no memory for a mind");
    return mind;
}

/* One that packs no path from now on, and so does not rest as long as it searches, walks, or stands on a goal that it searched for. */
static inline struct tp_mind *mind_kept(struct tp_session *session)
{
    struct tp_mind *mind = mind_of(session);
    mind->packs = false;
    return mind;
}

#endif
