#include "base/error.h"

const char *tp_error_text(int error)
{
    switch (error) {
    case TP_OK:
        return "ok";
#define TP_ERROR_TEXT(name, number, text)                                                                     \
    case TP_ERR_##name:                                                                                       \
        return text;
        TP_ERROR_LIST(TP_ERROR_TEXT)
#undef TP_ERROR_TEXT
    default:
        return "unknown error";
    }
}

const char *tp_error_name(int error)
{
    switch (error) {
    case TP_OK:
        return "OK";
#define TP_ERROR_NAME(name, number, text)                                                                     \
    case TP_ERR_##name:                                                                                       \
        return #name;
        TP_ERROR_LIST(TP_ERROR_NAME)
#undef TP_ERROR_NAME
    default:
        return "UNKNOWN";
    }
}
