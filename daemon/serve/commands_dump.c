/* dump_session: what the search of a session of this connection holds, a bounded slice for each request. Others have their turns
 * after each: it takes as long as the ticks of hundreds. */
#include "daemon/serve/commands.h"

#include "daemon/serve/dump.h"

#include <stdlib.h>

/* Bytes of a reply: of all that is no list, of a cell's numbers, of a step of a path; each at most. */
enum { REST_BYTES = 512, STATE_BYTES = 5 + 1 + 10 + 10, STEP_BYTES = 5 };

/* A dump, and its states as the message has them. */
struct sheet {
    struct tp_dump dump;
    uint32_t cell[TP_DUMP_STATES_MAX], what[TP_DUMP_STATES_MAX];
    uint64_t g[TP_DUMP_STATES_MAX], raised[TP_DUMP_STATES_MAX];
};

/* The rectangle asked for, by default the whole map. */
static struct tp_inspect_scan rectangle_of(const Tickpath__DumpSession *message, const struct tp_session *session)
{
    const struct tp_map *map = tp_session_map(session);
    struct tp_inspect_scan scan = {.width = map->width, .height = map->height};
    if (message->has_x)
        scan.x = message->x;
    if (message->has_y)
        scan.y = message->y;
    if (message->has_width)
        scan.width = message->width;
    if (message->has_height)
        scan.height = message->height;
    if (message->has_cursor)
        scan.cursor = message->cursor;
    return scan;
}

/* Cuts a path to what fits. */
static void cut(uint32_t *count, bool *is_cut, uint32_t most)
{
    *is_cut |= *count > most;
    *count = *count < most ? *count : most;
}

static void split_states(struct sheet *sheet)
{
    for (uint32_t i = 0; i < sheet->dump.state_count; i++) {
        const struct tp_inspect_state *state = &sheet->dump.states[i];
        sheet->cell[i] = state->cell;
        sheet->what[i] = state->what;
        sheet->g[i] = state->g != TP_COST_INFINITE ? state->g : 0;
        sheet->raised[i] = state->raised;
    }
}

static void fill_whole(Tickpath__SessionDump *out, const struct tp_dump *dump)
{
    const struct tp_inspection *whole = &dump->whole;
#define SET(field, value) (out->has_##field = 1, out->field = (value))
    SET(session, dump->id);
    SET(epoch, whole->epoch);
    SET(version, whole->version);
    SET(ticks, whole->stats.ticks);
    SET(cell, whole->cell);
    if (whole->status != 0) {
        SET(status, (uint32_t)whole->status);
        SET(flags, whole->flags);
    }
    SET(hold, (Tickpath__Hold)whole->hold);
    if (whole->step_cell != TP_INSPECT_NO_CELL)
        SET(step_cell, whole->step_cell);
    if (dump->starved_ticks > 0)
        SET(starved_ticks, dump->starved_ticks);
    if (whole->root != TP_INSPECT_NO_CELL)
        SET(root, whole->root);
    if (whole->best != TP_INSPECT_NO_CELL)
        SET(best, whole->best);
    SET(searches, whole->searches);
    SET(found, whole->found);
    SET(exhausted, whole->exhausted);
    SET(partial, whole->partial);
    SET(backward, whole->is_backward);
    SET(packed, whole->is_packed);
    SET(rests, whole->rests);
    SET(led, whole->is_led);
    SET(touched, whole->stats.touched);
    SET(queued, whole->queued);
    if (whole->is_vehicle) {
        SET(vx, whole->vx);
        SET(vy, whole->vy);
    }
    if (dump->path_cut)
        SET(path_cut, 1);
    if (dump->fresh_cut)
        SET(fresh_cut, 1);
    if (!dump->scan.done)
        SET(next_cursor, dump->scan.cursor);
#undef SET
}

static void reply_dump(const struct tp_call *call, struct sheet *sheet)
{
    struct tp_dump *dump = &sheet->dump;
    Tickpath__SessionDump out = TICKPATH__SESSION_DUMP__INIT;
    fill_whole(&out, dump);
    out.goal = dump->whole.goals;
    out.n_goal = dump->whole.goal_count;
    out.path = dump->path;
    out.n_path = dump->path_count;
    out.fresh = dump->fresh;
    out.n_fresh = dump->fresh_count;
    out.state_cell = sheet->cell;
    out.state_what = sheet->what;
    out.state_g = sheet->g;
    out.n_state_cell = out.n_state_what = out.n_state_g = dump->state_count;
    out.state_raised = sheet->raised;
    out.n_state_raised = dump->whole.learns ? dump->state_count : 0;
    tp_peer_reply(call->peer, call->id, TICKPATH__REPLY__BODY_SESSION_DUMP, &out);
}

void tp__command_dump_session(const struct tp_call *call)
{
    const Tickpath__DumpSession *message = call->request->dump_session;
    const struct tp_config *config = call->shard->config;
    uint32_t limit = message->has_limit ? message->limit : TP_DUMP_STATES_MAX, slot;
    if (!tp__call_session(call, message->has_session, message->session, &slot))
        return;
    if (limit < 1 || limit > TP_DUMP_STATES_MAX) {
        tp__call_refuse(call, TP_ERR_INVALID_ARGUMENT, "limit", "must lie in 1..4096");
        return;
    }
    const struct tp_agent *agent = &call->peer->sessions.agents[slot];
    struct tp_inspect_scan rectangle = rectangle_of(message, agent->session);
    const struct tp_map *map = tp_session_map(agent->session);
    if (rectangle.x >= map->width || rectangle.y >= map->height) {
        tp__call_refuse(call, TP_ERR_OUT_OF_RANGE, rectangle.x >= map->width ? "x" : "y", "lies outside the map");
        return;
    }
    uint64_t states_fit = config->frame_bytes_max / 2 / STATE_BYTES, steps_fit = (config->frame_bytes_max / 2 - REST_BYTES) / 2 / STEP_BYTES;
    uint32_t steps_most = steps_fit < config->path_cells_max ? (uint32_t)steps_fit : (uint32_t)config->path_cells_max;
    struct sheet *sheet = malloc(sizeof *sheet);
    if (sheet == NULL) {
        tp__call_refuse(call, TP_ERR_NO_MEMORY, NULL, NULL);
        return;
    }
    tp_dump_take(&sheet->dump, agent, message->session, &rectangle, limit < states_fit ? limit : (uint32_t)states_fit);
    cut(&sheet->dump.path_count, &sheet->dump.path_cut, steps_most);
    cut(&sheet->dump.fresh_count, &sheet->dump.fresh_cut, steps_most);
    split_states(sheet);
    reply_dump(call, sheet);
    call->peer->gives_way = true;
    free(sheet);
}
