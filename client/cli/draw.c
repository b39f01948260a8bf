/* From cells to pixels: the ground first, then open doors, each agent's way, closed doors, then starts, goals
 * and agents.
 *
 * The ground is dark and the ways are bright, since it is the ways that the picture is for. Walls are darkest
 * and carry a thin light outline, so that rooms and streets read as in a plan. */
#include "client/cli/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_PIXELS = 1536, SIDE_PIXELS_MAX = 32768, SCALE_AUTO_MAX = 28 };

struct colour {
    uint8_t red, green, blue;
};

/* ---- Pixels ---- */

int tp_image_init(struct tp_image *image, uint32_t width, uint32_t height)
{
    *image = (struct tp_image){0};
    if (width == 0 || height == 0 || width > SIDE_PIXELS_MAX || height > SIDE_PIXELS_MAX)
        return TP_ERR_INVALID_ARGUMENT;
    uint8_t *rgb = calloc((size_t)width * height, 3);
    if (!rgb)
        return TP_ERR_NO_MEMORY;
    *image = (struct tp_image){width, height, rgb};
    return TP_OK;
}

void tp_image_fini(struct tp_image *image)
{
    free(image->rgb);
    *image = (struct tp_image){0};
}

static uint8_t blend_channel(uint8_t under, uint8_t over, double alpha)
{
    return (uint8_t)lround(under + (over - under) * alpha);
}

static struct colour mix(struct colour under, struct colour over, double alpha)
{
    return (struct colour){blend_channel(under.red, over.red, alpha),
                           blend_channel(under.green, over.green, alpha),
                           blend_channel(under.blue, over.blue, alpha)};
}

/* Blends a colour over a pixel; beyond the image it does nothing. alpha 0..1 */
static void blend(struct tp_image *image, int64_t x, int64_t y, struct colour colour, double alpha)
{
    if (x < 0 || y < 0 || x >= image->width || y >= image->height)
        return;
    uint8_t *pixel = image->rgb + 3 * ((size_t)y * image->width + (size_t)x);
    struct colour mixed = mix((struct colour){pixel[0], pixel[1], pixel[2]}, colour, alpha);
    pixel[0] = mixed.red;
    pixel[1] = mixed.green;
    pixel[2] = mixed.blue;
}

