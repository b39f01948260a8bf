/* The block graph, measured: built, repaired after batches of changes, and weighed.
 *
 *     blocks straight|diagonal MAP.map [SIDE]
 *
 * With SIDE the map is repeated side by side up to SIDE x SIDE cells. Prints one JSON object: the median of RUNS builds, and the median, the
 * 99th percentile and the worst of BATCHES batches that close open cells and open closed ones, or then put them back: of one cell, of 1,000
 * scattered at random, and of 1,000 in a square of 64 cells a side. A repair is the version that follows; what it costs to give up the one
 * before, once its last reader left, stands beside it. Times are the thread's own, in milliseconds or microseconds; what the map's own
 * versions cost is not counted. Exit code 2: it could not be run. */
#include "map/blocks.h"
#include "tests/bench/bench.h"
#include "tests/lib/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 5, BATCHES = 200, BATCH = 1000, CLUSTER = 64 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* A batch that closes open cells and opens closed ones: anywhere, or in one square. */
static void draw(struct tp_test_rng *rng, const struct tp_map *map, int count, bool is_clustered,
                 struct tp_change *changes)
{
    uint32_t width = is_clustered && map->width > CLUSTER ? CLUSTER : map->width;
    uint32_t height = is_clustered && map->height > CLUSTER ? CLUSTER : map->height;
    uint32_t left = tp_test_below(rng, map->width - width + 1),
             top = tp_test_below(rng, map->height - height + 1);
    for (int i = 0; i < count; i++) {
        uint32_t x = left + tp_test_below(rng, width), y = top + tp_test_below(rng, height);
        changes[i] = (struct tp_change){.kind = TP_CHANGE_CELL, .x = x, .y = y};
        changes[i].class_to = tp_map_passable(map, x, y) ? '@' : '.';
    }
}

/* What BATCHES batches of one kind took, in us, sorted. */
struct batches {
    double repair[BATCHES], give_up[BATCHES];
};

/* Times them. Each second one puts back what was, so that the map stays of its kind. */
static void follow(const struct tp_map *first, const struct tp_blocks *built, int count, bool is_clustered, struct batches *out)
{
    static struct tp_change changes[BATCH];
    struct tp_test_rng rng = {7};
    const struct tp_map *map = tp_map_ref(first);
    const struct tp_blocks *blocks = tp_blocks_ref(built);
    for (int batch = 0; batch < BATCHES; batch++) {
        if (batch % 2 == 0)
            draw(&rng, map, count, is_clustered, changes);
        else
            for (int i = 0; i < count; i++)
                changes[i].class_to = tp_map_class(first, changes[i].x, changes[i].y);
        struct tp_map *next;
        struct tp_blocks *followed;
        size_t bad;
        uint32_t bad_x, bad_y;
        must(tp_map_apply(&next, map, changes, (size_t)count, &bad, &bad_x, &bad_y), "can't apply a batch");
        double from = now_us();
        must(tp_blocks_follow(&followed, blocks, map, next), "can't follow");
        double done = now_us();
        tp_blocks_unref(blocks);
        out->repair[batch] = done - from;
        out->give_up[batch] = now_us() - done;
        tp_map_unref(map);
        map = next;
        blocks = followed;
    }
    sort(out->repair, BATCHES);
    sort(out->give_up, BATCHES);
    tp_map_unref(map);
    tp_blocks_unref(blocks);
}

static void print(const char *name, const struct batches *batches)
{
    printf(", \"%s_us\": %.0f, \"%s_p99_us\": %.0f, \"%s_worst_us\": %.0f, \"%s_give_up_us\": %.0f", name,
           batches->repair[BATCHES / 2], name, batches->repair[BATCHES - 1 - BATCHES / 100], name, batches->repair[BATCHES - 1], name,
           batches->give_up[BATCHES / 2]);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4 || (strcmp(argv[1], "straight") && strcmp(argv[1], "diagonal")))
        give_up("blocks straight|diagonal MAP.map [SIDE]");
    static struct batches single, scattered, clustered;
    struct tp_map *map = load("blocks", argv[2], argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0);
    enum tp_blocks_links links = argv[1][0] == 's' ? TP_BLOCKS_STRAIGHT : TP_BLOCKS_DIAGONAL;
    struct tp_blocks *blocks = NULL;
    double build[RUNS];
    for (int run = 0; run < RUNS; run++) {
        tp_blocks_unref(blocks);
        double from = now_us();
        must(tp_blocks_build(&blocks, map, links), "can't build");
        build[run] = now_us() - from;
    }
    sort(build, RUNS);
    follow(map, blocks, 1, false, &single);
    follow(map, blocks, BATCH, false, &scattered);
    follow(map, blocks, BATCH, true, &clustered);
    double cells = (double)map->width * map->height;
    printf("{\"width\": %u, \"height\": %u, \"nodes\": %u, \"areas\": %u, \"labels\": %u, \"bytes_a_cell\": %.3f, \"build_ms\": %.2f",
           map->width, map->height, blocks->nodes, blocks->areas, blocks->label_count, (double)tp_blocks_bytes(blocks) / cells,
           build[RUNS / 2] / 1e3);
    print("single", &single);
    print("scattered", &scattered);
    print("clustered", &clustered);
    printf("}\n");
    tp_blocks_unref(blocks);
    tp_map_unref(map);
    return 0;
}
