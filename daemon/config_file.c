#include "daemon/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Copies what is between the blanks around it, zero-ended. */
static void copy_trimmed(char *out, const char *from, const char *end)
{
    while (from < end && is_blank(*from))
        from++;
    while (from < end && is_blank(end[-1]))
        end--;
    memcpy(out, from, (size_t)(end - from));
    out[end - from] = '\0';
}

/* What is wrong with a line, that of a comment included; NULL: nothing. */
static const char *find_fault(const char *line, size_t size)
{
    if (size > TP_CONFIG_LINE_BYTES_MAX)
        return "the line is too long";
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)line[i] < ' ' && !is_blank(line[i])) || line[i] == '\x7f')
            return "there is a control character";
    return NULL;
}

static bool has_comment(const char *value)
{
    for (const char *hash = value; (hash = strchr(hash, '#')) != NULL; hash++)
        if (hash == value || is_blank(hash[-1]))
            return true;
    return false;
}

int tp_config_lines_read(const char *bytes, size_t size, tp_config_line_cb each, void *context, unsigned *line,
                         const char **words)
{
    char name[TP_CONFIG_LINE_BYTES_MAX + 1], value[TP_CONFIG_LINE_BYTES_MAX + 1];
    const char *const end = bytes + size;
    *line = 0;
    for (const char *at = bytes, *next; at < end; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        next = next != NULL ? next : end;
        ++*line;
        *words = find_fault(at, (size_t)(next - at));
        if (*words != NULL)
            return TP_ERR_INVALID_ARGUMENT;
        const char *equals = memchr(at, '=', (size_t)(next - at));
        copy_trimmed(name, at, equals != NULL ? equals : next);
        if (name[0] == '#' || (name[0] == '\0' && equals == NULL))
            continue;
        copy_trimmed(value, equals != NULL ? equals + 1 : next, next);
        *words = equals == NULL     ? "there is no =: a line is name = value"
                 : name[0] == '\0'  ? "there is no name before the ="
                 : has_comment(value) ? "a comment stands on a line of its own"
                                      : NULL;
        if (*words != NULL)
            return TP_ERR_INVALID_ARGUMENT;
        int error = each(name, value, *line, context);
        if (error != 0)
            return error;
    }
    return 0;
}

/* All there is, at most `room`; -1 with errno. */
static ssize_t read_all(int fd, char *bytes, size_t room)
{
    size_t have = 0;
    while (have < room) {
        ssize_t got = read(fd, bytes + have, room - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

int tp_config_file_load(const char *path, char **bytes, size_t *size, const char **words)
{
    struct stat facts;
    int error = TP_ERR_INVALID_ARGUMENT;
    *bytes = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe without a writer must not hold it up */
    if (fd < 0 || fstat(fd, &facts) != 0) {
        *words = strerror(errno);
    } else if (!S_ISREG(facts.st_mode)) {
        *words = "it is no regular file";
    } else if ((*bytes = malloc(TP_CONFIG_FILE_BYTES_MAX + 1)) == NULL) {
        *words = "out of memory";
        error = TP_ERR_NO_MEMORY;
    } else {
        ssize_t have = read_all(fd, *bytes, TP_CONFIG_FILE_BYTES_MAX + 1);
        *words = have < 0 ? strerror(errno) : "it is too long";
        *size = have < 0 ? 0 : (size_t)have;
        error = have < 0 || have > TP_CONFIG_FILE_BYTES_MAX ? TP_ERR_INVALID_ARGUMENT : 0;
    }
    if (fd >= 0)
        close(fd);
    if (error != 0) {
        free(*bytes);
        *bytes = NULL;
    }
    return error;
}
