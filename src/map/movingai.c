/* Parsers for the MovingAI formats.
 *
 * Both parsers go over the text twice with the same code: first with nowhere to store, which finds every
 * error and the sizes, then, once the memory is there, to store. So nothing is allocated for a text that is
 * refused, and no number in the text can ask for more memory than the text itself justifies.
 */
#include "map/movingai.h"

#include "base/limits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lines ---- */

/* Walks a text line by line. `text[at .. end)` is what is left of the present line, without its line end. */
struct cursor {
    const char *text;
    size_t size;
    size_t start; /* of the present line */
    size_t at;    /* next character to read, start <= at <= end */
    size_t end;   /* past the present line's last character */
    size_t next;  /* start of the line after it */
    unsigned line;
    struct tp_place *place;
    const char **reason;
};

/* Steps to the next line; false, standing on an empty line past the last, when the text is used up. */
static bool next_line(struct cursor *c)
{
    c->line++;
    c->start = c->at = c->end = c->next;
    if (c->start >= c->size)
        return false;
    const char *lf = memchr(c->text + c->start, '\n', c->size - c->start);
    c->end = lf ? (size_t)(lf - c->text) : c->size;
    c->next = lf ? c->end + 1 : c->size;
    if (c->end > c->start && c->text[c->end - 1] == '\r')
        c->end--;
    return true;
}

static void start_over(struct cursor *c, size_t next, unsigned line)
{
    c->next = next;
    c->line = line;
}

/* Refuses the text at a position of the present line. */
static int refuse_at(const struct cursor *c, size_t at, const char *reason)
{
    c->place->line = c->line;
    c->place->column = (unsigned)(at - c->start) + 1;
    *c->reason = reason;
    return TP_ERR_PARSE;
}

/* ---- Words and numbers ---- */

static bool is_blank(char ch)
{
    return ch == ' ' || ch == '\t';
}

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && is_blank(c->text[c->at]))
        c->at++;
}

static void skip_word(struct cursor *c)
{
    while (c->at < c->end && !is_blank(c->text[c->at]))
        c->at++;
}

/* Takes `word` if it stands next and ends there (at a blank or the line's end). */
static bool take_word(struct cursor *c, const char *word)
{
    size_t length = strlen(word);
    if (c->end - c->at < length || memcmp(c->text + c->at, word, length) != 0)
        return false;
    if (c->at + length < c->end && !is_blank(c->text[c->at + length]))
        return false;
    c->at += length;
    return true;
}

/* Reads an unsigned number up to the next blank or the line's end. */
static int read_number(struct cursor *c, uint32_t *number)
{
    size_t first = c->at;
    uint32_t value = 0;
    bool large = false;
    for (; c->at < c->end && !is_blank(c->text[c->at]); c->at++) {
        if (!is_digit(c->text[c->at]))
            return refuse_at(c, c->at, "a digit is expected here");
        uint32_t digit = (uint32_t)(c->text[c->at] - '0');
        if (value > (UINT32_MAX - digit) / 10)
            large = true;
        else
            value = value * 10 + digit;
    }
    if (c->at == first)
        return refuse_at(c, first, "a number is missing");
    if (large)
        return refuse_at(c, first, "the number is too large");
    *number = value;
    return 0;
}

/* mantissa * 10^exponent. Exact to one rounding while both factors are exact doubles (15 digits, 22 powers),
 * which every length written in a benchmark is; a few units in the last place otherwise. */
static double scale(uint64_t mantissa, int exponent)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double value = (double)mantissa;
    for (; exponent > 22; exponent -= 22)
        value *= 1e22;
    for (; exponent < -22; exponent += 22)
        value /= 1e22;
    return exponent < 0 ? value / power[-exponent] : value * power[exponent];
}

/* Reads an unsigned decimal (digits, optionally a point and digits, optionally an exponent) up to the next
 * blank or the line's end. The decimal point is a point in every locale. */
