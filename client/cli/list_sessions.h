/* The sessions on a map as a daemon's live view tells them: the first of its stream's events that has them all.
 *
 * What it refuses: bytes that are no such event. Who calls it: `tickpath list`.
 */
#ifndef TP_CLI_LIST_SESSIONS_H
#define TP_CLI_LIST_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_listed {
    uint64_t id;
    uint64_t cell, goal; /* cells, or a graph's nodes */
    uint32_t status;     /* enum tp_status; 0: not ticked yet */
};

/* Takes the event's data, in base64, apart: each session goes to `each` (NULL: to nobody). The number of those that the daemon left out goes to *left_out. False: it is not of the
 * form; some sessions may have been given. */
bool tp_listed_read(const char *data, uint64_t *left_out, void (*each)(const struct tp_listed *session, void *context), void *context);

#endif