static double clamp_unit(double v)
{
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

/* A disc (inner < 0) or a ring between two radii, with smooth edges. Centre and radii in pixels. */
static void blend_ring(struct tp_image *image, double x, double y, double inner, double outer,
                       struct colour colour, double alpha)
{
    for (int64_t py = (int64_t)floor(y - outer - 1); py <= (int64_t)ceil(y + outer + 1); py++)
        for (int64_t px = (int64_t)floor(x - outer - 1); px <= (int64_t)ceil(x + outer + 1); px++) {
            double distance = hypot((double)px + 0.5 - x, (double)py + 0.5 - y);
            double cover = clamp_unit(outer + 0.5 - distance);
            if (inner >= 0)
                cover *= clamp_unit(distance - inner + 0.5);
            if (cover > 0)
                blend(image, px, py, colour, cover * alpha);
        }
}

/* ---- The ground ---- */

/* A cell's own brightness, -1..1, so that large areas are not flat. */
static double grain(uint32_t x, uint32_t y)
{
    uint32_t hash = x * 0x9e3779b1u ^ y * 0x85ebca77u;
    hash = (hash ^ hash >> 15) * 0x2c1b3c6du;
    hash ^= hash >> 12;
    return (double)(hash & 0xffff) / 32767.5 - 1;
}

static uint16_t weight_of(const struct tp_draw *draw, int64_t x, int64_t y)
{
    if (x < 0 || y < 0 || x >= draw->width || y >= draw->height)
        return 0;
    return draw->profile->weight[draw->cells[(size_t)y * draw->width + (size_t)x]];
}

static uint8_t class_at(const struct tp_draw *draw, int64_t x, int64_t y)
{
    if (x < 0 || y < 0 || x >= draw->width || y >= draw->height)
        return '@';
    return draw->cells[(size_t)y * draw->width + (size_t)x];
}

static struct colour ground_colour(uint8_t class, uint16_t weight)
{
    if (weight == 0) {
        switch (class) {
        case 'W':
            return (struct colour){17, 44, 72};
        case 'T':
            return (struct colour){16, 42, 31};
        default:
            return (struct colour){13, 14, 18};
        }
    }
    struct colour floor_colour = class == 'G'   ? (struct colour){37, 52, 42}
                                 : class == 'S' ? (struct colour){48, 52, 36}
                                                : (struct colour){42, 46, 57};
    /* heavy ground turns to rust, by the logarithm of its weight */
    return mix(floor_colour, (struct colour){104, 58, 34}, clamp_unit(log2(weight) / 10));
}

/* The colour of the outline of what blocks, where it meets open ground. */
static struct colour edge_colour(uint8_t class)
{
    return class == 'W'   ? (struct colour){44, 84, 120}
           : class == 'T' ? (struct colour){34, 76, 52}
                          : (struct colour){94, 101, 120};
}

static void fill_cell(struct tp_image *image, uint32_t scale, uint32_t x, uint32_t y, struct colour colour,
                      double alpha)
{
    for (uint32_t py = 0; py < scale; py++)
        for (uint32_t px = 0; px < scale; px++)
            blend(image, (int64_t)x * scale + px, (int64_t)y * scale + py, colour, alpha);
}

/* Lines along those sides of a blocked cell that face open ground or another kind of block. */
static void draw_edges(struct tp_image *image, const struct tp_draw *draw, uint32_t scale, uint32_t x,
                       uint32_t y)
{
    static const int8_t side_x[4] = {1, 0, -1, 0}, side_y[4] = {0, 1, 0, -1};
    uint8_t class = draw->cells[(size_t)y * draw->width + x];
    uint32_t thickness = scale < 3 ? 1 : (scale + 3) / 6 ? (scale + 3) / 6 : 1;
    for (int side = 0; side < 4; side++) {
        if (!weight_of(draw, (int64_t)x + side_x[side], (int64_t)y + side_y[side]))
            continue;
        if (scale < 3) {
            fill_cell(image, scale, x, y, edge_colour(class), 0.55);
            return;
        }
        for (uint32_t along = 0; along < scale; along++)
            for (uint32_t in = 0; in < thickness; in++) {
                uint32_t px = side_x[side] > 0 ? scale - 1 - in : side_x[side] < 0 ? in : along;
                uint32_t py = side_y[side] > 0 ? scale - 1 - in : side_y[side] < 0 ? in : along;
                blend(image, (int64_t)x * scale + px, (int64_t)y * scale + py, edge_colour(class), 0.85);
            }
    }
}

static void draw_ground(struct tp_image *image, const struct tp_draw *draw, uint32_t scale)
{
    for (uint32_t y = 0; y < draw->height; y++)
        for (uint32_t x = 0; x < draw->width; x++) {
            uint8_t class = draw->cells[(size_t)y * draw->width + x];
            uint16_t weight = weight_of(draw, x, y);
            struct colour colour = ground_colour(class, weight);
            double light = grain(x, y) * (class == 'T' ? 0.20 : 0.035);
            struct colour towards = light > 0 ? (struct colour){150, 160, 150} : (struct colour){0, 0, 0};
            fill_cell(image, scale, x, y, mix(colour, towards, fabs(light)), 1);
            if (weight == 0) {
                draw_edges(image, draw, scale, x, y);
                continue;
            }
            /* what stands to the upper left throws a shadow */
            double shadow = 0;
            if (!weight_of(draw, x, (int64_t)y - 1) && class_at(draw, x, (int64_t)y - 1) != 'W')
                shadow += 0.22;
            if (!weight_of(draw, (int64_t)x - 1, y) && class_at(draw, (int64_t)x - 1, y) != 'W')
                shadow += 0.22;
            if (shadow > 0)
                fill_cell(image, scale, x, y, (struct colour){6, 7, 10}, shadow);
        }
}

static void draw_tints(struct tp_image *image, const struct tp_draw *draw, uint32_t scale)
{
    for (size_t i = 0; i < draw->tint_count; i++) {
        const struct tp_draw_tint *tint = &draw->tints[i];
        if (tint->cell < (uint64_t)draw->width * draw->height)
            fill_cell(image, scale, tint->cell % draw->width, tint->cell / draw->width, (struct colour){tint->red, tint->green, tint->blue},
                      tint->percent / 100.0);
    }
}

/* Doors that are open or that are closed at the end. A door is at least 5 pixels wide, to be found. */
static void draw_doors(struct tp_image *image, const struct tp_draw *draw, uint32_t scale, bool closed)
{
    int64_t more = scale < 5 ? (6 - (int64_t)scale) / 2 : 0;
    struct colour colour = closed ? (struct colour){240, 70, 48} : (struct colour){40, 132, 104};
    for (size_t i = 0; i < draw->door_count; i++) {
        if (draw->doors[i].cell >= (uint64_t)draw->width * draw->height || draw->doors[i].closed != closed)
            continue;
        int64_t left = (int64_t)(draw->doors[i].cell % draw->width) * scale;
        int64_t top = (int64_t)(draw->doors[i].cell / draw->width) * scale;
        for (int64_t y = top - more; y < top + scale + more; y++)
            for (int64_t x = left - more; x < left + scale + more; x++)
                blend(image, x, y, colour, closed ? 0.9 : 0.7);
    }
}

/* ---- Ways ---- */

/* A colour for agent i, unlike those of its neighbours in number: hues a golden ratio apart. */
static struct colour agent_colour(size_t i)
{
    double hue = fmod(0.08 + (double)i * 0.61803398875, 1) * 6;
    double strength = i % 3 == 0 ? 0.62 : i % 3 == 1 ? 0.78 : 0.48;
    double rgb[3];
    for (int channel = 0; channel < 3; channel++) {
        double k = fmod(hue + (channel == 0 ? 0 : channel == 1 ? 4 : 2), 6); /* distance round the circle */
        double level = clamp_unit(fabs(k - 3) - 1);
        rgb[channel] = 255 * (1 - strength * (1 - level));
    }
    /* blue is dark to the eye: what is too dark for the ground is whitened */
    double light = 0.30 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2],
           lift = light < 150 ? (150 - light) / (255 - light) : 0;
    for (int channel = 0; channel < 3; channel++)
        rgb[channel] += (255 - rgb[channel]) * lift;
    return (struct colour){(uint8_t)rgb[0], (uint8_t)rgb[1], (uint8_t)rgb[2]};
}

