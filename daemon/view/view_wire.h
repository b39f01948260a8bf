/* The live view's binary in a text that grows (daemon/stats/text.h): numbers, and events with base64.
 *
 * What it is: appends, that fail as those do. What it refuses: nothing. Who calls it: the view's own thread and the HTTP thread.
 */
#ifndef TP_DAEMON_VIEW_WIRE_H
#define TP_DAEMON_VIEW_WIRE_H

#include "daemon/stats/text.h"

#include <stdint.h>

void tp_view_put_byte(struct tp_text *text, uint8_t byte);
/* As protobuf writes them (daemon/varint.h). */
void tp_view_put_varint(struct tp_text *text, uint64_t value);
/* A session's: 8 bytes, the lowest first. */
void tp_view_put_id(struct tp_text *text, uint64_t id);
/* An event of a stream: its name, and `data` in base64 or as it is (one line). */
void tp_view_put_event(struct tp_text *text, const char *name, const struct tp_text *data, bool as_base64);

#endif
