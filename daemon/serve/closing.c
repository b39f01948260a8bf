#include "daemon/serve/closing.h"

#include "base/check.h"

#include <stdlib.h>

enum { CAPACITY_MIN = 64 };

void tp_closing_init(struct tp_closing *closing)
{
    *closing = (struct tp_closing){0};
}

void tp_closing_fini(struct tp_closing *closing)
{
    TP_CHECK(closing->expected == 0);
    while (closing->count > 0)
        tp_session_close(closing->sessions[--closing->count]);
    free(closing->sessions);
    tp_closing_init(closing);
}

int tp_closing_expect(struct tp_closing *closing)
{
    if (closing->count + closing->expected == closing->capacity) {
        size_t capacity = closing->capacity == 0 ? CAPACITY_MIN : closing->capacity * 2;
        struct tp_session **larger = realloc(closing->sessions, capacity * sizeof *larger);
        if (larger == NULL)
            return TP_ERR_NO_MEMORY;
        closing->sessions = larger;
        closing->capacity = capacity;
    }
    closing->expected++;
    return 0;
}

void tp_closing_put(struct tp_closing *closing, struct tp_session *session)
{
    TP_CHECK(closing->expected > 0);
    closing->expected--;
    closing->sessions[closing->count++] = session;
}

size_t tp_closing_free(struct tp_closing *closing, const struct tp_clock *clock, uint64_t slice_us)
{
    size_t before = closing->count;
    uint64_t end_us = clock->now_us(clock->context) + slice_us;
    while (closing->count > 0) {
        tp_session_close(closing->sessions[--closing->count]);
        if (clock->now_us(clock->context) >= end_us)
            break;
    }
    return before - closing->count;
}
