#include "map/track.h"

#include "base/limits.h"
#include "map/text.h"

#include <stdlib.h>

static int read_side(struct tp__text *t, uint32_t other, uint32_t *side, const char *missing)
{
    if (!tp__text_next_line(t) || t->at == t->end)
        return tp__text_refuse(t, t->at, missing);
    size_t first = t->at;
    int rc = tp__text_read_number(t, side);
    if (rc)
        return rc;
    if (*side == 0)
        return tp__text_refuse(t, first, "a side must be at least 1");
    if (*side > TP_MAP_CELLS_MAX || (uint64_t)*side * other > TP_MAP_CELLS_MAX)
        return tp__text_refuse(t, first, "the track would have more cells than allowed");
    tp__text_skip_blanks(t);
    return t->at < t->end ? tp__text_refuse(t, t->at, "text after the side's number") : 0;
}

/* Checks one row and counts its start and finish cells or, where the track has cells, stores it. */
static int read_row(struct tp__text *t, struct tp_track *track, uint32_t y)
{
    if (!tp__text_next_line(t))
        return tp__text_refuse(t, t->start, "rows are missing");
    size_t length = t->end - t->start;
    for (uint32_t x = 0; x < track->width && x < length; x++) {
        char ch = t->text[t->start + x];
        uint32_t cell = y * track->width + x;
        if (ch != '#' && ch != '_' && ch != '@' && ch != '*')
            return tp__text_refuse(t, t->start + x, "unknown character");
        if (track->cells)
            track->cells[cell] = ch == '#' ? '@' : '.';
        if (ch == '@' && track->starts)
            track->starts[track->start_count] = cell;
        if (ch == '*' && track->finishes)
            track->finishes[track->finish_count] = cell;
        track->start_count += ch == '@';
        track->finish_count += ch == '*';
    }
    if (length < track->width)
        return tp__text_refuse(t, t->end, "the row is too short");
    return length > track->width ? tp__text_refuse(t, t->start + track->width, "the row is too long") : 0;
}

static int read_rows(struct tp__text *t, struct tp_track *track)
{
    int rc = 0;
    track->start_count = track->finish_count = 0;
    for (uint32_t y = 0; y < track->height && !rc; y++)
        rc = read_row(t, track, y);
    return rc;
}

static int parse(struct tp__text *t, struct tp_track *track)
{
    int rc = read_side(t, 1, &track->width, "the width is missing: the first line");
    if (!rc)
        rc = read_side(t, track->width, &track->height, "the height is missing: the second line");
    if (rc)
        return rc;
    size_t rows_start = t->next;
    unsigned rows_line = t->line;
    rc = read_rows(t, track);
    if (rc)
        return rc;
    while (tp__text_next_line(t))
        if (t->end > t->start)
            return tp__text_refuse(t, t->start, "text after the last row");
    track->cells = malloc((size_t)track->width * track->height);
    track->starts = malloc((track->start_count + 1) * sizeof *track->starts);
    track->finishes = malloc((track->finish_count + 1) * sizeof *track->finishes);
    if (!track->cells || !track->starts || !track->finishes)
        return TP_ERR_NO_MEMORY;
    tp__text_start_over(t, rows_start, rows_line);
    return read_rows(t, track);
}

int tp_track_parse(struct tp_track *track, const char *text, size_t size, struct tp_place *place,
                   const char **reason)
{
    struct tp__text t = tp__text_open(text, size, place, reason);
    *track = (struct tp_track){0};
    int rc = parse(&t, track);
    if (rc)
        tp_track_fini(track);
    return rc;
}

void tp_track_fini(struct tp_track *track)
{
    free(track->cells);
    free(track->starts);
    free(track->finishes);
    *track = (struct tp_track){0};
}
