/* Made maps: connected, the same on every machine (hashes written down here), within their options. And
 * drawing: the picture's size, that nothing outside the map is touched, and that a PNG is read back pixel by
 * pixel. */
#include "client/cli/generate.h"

#include "client/cli/draw.h"
#include "client/cli/png.h"
#include "tests/lib/harness.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_free(uint8_t cell)
{
    return cell == '.' || cell == 'G' || cell == 'S';
}

static uint8_t *make(enum tp_generate_kind kind, uint32_t width, uint32_t height, uint64_t seed,
                     const struct tp_generate_options *options)
{
    uint8_t *cells = malloc((size_t)width * height); /* exactly: ASan sees what goes beyond */
    ck_assert_ptr_nonnull(cells);
    int rc = tp_generate_map(kind, width, height, seed, options, cells);
    ck_assert_msg(rc == 0, "%s %ux%u seed %llu: %s", tp_generate_kind_name(kind), width, height,
                  (unsigned long long)seed, tp_error_name(rc));
    return cells;
}

static uint64_t hash(const uint8_t *cells, size_t count)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++)
        value = (value ^ cells[i]) * UINT64_C(0x100000001b3);
    return value;
}

/* Cells reached from the first free one by straight steps. */
static size_t reached(const uint8_t *cells, uint32_t width, uint32_t height)
{
    size_t count = (size_t)width * height, head = 0, tail = 0;
    uint32_t *queue = malloc(count * sizeof *queue);
    bool *seen = calloc(count, sizeof *seen);
    ck_assert(queue && seen);
    for (size_t i = 0; i < count && !tail; i++)
        if (is_free(cells[i])) {
            seen[i] = true;
            queue[tail++] = (uint32_t)i;
        }
    while (head < tail) {
        uint32_t cell = queue[head++], x = cell % width, y = cell / width;
        const uint32_t next[4] = {x + 1 < width ? cell + 1 : cell, x > 0 ? cell - 1 : cell,
                                  y + 1 < height ? cell + width : cell, y > 0 ? cell - width : cell};
        for (int i = 0; i < 4; i++)
            if (is_free(cells[next[i]]) && !seen[next[i]]) {
                seen[next[i]] = true;
                queue[tail++] = next[i];
            }
    }
    free(queue);
    free(seen);
    return tail;
}

static void expect_connected(enum tp_generate_kind kind, uint32_t width, uint32_t height, uint64_t seed,
                             const struct tp_generate_options *options)
{
    uint8_t *cells = make(kind, width, height, seed, options);
    size_t free_cells = 0;
    for (size_t i = 0; i < (size_t)width * height; i++) {
        if (!cells[i] || !strchr(".G@TW", cells[i])) /* not ck_assert: it reports every time that it holds */
            ck_abort_msg("class %d", cells[i]);
        free_cells += is_free(cells[i]);
    }
    size_t connected = reached(cells, width, height);
    ck_assert_msg(free_cells > 0 && (kind == TP_GENERATE_RANDOM || connected == free_cells),
                  "%s %ux%u seed %llu: %zu of %zu free cells are connected", tp_generate_kind_name(kind),
                  width, height, (unsigned long long)seed, connected, free_cells);
    free(cells);
}

/* Integer arithmetic and one generator: these hashes hold on every machine. A deliberate change of a kind
 * changes its line. */
static const struct {
    enum tp_generate_kind kind;
    uint32_t width, height;
    uint64_t seed, hash;
} known[] = {
    {TP_GENERATE_ROOMS, 200, 150, 7, UINT64_C(0x70f198b9e17a228b)},
    {TP_GENERATE_CAVES, 200, 150, 7, UINT64_C(0x935eecad4761949e)},
    {TP_GENERATE_MAZE, 200, 150, 7, UINT64_C(0xe0b27b8dfb3781cb)},
    {TP_GENERATE_RANDOM, 200, 150, 7, UINT64_C(0xac837bf6459f9d2b)},
    {TP_GENERATE_CITY, 200, 150, 7, UINT64_C(0x45990b4a8ab6de51)},
    {TP_GENERATE_CITY, 512, 512, 1, UINT64_C(0x0c296142b97ac66a)},
};

