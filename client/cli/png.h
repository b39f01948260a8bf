/* Writes an image as a PNG file (libpng). Called by the commands that draw. */
#ifndef TP_CLI_PNG_H
#define TP_CLI_PNG_H

#include "base/error.h"

struct tp_image;

/* Writes `image` to `path`, replacing what is there. The file appears whole or not at all (it is written
 * beside its place and renamed). TP_ERR_IO, with *reason (static memory or valid until the next call) saying
 * why. */
int tp_png_write(const char *path, const struct tp_image *image, const char **reason) TP_MUST_CHECK;

#endif