struct point {
    double x, y;
};

/* The middle of a cell in pixels, moved by a part of a cell that differs between agents, so that ways that
 * share cells lie side by side. */
static struct point cell_point(const struct tp_draw *draw, uint32_t scale, uint32_t cell, size_t agent)
{
    double aside = scale >= 2 ? 0.44 * scale : 0;
    double dx = fmod((double)agent * 0.754877666, 1) - 0.5, dy = fmod((double)agent * 0.569840291, 1) - 0.5;
    return (struct point){(cell % draw->width + 0.5) * scale + dx * aside,
                          (cell / draw->width + 0.5) * scale + dy * aside};
}

/* How strongly each pixel is covered by the way being drawn, 0..255: a way that crosses itself does not add
 * up. */
struct cover {
    uint8_t *strength;
    uint32_t width, height;
    uint32_t left, top, right, bottom; /* what was touched, right and bottom excluded */
};

static void cover_segment(struct cover *cover, struct point a, struct point b, double radius, double strength)
{
    double glow = 3 * radius + 1;
    int64_t left = (int64_t)floor(fmin(a.x, b.x) - glow), right = (int64_t)ceil(fmax(a.x, b.x) + glow);
    int64_t top = (int64_t)floor(fmin(a.y, b.y) - glow), bottom = (int64_t)ceil(fmax(a.y, b.y) + glow);
    left = left < 0 ? 0 : left;
    top = top < 0 ? 0 : top;
    right = right > cover->width ? cover->width : right;
    bottom = bottom > cover->height ? cover->height : bottom;
    if (left >= right || top >= bottom)
        return;
    cover->left = left < cover->left ? (uint32_t)left : cover->left;
    cover->top = top < cover->top ? (uint32_t)top : cover->top;
    cover->right = right > cover->right ? (uint32_t)right : cover->right;
    cover->bottom = bottom > cover->bottom ? (uint32_t)bottom : cover->bottom;
    double dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
    for (int64_t y = top; y < bottom; y++)
        for (int64_t x = left; x < right; x++) {
            double px = (double)x + 0.5 - a.x, py = (double)y + 0.5 - a.y;
            double along = length2 > 0 ? clamp_unit((px * dx + py * dy) / length2) : 0;
            double distance =
                sqrt((px - along * dx) * (px - along * dx) + (py - along * dy) * (py - along * dy));
            double fade = clamp_unit(1 - distance / glow);
            double level = fmax(clamp_unit(radius + 0.5 - distance), 0.20 * fade * fade) * strength;
            uint8_t *pixel = &cover->strength[(size_t)y * cover->width + (size_t)x];
            uint8_t value = (uint8_t)(255 * level);
            if (value > *pixel)
                *pixel = value;
        }
}

