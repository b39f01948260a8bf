/* A look into one search, put together from the pieces that it comes in (search/dump.h): JSON in, JSON out, and lists for a picture.
 *
 * What it is: pieces are JSON texts of tp_dump_json, of this process or a daemon's; what is of the session as a whole is the first piece's.
 * What it refuses: text that is not of that form. Who calls it: `tickpath inspect`.
 */
#ifndef TP_CLI_INSPECT_LOOK_H
#define TP_CLI_INSPECT_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum tp_look_list {
    TP_LOOK_PATH,
    TP_LOOK_FRESH,
    TP_LOOK_OPEN,
    TP_LOOK_OPEN_G,
    TP_LOOK_CLOSED,
    TP_LOOK_CLOSED_G,
    TP_LOOK_RAISED,
    TP_LOOK_RAISED_BY,
    TP_LOOK_LISTS,
};

struct tp_look_numbers {
    uint64_t *values;
    size_t count, room;
};

struct tp_look {
    char *head; /* the first piece up to its lists; NULL: there was none */
    struct tp_look_numbers lists[TP_LOOK_LISTS];
    bool is_graph;
    uint32_t width, height, cell;
    struct tp_look_numbers goals;
    uint64_t ticks;
    bool torn;       /* later pieces were of later ticks */
    bool has_next;   /* there is more, */
    uint64_t next;   /* from this cursor on */
};

/* Takes a piece, zero-ended. False: it is not of the form, or there is no memory (*words says which). */
bool tp_look_add(struct tp_look *look, const char *piece, const char **words);

/* Writes all of it as one dump. False: `out` refused. */
bool tp_look_write(const struct tp_look *look, FILE *out);

void tp_look_fini(struct tp_look *look);

#endif
