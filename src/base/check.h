/* Checks for our own bugs: on in release builds too. A failed check aborts the process through the hook (the
 * programs print the place first); the library itself has no output.
 *
 * Not for the world (memory, I/O, limits) and not for peers: those get return codes and protocol replies.
 */
#ifndef TP_BASE_CHECK_H
#define TP_BASE_CHECK_H

#define TP_CHECK(condition)                                                                                   \
    do {                                                                                                      \
        if (__builtin_expect(!(condition), 0))                                                                \
            tp__check_failed(#condition, __FILE__, __LINE__);                                                 \
    } while (0)

/* Called once before abort() when a check fails; NULL (the default) for none. */
extern void (*tp_check_failed_cb)(const char *condition, const char *file, int line);

_Noreturn void tp__check_failed(const char *condition, const char *file, int line);

#endif
