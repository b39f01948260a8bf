#include "daemon/upload.h"

#include "base/limits.h"
#include "daemon/refusal.h"

#include <stdlib.h>
#include <string.h>

int tp_upload_begin(struct tp_upload *upload, struct tp_upload_quota *quota, const char *name, uint32_t width,
                    uint32_t height, struct tp_refusal *refusal)
{
    if (width == 0)
        return tp_refuse_value(refusal, "width", "the first chunk must say it, and not 0");
    if (height == 0)
        return tp_refuse_value(refusal, "height", "the first chunk must say it, and not 0");
    uint64_t cells = (uint64_t)width * height;
    if (cells > (uint64_t)TP_MAP_CELLS_MAX)
        return tp_refuse_value(refusal, "width", "more cells than map_cells_max");
    if (atomic_fetch_add(&quota->bytes, cells) + cells > quota->bytes_max) {
        atomic_fetch_sub(&quota->bytes, cells);
        return tp_refuse(refusal, TP_ERR_RESOURCE_EXHAUSTED, "width",
                         "too many map bytes are being uploaded at a time");
    }
    upload->cells = malloc(cells);
    if (upload->cells == NULL) {
        atomic_fetch_sub(&quota->bytes, cells);
        return tp_refuse(refusal, TP_ERR_NO_MEMORY, "width", "out of memory");
    }
    upload->quota = quota;
    upload->is_open = true;
    upload->width = width;
    upload->height = height;
    upload->received = 0;
    upload->replace = false;
    tp_world_name_copy(upload->name, name);
    return 0;
}

int tp_upload_add(struct tp_upload *upload, uint64_t offset, const void *cells, size_t count,
                  struct tp_refusal *refusal)
{
    if (offset != upload->received)
        return tp_refuse_value(refusal, "offset", "must be the number of cells received so far");
    if (count > (uint64_t)upload->width * upload->height - upload->received)
        return tp_refuse(refusal, TP_ERR_OUT_OF_RANGE, "cells", "more cells than width * height");
    if (count > 0)
        memcpy(upload->cells + upload->received, cells, count);
    upload->received += count;
    return 0;
}

bool tp_upload_complete(const struct tp_upload *upload)
{
    return upload->received == (uint64_t)upload->width * upload->height;
}

static void close_upload(struct tp_upload *upload)
{
    atomic_fetch_sub(&upload->quota->bytes, (uint64_t)upload->width * upload->height);
    upload->cells = NULL;
    upload->is_open = false;
}

uint8_t *tp_upload_take_cells(struct tp_upload *upload)
{
    uint8_t *cells = upload->cells;
    close_upload(upload);
    return cells;
}

void tp_upload_drop(struct tp_upload *upload)
{
    if (!upload->is_open)
        return;
    free(upload->cells);
    close_upload(upload);
}
