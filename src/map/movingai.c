/* Parsers for the MovingAI formats.
 *
 * Both parsers go over the text twice with the same code: first with nowhere to store, which finds every
 * error and the sizes, then, once the memory is there, to store. So nothing is allocated for a text that is
 * refused, and no number in the text can ask for more memory than the text itself justifies.
 */
#include "map/movingai.h"

#include "base/limits.h"
#include "map/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- Maps ---- */

/* A class of the format: '@' and 'A'..'Z' are neighbours in ASCII. */
static bool is_class(char ch)
{
    return ch == '.' || (ch >= '@' && ch <= 'Z');
}

/* Refuses what stands on a header line after its last word. */
static int header_end(struct tp__text *c)
{
    return c->at < c->end ? tp__text_refuse(c, c->at, "text after the header line's value") : 0;
}

static int read_type(struct tp__text *c)
{
    if (!tp__text_next_line(c) || !tp__text_take_word(c, "type"))
        return tp__text_refuse(c, c->start, "the first line must be `type octile`");
    tp__text_skip_blanks(c);
    if (!tp__text_take_word(c, "octile"))
        return tp__text_refuse(c, c->at, "the only type known is `octile`");
    return header_end(c);
}

/* Reads one of the two size lines into the side that is still 0. */
static int read_size(struct tp__text *c, uint32_t *width, uint32_t *height)
{
    if (!tp__text_next_line(c))
        return tp__text_refuse(c, c->start, "a size line is missing: `height N` and `width N`");
    uint32_t *side = tp__text_take_word(c, "height") ? height : tp__text_take_word(c, "width") ? width : NULL;
    if (!side)
        return tp__text_refuse(c, c->start, "a size line is expected: `height N` or `width N`");
    if (*side)
        return tp__text_refuse(c, c->start, "this side is given twice");
    tp__text_skip_blanks(c);
    size_t first = c->at;
    int rc = tp__text_read_number(c, side);
    if (rc)
        return rc;
    if (*side == 0)
        return tp__text_refuse(c, first, "a side must be at least 1");
    if ((uint64_t)*width * *height > TP_MAP_CELLS_MAX || *side > TP_MAP_CELLS_MAX)
        return tp__text_refuse(c, first, "the map would have more cells than allowed");
    return header_end(c);
}

/* Reads the rows into `cells`, or only checks them when it is NULL. */
static int read_rows(struct tp__text *c, uint32_t width, uint32_t height, uint8_t *cells)
{
    for (uint32_t y = 0; y < height; y++) {
        if (!tp__text_next_line(c))
            return tp__text_refuse(c, c->start, "rows are missing");
        size_t length = c->end - c->start;
        if (cells) {
            memcpy(cells + (size_t)y * width, c->text + c->start, width);
            continue;
        }
        for (size_t x = 0; x < width && x < length; x++)
            if (!is_class(c->text[c->start + x]))
                return tp__text_refuse(c, c->start + x, "unknown character");
        if (length < width)
            return tp__text_refuse(c, c->end, "the row is too short");
        if (length > width)
            return tp__text_refuse(c, c->start + width, "the row is too long");
    }
    return 0;
}

