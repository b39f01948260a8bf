/* Every error of tickpath, in one list.
 *
 * The list generates the enum (negative ints, 0 is success), the text, the name and the wire code: the wire code
 * of an error is its number in the list, and proto/tickpath.proto's ErrorCode holds the same names and numbers
 * (tests/unit/test_error.c compares them).
 *
 * Callable from anywhere; nothing here allocates or can fail.
 */
#ifndef TP_BASE_ERROR_H
#define TP_BASE_ERROR_H

/* X(NAME, wire number, text). Numbers are part of the protocol: never reuse or renumber one. */
#define TP_ERROR_LIST(X)                                                                                      \
    X(INVALID_ARGUMENT, 1, "a field's value is not allowed")                                                  \
    X(NOT_FOUND, 2, "no map or session of that name or id")                                                   \
    X(ALREADY_EXISTS, 3, "a map of that name exists")                                                         \
    X(OUT_OF_RANGE, 4, "a cell or an offset lies outside the map")                                            \
    X(RESOURCE_EXHAUSTED, 5, "a limit or quota is reached")                                                   \
    X(FAILED_PRECONDITION, 6, "not possible in the present state")                                            \
    X(VERSION_MISMATCH, 7, "the map is not at the version given as base")                                     \
    X(MAP_NOT_READY, 8, "the map has not reached the version asked for")                                      \
    X(UNSUPPORTED, 9, "this combination of options is not served")                                            \
    X(MALFORMED_FRAME, 10, "the bytes are not a frame of this protocol")                                      \
    X(FRAME_TOO_LARGE, 11, "the frame is longer than the cap")                                                \
    X(UNKNOWN_MESSAGE, 12, "the request holds no message that this server knows")                             \
    X(HELLO_REQUIRED, 13, "the first message must be a hello, and only the first")                            \
    X(PROTOCOL_VERSION, 14, "no protocol version in common")                                                  \
    X(UNAVAILABLE, 15, "the server or its store cannot take this now; try again later")                       \
    X(SHUTTING_DOWN, 16, "the server is draining")                                                            \
    X(NO_MEMORY, 17, "out of memory")                                                                         \
    X(PARSE, 18, "the text is not of its format")                                                             \
    X(IO, 19, "an operating-system call failed")                                                              \
    X(CORRUPT, 20, "stored data fail their checksum or have an unknown layout")                               \
    X(TIMEOUT, 21, "no answer in time")                                                                       \
    X(CLOSED, 22, "the connection is closed")                                                                 \
    X(INTERNAL, 23, "a fault of the server's own")

enum tp_error {
    TP_OK = 0,
#define TP_ERROR_ENUM(name, number, text) TP_ERR_##name = -(number),
    TP_ERROR_LIST(TP_ERROR_ENUM)
#undef TP_ERROR_ENUM
#define TP_ERROR_ONE(name, number, text) +1
    TP_ERROR_COUNT = 0 TP_ERROR_LIST(TP_ERROR_ONE) /* their numbers are 1 to this */
#undef TP_ERROR_ONE
};

#define TP_MUST_CHECK __attribute__((warn_unused_result))

/* The error's sentence ("ok" for 0, "unknown error" for a number not in the list). Static memory. */
const char *tp_error_text(int error);

/* The error's name as in the list ("OK" for 0). Static memory. */
const char *tp_error_name(int error);

/* Where in a text a parser stopped. Lines and columns count from 1; both 0 when no place applies. */
struct tp_place {
    unsigned line;
    unsigned column;
};

/* What was wrong with a caller's request: `field` names the offending field as the protocol spells it, `reason`
 * says why in words. Both static memory, NULL where nothing applies. */
struct tp_refusal {
    const char *field;
    const char *reason;
};

#endif
