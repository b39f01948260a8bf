/* The one place that holds the version of tickpath: both programs, the protocol's welcome, the stats and the
 * pkg-config file take it from here. */
#ifndef TP_BASE_VERSION_H
#define TP_BASE_VERSION_H

#define TP_VERSION "0.1.0"

#endif
