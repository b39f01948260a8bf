/* The daemon's options: one table, read from a file, from TICKPATHD_* variables and from the command line.
 *
 * What it is: the X-macro list below generates the struct, the parsers, the bounds' checks and --help; the docs and the samples are
 * checked against it. The command line wins over the environment, that over the file of --config. What it refuses: unknown options, values that
 * are no number or out of bounds, with words that say where they stand; nothing is guessed, and a file with one fault changes nothing.
 * Who calls it: main before any thread starts, then the life cycle's thread alone (tp_config_renew). Others may read what they were given at any time:
 * numbers that may change meanwhile are atomic, each by itself; the rest of what may change is that thread's own, and tp_config_each tells it to others.
 *
 * To add an option: one line in the list. LIVE is right where every use reads it anew, or where the server hands it on when it changes.
 */
#ifndef TP_DAEMON_CONFIG_H
#define TP_DAEMON_CONFIG_H

#include "base/error.h"
#include "daemon/net/address.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TP_CONFIG_TEXT_MAX = 1024, TP_CONFIG_REASON_BYTES = 1024, TP_CONFIG_NAMES_BYTES = 640 };

/* X(TYPE, field, option, default, min, max, when, unit, help)
 * TEXT: a string, default as a literal; SECRET: one that nobody is shown; URL: one of Redis, shown without who logs in; ADDRESS: HOST:PORT, "[IPv6]:PORT" (empty: none); NUMBER: uint64_t in min..max; LEVEL, FORMAT: of the
 * log, by its word. When it takes effect: at START alone; LIVE, when the file is read anew too; OUTSIDE stands in no file. The variable's
 * name is the option's in capitals with '_' for '-', behind TICKPATHD_. */
#define TP_OPTION_LIST(X)                                                                                                                             \
    X(TEXT, config, "config", "", 0, 0, OUTSIDE, "FILE",                                                                                              \
      "read settings from this file, `name = value` a line, named as here without dashes; SIGHUP reads it anew")                                      \
    X(ADDRESS, listen, "listen", "127.0.0.1:7878", 0, 0, START, "HOST:PORT",                                                                          \
      "where clients connect; port 0: the kernel chooses")                                                                                            \
    X(ADDRESS, stats, "stats", "", 0, 0, START, "HOST:PORT",                                                                                          \
      "where /livez, /readyz, /metrics, /stats and the live view (/) answer; empty: nowhere")                                                         \
    X(SECRET, stats_token, "stats-token", "", 0, 0, LIVE, "TOKEN",                                                                                      \
      "what /, /view and /stats want; without one they answer on loopback only. Better given in the file or as a variable")                                          \
    X(TEXT, port_file, "port-file", "", 0, 0, START, "FILE",                                                                                          \
      "write the port bound by --listen here, and the stats port on a second line")                                                                   \
    X(NUMBER, threads, "threads", 0, 0, 256, START, "",                                                                                               \
      "event loops; 0: one per processor")                                                                                                            \
    X(TEXT, data, "data", "", 0, 0, START, "DIR",                                                                                                     \
      "keep maps in this folder; empty: in memory only")                                                                                              \
    X(URL, redis, "redis", "", 0, 0, START, "URL",                                                                                                   \
      "keep maps in Redis, with all daemons that do: redis://[user[:password]@]HOST[:PORT][/DB]")                                                     \
    X(NUMBER, frame_bytes_max, "frame-bytes-max", 4194304, 4096, 67108864, START, "bytes",                                                            \
      "longest frame, either way")                                                                                                                    \
    X(NUMBER, connections_max, "connections-max", 10000, 1, 1000000, LIVE, "",                                                                        \
      "connections at a time")                                                                                                                        \
    X(NUMBER, sessions_max, "sessions-max", 16384, 1, 1048576, LIVE, "",                                                                              \
      "sessions of one connection")                                                                                                                   \
    X(NUMBER, maps_max, "maps-max", 1024, 1, 65536, START, "",                                                                                        \
      "maps in memory")                                                                                                                               \
    X(NUMBER, map_versions_max, "map-versions-max", 64, 1, 1000000, LIVE, "",                                                                         \
      "versions of its map by which a session not ticked for a second may lag; then it lets go of the old one and searches anew")                     \
    X(NUMBER, batch_changes_max, "batch-changes-max", 1000000, 1, 1000000, START, "",                                                                 \
      "changes in one batch")                                                                                                                         \
    X(NUMBER, path_cells_max, "path-cells-max", 4096, 1, 1048576, START, "cells",                                                                     \
      "cells of one path in a tick's detail")                                                                                                         \
    X(NUMBER, upload_bytes_max, "upload-bytes-max", 268435456, 1, 1099511627776, LIVE, "bytes",                                                       \
      "maps being uploaded, all connections together")                                                                                                \
    X(NUMBER, output_bytes_max, "output-bytes-max", 8388608, 4096, 1073741824, LIVE, "bytes",                                                         \
      "replies waiting on one connection before its reading stops")                                                                                   \
    X(NUMBER, guide_bytes_max, "guide-bytes-max", 268435456, 0, 1125899906842624, START, "bytes",                                                     \
      "goal fields and ways of guided sessions, of each event loop; part of node-bytes-max")                                                          \
    X(NUMBER, node_bytes_max, "node-bytes-max", 4294967296, 1048576, 1125899906842624, LIVE, "bytes",                                                 \
      "search memory of all sessions together, in slabs of 64 KiB; at the cap they answer with what they have")                                       \
    X(NUMBER, drain_delay_ms, "drain-delay-ms", 0, 0, 3600000, LIVE, "ms",                                                                            \
      "after SIGTERM: time in which /readyz says draining and all is served as before")                                                               \
    X(NUMBER, drain_ms, "drain-ms", 5000, 0, 3600000, LIVE, "ms",                                                                                     \
      "then: time until connections are dropped; after three quarters of it they are ended")                                                          \
    X(NUMBER, idle_timeout_ms, "idle-timeout-ms", 300000, 0, 86400000, LIVE, "ms",                                                                    \
      "drop a connection that sends nothing for so long; 0: never")                                                                                   \
    X(NUMBER, hello_timeout_ms, "hello-timeout-ms", 10000, 1, 86400000, LIVE, "ms",                                                                   \
      "drop a connection that has not said hello by then")                                                                                            \
    X(NUMBER, slow_reader_ms, "slow-reader-ms", 30000, 1, 86400000, LIVE, "ms",                                                                       \
      "drop a connection whose output stays full for so long")                                                                                        \
    X(NUMBER, slow_tick_us, "slow-tick-us", 50000, 0, 3600000000, LIVE, "us",                                                                         \
      "log and count ticks that take longer, their waiting here included; 0: none")                                                                   \
    X(NUMBER, fold_batches, "fold-batches", 4096, 1, 1000000, START, "",                                                                              \
      "batches in a map's log before it is folded into a new snapshot")                                                                               \
    X(NUMBER, snapshot_seconds, "snapshot-seconds", 60, 1, 86400, START, "s",                                                                         \
      "with --redis: longest time that a change is in the log and in no snapshot")                                                                    \
    X(LEVEL, log_level, "log-level", "info", 0, 0, LIVE, "LEVEL",                                                                                     \
      "error, warn, info or debug")                                                                                                                   \
    X(FORMAT, log_format, "log-format", "pairs", 0, 0, LIVE, "FORMAT",                                                                                \
      "of the lines on standard error: pairs (key=value) or json (an object a line)")                                                                 \
    X(NUMBER, log_lines_max, "log-lines-max", 20, 1, 1000000, LIVE, "",                                                                               \
      "lines that one place in the program may log in a second; the others are counted and told")