START_TEST(test_known_hashes)
{
    uint8_t *cells = make(known[_i].kind, known[_i].width, known[_i].height, known[_i].seed, NULL);
    uint64_t value = hash(cells, (size_t)known[_i].width * known[_i].height);
    ck_assert_msg(value == known[_i].hash, "%s %ux%u seed %llu: hash 0x%016llx",
                  tp_generate_kind_name(known[_i].kind), known[_i].width, known[_i].height,
                  (unsigned long long)known[_i].seed, (unsigned long long)value);
    free(cells);
    cells = make(known[_i].kind, known[_i].width, known[_i].height, known[_i].seed + 1, NULL);
    ck_assert(hash(cells, (size_t)known[_i].width * known[_i].height) != value);
    free(cells);
}
END_TEST

START_TEST(test_connected)
{
    struct tp_test_rng rng = tp_test_rng("connected");
    uint64_t steps = tp_test_steps(60, 3000);
    for (uint64_t i = 0; i < steps; i++)
        for (int kind = 0; kind < TP_GENERATE_KINDS; kind++) {
            uint32_t most = tp_test_percent(&rng, 15) ? 400 : 100;
            uint32_t width = tp_test_between(&rng, 8, most), height = tp_test_between(&rng, 8, most);
            expect_connected((enum tp_generate_kind)kind, width, height, tp_test_next(&rng), NULL);
        }
}
END_TEST

START_TEST(test_options)
{
    struct tp_test_rng rng = tp_test_rng("options");
    uint64_t steps = tp_test_steps(60, 3000);
    for (uint64_t i = 0; i < steps; i++)
        for (int kind = 0; kind < TP_GENERATE_KINDS; kind++) {
            struct tp_generate_options options = {
                .density_percent = tp_test_percent(&rng, 70) ? tp_test_between(&rng, 1, 90) : 0,
                .room = tp_test_percent(&rng, 70) ? tp_test_between(&rng, 4, 90) : 0,
                .corridor = tp_test_percent(&rng, 70) ? tp_test_between(&rng, 1, 20) : 0};
            uint32_t width = tp_test_between(&rng, 24, 130), height = tp_test_between(&rng, 24, 130);
            expect_connected((enum tp_generate_kind)kind, width, height, tp_test_next(&rng), &options);
        }
}
END_TEST

/* A maze is a tree: between its rooms there is one way, so edges are rooms - 1. Corridors are as wide as
 * asked. */
START_TEST(test_maze)
{
    for (uint32_t corridor = 1; corridor <= 5; corridor++) {
        struct tp_generate_options options = {.corridor = corridor};
        uint32_t width = 97, height = 71, pitch = corridor + 1;
        uint8_t *cells = make(TP_GENERATE_MAZE, width, height, 3, &options);
        uint32_t columns = (width - 1) / pitch, rows = (height - 1) / pitch, edges = 0;
        size_t free_cells = 0;
        for (size_t i = 0; i < (size_t)width * height; i++)
            free_cells += cells[i] == '.';
        for (uint32_t row = 0; row < rows; row++)
            for (uint32_t column = 0; column < columns; column++) {
                const uint8_t *corner = cells + (size_t)(row * pitch + 1) * width + column * pitch + 1;
                ck_assert_int_eq(*corner, '.');
                edges += column + 1 < columns && corner[corridor] == '.';
                edges += row + 1 < rows && corner[(size_t)corridor * width] == '.';
            }
        ck_assert_uint_eq(edges, columns * rows - 1);
        ck_assert_uint_eq(free_cells,
                          (size_t)columns * rows * corridor * corridor + (size_t)edges * corridor);
        free(cells);
    }
}
END_TEST

START_TEST(test_random_density)
{
    for (uint32_t density = 5; density <= 90; density += 17) {
        struct tp_generate_options options = {.density_percent = density};
        uint8_t *cells = make(TP_GENERATE_RANDOM, 500, 400, 11, &options);
        size_t blocked = 0;
        for (size_t i = 0; i < 200000; i++)
            blocked += cells[i] == '@';
        ck_assert_uint_ge(blocked, 2000u * density - 2000);
        ck_assert_uint_le(blocked, 2000u * density + 2000);
        free(cells);
    }
}
END_TEST

