/* With which code the daemon ends, and why: one table. --help and the README list it.
 *
 * From 3 to 9 supervisors read meanings of their own into a code: none of ours lies there. Who calls it: main, the server.
 */
#ifndef TP_DAEMON_EXIT_H
#define TP_DAEMON_EXIT_H

/* X(NAME, code, words) */
#define TP_EXIT_LIST(X)                                                                                      \
    X(CLEAN, 0, "ended as it was told, with all that was owed answered")                                     \
    X(FAILED, 1, "could not start for another reason: no memory, no thread, a file that can't be written")   \
    X(USAGE, 2, "an option, a variable or a line of --config is wrong: trying again does not help")          \
    X(PORT, 10, "cannot listen: a port is taken, or an address is not of this machine")                      \
    X(LOCKED, 11, "another daemon uses the folder of --data")                                                \
    X(STORE, 12, "the folder of --data or the URL of --redis can't be used")                                 \
    X(DROPPED, 13, "ended with connections dropped: at the drain's deadline, or at a second signal")         \
    X(STUCK, 14, "the end took too long after the drain, with a disk that hangs, say: gave up")

enum tp_exit {
#define TP_EXIT_ENUM(name, code, words) TP_EXIT_##name = (code),
    TP_EXIT_LIST(TP_EXIT_ENUM)
#undef TP_EXIT_ENUM
};

#endif
