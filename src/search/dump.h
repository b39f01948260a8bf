/* What a session's search holds, copied in a bounded slice so that it can be looked at elsewhere: by another thread, as the reply to DumpSession, as JSON.
 *
 * What it is: one call that copies, between ticks, and functions that make text of the copy, anywhere. A dump is of one moment. More than it has room for
 * comes in further dumps, from `scan.cursor` on; the search may have gone on meanwhile, which the ticks tell.
 * What it refuses: nothing; the rectangle is cut off at the map's edges. Who calls it: tp_dump_session whoever may tick the session; the rest any thread.
 */
#ifndef TP_SEARCH_DUMP_H
#define TP_SEARCH_DUMP_H

#include "search/inspect.h"

enum {
    TP_DUMP_STATES_MAX = 4096, /* cells of one dump, */
    TP_DUMP_LOOKS_MAX = 8192,  /* and looks for them (inspect.h): some 0.2 ms */
    TP_DUMP_PATH_MAX = 4096,   /* cells of each path */
    TP_DUMP_NAME_MAX = 128,    /* bytes of a map's name, none of which JSON would have to escape */
};

/* Plain data. */
struct tp_dump {
    uint64_t id;
    char map[TP_DUMP_NAME_MAX + 1];
    const struct tp_algorithm *algorithm; /* a row of the registry */
    struct tp_inspection whole;
    uint32_t starved_ticks;       /* on end, that it got no share of a total in */
    struct tp_inspect_scan scan;  /* as far as this dump goes: .cursor is where the next one goes on, unless .done */
    uint32_t path_count;          /* with the cursor 0: the path followed, the agent's own cell first; */
    uint32_t fresh_count;         /* and one that is being traced, as far as it is */
    bool path_cut, fresh_cut;     /* there is more of it than TP_DUMP_PATH_MAX */
    uint32_t state_count;
    uint32_t path[TP_DUMP_PATH_MAX], fresh[TP_DUMP_PATH_MAX];
    struct tp_inspect_state states[TP_DUMP_STATES_MAX];
};

/* Copies what a session holds of a rectangle, from a cursor on, at most `states_max` cells of it; id and map name nothing, and it is not starved, until the
 * caller says so. Cost: bounded by the numbers above. */
void tp_dump_session(struct tp_dump *dump, const struct tp_session *session, const struct tp_inspect_scan *rectangle, uint32_t states_max);

/* The same as JSON (its form: deploy/OPERATING.md, Looking into a search): zero-ended, malloc'd, freed by the caller; its length in *size. NULL: out of memory. */
char *tp_dump_json(const struct tp_dump *dump, size_t *size) TP_MUST_CHECK;

/* The words for a hold, its name and what it means; "?" for none of the list. */
const char *tp_dump_hold_name(enum tp_hold hold);
const char *tp_dump_hold_means(enum tp_hold hold);

#endif
