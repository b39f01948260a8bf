/* Refusing a request: fills the refusal and gives the error, so that a check is one line. It decides nothing.
 * Who calls it: the commands, the upload and the scheduler, where they check a request. */
#ifndef TP_DAEMON_REFUSAL_H
#define TP_DAEMON_REFUSAL_H

#include "base/error.h"

/* `field` and `reason` are static words. */
static inline int tp_refuse(struct tp_refusal *refusal, int error, const char *field, const char *reason)
{
    *refusal = (struct tp_refusal){field, reason};
    return error;
}

/* The commonest: a field's value is not allowed. */
static inline int tp_refuse_value(struct tp_refusal *refusal, const char *field, const char *reason)
{
    return tp_refuse(refusal, TP_ERR_INVALID_ARGUMENT, field, reason);
}

#endif