int tp_movingai_map_parse(struct tp_movingai_map *map, const char *text, size_t size, struct tp_place *place,
                          const char **reason)
{
    struct tp__text c = tp__text_open(text, size, place, reason);
    *map = (struct tp_movingai_map){0};

    uint32_t width = 0, height = 0;
    int rc = read_type(&c);
    if (!rc)
        rc = read_size(&c, &width, &height);
    if (!rc)
        rc = read_size(&c, &width, &height);
    if (rc)
        return rc;
    if (!tp__text_next_line(&c) || !tp__text_take_word(&c, "map"))
        return tp__text_refuse(&c, c.start, "the line before the rows must be `map`");
    rc = header_end(&c);
    if (rc)
        return rc;

    size_t rows_start = c.next;
    unsigned rows_line = c.line;
    rc = read_rows(&c, width, height, NULL);
    if (rc)
        return rc;
    while (tp__text_next_line(&c))
        if (c.end > c.start)
            return tp__text_refuse(&c, c.start, "text after the last row");

    uint8_t *cells = malloc((size_t)width * height);
    if (!cells)
        return TP_ERR_NO_MEMORY;
    tp__text_start_over(&c, rows_start, rows_line);
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
static int next_field(struct tp__text *c)
{
    tp__text_skip_blanks(c);
    return c->at == c->end ? tp__text_refuse(c, c->at, "the row has fewer than 9 fields") : 0;
}

static int read_field(struct tp__text *c, uint32_t *number)
{
    int rc = next_field(c);
    return rc ? rc : tp__text_read_number(c, number);
}

static int read_side(struct tp__text *c, uint32_t *side, uint32_t other)
{
    int rc = next_field(c);
    size_t first = c->at;
    if (!rc)
        rc = tp__text_read_number(c, side);
    if (rc)
        return rc;
    if (*side == 0)
        return tp__text_refuse(c, first, "a side must be at least 1");
    if ((uint64_t)*side * other > TP_MAP_CELLS_MAX)
        return tp__text_refuse(c, first, "the map would have more cells than allowed");
    return 0;
}

static int read_coordinate(struct tp__text *c, uint32_t *coordinate, uint32_t side, const char *outside)
{
    int rc = next_field(c);
    size_t first = c->at;
    if (!rc)
        rc = tp__text_read_number(c, coordinate);
    if (rc)
        return rc;
    return *coordinate < side ? 0 : tp__text_refuse(c, first, outside);
}

/* bucket, map, width, height, start x and y, goal x and y, optimal length */
static int read_row(struct tp__text *c, struct tp_movingai_row *row)
{
    int rc = read_field(c, &row->bucket);
    if (!rc)
        rc = next_field(c);
    if (rc)
        return rc;
    tp__text_skip_word(c); /* the map's name: whoever calls knows which map the file is for */
    if ((rc = read_side(c, &row->map_width, 1)) || (rc = read_side(c, &row->map_height, row->map_width)) ||
        (rc = read_coordinate(c, &row->start_x, row->map_width, "the start lies outside the map")) ||
        (rc = read_coordinate(c, &row->start_y, row->map_height, "the start lies outside the map")) ||
        (rc = read_coordinate(c, &row->goal_x, row->map_width, "the goal lies outside the map")) ||
        (rc = read_coordinate(c, &row->goal_y, row->map_height, "the goal lies outside the map")) ||
        (rc = next_field(c)) || (rc = tp__text_read_decimal(c, &row->optimal)))
        return rc;
    tp__text_skip_blanks(c);
    return c->at < c->end ? tp__text_refuse(c, c->at, "the row has more than 9 fields") : 0;
}

/* Reads every row into `rows`, or only checks and counts them when it is NULL. */
static int read_scenario(struct tp__text *c, struct tp_movingai_row *rows, size_t *count)
{
    *count = 0;
    while (tp__text_next_line(c)) {
        tp__text_skip_blanks(c);
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
    struct tp__text c = tp__text_open(text, size, place, reason);
    *scen = (struct tp_movingai_scen){0};

    if (!tp__text_next_line(&c) || !tp__text_take_word(&c, "version"))
        return tp__text_refuse(&c, c.start, "the first line must be `version 1`");
    tp__text_skip_blanks(&c);
    if (!tp__text_take_word(&c, "1") && !tp__text_take_word(&c, "1.0"))
        return tp__text_refuse(&c, c.at, "the only version known is 1");
    tp__text_skip_blanks(&c);
    if (c.at < c.end)
        return tp__text_refuse(&c, c.at, "text after the version");

    size_t rows_start = c.next, count;
    unsigned rows_line = c.line;
    int rc = read_scenario(&c, NULL, &count);
    if (rc || count == 0)
        return rc;
    struct tp_movingai_row *rows = malloc(count * sizeof *rows);
    if (!rows)
        return TP_ERR_NO_MEMORY;
    tp__text_start_over(&c, rows_start, rows_line);
    rc = read_scenario(&c, rows, &count);
    *scen = (struct tp_movingai_scen){.count = count, .rows = rows};
    return rc;
}

void tp_movingai_scen_fini(struct tp_movingai_scen *scen)
{
    free(scen->rows);
    *scen = (struct tp_movingai_scen){0};
}
