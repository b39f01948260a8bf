/* The open lists, measured by themselves: what entering or taking a state costs, by how many are open.
 *
 *     open
 *
 * So many states are open, their f spread over twenty straight steps; again and again the best is taken and another entered with an f by up
 * to so much greater, as a search does, after enough such turns that the list looks as it will go on looking. Three ways: the bucket list,
 * the exact list, and for the share of the caches in it `bare`: stacks that lie ready, one array for each bucket, that are given the very
 * states of the bucket list, and do nothing but write them and read them again. Prints one JSON object: nanoseconds of CPU time an operation
 * (a turn is two), medians of RUNS, by way and number of states. Exit code 2: it could not be run. */
#include "map/cost.h"
#include "open/bucket.h"
#include "tests/bench/bench.h"
#include "tests/lib/rng.h"

#include <time.h>

enum {
    RUNS = 7,
    TURNS = 1000000, /* of a run */
    SPREAD = 20 * TP_COST_UNIT,
    STEPS = 4096, /* drawn before the clock runs */
    STACKS = 1 << 8, /* bare: more than buckets that are open at once */
};
_Static_assert(STACKS > SPREAD / TP_BUCKET_COST + 1, "each open bucket has a stack of its own");

static const uint32_t sizes[] = {1000, 10000, 100000, 1000000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

struct lists {
    struct tp_pool pool;
    uint64_t bytes;
    struct tp_bucket bucket;
    struct tp_open exact;
    struct {
        uint64_t *entries;
        uint32_t count;
    } stacks[STACKS];
    uint64_t least; /* bare: the number of the first stack that may have entries */
    uint32_t steps[STEPS];
};

typedef void (*enter_fn)(struct lists *lists, uint64_t f, uint32_t state);
typedef uint64_t (*take_fn)(struct lists *lists); /* gives f, or what is known of it */

static inline void bucket_enter(struct lists *lists, uint64_t f, uint32_t state)
{
    struct tp_bucket *list = &lists->bucket;
    if (!tp_bucket_reserve(list, 1) || !tp_bucket_push(list, tp_bucket_number(list, f), f & UINT32_MAX, state, false))
        give_up("out of memory");
}

static inline uint64_t bucket_take(struct lists *lists)
{
    uint64_t g;
    uint32_t state;
    uint64_t bucket = tp_bucket_least(&lists->bucket, &g, &state, false);
    tp_bucket_pop(&lists->bucket, false);
    return bucket * TP_BUCKET_COST + (g & (TP_BUCKET_COST - 1));
}

static inline void exact_enter(struct lists *lists, uint64_t f, uint32_t state)
{
    if (!tp_open_reserve(&lists->exact, 1))
        give_up("out of memory");
    tp_open_push(&lists->exact, (struct tp_open_entry){f, f & UINT32_MAX, state}, false);
}

static inline uint64_t exact_take(struct lists *lists)
{
    uint64_t f = tp_open_least(&lists->exact, false).f;
    tp_open_pop(&lists->exact, false);
    return f;
}

static inline void bare_enter(struct lists *lists, uint64_t f, uint32_t state)
{
    uint32_t at = f / TP_BUCKET_COST % STACKS;
    lists->stacks[at].entries[lists->stacks[at].count++] = (f & UINT32_MAX) << 32 | state;
}

static inline uint64_t bare_take(struct lists *lists)
{
    while (!lists->stacks[lists->least % STACKS].count)
        lists->least++;
    uint32_t at = lists->least % STACKS;
    return lists->least * TP_BUCKET_COST + (lists->stacks[at].entries[--lists->stacks[at].count] >> 32 & (TP_BUCKET_COST - 1));
}

TP_ALWAYS_INLINE void turns(struct lists *lists, uint64_t count, enter_fn enter, take_fn take_best)
{
    for (uint64_t i = 0; i < count; i++)
        enter(lists, take_best(lists) + lists->steps[i % STEPS], (uint32_t)i);
}

/* Nanoseconds an operation. */
TP_ALWAYS_INLINE double measure(struct lists *lists, uint32_t size, enter_fn enter, take_fn take_best)
{
    double ns[RUNS];
    for (uint32_t i = 0; i < size; i++)
        enter(lists, lists->steps[i % STEPS], i);
    turns(lists, 4 * (uint64_t)size, enter, take_best);
    for (int run = 0; run < RUNS; run++) {
        double began = now_ns();
        turns(lists, TURNS, enter, take_best);
        ns[run] = (now_ns() - began) / (2.0 * TURNS);
    }
    for (uint32_t i = 0; i < size; i++)
        take_best(lists);
    sort(ns, RUNS);
    return ns[RUNS / 2];
}

static double measure_bucket(struct lists *lists, uint32_t size)
{
    tp_bucket_init(&lists->bucket, 1, false, &lists->pool, &lists->bytes, UINT64_MAX);
    double ns = measure(lists, size, bucket_enter, bucket_take);
    tp_bucket_empty(&lists->bucket);
    return ns;
}

static double measure_exact(struct lists *lists, uint32_t size)
{
    tp_open_init(&lists->exact, false, &lists->pool, &lists->bytes, UINT64_MAX);
    double ns = measure(lists, size, exact_enter, exact_take);
    tp_open_empty(&lists->exact);
    return ns;
}

static double measure_bare(struct lists *lists, uint32_t size)
{
    for (int i = 0; i < STACKS; i++) {
        lists->stacks[i].entries = take(size / 8 + 1000, sizeof(uint64_t)); /* an even share is 1 / 126 */
        lists->stacks[i].count = 0;
    }
    lists->least = 0;
    double ns = measure(lists, size, bare_enter, bare_take);
    for (int i = 0; i < STACKS; i++)
        free(lists->stacks[i].entries);
    return ns;
}

int main(void)
{
    static struct lists lists;
    static const struct {
        const char *name;
        double (*measure)(struct lists *lists, uint32_t size);
    } ways[] = {{"bucket", measure_bucket}, {"exact", measure_exact}, {"bare", measure_bare}};
    struct tp_test_rng rng = {7};
    tp_pool_init(&lists.pool, NULL);
    for (int i = 0; i < STEPS; i++)
        lists.steps[i] = tp_test_below(&rng, SPREAD);
    for (int way = 0; way < 3; way++) {
        printf("%s\"%s\": {", way ? ", " : "{", ways[way].name);
        for (int i = 0; i < SIZES; i++)
            printf("%s\"%u\": %.3f", i ? ", " : "", sizes[i], ways[way].measure(&lists, sizes[i]));
        printf("}");
    }
    printf("}\n");
    tp_pool_fini(&lists.pool);
    return 0;
}
