#include "client/cli/inspect_draw.h"

#include <stdlib.h>
#include <string.h>

const struct tp_look_colour tp_look_colours[TP_LOOK_KINDS] = {
    [TP_LOOK_IS_CLOSED] = {"CLOSED", 66, 112, 214}, [TP_LOOK_IS_OPEN] = {"OPEN", 92, 214, 122}, [TP_LOOK_IS_RAISED] = {"H RAISED", 240, 140, 40},
    [TP_LOOK_IS_FRESH] = {"TRACED", 214, 92, 214},  [TP_LOOK_IS_PATH] = {"PATH", 250, 232, 110}, [TP_LOOK_IS_GOAL] = {"GOAL", 240, 62, 62},
    [TP_LOOK_IS_AGENT] = {"AGENT", 255, 255, 255},
};

/* ---- What is drawn ---- */

struct span {
    uint32_t low, high; /* both included */
};

static void widen(struct span *span, uint32_t at)
{
    span->low = at < span->low ? at : span->low;
    span->high = at > span->high ? at : span->high;
}

/* A margin around what is known, within the map; cut to the longest side around the agent. */
static void frame(struct span span, uint32_t agent, uint32_t side, uint32_t *from, uint32_t *size)
{
    enum { MARGIN = 16, HALF = TP_LOOK_PART_SIDE / 2 };
    uint32_t low = span.low > MARGIN ? span.low - MARGIN : 0, high = side - span.high > MARGIN ? span.high + MARGIN : side - 1;
    if (high - low >= TP_LOOK_PART_SIDE) {
        uint32_t first = agent > HALF ? agent - HALF : 0;
        low = first > low ? first : low;
        high = high - low >= TP_LOOK_PART_SIDE ? low + TP_LOOK_PART_SIDE - 1 : high;
    }
    *from = low;
    *size = high - low + 1;
}

struct tp_look_window tp_look_window(const struct tp_look *look)
{
    struct tp_look_window window = {.width = look->width, .height = look->height};
    if (look->width <= TP_LOOK_WHOLE_SIDE && look->height <= TP_LOOK_WHOLE_SIDE)
        return window;
    uint32_t agent_x = look->cell % look->width, agent_y = look->cell / look->width;
    struct span x = {agent_x, agent_x}, y = {agent_y, agent_y};
    static const enum tp_look_list lists[] = {TP_LOOK_PATH, TP_LOOK_FRESH, TP_LOOK_OPEN, TP_LOOK_CLOSED, TP_LOOK_RAISED};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (size_t k = 0; k < look->lists[lists[i]].count; k++) {
            widen(&x, (uint32_t)(look->lists[lists[i]].values[k] % look->width));
            widen(&y, (uint32_t)(look->lists[lists[i]].values[k] / look->width));
        }
    frame(x, agent_x, look->width, &window.x, &window.width);
    frame(y, agent_y, look->height, &window.y, &window.height);
    return window;
}

/* ---- Tints ---- */

struct canvas {
    const struct tp_look *look;
    struct tp_look_window window;
    struct tp_draw_tint *tints;
    size_t count;
};

/* Of a cell of the map; one that lies outside the window is left out. */
static void tint(struct canvas *canvas, int64_t x, int64_t y, enum tp_look_kind kind, uint32_t percent)
{
    const struct tp_look_window *window = &canvas->window;
    x -= window->x;
    y -= window->y;
    if (x < 0 || y < 0 || x >= window->width || y >= window->height)
        return;
    const struct tp_look_colour *colour = &tp_look_colours[kind];
    canvas->tints[canvas->count++] =
        (struct tp_draw_tint){(uint32_t)y * window->width + (uint32_t)x, colour->red, colour->green, colour->blue, (uint8_t)percent};
}

static void tint_list(struct canvas *canvas, enum tp_look_list list, enum tp_look_kind kind, uint32_t percent)
{
    const struct tp_look_numbers *cells = &canvas->look->lists[list];
    for (size_t i = 0; i < cells->count; i++)
        tint(canvas, (int64_t)(cells->values[i] % canvas->look->width), (int64_t)(cells->values[i] / canvas->look->width), kind, percent);
}

