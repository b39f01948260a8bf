/* Error codes: names from the wire format's own table, and the check that the public header agrees with it.
 */
#include "client/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAME(ours, wire) _Static_assert((int)(ours) == (int)(wire), #ours " differs from the protocol")
#define SAME_CODE(name) SAME(TP_CLIENT_##name, -TICKPATH__ERROR_CODE__##name)
SAME_CODE(INVALID_ARGUMENT);
SAME_CODE(NOT_FOUND);
SAME_CODE(ALREADY_EXISTS);
SAME_CODE(OUT_OF_RANGE);
SAME_CODE(RESOURCE_EXHAUSTED);
SAME_CODE(FAILED_PRECONDITION);
SAME_CODE(VERSION_MISMATCH);
SAME_CODE(MAP_NOT_READY);
SAME_CODE(UNSUPPORTED);
SAME_CODE(MALFORMED_FRAME);
SAME_CODE(FRAME_TOO_LARGE);
SAME_CODE(UNKNOWN_MESSAGE);
SAME_CODE(HELLO_REQUIRED);
SAME_CODE(PROTOCOL_VERSION);
SAME_CODE(UNAVAILABLE);
SAME_CODE(SHUTTING_DOWN);
SAME_CODE(NO_MEMORY);
SAME_CODE(PARSE);
SAME_CODE(IO);
SAME_CODE(CORRUPT);
SAME_CODE(TIMEOUT);
SAME_CODE(CLOSED);
SAME_CODE(INTERNAL);

SAME(TP_CLIENT_BOTH_FREE, TICKPATH__CORNERS__BOTH_FREE);
SAME(TP_CLIENT_ONE_FREE, TICKPATH__CORNERS__ONE_FREE);
SAME(TP_CLIENT_ALWAYS, TICKPATH__CORNERS__ALWAYS);
SAME(TP_CLIENT_EXACT, TICKPATH__GOAL_POLICY__EXACT);
SAME(TP_CLIENT_WITHIN, TICKPATH__GOAL_POLICY__WITHIN);
SAME(TP_CLIENT_NEAREST, TICKPATH__GOAL_POLICY__NEAREST);
SAME(TP_CLIENT_FULL, TICKPATH__KNOWLEDGE__FULL);
SAME(TP_CLIENT_FREESPACE, TICKPATH__KNOWLEDGE__FREESPACE);
SAME(TP_CLIENT_KNOWN_MAP, TICKPATH__KNOWLEDGE__KNOWN_MAP);
SAME(TP_CLIENT_RESTART_NEVER, TICKPATH__RESTART__RESTART_NEVER);
SAME(TP_CLIENT_RESTART_EAGER, TICKPATH__RESTART__RESTART_EAGER);
SAME(TP_CLIENT_RESTART_LAZY, TICKPATH__RESTART__RESTART_LAZY);
SAME(TP_CLIENT_RESTART_ON_RISE, TICKPATH__RESTART__RESTART_ON_RISE);
SAME(TP_CLIENT_GRID, TICKPATH__MAP_KIND__GRID);
SAME(TP_CLIENT_GRAPH, TICKPATH__MAP_KIND__GRAPH);
SAME(TP_CLIENT_STEPS, TICKPATH__MOTION__STEPS);
SAME(TP_CLIENT_INERTIA, TICKPATH__MOTION__INERTIA);
#define SAME_HEURISTIC(name) SAME(TP_CLIENT_HEURISTIC_##name, TICKPATH__HEURISTIC__HEURISTIC_##name)
SAME_HEURISTIC(OCTILE);
SAME_HEURISTIC(MANHATTAN);
SAME_HEURISTIC(EUCLID);
SAME_HEURISTIC(FREESPACE);
SAME_HEURISTIC(MAXIMUM);
SAME_HEURISTIC(ZERO);
SAME(TP_CLIENT_MOVING, TICKPATH__STATUS__MOVING);
SAME(TP_CLIENT_SEARCHING, TICKPATH__STATUS__SEARCHING);
SAME(TP_CLIENT_BLOCKED, TICKPATH__STATUS__BLOCKED);
SAME(TP_CLIENT_ARRIVED, TICKPATH__STATUS__ARRIVED);
SAME(TP_CLIENT_UNREACHABLE, TICKPATH__STATUS__UNREACHABLE);
SAME(TP_CLIENT_BACK_MOVE, TICKPATH__FLAG__BACK_MOVE);
SAME(TP_CLIENT_PATH_COMPLETE, TICKPATH__FLAG__PATH_COMPLETE);
SAME(TP_CLIENT_CONTINUED, TICKPATH__FLAG__CONTINUED);
SAME(TP_CLIENT_REPAIRED, TICKPATH__FLAG__REPAIRED);
SAME(TP_CLIENT_RESTARTED, TICKPATH__FLAG__RESTARTED);
SAME(TP_CLIENT_PARTIAL, TICKPATH__FLAG__PARTIAL);
SAME(TP_CLIENT_LOOPING, TICKPATH__FLAG__LOOPING);
SAME(TP_CLIENT_NODE_CAP, TICKPATH__FLAG__NODE_CAP);
SAME(TP_CLIENT_START_BLOCKED, TICKPATH__FLAG__START_BLOCKED);
SAME(TP_CLIENT_DEAD_END, TICKPATH__FLAG__DEAD_END);

