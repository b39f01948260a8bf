#include "tests/lib/tool.h"

#include "tests/lib/harness.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 64, LINE_MAX_BYTES = 4096, RUN_SECONDS_MAX = 60 };

static char *read_back(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    ck_assert_int_ge(size, 0);
    char *text = calloc((size_t)size + 1, 1);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(pread(fd, text, (size_t)size, 0), size);
    close(fd);
    return text;
}

void tool_run_program(struct tool_run *run, char *const *argv)
{
    int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
    ck_assert(out >= 0 && err >= 0);
    pid_t pid = tp_test_fork();
    if (pid == 0) {
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        alarm(RUN_SECONDS_MAX); /* survives exec */
        execv(argv[0], argv);
        _exit(127);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    run->out = read_back(out);
    run->err = read_back(err);
    ck_assert_msg(WIFEXITED(status), "%s died of signal %d: %s", argv[0], WTERMSIG(status), run->err);
    run->exit_code = WEXITSTATUS(status);
    ck_assert_msg(run->exit_code != 127, "cannot start %s", argv[0]);
}

static void run_line(struct tool_run *run, char *line)
{
    char *argv[WORDS_MAX + 2] = {(char *)tp_test_program("tickpath")};
    int words = 1;
    for (char *save = NULL, *word = strtok_r(line, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        ck_assert_int_lt(words, WORDS_MAX);
        argv[words++] = word;
    }
    tool_run_program(run, argv);
}

void tool_run(struct tool_run *run, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ck_assert(size >= 0 && size < (int)sizeof line);
    run_line(run, line);
}

void tool_run_fini(struct tool_run *run)
{
    free(run->out);
    free(run->err);
}

char *tool_ok(const char *format, ...)
{
    char line[LINE_MAX_BYTES], copy[LINE_MAX_BYTES];
    struct tool_run run;
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ck_assert(size >= 0 && size < (int)sizeof line);
    memcpy(copy, line, sizeof copy);
    run_line(&run, line);
    ck_assert_msg(run.exit_code == 0, "tickpath %s: exit code %d\n%s%s", copy, run.exit_code, run.out,
                  run.err);
    free(run.err);
    return run.out;
}

static const char *find_value(const char *json, const char *key)
{
    char quoted[80];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(json, quoted);
    ck_assert_msg(at != NULL, "no key %s in %s", key, json);
    return at + strlen(quoted);
}

double tool_json_number(const char *json, const char *key)
{
    const char *text = find_value(json, key);
    if (strncmp(text, "null", 4) == 0)
        return NAN;
    char *end;
    double value = strtod(text, &end);
    ck_assert_msg(end != text && (*end == ',' || *end == '}'), "%s is no number in %s", key, json);
    return value;
}

const char *tool_json_word(const char *json, const char *key)
{
    static char word[64];
    ck_assert_msg(sscanf(find_value(json, key), "\"%63[^\"]\"", word) == 1, "%s is no word in %s", key, json);
    return word;
}

char *tool_write_file(const char *folder, const char *name, const char *text)
{
    char *path;
    ck_assert_int_ge(asprintf(&path, "%s/%s", folder, name), 0);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}
