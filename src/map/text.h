/* Reading a text line by line and word by word: what the parsers of map formats share.
 *
 * What it is: a cursor over a memory buffer that knows its line and column, so that every refusal names its place. LF and CRLF
 * line ends; the last line may lack its own. A text may be gone over twice (tp__text_start_over).
 * What it refuses: to allocate, and to read past the buffer. Who calls it: the parsers of src/map.
 */
#ifndef TP_MAP_TEXT_H
#define TP_MAP_TEXT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `text[at .. end)` is what is left of the present line, without its line end. */
struct tp__text {
    const char *text;
    size_t size;
    struct tp_place *place; /* where a refusal is written */
    const char **reason;
    char separator; /* ends a word beside blanks; 0 for none */
    size_t start;   /* of the present line */
    size_t at;      /* next character to read, start <= at <= end */
    size_t end;     /* past the present line's last character */
    size_t next;    /* start of the line after it */
    unsigned line;  /* from 1; 0 before the first */
};

/* Before the first line; clears place and reason. */
struct tp__text tp__text_open(const char *text, size_t size, struct tp_place *place, const char **reason);

/* Steps to the next line; false, standing on an empty line past the last, when the text is used up. */
bool tp__text_next_line(struct tp__text *t);

/* Goes back to before the line that follows line number `line` and begins at `next`. */
void tp__text_start_over(struct tp__text *t, size_t next, unsigned line);

/* Refuses the text at a position of the present line: TP_ERR_PARSE. */
int tp__text_refuse(const struct tp__text *t, size_t at, const char *reason);

void tp__text_skip_blanks(struct tp__text *t);
void tp__text_skip_word(struct tp__text *t);

/* Takes `word` if it stands next and ends there (at a blank, the separator or the line's end). */
bool tp__text_take_word(struct tp__text *t, const char *word);

/* Reads a number up to where the word ends: an unsigned integer; an unsigned decimal of at most 1e18 (digits, optionally a
 * point and digits, optionally an exponent; a point in every locale); a decimal with or without a '-'. TP_ERR_PARSE. */
int tp__text_read_number(struct tp__text *t, uint32_t *number);
int tp__text_read_decimal(struct tp__text *t, double *number);
int tp__text_read_signed(struct tp__text *t, double *number);

#endif
