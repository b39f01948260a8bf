#include "daemon/serve/dump.h"

_Static_assert((int)TP_DUMP_NAME_MAX == (int)TP_WORLD_NAME_MAX, "a dump has room for a map's name");

void tp_dump_take(struct tp_dump *dump, const struct tp_agent *agent, uint64_t id, const struct tp_inspect_scan *rectangle, uint32_t states_max)
{
    tp_dump_session(dump, agent->session, rectangle, states_max);
    dump->id = id;
    tp_world_name_copy(dump->map, agent->map->name);
    dump->starved_ticks = agent->waited;
    if (agent->waited && dump->whole.status == TP_STATUS_SEARCHING)
        dump->whole.hold = TP_HOLD_STARVED;
}