/* Blends what is covered into the image and wipes the cover for the next way. */
static void cover_blend(struct cover *cover, struct tp_image *image, struct colour colour)
{
    for (uint32_t y = cover->top; y < cover->bottom; y++) {
        uint8_t *row = cover->strength + (size_t)y * cover->width;
        for (uint32_t x = cover->left; x < cover->right; x++) {
            if (!row[x])
                continue;
            blend(image, x, y, colour, row[x] / 255.0 * 0.92);
            row[x] = 0;
        }
    }
    cover->left = cover->top = UINT32_MAX;
    cover->right = cover->bottom = 0;
}

/* The way as points, each cell once however long the agent stood on it, then rounded a little: every inner
 * point goes half-way to the middle of its neighbours, which stays inside the cells walked. Gives how many
 * points. */
static size_t way_points(const struct tp_draw *draw, uint32_t scale, size_t agent, struct point *points)
{
    const struct tp_draw_agent *a = &draw->agents[agent];
    size_t count = 0;
    uint32_t last = TP_DRAW_NO_CELL;
    for (size_t i = 0; i < a->count; i++) {
        if (a->cells[i] == last || a->cells[i] >= (uint64_t)draw->width * draw->height)
            continue;
        last = a->cells[i];
        points[count++] = cell_point(draw, scale, last, agent);
    }
    struct point before = count ? points[0] : (struct point){0, 0};
    for (size_t i = 1; i + 1 < count; i++) {
        struct point here = points[i];
        points[i].x = here.x / 2 + (before.x + points[i + 1].x) / 4;
        points[i].y = here.y / 2 + (before.y + points[i + 1].y) / 4;
        before = here;
    }
    return count;
}

static int draw_ways(struct tp_image *image, const struct tp_draw *draw, uint32_t scale, double radius)
{
    size_t longest = 0;
    for (size_t i = 0; i < draw->agent_count; i++)
        longest = draw->agents[i].count > longest ? draw->agents[i].count : longest;
    if (!longest)
        return TP_OK;
    struct point *points = malloc(longest * sizeof *points);
    struct cover cover = {.strength = calloc((size_t)image->width * image->height, 1),
                          .width = image->width,
                          .height = image->height,
                          .left = UINT32_MAX,
                          .top = UINT32_MAX};
    if (!points || !cover.strength) {
        free(points);
        free(cover.strength);
        return TP_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < draw->agent_count; i++) {
        size_t count = way_points(draw, scale, i, points);
        for (size_t n = 1; n < count; n++) {
            double part = (double)n / (double)(count - 1); /* of the way */
            cover_segment(&cover, points[n - 1], points[n], radius, 0.28 + 0.72 * part * part);
        }
        if (count > 1)
            cover_blend(&cover, image, agent_colour(i));
    }
    free(points);
    free(cover.strength);
    return TP_OK;
}

static bool on_map(const struct tp_draw *draw, uint32_t cell)
{
    return cell < (uint64_t)draw->width * draw->height;
}

static void draw_marks(struct tp_image *image, const struct tp_draw *draw, uint32_t scale, double radius)
{
    static const struct colour dark = {8, 9, 12}, white = {255, 255, 255};
    double size = fmax(2.2 * radius, 0.34 * scale);
    for (size_t i = 0; i < draw->agent_count; i++) {
        const struct tp_draw_agent *agent = &draw->agents[i];
        struct colour colour = agent_colour(i);
        if (on_map(draw, agent->start)) {
            struct point p = cell_point(draw, scale, agent->start, i);
            blend_ring(image, p.x, p.y, -1, size * 0.62, colour, 0.75);
        }
    }
    for (size_t i = 0; i < draw->agent_count; i++) {
        const struct tp_draw_agent *agent = &draw->agents[i];
        struct colour colour = agent_colour(i);
        if (on_map(draw, agent->goal)) {
            struct point p = cell_point(draw, scale, agent->goal, i);
            blend_ring(image, p.x, p.y, -1, size * 1.75, dark, 0.75);
            blend_ring(image, p.x, p.y, size * 0.95, size * 1.4, colour, 1);
            if (agent->arrived)
                blend_ring(image, p.x, p.y, -1, size * 0.72, white, 0.95);
        }
        uint32_t at = agent->count ? agent->cells[agent->count - 1] : agent->start;
        if (!agent->arrived && on_map(draw, at)) {
            struct point p = cell_point(draw, scale, at, i);
            blend_ring(image, p.x, p.y, -1, size * 1.25, dark, 0.8);
            blend_ring(image, p.x, p.y, -1, size * 0.9, colour, 1);
        }
    }
}

