/* The file of --config, line by line.
 *
 *     # a comment has a line of its own
 *     threads = 4
 *     stats = 127.0.0.1:7879
 *     data =
 *
 * What it is: `name = value` a line, as in sysctl.conf; blanks around both, blank lines and CR LF do not count; nothing is quoted, and a value may
 * be empty. What it refuses: lines and files that are too long, control characters, a comment behind a value. Which names and values there
 * are is not its business. Who calls it: daemon/config.c; tests.
 */
#ifndef TP_DAEMON_CONFIG_FILE_H
#define TP_DAEMON_CONFIG_FILE_H

#include "base/error.h"

#include <stddef.h>

enum { TP_CONFIG_FILE_BYTES_MAX = 65536, TP_CONFIG_LINE_BYTES_MAX = 1536 };

/* A setting; name and value are borrowed until it returns. Not 0 ends the reading. */
typedef int (*tp_config_line_cb)(const char *name, const char *value, unsigned line, void *context);

/* Reads text that is in memory: calls `each` for every setting, in order. TP_ERR_INVALID_ARGUMENT with the line's number (from 1) and static words;
 * what was called before it was. What `each` gives that is not 0 is given back. Cost: the bytes. */
int tp_config_lines_read(const char *bytes, size_t size, tp_config_line_cb each, void *context, unsigned *line,
                         const char **words) TP_MUST_CHECK;

/* Gives the bytes of a file (freed by the caller). TP_ERR_INVALID_ARGUMENT with words (static, or strerror's) where it is not there, no regular file, or longer than
 * TP_CONFIG_FILE_BYTES_MAX; TP_ERR_NO_MEMORY. Waits for the disk, and for nothing else. */
int tp_config_file_load(const char *path, char **bytes, size_t *size, const char **words) TP_MUST_CHECK;

#endif
