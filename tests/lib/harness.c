#include "tests/lib/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t seed;

/* Takes the seed from the environment or makes a short fresh one. */
static void seed_init(void)
{
    const char *given = getenv("TICKPATH_SEED");
    if (given && *given) {
        char *end;
        errno = 0;
        seed = strtoull(given, &end, 0);
        if (errno || *end) {
            fprintf(stderr, "TICKPATH_SEED=%s is not a number\n", given);
            exit(2);
        }
        return;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tp_test_rng rng = {(uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec ^
                              (uint64_t)getpid() << 32};
    seed = tp_test_next(&rng) >> 32;
}

int tp_test_main(const char *name, Suite *(*suite)(void))
{
    seed_init();
    printf("%s: seed %llu; repeat with TICKPATH_SEED=%llu %s%s\n", name, (unsigned long long)seed,
           (unsigned long long)seed, tp_test_long() ? "TICKPATH_LONG=1 " : "", program_invocation_name);
    fflush(stdout); /* before the forks, which would each write it again */
    setenv("CK_DEFAULT_TIMEOUT", tp_test_long() ? "3600" : "60", 0);
    struct tp_test_scratch scratch;
    tp_test_scratch_begin(&scratch);
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    tp_test_scratch_end(&scratch);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

uint64_t tp_test_seed(void)
{
    return seed;
}

struct tp_test_rng tp_test_rng(const char *label)
{
    return tp_test_rng_of(seed, label);
}

struct tp_test_rng tp_test_rng_of(uint64_t of, const char *label)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *label; label++)
        hash = (hash ^ (unsigned char)*label) * UINT64_C(0x100000001b3);
    struct tp_test_rng rng = {of ^ hash};
    rng.state = tp_test_next(&rng);
    return rng;
}

bool tp_test_long(void)
{
    const char *value = getenv("TICKPATH_LONG");
    return value && *value && strcmp(value, "0") != 0;
}

/* Percent of the longer form's random cases. */
static uint64_t share(void)
{
    const char *value = getenv("TICKPATH_SHARE");
    uint64_t percent = value && *value ? strtoull(value, NULL, 10) : 100;
    return percent >= 1 && percent <= 100 ? percent : 100;
}

uint64_t tp_test_steps(uint64_t bounded, uint64_t longer)
{
    const char *value = getenv("TICKPATH_STEPS");
    if (value && *value)
        return strtoull(value, NULL, 10);
    uint64_t some = longer * share() / 100;
    return !tp_test_long() || some < bounded ? bounded : some;
}

uint64_t tp_test_promised(uint64_t bounded, uint64_t promised)
{
    const char *value = getenv("TICKPATH_STEPS");
    if (value && *value)
        return strtoull(value, NULL, 10);
    return tp_test_long() ? promised : bounded;
}

static const char *environment_or_skip(const char *name, const char *what)
{
    const char *value = getenv(name);
    if (value && *value)
        return value;
    printf("skipped: %s (%s) is not set\n", name, what);
    fflush(stdout);
    return NULL;
}

const char *tp_test_maps_or_skip(void)
{
    return environment_or_skip("TICKPATH_MAPS", "the folder of benchmark maps");
}

const char *tp_test_expected_or_skip(void)
{
    return environment_or_skip("TICKPATH_EXPECTED", "the table of expected figures");
}

const char *tp_test_program(const char *name)
{
    static char path[PATH_MAX];
    const char *folder = getenv("TICKPATH_BIN");
    int length = snprintf(path, sizeof path, "%s/%s", folder && *folder ? folder : "build", name);
    ck_assert_msg(length > 0 && (size_t)length < sizeof path, "path too long: %s", name);
    ck_assert_msg(access(path, X_OK) == 0, "%s: %s (TICKPATH_BIN names its folder)", path, strerror(errno));
    return path;
}

const char *tp_test_path(const char *folder, const char *name, const char *suffix)
{
    static char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix ? suffix : "");
    ck_assert_msg(length > 0 && (size_t)length < sizeof path, "path too long: %s", name);
    return path;
}

char *tp_test_read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file, "%s: %s", path, strerror(errno));
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    long length = ftell(file);
    ck_assert_int_ge(length, 0);
    rewind(file);
    char *text = malloc((size_t)length + 1);
    ck_assert_ptr_nonnull(text);
    *size = fread(text, 1, (size_t)length, file);
    ck_assert_msg(*size == (size_t)length, "%s: short read", path);
    text[*size] = 0;
    fclose(file);
    return text;
}

static void scratch_failed(const char *what)
{
    fprintf(stderr, "no temporary folder: %s: %s\n", what, strerror(errno));
    exit(2);
}

const char *tp_test_folder_make(void)
{
    static char path[PATH_MAX];
    const char *parent = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/tickpath-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(path))
        scratch_failed(path);
    return path;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

void tp_test_folder_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- The folder that outlives nobody ---- */

/* Waits until nobody holds the other end, in a session of its own, so that what ends a test leaves it alone. */
static _Noreturn void wait_and_remove(int fd, const char *path)
{
    char byte;
    setsid();
    for (int i = 0; i < 3; i++)
        close(i); /* whoever reads a test's output is not to wait for us */
    while (read(fd, &byte, 1) < 0 && errno == EINTR)
        ;
    tp_test_folder_remove(path);
    _exit(0);
}

void tp_test_scratch_begin(struct tp_test_scratch *scratch)
{
    char path[PATH_MAX];
    int ends[2];
    snprintf(path, sizeof path, "%s", tp_test_folder_make());
    if (pipe2(ends, O_CLOEXEC) < 0)
        scratch_failed("pipe");
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        scratch_failed("fork");
    if (pid == 0) {
        close(ends[1]);
        wait_and_remove(ends[0], path);
    }
    close(ends[0]);
    setenv("TMPDIR", path, 1);
    *scratch = (struct tp_test_scratch){.fd = ends[1], .pid = pid};
}

int tp_test_fork(void)
{
    pid_t parent = getpid();
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(126);
    }
    return pid;
}

void tp_test_scratch_end(struct tp_test_scratch *scratch)
{
    close(scratch->fd);
    while (waitpid(scratch->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
