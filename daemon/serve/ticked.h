/* The reply to a tick, packed from a schedule's answers straight into the output: the one message that is written for every
 * agent of every frame, without a message structure in between.
 *
 * What it is: the bytes that protobuf-c makes of a Reply with a Ticked (tests/unit/test_ticked.c holds one against the other), in
 * one pass over the answers: each of the six arrays that every tick has grows at a place of its own, far enough from the next, and all are
 * pushed together when their lengths are known. What only some ticks ask for is measured first and written after.
 * What it refuses: nothing; the caller has seen to it that the frame is not too long. Who calls it: the tick command.
 */
#ifndef TP_DAEMON_TICKED_H
#define TP_DAEMON_TICKED_H

#include "daemon/net/frame.h"
#include "daemon/serve/scheduler.h"

struct tp_ticked {
    const struct tp_schedule *schedule; /* served */
    uint64_t tick;                      /* the connection's number of this tick */
    bool wants_work;
    const uint32_t *path_cells; /* NULL: no paths are wanted. Of answer i: path_counts[i] cells, from i * path_stride on */
    const uint32_t *path_counts;
    uint32_t path_stride;
};

/* The most bytes of a frame's payload with so many answers and refusals, cells of paths left out. Cost: O(1). */
size_t tp_ticked_bytes_most(size_t served, size_t refused, bool wants_work, bool wants_path);

/* Room in the output for such a payload, and what packing it needs beside: false when out of memory. After it, and until anything else is
 * appended, tp_ticked_append of no more than that, and no paths, cannot fail. */
bool tp_ticked_reserve(struct tp_frame_buffer *output, size_t bytes_most) TP_MUST_CHECK;

/* Appends the frame. False when out of memory, the output as it was. Cost: O(answers + refusals + cells). */
bool tp_ticked_append(struct tp_frame_buffer *output, uint64_t id, const struct tp_ticked *ticked) TP_MUST_CHECK;

#endif
