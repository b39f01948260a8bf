/* Speaking to a real daemon from a test: start one, stop one, exchange frames.
 *
 * What it is: the plainest possible client of PROTOCOL.md, written apart from libtickpath-client so that the
 * two check each other, and able to send what no proper client sends (raw bytes, half frames, nonsense). What
 * it refuses: hiding a surprise. Where the text says "asserts", a surprise fails the running Check test, with
 * the daemon's own words where it gave some. Who calls it: tests; a test process that dies takes its daemons
 * with it (parent-death signal).
 */
#ifndef TESTS_LIB_WIRE_H
#define TESTS_LIB_WIRE_H

#include "proto/tickpath.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WIRE_TIMEOUT_MS = 15000 }; /* how long a test waits for anything before it fails */

/* ---- A daemon of our own ---- */

struct wire_daemon {
    pid_t pid;           /* 0: not running */
    uint16_t port;       /* protocol, on 127.0.0.1 */
    uint16_t stats_port; /* http, 0 when the daemon wrote none */
    char folder[96]; /* temporary folder: port file, log; room for the test's own files; gone at the end */
    int exit_status; /* of the last run, as waitpid gives it */
};

/* Makes the temporary folder and starts nothing. */
void wire_daemon_init(struct wire_daemon *daemon);

/* Starts `tickpathd --listen 127.0.0.1:0 --port-file F` plus the options given (NULL ends the list) and waits
 * until it serves. Asserts that it does. May be called again after a stop or kill, with other options. */
void wire_daemon_start(struct wire_daemon *daemon, ...) __attribute__((sentinel));

/* Runs `tickpathd` with the options given alone (NULL ends the list) to its end: one that is to refuse them, or to answer and go. Gives its exit code,
 * and in `said` what it wrote on both streams, for which there must be room. Asserts that it ends by itself within a minute. */
int wire_daemon_run(char *said, size_t said_bytes, ...) __attribute__((sentinel));

/* Makes the daemons started from here on return freed memory soon under ASan (which else keeps up to 256 MiB
 * of it to find late uses): for tests that look at resident bytes. Allow for WIRE_QUARANTINE_BYTES of it all
 * the same. */
enum { WIRE_QUARANTINE_BYTES = 4 << 20 };
void wire_daemon_lean(void);

/* SIGTERM, then waits; asserts that it ends in time with exit code 0 (under ASan that means: no leak either).
 */
void wire_daemon_stop(struct wire_daemon *daemon);

/* Waits for the end of a daemon that was told to end; asserts that it comes in time, with this exit code. */
void wire_daemon_expect_exit(struct wire_daemon *daemon, int code);

/* SIGKILL, then waits. */
void wire_daemon_kill(struct wire_daemon *daemon);

/* Whether the process still runs; prints how it ended and the end of its log if not. */
bool wire_daemon_alive(struct wire_daemon *daemon);

/* Kills what still runs and removes the folder. */
void wire_daemon_fini(struct wire_daemon *daemon);

/* Resident bytes that a process holds itself, from /proc; 0 if it is gone. Pages of files (its own program) are left out: the
 * system takes them away and brings them back as it likes. */
uint64_t wire_resident_bytes(pid_t pid);

/* GETs a path of the daemon's http port into a string to be freed; *status gets the HTTP status. NULL if
 * there is no such port or no answer. */
char *wire_http_get(const struct wire_daemon *daemon, const char *path, int *status);

/* The value of a sample of its /metrics, named as exported. */
double wire_sample(const struct wire_daemon *daemon, const char *name);
/* The value of a line of the metrics table there (tp_test_metric). */
uint64_t wire_metric(const struct wire_daemon *daemon, const char *field);

/* ---- A connection ---- */

struct wire {
    int fd;
    uint8_t *in; /* bytes read; those from in_start to in_end are not yet cut into frames */
    size_t in_start, in_end, in_room;
    uint64_t next_id;
    uint64_t sent_id; /* of the last wire_send */
};

/* Connects, says nothing yet. Asserts that it connects. */
void wire_open(struct wire *wire, uint16_t port);

/* Connects and exchanges hello and welcome. */
void wire_open_greeted(struct wire *wire, uint16_t port);

void wire_close(struct wire *wire);

/* Sends raw bytes; false if the peer has closed. */
bool wire_send_bytes(struct wire *wire, const void *bytes, size_t size);

/* The delimited frame of a request: varint length, then the message. Gives memory to be freed. */
uint8_t *wire_frame(const Tickpath__Request *request, size_t *size);

/* The kinds of request are those of the oneof; `message` is a pointer to the message of that kind. Sends it
 * with the connection's next id. Asserts that the peer takes it. */
void wire_send(struct wire *wire, Tickpath__Request__BodyCase kind, void *message);

enum wire_got { WIRE_GOT_FRAME, WIRE_GOT_CLOSE, WIRE_GOT_NOTHING };

/* Waits for the next frame. Asserts that whatever comes is a well-formed Reply. */
enum wire_got wire_poll(struct wire *wire, Tickpath__Reply **reply, int timeout_ms);

/* The next reply; asserts that one comes. Free with wire_reply_free. */
Tickpath__Reply *wire_recv(struct wire *wire);
void wire_reply_free(Tickpath__Reply *reply);

/* Sends and waits for the reply; asserts that it carries the same id and is of the kind wanted. */
Tickpath__Reply *wire_ask(struct wire *wire, Tickpath__Request__BodyCase kind, void *message,
                          Tickpath__Reply__BodyCase want);

/* Sends and asserts that the answer is an error of that code naming that field (NULL: no matter). */
void wire_ask_error(struct wire *wire, Tickpath__Request__BodyCase kind, void *message,
                    Tickpath__ErrorCode code, const char *field);

/* Asserts that the next thing to come is one error frame of that code, and then the end of the connection. */
void wire_expect_last_error(struct wire *wire, Tickpath__ErrorCode code);

/* Asserts that a ping comes back. */
void wire_expect_alive(struct wire *wire);

/* ---- Everyday requests; all assert success ---- */

/* Puts a map in chunks of at most 1 MiB, with the default profile. */
void wire_put_map(struct wire *wire, const char *name, uint32_t width, uint32_t height, const uint8_t *cells);

/* Puts a free map ('.' everywhere). */
void wire_put_free_map(struct wire *wire, const char *name, uint32_t width, uint32_t height);

/* Opens a session of `algorithm` (NULL: the default) with budget k; returns its id. */
uint64_t wire_open_session(struct wire *wire, const char *map, uint32_t start, uint32_t goal,
                           const char *algorithm, uint64_t k);

/* Ticks one session; returns the reply, which holds exactly that session. */
Tickpath__Reply *wire_tick(struct wire *wire, uint64_t session);

/* Sets one cell's class; returns the version made. */
uint64_t wire_set_cell(struct wire *wire, const char *map, uint32_t cell, uint8_t terrain);

/* Closes the last column but one of a free map of side * side cells: the last cell can't be had from the left, and a search for it sees all the rest. */
void wire_wall_off(struct wire *wire, const char *map, uint32_t side);

/* Milliseconds on a clock that only goes forward. */
uint64_t wire_now_ms(void);
void wire_sleep_ms(long ms);

#endif
