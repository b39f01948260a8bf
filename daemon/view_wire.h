/* Bytes of the live view as they are made: a buffer that grows, the numbers in it, base64 for events.
 *
 * What it is: appends; the first append that finds no memory marks the buffer as failed, and the others do nothing, so that
 * only the end is checked. What it refuses: nothing. Who calls it: the view's own thread and the HTTP thread.
 */
#ifndef TP_DAEMON_VIEW_WIRE_H
#define TP_DAEMON_VIEW_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed is empty. */
struct tp_view_buffer {
    char *bytes; /* malloc'd */
    size_t size, capacity;
    bool has_failed;
};

void tp_view_buffer_fini(struct tp_view_buffer *buffer);

/* Empties it; keeps its memory. */
void tp_view_buffer_clear(struct tp_view_buffer *buffer);

void tp_view_put(struct tp_view_buffer *buffer, const void *bytes, size_t size);
void tp_view_put_byte(struct tp_view_buffer *buffer, uint8_t byte);
/* Seven bits a byte, the lowest first, the eighth set where more follow. */
void tp_view_put_varint(struct tp_view_buffer *buffer, uint64_t value);
/* Little-endian. */
void tp_view_put_fixed(struct tp_view_buffer *buffer, uint64_t value, unsigned bytes);
__attribute__((format(printf, 2, 3))) void tp_view_print(struct tp_view_buffer *buffer, const char *format, ...);
/* A JSON string of it, in its quotes. */
void tp_view_put_quoted(struct tp_view_buffer *buffer, const char *text);

/* An event of a stream: its name, and `data` in base64 or as it is (one line). */
void tp_view_put_event(struct tp_view_buffer *buffer, const char *name, const struct tp_view_buffer *data, bool as_base64);

#endif
