/* A walled city in the country, as a game level has it.
 *
 * It is planned in straight lines and then bent: the plan is drawn on a sheet (country, streets, blocks, the
 * wall with its gates, the river with its bridges), and each cell of the map is read from the sheet at a
 * place moved by smooth noise, so that streets wind and walls curve. At the end what is not connected is
 * joined.
 *
 * On the sheet: '.' paved, 'G' grass, '@' building or wall, 'T' trees, 'W' water. */
#include "client/cli/generate_internal.h"

#include <stdlib.h>
#include <string.h>

/* Lengths in cells, worked out once from the map's size and the options. */
struct plan {
    struct tp__grid sheet;
    struct tp__rng rng;
    uint32_t block;    /* side of a block */
    uint32_t street;   /* width of a common street */
    uint32_t wall;     /* thickness of the city's wall */
    uint32_t radius_x; /* half axes of the city */
    uint32_t radius_y;
    uint32_t centre_x, centre_y;
    uint64_t trees, country; /* seeds of noise */
    bool river_upright;
    uint64_t river;       /* seed of its bends */
    uint32_t river_width; /* 0 for none */
};

struct rect {
    uint32_t x, y, width, height;
};

static uint32_t at_least(uint32_t value, uint32_t least)
{
    return value > least ? value : least;
}

static uint32_t edge_distance(const struct tp__grid *grid, uint32_t x, uint32_t y)
{
    uint32_t right = grid->width - 1 - x, below = grid->height - 1 - y;
    uint32_t nearer_x = x < right ? x : right, nearer_y = y < below ? y : below;
    return nearer_x < nearer_y ? nearer_x : nearer_y;
}

/* ---- The shape of the city ---- */

/* Whether a place lies in the city: an oval with square shoulders, made smaller by `inset`. */
static bool inside(const struct plan *plan, uint32_t x, uint32_t y, uint32_t inset)
{
    uint64_t dx = x > plan->centre_x ? x - plan->centre_x : plan->centre_x - x;
    uint64_t dy = y > plan->centre_y ? y - plan->centre_y : plan->centre_y - y;
    uint64_t rx = plan->radius_x > inset ? plan->radius_x - inset : 1;
    uint64_t ry = plan->radius_y > inset ? plan->radius_y - inset : 1;
    uint64_t u = dx * 1024 / rx, v = dy * 1024 / ry; /* the line is u^3 + v^3 = 1024^3 */
    return u < 1024 && v < 1024 && u * u * u + v * v * v < UINT64_C(1024) * 1024 * 1024;
}

/* Whether a whole rectangle lies inside: its corners do, since the shape is convex. */
static bool rect_inside(const struct plan *plan, struct rect r, uint32_t inset)
{
    return inside(plan, r.x, r.y, inset) && inside(plan, r.x + r.width - 1, r.y, inset) &&
           inside(plan, r.x, r.y + r.height - 1, inset) &&
           inside(plan, r.x + r.width - 1, r.y + r.height - 1, inset);
}

/* ---- Drawing on the sheet ---- */

static void put(const struct plan *plan, uint32_t x, uint32_t y, uint8_t class)
{
    if (x < plan->sheet.width && y < plan->sheet.height)
        plan->sheet.cells[(size_t)y * plan->sheet.width + x] = class;
}

static uint8_t get(const struct plan *plan, uint32_t x, uint32_t y)
{
    return x < plan->sheet.width && y < plan->sheet.height
               ? plan->sheet.cells[(size_t)y * plan->sheet.width + x]
               : '@';
}

static void fill(const struct plan *plan, struct rect r, uint8_t class)
{
    for (uint32_t y = r.y; y < r.y + r.height; y++)
        for (uint32_t x = r.x; x < r.x + r.width; x++)
            put(plan, x, y, class);
}

/* Fills the part of a rectangle that lies inside the city. */
static void fill_inside(const struct plan *plan, struct rect r, uint32_t inset, uint8_t class)
{
    for (uint32_t y = r.y; y < r.y + r.height; y++)
        for (uint32_t x = r.x; x < r.x + r.width; x++)
            if (inside(plan, x, y, inset))
                put(plan, x, y, class);
}

static void fill_disc(const struct plan *plan, uint32_t cx, uint32_t cy, uint32_t radius, uint8_t class)
{
    for (uint32_t dy = 0; dy <= 2 * radius; dy++)
        for (uint32_t dx = 0; dx <= 2 * radius; dx++) {
            int64_t a = (int64_t)dx - radius, b = (int64_t)dy - radius;
            if (a * a + b * b <= (int64_t)radius * radius + radius / 2)
                put(plan, cx + dx - radius, cy + dy - radius, class);
        }
}

static struct rect shrunk(struct rect r, uint32_t by)
{
    if (r.width <= 2 * by || r.height <= 2 * by)
        return (struct rect){r.x + r.width / 2, r.y + r.height / 2, 0, 0};
    return (struct rect){r.x + by, r.y + by, r.width - 2 * by, r.height - 2 * by};
}

/* ---- Blocks ---- */

/* Grass with trees in groups, and a pond if there is room. */
static void park(struct plan *plan, struct rect r)
{
    fill(plan, r, 'G');
    for (uint32_t y = r.y + 1; y + 1 < r.y + r.height; y++)
        for (uint32_t x = r.x + 1; x + 1 < r.x + r.width; x++)
            if (tp__noise(plan->trees, x, y, 7) > 40000 && tp__rng_percent(&plan->rng, 60))
                put(plan, x, y, 'T');
    uint32_t shorter = r.width < r.height ? r.width : r.height;
    if (shorter >= 18)
        fill_disc(plan, r.x + r.width / 2, r.y + r.height / 2, shorter / 5, 'W');
}

/* Paving with rows of stalls, or a fountain. */
static void plaza(struct plan *plan, struct rect r)
{
    fill(plan, r, '.');
    uint32_t shorter = r.width < r.height ? r.width : r.height;
    if (tp__rng_percent(&plan->rng, 50)) {
        fill_disc(plan, r.x + r.width / 2, r.y + r.height / 2, at_least(shorter / 8, 1), 'W');
        return;
    }
    for (uint32_t y = r.y + 4; y + 6 < r.y + r.height; y += 7)
        for (uint32_t x = r.x + 4; x + 6 < r.x + r.width; x += 8)
            if (tp__rng_percent(&plan->rng, 75))
                fill(plan, (struct rect){x, y, 3, 2}, '@');
}

/* A passage 3 wide from one side of a frame into its court: side 0 left, 1 right, 2 top, 3 bottom. */
static void passage(struct plan *plan, struct rect r, uint32_t frame, uint32_t side)
{
    uint32_t along = side < 2 ? r.height : r.width;
    if (along < 2 * frame + 3)
        return;
    uint32_t at = frame + tp__rng_below(&plan->rng, along - 2 * frame - 2);
    struct rect gap = side == 0   ? (struct rect){r.x, r.y + at, frame, 3}
                      : side == 1 ? (struct rect){r.x + r.width - frame, r.y + at, frame, 3}
                      : side == 2 ? (struct rect){r.x + at, r.y, 3, frame}
                                  : (struct rect){r.x + at, r.y + r.height - frame, 3, frame};
    fill(plan, gap, '.');
}

/* Houses around a court of grass or paving, entered by one to three passages. */
static void courtyard(struct plan *plan, struct rect r)
{
    uint32_t shorter = r.width < r.height ? r.width : r.height;
    uint32_t frame = at_least(shorter / 4, 3);
    frame = frame > 8 ? 8 : frame;
    fill(plan, r, '@');
    struct rect court = shrunk(r, frame);
    if (court.width < 4 || court.height < 4)
        return;
    if (tp__rng_percent(&plan->rng, 45))
        park(plan, court);
    else
        fill(plan, court, '.');
    if (court.width >= 10 && court.height >= 10 && tp__rng_percent(&plan->rng, 50))
        fill_disc(plan, court.x + court.width / 2, court.y + court.height / 2, 2, 'W');
    uint32_t first = tp__rng_below(&plan->rng, 4), count = tp__rng_between(&plan->rng, 1, 3);
    for (uint32_t i = 0; i < count; i++)
        passage(plan, r, frame, (first + i) % 4);
}

/* Walls, 2 thick, that divide a hall into rooms with doors 3 wide. */
static void rooms(struct plan *plan, struct rect r)
{
    bool upright = r.width > r.height;
    uint32_t longer = upright ? r.width : r.height, across = upright ? r.height : r.width;
    if (longer < 16 || across < 7)
        return;
    uint32_t at = 6 + tp__rng_below(&plan->rng, longer - 13),
             door = 1 + tp__rng_below(&plan->rng, across - 4);
    struct rect wall =
        upright ? (struct rect){r.x + at, r.y, 2, r.height} : (struct rect){r.x, r.y + at, r.width, 2};
    struct rect gap =
        upright ? (struct rect){r.x + at, r.y + door, 2, 3} : (struct rect){r.x + door, r.y + at, 3, 2};
    fill(plan, wall, '@');
    fill(plan, gap, '.');
    uint32_t rest = longer - at - 2;
    rooms(plan, upright ? (struct rect){r.x, r.y, at, r.height} : (struct rect){r.x, r.y, r.width, at});
    rooms(plan, upright ? (struct rect){r.x + at + 2, r.y, rest, r.height}
                        : (struct rect){r.x, r.y + at + 2, r.width, rest});
}