static int read_decimal(struct cursor *c, double *number)
{
    size_t first = c->at, digits = 0;
    uint64_t mantissa = 0;
    int exponent = 0;
    bool fraction = false;
    for (; c->at < c->end; c->at++) {
        char ch = c->text[c->at];
        if (ch == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!is_digit(ch))
            break;
        digits++;
        bool kept = mantissa < UINT64_C(100000000000000000); /* 18 digits at most; the rest only count */
        if (kept)
            mantissa = mantissa * 10 + (uint64_t)(ch - '0');
        if (kept == fraction && exponent > -10000 && exponent < 10000)
            exponent += fraction ? -1 : 1;
    }
    if (digits == 0)
        return refuse_at(c, first, "a number is missing");
    if (c->at < c->end && (c->text[c->at] == 'e' || c->text[c->at] == 'E')) {
        c->at++;
        bool negative = c->at < c->end && c->text[c->at] == '-';
        if (c->at < c->end && (c->text[c->at] == '-' || c->text[c->at] == '+'))
            c->at++;
        int power = 0;
        digits = 0;
        for (; c->at < c->end && is_digit(c->text[c->at]); c->at++, digits++)
            power = power < 10000 ? power * 10 + (c->text[c->at] - '0') : power;
        if (digits == 0)
            return refuse_at(c, c->at, "a digit is expected here");
        exponent += negative ? -power : power;
    }
    if (c->at < c->end && !is_blank(c->text[c->at]))
        return refuse_at(c, c->at, "a digit is expected here");
    if (mantissa == 0 || exponent < -340) {
        *number = 0;
        return 0;
    }
    if (exponent > 18 || scale(mantissa, exponent) > 1e18)
        return refuse_at(c, first, "the number is too large");
    *number = scale(mantissa, exponent);
    return 0;
}

/* ---- Maps ---- */

/* A class of the format: '@' and 'A'..'Z' are neighbours in ASCII. */
static bool is_class(char ch)
{
    return ch == '.' || (ch >= '@' && ch <= 'Z');
}

/* Refuses what stands on a header line after its last word. */
static int header_end(struct cursor *c)
{
    return c->at < c->end ? refuse_at(c, c->at, "text after the header line's value") : 0;
}

static int read_type(struct cursor *c)
{
    if (!next_line(c) || !take_word(c, "type"))
        return refuse_at(c, c->start, "the first line must be `type octile`");
    skip_blanks(c);
    if (!take_word(c, "octile"))
        return refuse_at(c, c->at, "the only type known is `octile`");
    return header_end(c);
}

/* Reads one of the two size lines into the side that is still 0. */
static int read_size(struct cursor *c, uint32_t *width, uint32_t *height)
{
    if (!next_line(c))
        return refuse_at(c, c->start, "a size line is missing: `height N` and `width N`");
    uint32_t *side = take_word(c, "height") ? height : take_word(c, "width") ? width : NULL;
    if (!side)
        return refuse_at(c, c->start, "a size line is expected: `height N` or `width N`");
    if (*side)
        return refuse_at(c, c->start, "this side is given twice");
    skip_blanks(c);
    size_t first = c->at;
    int rc = read_number(c, side);
    if (rc)
        return rc;
    if (*side == 0)
        return refuse_at(c, first, "a side must be at least 1");
    if ((uint64_t)*width * *height > TP_MAP_CELLS_MAX || *side > TP_MAP_CELLS_MAX)
        return refuse_at(c, first, "the map would have more cells than allowed");
    return header_end(c);
}

/* Reads the rows into `cells`, or only checks them when it is NULL. */
static int read_rows(struct cursor *c, uint32_t width, uint32_t height, uint8_t *cells)
{
    for (uint32_t y = 0; y < height; y++) {
        if (!next_line(c))
            return refuse_at(c, c->start, "rows are missing");
        size_t length = c->end - c->start;
        if (cells) {
            memcpy(cells + (size_t)y * width, c->text + c->start, width);
            continue;
        }
        for (size_t x = 0; x < width && x < length; x++)
            if (!is_class(c->text[c->start + x]))
                return refuse_at(c, c->start + x, "unknown character");
        if (length < width)
            return refuse_at(c, c->end, "the row is too short");
        if (length > width)
            return refuse_at(c, c->start + width, "the row is too long");
    }
    return 0;
}

int tp_movingai_map_parse(struct tp_movingai_map *map, const char *text, size_t size, struct tp_place *place,
                          const char **reason)
{
    struct cursor c = {.text = text, .size = size, .place = place, .reason = reason};
    *map = (struct tp_movingai_map){0};
    *place = (struct tp_place){0};
    *reason = NULL;

    uint32_t width = 0, height = 0;
    int rc = read_type(&c);
    if (!rc)
        rc = read_size(&c, &width, &height);
    if (!rc)
        rc = read_size(&c, &width, &height);
    if (rc)
        return rc;
    if (!next_line(&c) || !take_word(&c, "map"))
        return refuse_at(&c, c.start, "the line before the rows must be `map`");
    rc = header_end(&c);
    if (rc)
        return rc;

    size_t rows_start = c.next;
    unsigned rows_line = c.line;
    rc = read_rows(&c, width, height, NULL);
    if (rc)
        return rc;
    while (next_line(&c))
        if (c.end > c.start)
            return refuse_at(&c, c.start, "text after the last row");

    uint8_t *cells = malloc((size_t)width * height);
    if (!cells)
        return TP_ERR_NO_MEMORY;
    start_over(&c, rows_start, rows_line);
    rc = read_rows(&c, width, height, cells);
    *map = (struct tp_movingai_map){.width = width, .height = height, .cells = cells};
    return rc;
}