/* The kinds that look like levels are neither empty nor full. */
START_TEST(test_share)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (int kind = 0; kind < TP_GENERATE_KINDS; kind++) {
            uint8_t *cells = make((enum tp_generate_kind)kind, 512, 512, seed, NULL);
            size_t free_cells = 0;
            for (size_t i = 0; i < 512 * 512; i++)
                free_cells += is_free(cells[i]);
            ck_assert_msg(free_cells > 512 * 512 * 3 / 10 && free_cells < 512 * 512 * 92 / 100,
                          "%s seed %llu: %zu free", tp_generate_kind_name((enum tp_generate_kind)kind),
                          (unsigned long long)seed, free_cells);
            free(cells);
        }
}
END_TEST

START_TEST(test_refusals)
{
    uint8_t cells[64];
    static const struct tp_generate_options bad[] = {
        {.density_percent = 91}, {.room = 3}, {.room = 1025}, {.corridor = 65}};
    for (int kind = 0; kind < TP_GENERATE_KINDS; kind++) {
        enum tp_generate_kind k = (enum tp_generate_kind)kind;
        ck_assert_int_eq(tp_generate_map(k, 7, 8, 1, NULL, cells), TP_ERR_INVALID_ARGUMENT);
        ck_assert_int_eq(tp_generate_map(k, 8, 7, 1, NULL, cells), TP_ERR_INVALID_ARGUMENT);
        ck_assert_int_eq(tp_generate_map(k, 8193, 8, 1, NULL, cells), TP_ERR_INVALID_ARGUMENT);
        ck_assert_int_eq(tp_generate_map(k, 8, UINT32_MAX, 1, NULL, cells), TP_ERR_INVALID_ARGUMENT);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            ck_assert_int_eq(tp_generate_map(k, 8, 8, 1, &bad[i], cells), TP_ERR_INVALID_ARGUMENT);
    }
    struct tp_generate_options wide = {.corridor = 7};
    ck_assert_int_eq(tp_generate_map(TP_GENERATE_MAZE, 8, 8, 1, &wide, cells), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_generate_map(TP_GENERATE_KINDS, 8, 8, 1, NULL, cells), TP_ERR_INVALID_ARGUMENT);
}
END_TEST

/* ---- Drawing ---- */

/* Draws random ways, with cells outside the map among them, on a made map. */
static void render(struct tp_image *image, uint32_t width, uint32_t height, uint32_t scale, uint64_t seed)
{
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    struct tp_test_rng rng = {seed};
    uint8_t *cells = make((enum tp_generate_kind)(seed % TP_GENERATE_KINDS), width, height, seed, NULL);
    enum { AGENTS = 5, LENGTH = 40 };
    uint32_t ways[AGENTS][LENGTH];
    struct tp_draw_agent agents[AGENTS];
    for (uint32_t i = 0; i < AGENTS; i++) {
        for (uint32_t n = 0; n < LENGTH; n++)
            ways[i][n] =
                tp_test_percent(&rng, 5) ? (uint32_t)tp_test_next(&rng) : tp_test_below(&rng, width * height);
        agents[i] = (struct tp_draw_agent){.cells = ways[i],
                                           .count = i * LENGTH / (AGENTS - 1),
                                           .start = i % 2 ? TP_DRAW_NO_CELL : ways[i][0],
                                           .goal = i % 3 ? ways[i][LENGTH - 1] : TP_DRAW_NO_CELL,
                                           .arrived = i == 2};
    }
    const struct tp_draw_door doors[] = {{0, true}, {width * height - 1, false}, {UINT32_MAX, true}};
    struct tp_draw draw = {.width = width,
                           .height = height,
                           .cells = cells,
                           .profile = &profile,
                           .agents = agents,
                           .agent_count = AGENTS,
                           .doors = doors,
                           .door_count = 3,
                           .scale = scale};
    ck_assert_int_eq(tp_draw_render(image, &draw), 0);
    free(cells);
}

