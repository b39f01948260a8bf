/* Probes that a tracer may hang on a running daemon (USDT): of provider tickpathd, a no-op each in the code until
 * somebody does. deploy/trace.bt is a sample for bpftrace; `readelf -n tickpathd` lists them. Where sys/sdt.h is not
 * there when this is compiled they are nothing.
 *
 *     tick__begin      tick request's number on its connection, sessions that it may serve
 *     tick__end        the number, sessions served, expansions, microseconds
 *     change__applied  map, epoch, version, changes in the batch
 *     session__opened  session, algorithm, start, goal
 *     session__closed  how many sessions of one connection
 *     search__restart  searches begun anew by one tick, the tick's number
 *
 * What it refuses: work for the arguments' sake; they are what is at hand. Who calls it: the thread where it happens.
 */
#ifndef TP_DAEMON_PROBES_H
#define TP_DAEMON_PROBES_H

#if defined(__has_include) && !defined(TP_NO_PROBES)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define TP_HAS_PROBES
#endif
#endif

#ifdef TP_HAS_PROBES
#ifdef __clang__ /* the system's macros leave a variable argument out, where they are used */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#define TP_PROBE1(name, a) DTRACE_PROBE1(tickpathd, name, a)
#define TP_PROBE2(name, a, b) DTRACE_PROBE2(tickpathd, name, a, b)
#define TP_PROBE4(name, a, b, c, d) DTRACE_PROBE4(tickpathd, name, a, b, c, d)
#else
#define TP_PROBE1(name, a) ((void)(a))
#define TP_PROBE2(name, a, b) ((void)(a), (void)(b))
#define TP_PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif
