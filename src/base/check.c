#include "base/check.h"

#include <stdlib.h>

void (*tp_check_failed_cb)(const char *condition, const char *file, int line);

_Noreturn void tp__check_failed(const char *condition, const char *file, int line)
{
    if (tp_check_failed_cb)
        tp_check_failed_cb(condition, file, line);
    abort();
}
