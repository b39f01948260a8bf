/* The steps of the Redis store that must be whole: Lua scripts. Each says what it does, its keys and arguments, and its reply; who calls
 * them: the Redis store. All of a map's keys fall into one slot. */
#ifndef TP_DAEMON_REDIS_SCRIPTS_H
#define TP_DAEMON_REDIS_SCRIPTS_H

/* Whether an entry is in the log. log; place. 1 or 0. */
extern const char tp__redis_script_has[];

/* Begins a map. log, snaps, ended; mode, last, epoch, field, snapshot, origin, tag, run. Mode `new`: "exists" if there is one; `at`: "moved" if the
 * log's last entry is not `last` ("": it has none); `replace`. "epoch N": the map is in epoch N, or was until it was dropped, and that is not
 * below the one given. Gives the place of the put. */
extern const char tp__redis_script_put[];

/* Ends a map. log, snaps, ended; "1" where an epoch is asked for, epoch, origin. "epoch": the map is in another; "none": there are no snapshots, so no map; else the
 * place of the drop. The log stays for a day, so that who follows it reads the end. */
extern const char tp__redis_script_drop[];

/* Where a log stands. log, snaps; place, run, tag. Gives four: whether the log has the place; its last place ("": it is empty); whether the
 * log was marked since this run of the server began; whether there are snapshots. With a tag, and the place there, it marks it. */
extern const char tp__redis_script_look[];

/* Puts back what a log lost. log, snaps; last, field, snapshot, epoch, then per entry: place, how many texts, the texts. "moved": the log's last
 * entry is not `last`. With a field, the snapshot is the only one then. "ok". */
extern const char tp__redis_script_restore[];

/* Asks whether to write a snapshot. snaps, lease; epoch, instance, version, batches. A number: this version has one in Redis, less than so
 * many batches old; "busy": another writes one; "mine". */
extern const char tp__redis_script_lease[];

/* Adds a snapshot, keeps the two newest and trims the log to the older of them. log, snaps, lease; epoch, version, field, snapshot, instance,
 * place. "epoch", "newer" (there is one), "gap" (the log does not have the place), or "ok". Gives the lease back. */
extern const char tp__redis_script_snapshot[];

#endif
