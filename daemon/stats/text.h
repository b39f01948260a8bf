/* A text that grows: what the stats endpoint and the live view render into.
 *
 * What it is: bytes from the libc, always ended by a zero. Out of memory marks the text as failed; every later call does nothing, and
 * tp_text_give gives NULL, so that who renders asks once. What it refuses: nothing else. Who calls it: any thread, each on its own text.
 */
#ifndef TP_DAEMON_TEXT_H
#define TP_DAEMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed is empty. */
struct tp_text {
    char *bytes; /* zero-ended once anything was added */
    size_t size, room;
    bool failed;
};

/* Frees the bytes; it is empty again. */
void tp_text_fini(struct tp_text *text);

/* Empties it; keeps its memory. */
void tp_text_clear(struct tp_text *text);

/* Adds bytes as they are. Cost: their number, amortised. */
void tp_text_put(struct tp_text *text, const void *bytes, size_t size);

/* Adds what printf would print. Cost: its length, amortised. */
void tp_text_add(struct tp_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a string as JSON has it, quotes included. What is UTF-8 stays; any other byte is U+FFFD. */
void tp_text_add_quoted(struct tp_text *text, const char *string);

/* Adds a number in as few digits as name it apart from its neighbours of 9 digits, always with a point or an exponent
 * ("1.0"), and infinity as "+Inf". */
void tp_text_add_float(struct tp_text *text, double value);

/* Gives the bytes (freed by the caller) and their length; NULL if the text failed or nothing was added. */
char *tp_text_give(struct tp_text *text, size_t *size);

#endif
