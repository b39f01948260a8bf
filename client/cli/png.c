#include "client/cli/png.h"

#include "client/cli/draw.h"

#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char complaint[200];

/* libpng's way out of an error: keep its words, jump back to where the writing began. */
static void png_failed(png_structp png, png_const_charp words)
{
    snprintf(complaint, sizeof complaint, "%s", words);
    longjmp(png_jmpbuf(png), 1);
}

static void png_warned(png_structp png, png_const_charp words)
{
    (void)png, (void)words;
}

/* Writes the image to an open file; false with the complaint set. Nothing that changes after the setjmp is
 * read after the jump. */
static bool write_file(FILE *file, const struct tp_image *image)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, png_failed, png_warned);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        snprintf(complaint, sizeof complaint, "out of memory");
        return false;
    }
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_init_io(png, file);
    png_set_IHDR(png, info, image->width, image->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (uint32_t y = 0; y < image->height; y++)
        png_write_row(png, image->rgb + 3 * (size_t)y * image->width);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return true;
}

static int fail(const char **reason, const char *what)
{
    if (what)
        snprintf(complaint, sizeof complaint, "%s", what);
    *reason = complaint;
    return TP_ERR_IO;
}

/* Whether something stands at the path that must be written to as it is: a device, a pipe, a link. */
static bool is_special(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

int tp_png_write(const char *path, const struct tp_image *image, const char **reason)
{
    *reason = NULL;
    bool special = is_special(path);
    size_t length = strlen(path);
    char *beside = malloc(length + sizeof ".part");
    if (!beside)
        return fail(reason, "out of memory");
    memcpy(beside, path, length + 1);
    if (!special)
        memcpy(beside + length, ".part", sizeof ".part");
    FILE *file = fopen(beside, "wb");
    if (!file) {
        int error = errno;
        free(beside);
        return fail(reason, strerror(error));
    }
    int rc = write_file(file, image) ? TP_OK : fail(reason, NULL);
    if (fclose(file) != 0 && !rc)
        rc = fail(reason, strerror(errno));
    if (!special && !rc && rename(beside, path) != 0)
        rc = fail(reason, strerror(errno));
    if (!special && rc)
        unlink(beside);
    free(beside);
    return rc;
}
