/* Forcing a function into its callers: the kernels are written once, with constants that only inlining makes so. */
#ifndef TP_BASE_INLINE_H
#define TP_BASE_INLINE_H

#define TP_ALWAYS_INLINE static inline __attribute__((always_inline))

#endif