/* A building that can be entered, with rooms inside. */
static void hall(struct plan *plan, struct rect r)
{
    fill(plan, r, '@');
    struct rect inner = shrunk(r, 2);
    if (inner.width < 6 || inner.height < 6) {
        return;
    }
    fill(plan, inner, '.');
    rooms(plan, inner);
    uint32_t first = tp__rng_below(&plan->rng, 4), count = tp__rng_between(&plan->rng, 2, 4);
    for (uint32_t i = 0; i < count; i++)
        passage(plan, r, 2, (first + i) % 4);
}

/* Houses close together: lots split by alleys now and then, a yard behind some. */
static void houses(struct plan *plan, struct rect r)
{
    bool upright = r.width > r.height;
    uint32_t longer = upright ? r.width : r.height, across = upright ? r.height : r.width;
    if (longer > 14 && across > 4) {
        uint32_t gap = tp__rng_percent(&plan->rng, 55) ? 2 : 0;
        uint32_t at = longer * tp__rng_between(&plan->rng, 38, 62) / 100, rest = longer - at - gap;
        houses(plan, upright ? (struct rect){r.x, r.y, at, r.height} : (struct rect){r.x, r.y, r.width, at});
        houses(plan, upright ? (struct rect){r.x + at + gap, r.y, rest, r.height}
                             : (struct rect){r.x, r.y + at + gap, r.width, rest});
        return;
    }
    if (tp__rng_percent(&plan->rng, 8)) { /* a garden instead of a house */
        fill(plan, r, 'G');
        return;
    }
    /* house fronts are not in line */
    struct rect house = r;
    uint32_t back = tp__rng_below(&plan->rng, 3), side = tp__rng_below(&plan->rng, 4);
    if (across > 6 && back) {
        if (side == 0)
            house.x += back;
        if (side < 2)
            house.width -= back;
        if (side == 2)
            house.y += back;
        if (side >= 2)
            house.height -= back;
    }
    fill(plan, house, '@');
}

/* Builds on a block. Those that meet the city's wall or lie across it become gardens and odd houses. */
static void build_block(struct plan *plan, struct rect r)
{
    uint32_t inset = plan->wall + plan->street;
    if (r.width < 4 || r.height < 4)
        return;
    if (!rect_inside(plan, r, inset)) {
        if (r.width > plan->block / 2 && r.height > plan->block / 2) { /* try smaller pieces that may fit */
            uint32_t half_x = (r.width - 2) / 2, half_y = (r.height - 2) / 2;
            for (uint32_t i = 0; i < 4; i++)
                build_block(plan, (struct rect){r.x + i % 2 * (half_x + 2), r.y + i / 2 * (half_y + 2),
                                                half_x, half_y});
            return;
        }
        fill_inside(plan, r, inset, 'G');
        return;
    }
    uint32_t shorter = r.width < r.height ? r.width : r.height, choice = tp__rng_below(&plan->rng, 100);
    if (choice < 44 || shorter < 12)
        houses(plan, r);
    else if (choice < 64)
        courtyard(plan, r);
    else if (choice < 80)
        hall(plan, r);
    else if (choice < 91)
        park(plan, r);
    else
        plaza(plan, r);
}

/* Divides a part of the city by a street, and the halves again, narrower each time, down to blocks. */
static void divide(struct plan *plan, struct rect r, uint32_t depth)
{
    uint32_t longer = r.width > r.height ? r.width : r.height;
    uint32_t street = depth == 0 ? 2 * plan->street + 1 : depth < 3 ? plan->street * 3 / 2 : plan->street;
    if (longer < plan->block * 3 / 4)
        street = at_least(plan->street / 2, 2);
    bool whole = longer <= plan->block || (longer <= plan->block * 3 / 2 && tp__rng_percent(&plan->rng, 45));
    if (whole || longer < street + 8) {
        build_block(plan, r);
        return;
    }
    bool upright = r.width > r.height;
    uint32_t at = (longer - street) * tp__rng_between(&plan->rng, 36, 64) / 100, rest = longer - street - at;
    divide(plan, upright ? (struct rect){r.x, r.y, at, r.height} : (struct rect){r.x, r.y, r.width, at},
           depth + 1);
    divide(plan,
           upright ? (struct rect){r.x + at + street, r.y, rest, r.height}
                   : (struct rect){r.x, r.y + at + street, r.width, rest},
           depth + 1);
}