/* ---- The whole ---- */

/* Half a way's thickness in pixels: few ways are drawn bolder than many; never wider than half a cell, if a
 * cell is more than some pixels wide. */
static double line_radius(uint32_t scale, size_t agents)
{
    double bold = agents <= 3 ? 2.4 : agents <= 40 ? 1.5 : 1;
    return fmin(fmax(0.7, 0.15 * scale + 0.35) * bold, fmax(2, 0.2 * scale));
}

int tp_draw_render(struct tp_image *image, const struct tp_draw *draw)
{
    uint32_t longer = draw->width > draw->height ? draw->width : draw->height;
    uint32_t scale = draw->scale;
    if (!scale) {
        scale = SIDE_PIXELS / (longer ? longer : 1);
        scale = scale < 1 ? 1 : scale > SCALE_AUTO_MAX ? SCALE_AUTO_MAX : scale;
    }
    *image = (struct tp_image){0};
    if ((uint64_t)longer * scale > SIDE_PIXELS_MAX)
        return TP_ERR_INVALID_ARGUMENT;
    int rc = tp_image_init(image, draw->width * scale, draw->height * scale);
    if (rc)
        return rc;
    double radius = draw->line > 0 ? draw->line / 2 : line_radius(scale, draw->agent_count);
    draw_ground(image, draw, scale);
    draw_tints(image, draw, scale);
    draw_doors(image, draw, scale, false);
    rc = draw_ways(image, draw, scale, radius);
    if (rc) {
        tp_image_fini(image);
        return rc;
    }
    draw_doors(image, draw, scale, true);
    draw_marks(image, draw, scale, radius);
    return TP_OK;
}

/* ---- On a terminal ---- */

/* The mean of the image's pixels that fall on pixel (x, y) of a width x height reduction. */
static struct colour reduced(const struct tp_image *image, uint32_t x, uint32_t y, uint32_t width,
                             uint32_t height)
{
    uint32_t x0 = (uint32_t)((uint64_t)x * image->width / width);
    uint32_t x1 = (uint32_t)((uint64_t)(x + 1) * image->width / width);
    uint32_t y0 = (uint32_t)((uint64_t)y * image->height / height);
    uint32_t y1 = (uint32_t)((uint64_t)(y + 1) * image->height / height);
    x1 = x1 > x0 ? x1 : x0 + 1;
    y1 = y1 > y0 ? y1 : y0 + 1;
    uint64_t sum[3] = {0}, count = (uint64_t)(x1 - x0) * (y1 - y0);
    for (uint32_t py = y0; py < y1; py++)
        for (uint32_t px = x0; px < x1; px++)
            for (int channel = 0; channel < 3; channel++)
                sum[channel] += image->rgb[3 * ((size_t)py * image->width + px) + (size_t)channel];
    return (struct colour){(uint8_t)(sum[0] / count), (uint8_t)(sum[1] / count), (uint8_t)(sum[2] / count)};
}

int tp_draw_terminal(FILE *out, const struct tp_image *image, uint32_t columns)
{
    uint32_t width = columns < image->width ? columns : image->width;
    width = width ? width : 1;
    uint32_t height = (uint32_t)((uint64_t)image->height * width / image->width);
    height = height ? height : 1;
    for (uint32_t y = 0; y < height; y += 2) {
        for (uint32_t x = 0; x < width; x++) {
            struct colour upper = reduced(image, x, y, width, height);
            if (y + 1 < height) {
                struct colour lower = reduced(image, x, y + 1, width, height);
                fprintf(out, "\x1b[38;2;%u;%u;%um\x1b[48;2;%u;%u;%um", upper.red, upper.green, upper.blue,
                        lower.red, lower.green, lower.blue);
            } else {
                fprintf(out, "\x1b[38;2;%u;%u;%um\x1b[49m", upper.red, upper.green, upper.blue);
            }
            fputs("\xe2\x96\x80", out); /* upper half block */
        }
        fputs("\x1b[0m\n", out);
    }
    return fflush(out) == 0 && !ferror(out) ? TP_OK : TP_ERR_IO;
}
