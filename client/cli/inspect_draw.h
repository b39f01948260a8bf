/* Draws a look into a search: the ground, what is open, closed and raised, the paths, the agent, with a legend under it.
 *
 * Of a map of at most TP_LOOK_WHOLE_SIDE cells on a side all is drawn; of a larger one the part that the search knows, cut to TP_LOOK_PART_SIDE cells a
 * side around the agent, so that no picture is larger than that. What it refuses: graphs, which have no places. Who calls it: `tickpath inspect`.
 */
#ifndef TP_CLI_INSPECT_DRAW_H
#define TP_CLI_INSPECT_DRAW_H

#include "client/cli/draw.h"
#include "client/cli/inspect_look.h"

enum { TP_LOOK_WHOLE_SIDE = 1536, TP_LOOK_PART_SIDE = 2048 };

/* What is drawn of the map. */
struct tp_look_window {
    uint32_t x, y, width, height;
};

struct tp_look_window tp_look_window(const struct tp_look *look);

/* The ground: terrain classes of the whole map, row by row, and what they weigh; NULL: all of it is drawn as free. `scale`: pixels on a cell's side, 0 for one
 * that suits. TP_ERR_UNSUPPORTED: a graph; TP_ERR_INVALID_ARGUMENT: too many pixels; TP_ERR_NO_MEMORY. On error *image is empty. */
int tp_look_draw(struct tp_image *image, const struct tp_look *look, const uint8_t *cells, const struct tp_profile *profile, uint32_t scale) TP_MUST_CHECK;

/* The colours, as the legend names them; for whoever reads the picture. */
struct tp_look_colour {
    const char *name;
    uint8_t red, green, blue;
};
enum tp_look_kind {
    TP_LOOK_IS_CLOSED,
    TP_LOOK_IS_OPEN,
    TP_LOOK_IS_RAISED,
    TP_LOOK_IS_FRESH,
    TP_LOOK_IS_PATH,
    TP_LOOK_IS_GOAL,
    TP_LOOK_IS_AGENT,
    TP_LOOK_KINDS,
};
extern const struct tp_look_colour tp_look_colours[TP_LOOK_KINDS];

#endif
