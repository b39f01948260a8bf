/* The names of maps, as the protocol allows them. Any thread. */
#ifndef TP_DAEMON_NAME_H
#define TP_DAEMON_NAME_H

#include <stdbool.h>

enum { TP_WORLD_NAME_MAX = 128 }; /* bytes, without the end */

/* Whether `name` is one the protocol allows: 1..128 bytes of [A-Za-z0-9._/-], not starting with '.' or '/', no part
 * between slashes being "..". */
bool tp_world_name_allowed(const char *name);

/* Copies a name that is known to be allowed. */
void tp_world_name_copy(char out[TP_WORLD_NAME_MAX + 1], const char *name);

#endif
