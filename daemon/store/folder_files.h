/* Files of the embedded store's folder: their names, reading, writing, syncing, listing.
 *
 * What it is: single steps on the disk, each whole or failed with errno. It knows nothing of maps but their names. Who
 * calls it: daemon/store/folder.c and folder_write.c, on the store's thread.
 */
#ifndef TP_DAEMON_FOLDER_FILES_H
#define TP_DAEMON_FOLDER_FILES_H

#include "daemon/store/folder.h"

enum { TP__FOLDER_NAME_BYTES = 256 };

/* The name of a map's file: '/' becomes '+', `suffix` comes behind. */
void tp__folder_file_name(char out[TP__FOLDER_NAME_BYTES], const char *name, const char *suffix);

/* The name of the log that begins at this snapshot. */
void tp__folder_log_name(char out[TP__FOLDER_NAME_BYTES], const char *name, uint64_t epoch, uint64_t version);

/* Writes all of it at `offset`; false with errno. */
bool tp__folder_write_all(int fd, const uint8_t *bytes, size_t size, uint64_t offset);

/* Syncs a file and counts that; false with errno. */
bool tp__folder_sync(struct tp_folder *folder, int fd);

/* Reads a whole file of the folder (malloc'd). TP_ERR_NOT_FOUND, TP_ERR_UNAVAILABLE with errno, TP_ERR_NO_MEMORY. */
int tp__folder_read(struct tp_folder *folder, const char *name, uint8_t **bytes, size_t *size) TP_MUST_CHECK;

/* Writes a whole file of the folder and syncs it; false with errno, the file removed. */
bool tp__folder_write_draft(struct tp_folder *folder, const char *draft, const uint8_t *bytes, size_t size);

/* Adds the folder's files that end with `suffix`. TP_ERR_UNAVAILABLE with errno, TP_ERR_NO_MEMORY. */
int tp__folder_scan(struct tp_folder *folder, const char *suffix, struct tp_names *names) TP_MUST_CHECK;

/* Removes the logs of a map, all but the one of the name `but` (NULL: all). False: not all of them could be. */
bool tp__folder_remove_logs(struct tp_folder *folder, const char *map_name, const char *but);

#endif
