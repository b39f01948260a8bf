/* A map on its way in, chunk by chunk, on one connection.
 *
 * What it is: a name, a size and the cells so far. Sizes are checked before anything is allocated, and all
 * uploads of the daemon share a quota. What it refuses: chunks out of order, cells beyond the size, a second
 * map in between. Who calls it: the put_map command, on the connection's loop.
 */
#ifndef TP_DAEMON_UPLOAD_H
#define TP_DAEMON_UPLOAD_H

#include "base/error.h"
#include "daemon/store.h"
#include "map/profile.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_upload_quota {
    _Atomic uint64_t bytes; /* of all uploads under way */
    uint64_t bytes_max;
};

struct tp_upload {
    bool is_open;
    char name[TP_WORLD_NAME_MAX + 1];
    uint32_t width, height;
    uint64_t received; /* cells */
    uint8_t *cells;    /* width * height */
    struct tp_profile profile;
    bool replace;
    struct tp_upload_quota *quota;
};

/* Begins an upload; `upload` must not be open. TP_ERR_INVALID_ARGUMENT (a size of 0, too many cells),
 * TP_ERR_RESOURCE_EXHAUSTED (the quota), TP_ERR_NO_MEMORY, with *refusal filled. */
int tp_upload_begin(struct tp_upload *upload, struct tp_upload_quota *quota, const char *name, uint32_t width,
                    uint32_t height, struct tp_refusal *refusal) TP_MUST_CHECK;

/* Adds a chunk. TP_ERR_INVALID_ARGUMENT (offset), TP_ERR_OUT_OF_RANGE (beyond the size), with *refusal
 * filled; the upload stays as it was. */
int tp_upload_add(struct tp_upload *upload, uint64_t offset, const void *cells, size_t count,
                  struct tp_refusal *refusal) TP_MUST_CHECK;

/* Whether all cells are here. */
bool tp_upload_complete(const struct tp_upload *upload);

/* Gives the cells away (malloc'd) and closes the upload. */
uint8_t *tp_upload_take_cells(struct tp_upload *upload);

/* Forgets the upload, if one is open. */
void tp_upload_drop(struct tp_upload *upload);

#endif
