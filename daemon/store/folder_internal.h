/* What folder.c (which maps are kept: loading, dropping, the status) and folder_write.c (what is written of them) share.
 *
 * What it is: the list of the maps held. What it refuses: to be seen elsewhere. Who calls it: those two files, on the store's thread.
 */
#ifndef TP_DAEMON_FOLDER_INTERNAL_H
#define TP_DAEMON_FOLDER_INTERNAL_H

#include "daemon/store/folder.h"

enum {
    TP__FOLDER_FOLD_BYTES = 64 * 1024 * 1024, /* a log of so many bytes is folded, however few its batches */
};

/* What is on the disk of one map. */
struct tp__kept {
    struct tp__kept *next;
    char name[TP_WORLD_NAME_MAX + 1];
    struct tp_tip tip;               /* what was acknowledged last, or loaded; without a map: nothing */
    uint64_t log_epoch, log_version; /* the snapshot that has its name, to which the log belongs */
    int log_fd;                      /* -1: broken, or nothing was ever kept */
    uint64_t log_bytes, fold_bytes;  /* written and synced; how many make the log long */
    uint64_t log_batches, fold_at;   /* likewise of batches */
    bool is_broken;
    bool is_in_doubt; /* the write that failed last may be found by a restart all the same */
    bool owes_gone;   /* a drop of it was in doubt and has not been told yet */
};

/* folder.c. Says what failed, with errno's words. Returns TP_ERR_UNAVAILABLE. */
int tp__folder_fail(struct tp_folder *folder, const char *what, const char *name);

/* Something worked: all is well again, unless another map is still broken. */
void tp__folder_recover(struct tp_folder *folder);

/* The map held under that name, or NULL; adds one of which nothing is known (NULL: out of memory); takes it out and frees it. */
struct tp__kept *tp__folder_find(struct tp_folder *folder, const char *name);
struct tp__kept *tp__folder_add(struct tp_folder *folder, const char *name);
void tp__folder_remove(struct tp_folder *folder, struct tp__kept *kept);

/* What the disk holds of it is not what was acknowledged, or nobody knows. */
void tp__folder_break(struct tp__kept *kept);

/* Reads a map that is not held, and holds it. As tp_folder_load. */
int tp__folder_load_new(struct tp_folder *folder, const char *name, struct tp__kept **out, const char **reason) TP_MUST_CHECK;

/* folder_write.c. Makes `map` with these keys (NULL: none) and an empty log what the disk holds under kept->name; the tip is the
 * caller's to set. TP_ERR_UNAVAILABLE, with kept->is_in_doubt; TP_ERR_NO_MEMORY. */
int tp__folder_write_snapshot(struct tp_folder *folder, struct tp__kept *kept, const struct tp_map *map,
                              const struct tp_keys *keys) TP_MUST_CHECK;

#endif