const char *tp_client_code_name(int code)
{
    if (code == 0)
        return "OK";
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&tickpath__error_code__descriptor, -code);
    return value != NULL ? value->name : "UNKNOWN";
}

static int set(struct tp_client_error *error, int code, const char *format, va_list arguments)
{
    memset(error, 0, sizeof *error);
    error->code = code;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    return code;
}

int tp__error_set(struct tp_client_error *error, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set(error, code, format, arguments);
    va_end(arguments);
    return code;
}

int tp__error_argument(struct tp_client_error *error, const char *field, const char *words)
{
    tp__error_set(error, TP_CLIENT_INVALID_ARGUMENT, "%s", words);
    snprintf(error->field, sizeof error->field, "%s", field);
    return error->code;
}

int tp__error_take(struct tp_client_error *error, const Tickpath__Error *message)
{
    int code = message->has_code ? -(int)message->code : 0;
    if (protobuf_c_enum_descriptor_get_value(&tickpath__error_code__descriptor, -code) == NULL)
        return tp__error_set(error, TP_CLIENT_MALFORMED_FRAME, "the server sent an error of unknown code %d",
                             -code);
    tp__error_set(error, code, "%s", message->message != NULL ? message->message : "");
    error->from_server = true;
    snprintf(error->field, sizeof error->field, "%s", message->field != NULL ? message->field : "");
    error->retry_after_ms = message->has_retry_after_ms ? message->retry_after_ms : 0;
    error->has_change = message->has_change_index;
    error->change_index = message->change_index;
    error->has_cell = message->has_bad_x;
    error->bad_x = message->bad_x;
    error->bad_y = message->bad_y;
    error->has_edge = message->has_edge_index;
    error->edge_index = message->edge_index;
    error->has_node = message->has_node_index;
    error->node_index = message->node_index;
    error->has_place = message->has_epoch && message->has_version;
    error->epoch = message->epoch;
    error->version = message->version;
    return code;
}

int tp__break(struct tp_client *client, const struct tp_client_error *why)
{
    if (client->broken.code == 0)
        client->broken = *why;
    client->error = client->broken;
    return client->error.code;
}

int tp__break_with(struct tp_client *client, int code, const char *format, ...)
{
    struct tp_client_error why;
    va_list arguments;
    va_start(arguments, format);
    set(&why, code, format, arguments);
    va_end(arguments);
    return tp__break(client, &why);
}
