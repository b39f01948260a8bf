/* A response of the stats port with its headers, sent and given up.
 *
 * What it refuses: nothing. Who calls it: the HTTP thread.
 */
#ifndef TP_DAEMON_HTTP_SEND_H
#define TP_DAEMON_HTTP_SEND_H

#include <microhttpd.h>

struct tp_http_header {
    const char *name;  /* NULL: the list's end */
    const char *value; /* NULL: this header is not sent */
};

/* Adds the headers and queues the response with its status; takes the response, which may be NULL. MHD_NO: out of
 * memory, and libmicrohttpd closes the connection. */
enum MHD_Result tp_http_send(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
                             const struct tp_http_header *headers);

#endif