/* ---- Wall, country, river ---- */

/* The wall, and towers along it. */
static void build_wall(struct plan *plan)
{
    for (uint32_t y = 0; y < plan->sheet.height; y++)
        for (uint32_t x = 0; x < plan->sheet.width; x++)
            if (inside(plan, x, y, 0) && !inside(plan, x, y, plan->wall))
                put(plan, x, y, '@');
    uint32_t apart = at_least(plan->block, 16);
    for (uint32_t y = apart / 2; y < plan->sheet.height; y += apart)
        for (uint32_t x = 1; x < plan->sheet.width; x++)
            if (inside(plan, x, y, 0) != inside(plan, x - 1, y, 0))
                fill_disc(plan, x, y, plan->wall + 1, '@');
    for (uint32_t x = apart / 2; x < plan->sheet.width; x += apart)
        for (uint32_t y = 1; y < plan->sheet.height; y++)
            if (inside(plan, x, y, 0) != inside(plan, x, y - 1, 0))
                fill_disc(plan, x, y, plan->wall + 1, '@');
}

/* Grass, woods that thicken towards the map's edge. */
static void plant_country(struct plan *plan)
{
    uint32_t width = plan->sheet.width, height = plan->sheet.height;
    uint32_t shorter = width < height ? width : height, period = at_least(shorter / 9, 8);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint32_t edge = edge_distance(&plan->sheet, x, y);
            uint32_t near_edge = edge < shorter / 14 ? (shorter / 14 - edge) * 26000 / (shorter / 14) : 0;
            uint32_t wood = tp__noise_rough(plan->country, x, y, period) + near_edge;
            uint32_t percent = wood > 52000 ? 94 : wood > 44000 ? 40 : wood > 38000 ? 7 : 1;
            put(plan, x, y, tp__rng_percent(&plan->rng, percent) ? 'T' : 'G');
        }
}

/* A gate in the wall on each side, with a road out to the map's edge and a way in to the street along the
 * wall. */
static void open_gates(struct plan *plan)
{
    uint32_t road = plan->street + 2, depth = plan->wall + plan->street * 2 + 2;
    for (uint32_t side = 0; side < 4; side++) {
        bool upright = side >= 2; /* top, bottom */
        uint32_t half = upright ? plan->radius_x : plan->radius_y;
        uint32_t centre = upright ? plan->centre_x : plan->centre_y;
        uint32_t middle = centre - half / 4 + tp__rng_below(&plan->rng, half / 2 + 1);
        uint32_t length = upright ? plan->sheet.height : plan->sheet.width, reached = 0;
        for (uint32_t i = 0; i < length && reached < depth; i++) {
            uint32_t along = side % 2 ? length - 1 - i : i;
            reached += upright ? inside(plan, middle, along, 0) : inside(plan, along, middle, 0);
            for (uint32_t j = 0; j < road; j++)
                put(plan, upright ? middle + j - road / 2 : along, upright ? along : middle + j - road / 2,
                    '.');
        }
    }
}

/* Where the river's middle is, at a distance along it: on one side of the great square. */
static uint32_t river_at(const struct plan *plan, uint32_t along)
{
    uint32_t across = plan->river_upright ? plan->sheet.width : plan->sheet.height;
    uint32_t period = at_least((plan->sheet.width + plan->sheet.height) / 8, 8);
    uint32_t swing = across / 5,
             bend = (uint32_t)((uint64_t)tp__noise_rough(plan->river, along, 7, period) * swing >> 16);
    uint32_t middle = across / 2 - across / 10 - plan->river_width - plan->street - swing * 3 / 4 + bend;
    return plan->river & 1 ? across - 1 - middle : middle;
}