START_TEST(test_draw_sizes)
{
    struct tp_test_rng rng = tp_test_rng("draw");
    for (int i = 0; i < 30; i++) {
        uint32_t width = tp_test_between(&rng, 8, 60), height = tp_test_between(&rng, 8, 60);
        uint32_t scale = tp_test_between(&rng, 1, 9);
        struct tp_image image;
        render(&image, width, height, scale, tp_test_next(&rng));
        ck_assert_uint_eq(image.width, width * scale);
        ck_assert_uint_eq(image.height, height * scale);
        size_t lit = 0;
        for (size_t n = 0; n < (size_t)image.width * image.height * 3; n++)
            lit += image.rgb[n] > 150;
        ck_assert_uint_gt(lit, 0); /* the ways are there to be seen */
        tp_image_fini(&image);
        ck_assert_ptr_null(image.rgb);
    }
    struct tp_image image;
    render(&image, 512, 512, 0, 4);
    ck_assert_uint_eq(image.width, 1536);
    tp_image_fini(&image);
}
END_TEST

START_TEST(test_draw_refusals)
{
    uint8_t cells[8] = {0};
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    struct tp_draw draw = {.width = 8, .height = 1, .cells = cells, .profile = &profile, .scale = 4097};
    struct tp_image image;
    ck_assert_int_eq(tp_draw_render(&image, &draw), TP_ERR_INVALID_ARGUMENT);
    ck_assert_ptr_null(image.rgb);
    draw.width = draw.height = 0;
    draw.scale = 0;
    ck_assert_int_eq(tp_draw_render(&image, &draw), TP_ERR_INVALID_ARGUMENT);
    ck_assert_ptr_null(image.rgb);
}
END_TEST

START_TEST(test_png_round_trip)
{
    char folder[4096], path[4200];
    snprintf(folder, sizeof folder, "%s", tp_test_folder_make());
    snprintf(path, sizeof path, "%s/a.png", folder);
    struct tp_image image;
    render(&image, 33, 21, 5, 12);
    const char *reason;
    int rc = tp_png_write(path, &image, &reason);
    ck_assert_msg(rc == 0, "%s", reason);
    png_image back = {.version = PNG_IMAGE_VERSION};
    ck_assert_msg(png_image_begin_read_from_file(&back, path), "%s", back.message);
    back.format = PNG_FORMAT_RGB;
    ck_assert_uint_eq(back.width, image.width);
    ck_assert_uint_eq(back.height, image.height);
    uint8_t *rgb = malloc(PNG_IMAGE_SIZE(back));
    ck_assert_ptr_nonnull(rgb);
    ck_assert(png_image_finish_read(&back, NULL, rgb, 0, NULL));
    ck_assert_mem_eq(rgb, image.rgb, (size_t)image.width * image.height * 3);
    free(rgb);

    /* what can't be written says why and leaves nothing behind */
    snprintf(path, sizeof path, "%s/none/a.png", folder);
    ck_assert_int_eq(tp_png_write(path, &image, &reason), TP_ERR_IO);
    ck_assert_ptr_nonnull(strstr(reason, "No such file"));
    tp_image_fini(&image);
    tp_test_folder_remove(folder);
}
END_TEST

/* Half as many lines as pixels, every line the asked width in half blocks. */
START_TEST(test_terminal)
{
    struct tp_image image;
    render(&image, 40, 31, 2, 5);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(tp_draw_terminal(out, &image, 40), 0);
    fclose(out);
    size_t lines = 0, blocks = 0;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
        blocks += strncmp(text + i, "\xe2\x96\x80", 3) == 0;
    }
    ck_assert_uint_eq(lines, 16);
    ck_assert_uint_eq(blocks, 16 * 40);
    free(text);
    tp_image_fini(&image);
}
END_TEST

static Suite *generate_suite(void)
{
    Suite *suite = suite_create("generate");
    TCase *generate = tcase_create("generate");
    tcase_add_loop_test(generate, test_known_hashes, 0, sizeof known / sizeof *known);
    tcase_add_test(generate, test_connected);
    tcase_add_test(generate, test_options);
    tcase_add_test(generate, test_maze);
    tcase_add_test(generate, test_random_density);
    tcase_add_test(generate, test_share);
    tcase_add_test(generate, test_refusals);
    suite_add_tcase(suite, generate);
    TCase *draw = tcase_create("draw");
    tcase_add_test(draw, test_draw_sizes);
    tcase_add_test(draw, test_draw_refusals);
    tcase_add_test(draw, test_png_round_trip);
    tcase_add_test(draw, test_terminal);
    suite_add_tcase(suite, draw);
    return suite;
}

int main(void)
{
    return tp_test_main("test_generate", generate_suite);
}