/* The more h was raised, the stronger. */
static void tint_raised(struct canvas *canvas)
{
    const struct tp_look_numbers *cells = &canvas->look->lists[TP_LOOK_RAISED], *by = &canvas->look->lists[TP_LOOK_RAISED_BY];
    uint64_t most = 1;
    for (size_t i = 0; i < by->count; i++)
        most = by->values[i] > most ? by->values[i] : most;
    for (size_t i = 0; i < cells->count; i++) {
        uint32_t percent = 35 + (uint32_t)(50.0 * (double)by->values[i] / (double)most);
        tint(canvas, (int64_t)(cells->values[i] % canvas->look->width), (int64_t)(cells->values[i] / canvas->look->width), TP_LOOK_IS_RAISED, percent);
    }
}

enum { SPOT_CELLS = 7 * 7 };

/* A cell, and on small scales what is around it, to be found. */
static void tint_spot(struct canvas *canvas, uint64_t cell, enum tp_look_kind kind, uint32_t scale)
{
    int64_t around = scale < 3 ? 3 : scale < 7 ? 1 : 0, x = (int64_t)(cell % canvas->look->width), y = (int64_t)(cell / canvas->look->width);
    for (int64_t dy = -around; dy <= around; dy++)
        for (int64_t dx = -around; dx <= around; dx++)
            tint(canvas, x + dx, y + dy, kind, 100);
}

static size_t tints_of(const struct tp_look *look)
{
    size_t count = SPOT_CELLS * (1 + look->goals.count);
    for (int i = 0; i < TP_LOOK_LISTS; i++)
        count += look->lists[i].count;
    return count;
}

/* ---- The legend ---- */

/* 5 x 7 points a letter, the topmost row first, the leftmost point the highest of 5 bits. */
static const struct {
    char letter;
    uint8_t rows[7];
} letters[] = {
    {'A', {14, 17, 17, 31, 17, 17, 17}}, {'C', {14, 17, 16, 16, 16, 17, 14}}, {'D', {30, 17, 17, 17, 17, 17, 30}}, {'E', {31, 16, 16, 30, 16, 16, 31}},
    {'G', {14, 17, 16, 23, 17, 17, 15}}, {'H', {17, 17, 17, 31, 17, 17, 17}}, {'I', {14, 4, 4, 4, 4, 4, 14}},      {'L', {16, 16, 16, 16, 16, 16, 31}},
    {'N', {17, 25, 21, 19, 17, 17, 17}}, {'O', {14, 17, 17, 17, 17, 17, 14}}, {'P', {30, 17, 17, 30, 16, 16, 16}}, {'R', {30, 17, 17, 30, 20, 18, 17}},
    {'S', {15, 16, 16, 14, 1, 1, 30}},   {'T', {31, 4, 4, 4, 4, 4, 4}},
};

enum { POINT = 2, LETTER = 6 * POINT, SWATCH = 7 * POINT, GAP = 12, LEGEND_HEIGHT = SWATCH + 2 * GAP };

static void paint(struct tp_image *image, uint32_t x, uint32_t y, uint32_t width, uint32_t height, const struct tp_look_colour *colour)
{
    for (uint32_t py = y; py < y + height && py < image->height; py++)
        for (uint32_t px = x; px < x + width && px < image->width; px++) {
            uint8_t *pixel = image->rgb + 3 * ((size_t)py * image->width + px);
            pixel[0] = colour->red;
            pixel[1] = colour->green;
            pixel[2] = colour->blue;
        }
}

static void paint_word(struct tp_image *image, uint32_t x, uint32_t y, const char *word)
{
    static const struct tp_look_colour ink = {NULL, 222, 226, 234};
    for (; *word; word++, x += LETTER)
        for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
            for (uint32_t point = 0; letters[i].letter == *word && point < 35; point++)
                if (letters[i].rows[point / 5] >> (4 - point % 5) & 1)
                    paint(image, x + point % 5 * POINT, y + point / 5 * POINT, POINT, POINT, &ink);
}

static uint32_t entry_width(enum tp_look_kind kind)
{
    return SWATCH + POINT * 3 + LETTER * (uint32_t)strlen(tp_look_colours[kind].name) + 2 * GAP;
}