/* Water with a quay on either side inside the city; bridges every few blocks and where roads meet it. */
static void dig_river(struct plan *plan)
{
    uint32_t length = plan->river_upright ? plan->sheet.height : plan->sheet.width;
    uint32_t bridge = at_least(plan->street + 1, 4), apart = at_least(plan->block * 2, 24);
    uint32_t next_bridge = tp__rng_between(&plan->rng, apart / 2, apart), bridge_left = 0;
    for (uint32_t along = 0; along < length; along++) {
        uint32_t middle = river_at(plan, along);
        if (along == next_bridge) {
            bridge_left = bridge;
            next_bridge += tp__rng_between(&plan->rng, apart * 2 / 3, apart * 4 / 3);
        }
        for (uint32_t i = 0; i < plan->river_width + 2 * plan->street; i++) {
            uint32_t across = middle + i - plan->river_width / 2 - plan->street;
            bool water = i >= plan->street && i < plan->river_width + plan->street;
            uint32_t x = plan->river_upright ? across : along, y = plan->river_upright ? along : across;
            bool in_city = inside(plan, x, y, plan->wall);
            if (bridge_left)
                put(plan, x, y, '.');
            else if (water)
                put(plan, x, y, 'W');
            else if (in_city && get(plan, x, y) != '.')
                put(plan, x, y, '.');
        }
        bridge_left -= bridge_left > 0;
    }
}

/* The great square in the middle, with a fountain and pillars around it. */
static void central_square(struct plan *plan)
{
    uint32_t shorter = plan->radius_x < plan->radius_y ? plan->radius_x : plan->radius_y;
    uint32_t radius = shorter / 6;
    if (radius < 6)
        return;
    fill_disc(plan, plan->centre_x, plan->centre_y, radius, '.');
    fill_disc(plan, plan->centre_x, plan->centre_y, radius / 5, 'W');
    static const int8_t around[8][2] = {{5, 0}, {0, 5}, {-5, 0}, {0, -5}, {4, 4}, {-4, 4}, {-4, -4}, {4, -4}};
    for (size_t i = 0; i < 8; i++)
        fill_disc(plan, plan->centre_x + (uint32_t)(around[i][0] * (int32_t)radius / 8),
                  plan->centre_y + (uint32_t)(around[i][1] * (int32_t)radius / 8), 1, '@');
}

/* ---- The whole ---- */

/* Reads the map from the sheet, each cell at a place moved by up to `most` cells, less near the edge. */
static void bend(struct plan *plan, const struct tp__grid *grid, uint32_t most)
{
    uint64_t bend_x = tp__rng_next(&plan->rng), bend_y = tp__rng_next(&plan->rng);
    uint32_t shorter = grid->width < grid->height ? grid->width : grid->height,
             period = at_least(shorter / 5, 8);
    for (uint32_t y = 0; y < grid->height; y++)
        for (uint32_t x = 0; x < grid->width; x++) {
            uint32_t edge = edge_distance(grid, x, y), reach = edge < 2 * most ? edge / 2 : most;
            int64_t moved_x = x + ((int64_t)tp__noise(bend_x, x, y, period) * 2 * reach >> 16) - reach;
            int64_t moved_y = y + ((int64_t)tp__noise(bend_y, x, y, period) * 2 * reach >> 16) - reach;
            grid->cells[(size_t)y * grid->width + x] =
                plan->sheet.cells[(size_t)moved_y * grid->width + (size_t)moved_x];
        }
}

int tp__generate_city(const struct tp__grid *grid, uint64_t seed, uint32_t block, uint32_t street)
{
    uint32_t shorter = grid->width < grid->height ? grid->width : grid->height;
    struct plan plan = {.sheet = *grid, .rng = {seed}, .block = block, .street = street};
    plan.sheet.cells = malloc((size_t)grid->width * grid->height);
    if (!plan.sheet.cells)
        return TP_ERR_NO_MEMORY;
    plan.wall = shorter < 96 ? 2 : 4;
    plan.radius_x = grid->width * 43 / 100;
    plan.radius_y = grid->height * 43 / 100;
    plan.centre_x = grid->width / 2;
    plan.centre_y = grid->height / 2;
    plan.trees = tp__rng_next(&plan.rng);
    plan.country = tp__rng_next(&plan.rng);
    plan.river = tp__rng_next(&plan.rng);
    plan.river_upright = tp__rng_percent(&plan.rng, 50);
    plan.river_width = shorter < 96 ? 0 : at_least(shorter / 40, 5);

    plant_country(&plan);
    for (uint32_t y = 0; y < grid->height; y++)
        for (uint32_t x = 0; x < grid->width; x++)
            if (inside(&plan, x, y, 0))
                put(&plan, x, y, '.');
    struct rect city = {plan.centre_x - plan.radius_x, plan.centre_y - plan.radius_y, 2 * plan.radius_x,
                        2 * plan.radius_y};
    divide(&plan, city, 0);
    central_square(&plan);
    build_wall(&plan);
    if (plan.river_width)
        dig_river(&plan);
    open_gates(&plan);
    bend(&plan, grid, shorter / 45);
    free(plan.sheet.cells);
    return tp__generate_join(grid, tp__rng_next(&plan.rng), 24, 3);
}
