/* The page of the live view: files of daemon/view/, which are part of the binary. What it is: bytes and their type by
 * path. What it refuses: any other path. Who calls it: the HTTP thread. */
#ifndef TP_DAEMON_VIEW_ASSETS_H
#define TP_DAEMON_VIEW_ASSETS_H

#include <stddef.h>

struct tp_view_asset {
    const char *path, *type;
    const char *bytes, *end;
};

/* NULL: none of that path. */
const struct tp_view_asset *tp_view_asset_find(const char *path);

#endif
