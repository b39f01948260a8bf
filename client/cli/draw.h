/* Draws a map, agents' paths and doors into an RGB image, and an image as colour blocks on a terminal.
 *
 * What it is: from cells to pixels, with no file but the terminal's FILE; png.h writes the image. The command
 * `tickpath draw` and `tickpath run --png` call it.
 * What it refuses: nothing that is a map; path cells outside it are left out.
 */
#ifndef TP_CLI_DRAW_H
#define TP_CLI_DRAW_H

#include "base/error.h"
#include "map/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* An image, 3 bytes a pixel (red, green, blue), rows from the top. */
struct tp_image {
    uint32_t width, height; /* pixels */
    uint8_t *rgb;           /* width * height * 3 bytes; freed by tp_image_fini */
};

int tp_image_init(struct tp_image *image, uint32_t width, uint32_t height) TP_MUST_CHECK;
void tp_image_fini(struct tp_image *image);

#define TP_DRAW_NO_CELL UINT32_MAX

/* One agent. Cells are numbered y * width + x. */
struct tp_draw_agent {
    const uint32_t
        *cells; /* where it stood tick by tick, from its first cell to its last; borrowed, repeats allowed */
    size_t count;         /* cells; 0 for an agent that has not moved */
    uint32_t start, goal; /* TP_DRAW_NO_CELL where there is none */
    bool arrived;         /* its goal is drawn filled, else as a ring */
};

struct tp_draw_door {
    uint32_t cell;
    bool closed; /* at the end */
};

/* Cells in a colour of their own, over the ground and under the ways. */
struct tp_draw_tint {
    uint32_t cell;
    uint8_t red, green, blue;
    uint8_t percent; /* of the colour, the rest being the ground's */
};

/* What to draw. Everything is borrowed for the call. */
struct tp_draw {
    uint32_t width, height; /* cells */
    const uint8_t *cells;   /* terrain classes, row-major */
    const struct tp_profile *profile;
    const struct tp_draw_agent *agents;
    size_t agent_count;
    const struct tp_draw_door *doors;
    size_t door_count;
    const struct tp_draw_tint *tints;
    size_t tint_count;
    uint32_t scale; /* pixels on a cell's side; 0 for one that makes the longer side about 1536 pixels */
    double line;    /* thickness of the ways in pixels; 0 for one that suits the scale */
};

/* Draws into *image (made by the call). Ground by terrain and weight, walls with an outline, doors, then
 * every agent's way in a colour of its own that brightens towards its end, starts as dots, goals as rings.
 * TP_ERR_INVALID_ARGUMENT if a side would exceed 32768 pixels; TP_ERR_NO_MEMORY. On error *image is empty.
 * Cost: O(pixels + path cells * scale^2). */
int tp_draw_render(struct tp_image *image, const struct tp_draw *draw) TP_MUST_CHECK;

/* Writes the image to a terminal, two pixels a character (half blocks, 24-bit colours), reduced by whole-area
 * averages so that it is at most `columns` characters wide. TP_ERR_IO, TP_ERR_NO_MEMORY. */
int tp_draw_terminal(FILE *out, const struct tp_image *image, uint32_t columns) TP_MUST_CHECK;

/* The command `tickpath draw` (draw_command.c). */
int tp_cli_draw(int argc, char **argv);

#endif
