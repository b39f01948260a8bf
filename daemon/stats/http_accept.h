/* Which format of the metrics an Accept header asks for (RFC 9110, 12.5.1).
 *
 * What it is: a function from the header's text to a format. What it refuses: nothing; who asks for neither gets Prometheus' text, which every
 * scraper reads. Who calls it: the HTTP thread.
 */
#ifndef TP_DAEMON_HTTP_ACCEPT_H
#define TP_DAEMON_HTTP_ACCEPT_H

#include "daemon/stats/stats.h"

/* OpenMetrics where it is named, in version 1.0.0 or in none, with a q above 0 that is no less than the text's; else
 * the text. The text has the q of the range that names it most closely: text/plain, text, or anything. NULL: no header.
 * Cost: O(length). */
enum tp_stats_format tp_http_accept_format(const char *accept);

#endif
