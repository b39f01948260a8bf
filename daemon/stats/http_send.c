#include "daemon/stats/http_send.h"

#include <stddef.h>

enum MHD_Result tp_http_send(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
                             const struct tp_http_header *headers)
{
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result result = MHD_YES;
    for (; headers->name != NULL && result == MHD_YES; headers++)
        if (headers->value != NULL)
            result = MHD_add_response_header(response, headers->name, headers->value);
    if (result == MHD_YES)
        result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}