/* Lines of the legend on a picture so wide; paints it from `y` on where there is an image. */
static uint32_t legend(struct tp_image *image, uint32_t width, uint32_t y)
{
    uint32_t x = GAP, lines = 1;
    for (int kind = 0; kind < TP_LOOK_KINDS; kind++) {
        uint32_t wide = entry_width((enum tp_look_kind)kind);
        if (x > GAP && x + wide > width) {
            x = GAP;
            y += SWATCH + GAP;
            lines++;
        }
        if (image) {
            paint(image, x, y, SWATCH, SWATCH, &tp_look_colours[kind]);
            paint_word(image, x + SWATCH + POINT * 3, y, tp_look_colours[kind].name);
        }
        x += wide;
    }
    return lines;
}

/* The picture with the legend under it takes its place. */
static int add_legend(struct tp_image *image)
{
    static const struct tp_look_colour paper = {NULL, 20, 22, 28};
    uint32_t least = GAP + entry_width(TP_LOOK_IS_RAISED), width = image->width > least ? image->width : least;
    uint32_t height = image->height + LEGEND_HEIGHT + (legend(NULL, width, 0) - 1) * (SWATCH + GAP);
    struct tp_image whole;
    int error = tp_image_init(&whole, width, height);
    if (error)
        return error;
    paint(&whole, 0, 0, width, height, &paper);
    for (uint32_t y = 0; y < image->height; y++)
        memcpy(whole.rgb + 3 * (size_t)y * width, image->rgb + 3 * (size_t)y * image->width, 3 * (size_t)image->width);
    legend(&whole, width, image->height + GAP);
    tp_image_fini(image);
    *image = whole;
    return TP_OK;
}

/* ---- The whole ---- */

/* The ground of the window; NULL: out of memory. */
static uint8_t *ground_of(const struct tp_look *look, const struct tp_look_window *window, const uint8_t *cells)
{
    uint8_t *ground = malloc((size_t)window->width * window->height);
    if (!ground)
        return NULL;
    memset(ground, '.', (size_t)window->width * window->height);
    for (uint32_t y = 0; cells && y < window->height; y++)
        memcpy(ground + (size_t)y * window->width, cells + (size_t)(window->y + y) * look->width + window->x, window->width);
    return ground;
}

static uint32_t suiting_scale(const struct tp_look_window *window)
{
    enum { SIDE = 1024, MOST = 28 };
    uint32_t longer = window->width > window->height ? window->width : window->height, scale = SIDE / longer;
    return scale < 1 ? 1 : scale > MOST ? MOST : scale;
}

int tp_look_draw(struct tp_image *image, const struct tp_look *look, const uint8_t *cells, const struct tp_profile *profile, uint32_t scale)
{
    *image = (struct tp_image){0};
    if (look->is_graph)
        return TP_ERR_UNSUPPORTED;
    static const struct tp_profile all_free = {.weight = {['.'] = 1}};
    struct canvas canvas = {.look = look, .window = tp_look_window(look), .tints = malloc(tints_of(look) * sizeof(struct tp_draw_tint))};
    uint8_t *ground = ground_of(look, &canvas.window, cells);
    scale = scale ? scale : suiting_scale(&canvas.window);
    int error = canvas.tints && ground ? TP_OK : TP_ERR_NO_MEMORY;
    if (!error) {
        tint_list(&canvas, TP_LOOK_CLOSED, TP_LOOK_IS_CLOSED, 62);
        tint_list(&canvas, TP_LOOK_OPEN, TP_LOOK_IS_OPEN, 80);
        tint_raised(&canvas);
        tint_list(&canvas, TP_LOOK_FRESH, TP_LOOK_IS_FRESH, 95);
        tint_list(&canvas, TP_LOOK_PATH, TP_LOOK_IS_PATH, 95);
        for (size_t i = 0; i < look->goals.count; i++)
            tint_spot(&canvas, look->goals.values[i], TP_LOOK_IS_GOAL, scale);
        tint_spot(&canvas, look->cell, TP_LOOK_IS_AGENT, scale);
        const struct tp_draw draw = {.width = canvas.window.width,
                                     .height = canvas.window.height,
                                     .cells = ground,
                                     .profile = cells ? profile : &all_free,
                                     .tints = canvas.tints,
                                     .tint_count = canvas.count,
                                     .scale = scale};
        error = tp_draw_render(image, &draw);
    }
    if (!error && (error = add_legend(image)))
        tp_image_fini(image);
    free(ground);
    free(canvas.tints);
    return error;
}
