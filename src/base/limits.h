/* The limits of the library, each with its unit. The daemon's own limits are options (daemon/config.h). */
#ifndef TP_BASE_LIMITS_H
#define TP_BASE_LIMITS_H

/* Cells of one map: 64 Mi. */
#define TP_MAP_CELLS_MAX (64u * 1024u * 1024u)
/* Changes (cells, rectangles and bitmaps together) in one batch. */
#define TP_BATCH_CHANGES_MAX 1000000u
/* Cells named by all changes of one batch together, a rectangle's and a bitmap's whole area counted. */
#define TP_BATCH_CELLS_MAX TP_MAP_CELLS_MAX
/* Largest weight of a terrain class; 0 is impassable. */
#define TP_WEIGHT_MAX 65535u
/* Largest search weight w, in thousandths: 1,000,000. */
#define TP_W_MILLI_MAX 1000000000u
/* Largest switch margin, in thousandths: 10. */
#define TP_SWITCH_MARGIN_MILLI_MAX 10000u
/* Largest lookahead k and resource limit R, in expansions. */
#define TP_BUDGET_MAX 1000000000000ull
/* Units of a tick for what guides a search; and those of a session that does not say. */
#define TP_GUIDE_UNITS_MAX 1000000u
#define TP_GUIDE_UNITS_DEFAULT 100u
/* Goals of one session. */
#define TP_GOALS_MAX 16u
/* Largest c, in traceback steps per expansion. */
#define TP_C_MAX 1000000u

#endif