void tp_movingai_map_fini(struct tp_movingai_map *map)
{
    free(map->cells);
    *map = (struct tp_movingai_map){0};
}

/* ---- Scenarios ---- */

/* Steps to the next field of a row. */
static int next_field(struct cursor *c)
{
    skip_blanks(c);
    return c->at == c->end ? refuse_at(c, c->at, "the row has fewer than 9 fields") : 0;
}

static int read_field(struct cursor *c, uint32_t *number)
{
    int rc = next_field(c);
    return rc ? rc : read_number(c, number);
}

static int read_side(struct cursor *c, uint32_t *side, uint32_t other)
{
    int rc = next_field(c);
    size_t first = c->at;
    if (!rc)
        rc = read_number(c, side);
    if (rc)
        return rc;
    if (*side == 0)
        return refuse_at(c, first, "a side must be at least 1");
    if ((uint64_t)*side * other > TP_MAP_CELLS_MAX)
        return refuse_at(c, first, "the map would have more cells than allowed");
    return 0;
}

static int read_coordinate(struct cursor *c, uint32_t *coordinate, uint32_t side, const char *outside)
{
    int rc = next_field(c);
    size_t first = c->at;
    if (!rc)
        rc = read_number(c, coordinate);
    if (rc)
        return rc;
    return *coordinate < side ? 0 : refuse_at(c, first, outside);
}

/* bucket, map, width, height, start x and y, goal x and y, optimal length */
static int read_row(struct cursor *c, struct tp_movingai_row *row)
{
    int rc = read_field(c, &row->bucket);
    if (!rc)
        rc = next_field(c);
    if (rc)
        return rc;
    skip_word(c); /* the map's name: whoever calls knows which map the file is for */
    if ((rc = read_side(c, &row->map_width, 1)) || (rc = read_side(c, &row->map_height, row->map_width)) ||
        (rc = read_coordinate(c, &row->start_x, row->map_width, "the start lies outside the map")) ||
        (rc = read_coordinate(c, &row->start_y, row->map_height, "the start lies outside the map")) ||
        (rc = read_coordinate(c, &row->goal_x, row->map_width, "the goal lies outside the map")) ||
        (rc = read_coordinate(c, &row->goal_y, row->map_height, "the goal lies outside the map")) ||
        (rc = next_field(c)) || (rc = read_decimal(c, &row->optimal)))
        return rc;
    skip_blanks(c);
    return c->at < c->end ? refuse_at(c, c->at, "the row has more than 9 fields") : 0;
}

/* Reads every row into `rows`, or only checks and counts them when it is NULL. */
static int read_scenario(struct cursor *c, struct tp_movingai_row *rows, size_t *count)
{
    *count = 0;
    while (next_line(c)) {
        skip_blanks(c);
        if (c->at == c->end)
            continue;
        struct tp_movingai_row row = {0};
        int rc = read_row(c, &row);
        if (rc)
            return rc;
        if (rows)
            rows[*count] = row;
        ++*count;
    }
    return 0;
}

int tp_movingai_scen_parse(struct tp_movingai_scen *scen, const char *text, size_t size,
                           struct tp_place *place, const char **reason)
{
    struct cursor c = {.text = text, .size = size, .place = place, .reason = reason};
    *scen = (struct tp_movingai_scen){0};
    *place = (struct tp_place){0};
    *reason = NULL;

    if (!next_line(&c) || !take_word(&c, "version"))
        return refuse_at(&c, c.start, "the first line must be `version 1`");
    skip_blanks(&c);
    if (!take_word(&c, "1") && !take_word(&c, "1.0"))
        return refuse_at(&c, c.at, "the only version known is 1");
    skip_blanks(&c);
    if (c.at < c.end)
        return refuse_at(&c, c.at, "text after the version");

    size_t rows_start = c.next, count;
    unsigned rows_line = c.line;
    int rc = read_scenario(&c, NULL, &count);
    if (rc || count == 0)
        return rc;
    struct tp_movingai_row *rows = malloc(count * sizeof *rows);
    if (!rows)
        return TP_ERR_NO_MEMORY;
    start_over(&c, rows_start, rows_line);
    rc = read_scenario(&c, rows, &count);
    *scen = (struct tp_movingai_scen){.count = count, .rows = rows};
    return rc;
}

void tp_movingai_scen_fini(struct tp_movingai_scen *scen)
{
    free(scen->rows);
    *scen = (struct tp_movingai_scen){0};
}
