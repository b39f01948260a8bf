#include "tests/lib/stored.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct wire_daemon stored_daemon;
struct wire stored_wire;
char stored_folder[128];

void stored_begin(void)
{
    wire_daemon_init(&stored_daemon);
    snprintf(stored_folder, sizeof stored_folder, "%s/data", stored_daemon.folder);
}

void stored_end(void)
{
    wire_daemon_fini(&stored_daemon);
}

void stored_start(void)
{
    wire_daemon_start(&stored_daemon, "--data", stored_folder, "--fold-batches", "1000", NULL);
    wire_open_greeted(&stored_wire, stored_daemon.port);
}

void stored_stop(void)
{
    wire_close(&stored_wire);
    wire_daemon_stop(&stored_daemon);
}

void stored_die(void)
{
    wire_daemon_kill(&stored_daemon);
    wire_close(&stored_wire);
}

Tickpath__Reply *stored_open_map(const char *name)
{
    Tickpath__OpenMap open = TICKPATH__OPEN_MAP__INIT;
    open.map = (char *)name;
    return wire_ask(&stored_wire, TICKPATH__REQUEST__BODY_OPEN_MAP, &open, TICKPATH__REPLY__BODY_MAP_INFO);
}

void stored_expect_map(const char *name, uint64_t epoch, uint64_t version, uint64_t passable)
{
    Tickpath__Reply *reply = stored_open_map(name);
    ck_assert_uint_eq(reply->map_info->epoch, epoch);
    ck_assert_uint_eq(reply->map_info->version, version);
    ck_assert_uint_eq(reply->map_info->passable_cells, passable);
    wire_reply_free(reply);
}

uint64_t stored_epoch_of(const char *name)
{
    Tickpath__Reply *reply = stored_open_map(name);
    uint64_t epoch = reply->map_info->epoch;
    wire_reply_free(reply);
    return epoch;
}

const char *stored_only_file(const char *end)
{
    static char path[256];
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*%s", stored_folder, end);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 1);
    snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}

off_t stored_size_of(const char *path)
{
    struct stat facts;
    ck_assert_int_eq(stat(path, &facts), 0);
    return facts.st_size;
}

void stored_damage(const char *path, off_t at)
{
    int fd = open(path, O_RDWR);
    uint8_t byte;
    if (at < 0)
        at += stored_size_of(path);
    ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

void stored_block(const char *map, uint32_t first, uint32_t last)
{
    for (uint32_t cell = first; cell <= last; cell++)
        wire_set_cell(&stored_wire, map, cell, '@');
}

void stored_expect_in_log(const char *words)
{
    char path[128];
    snprintf(path, sizeof path, "%s/log", stored_daemon.folder);
    size_t size;
    char *text = tp_test_read_file(path, &size);
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in the daemon's log:\n%s", words, text);
    free(text);
}