#define TP_OPTION_FIELD_ADDRESS(field, when) struct tp_address field;
#define TP_OPTION_FIELD_TEXT(field, when) char field[TP_CONFIG_TEXT_MAX];
#define TP_OPTION_FIELD_SECRET(field, when) TP_OPTION_FIELD_TEXT(field, when)
#define TP_OPTION_FIELD_URL(field, when) TP_OPTION_FIELD_TEXT(field, when)
#define TP_OPTION_FIELD_NUMBER(field, when) TP_OPTION_NUMBER_##when field;
#define TP_OPTION_FIELD_LEVEL(field, when) int field;
#define TP_OPTION_FIELD_FORMAT(field, when) int field;
#define TP_OPTION_NUMBER_LIVE _Atomic uint64_t
#define TP_OPTION_NUMBER_START uint64_t
#define TP_OPTION_FIELD(type, field, option, value, min, max, when, unit, help) TP_OPTION_FIELD_##type(field, when)

struct tp_config {
    TP_OPTION_LIST(TP_OPTION_FIELD)
    enum { TP_RUN_SERVE, TP_RUN_CHECK, TP_RUN_HELP, TP_RUN_VERSION } run;
    /* where it was read from, borrowed: read again by tp_config_renew */
    int argc;
    char *const *argv;
    char *const *environment;
};

/* Fills *config from the defaults, the file that --config names, the environment (environ-style) and the command line; borrows the last two
 * for good. TP_ERR_INVALID_ARGUMENT with words in reason[]: FILE:LINE and what is wrong there, or the option, or the variable. Cost: reads a file. */
int tp_config_read(struct tp_config *config, int argc, char *const *argv, char *const *environment,
                   char reason[TP_CONFIG_REASON_BYTES]) TP_MUST_CHECK;

/* Names of options, parted by blanks; as many as there is room for. */
struct tp_config_changes {
    unsigned changed, waiting;
    char changed_names[TP_CONFIG_NAMES_BYTES]; /* LIVE ones that are others now */
    char waiting_names[TP_CONFIG_NAMES_BYTES]; /* others that a restart would change */
};

/* Reads everything again as tp_config_read did, and takes over what is LIVE. TP_ERR_INVALID_ARGUMENT with words as there, TP_ERR_NO_MEMORY: *config is as it
 * was. Cost: reads a file. */
int tp_config_renew(struct tp_config *config, struct tp_config_changes *changes, char reason[TP_CONFIG_REASON_BYTES]) TP_MUST_CHECK;

/* An option as it holds now, as anybody may see it. */
struct tp_config_option {
    const char *name;
    bool is_live;
    bool is_set; /* of a secret: it is not empty */
    enum { TP_OPTION_IS_NUMBER, TP_OPTION_IS_TEXT, TP_OPTION_IS_SECRET } kind;
    uint64_t number;  /* of a number */
    const char *text; /* of a text, as it would be typed; of a URL without users and passwords; NULL of others */
};

/* Tells every option in the table's order, all of them as one reading left them. Any thread; the callback is not to call a function from here, for
 * tp_config_renew waits meanwhile. */
void tp_config_each(const struct tp_config *config, void (*each)(const struct tp_config_option *option, void *context), void *context);

/* Logs the variables that look like ours and name no option: perhaps not meant for us, clusters set such names for a service called tickpathd. */
void tp_config_log_strangers(char *const *environment);

/* Gives the text of --help; the caller frees it. NULL when out of memory. */
char *tp_config_help(void);

#endif
