/* A place in a map's log of changes, and the lineage of such a log.
 *
 * What it is: a place is a log entry's number as a Redis Stream has it, two halves, printed "123-4"; 0-0 stands before every entry. A
 * lineage says under which names the entries were read: one log may be put back after a loss, under another name. What it refuses: places
 * spelled otherwise than they are printed. Who calls it: stores and the snapshots' codec; pure functions, any thread.
 */
#ifndef TP_DAEMON_PLACE_H
#define TP_DAEMON_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_log_place {
    uint64_t ms, seq;
};

/* < 0, 0 or > 0, as `a` stands before, at or behind `b`. */
static inline int tp_log_place_compare(struct tp_log_place a, struct tp_log_place b)
{
    if (a.ms != b.ms)
        return a.ms < b.ms ? -1 : 1;
    return a.seq == b.seq ? 0 : a.seq < b.seq ? -1 : 1;
}

/* Whether it is 0-0. */
static inline bool tp_log_place_is_start(struct tp_log_place place)
{
    return place.ms == 0 && place.seq == 0;
}

enum { TP_LOG_PLACE_TEXT_BYTES = 42 }; /* two numbers of 20 digits, the dash and the end */

/* Writes "123-4". */
void tp_log_place_print(char text[TP_LOG_PLACE_TEXT_BYTES], struct tp_log_place place);

/* Reads "123-4", `size` bytes without an end; false, *place being 0-0: they are no place. */
bool tp_log_place_parse(struct tp_log_place *place, const char *text, size_t size);

enum { TP_LINEAGE_MAX = 16, TP_LOG_TAG_BYTES = 16 };

/* The name of a log, and the last place read under it. */
struct tp_log_tag {
    uint8_t bytes[TP_LOG_TAG_BYTES];
    struct tp_log_place last;
};

/* The oldest first. Zeroed is empty. */
struct tp_lineage {
    uint32_t count;
    struct tp_log_tag tags[TP_LINEAGE_MAX];
};

/* Notes that `last` was read under the name `bytes`: the newest tag's place is moved on if the name is its own; else a tag is added, in
 * place of the oldest where there are TP_LINEAGE_MAX. */
void tp_lineage_note(struct tp_lineage *lineage, const uint8_t bytes[TP_LOG_TAG_BYTES], struct tp_log_place last);

/* The newest tag of that name; NULL: there is none. */
const struct tp_log_tag *tp_lineage_find(const struct tp_lineage *lineage, const uint8_t bytes[TP_LOG_TAG_BYTES]);

#endif
