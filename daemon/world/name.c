#include "daemon/world/name.h"

#include <stddef.h>
#include <string.h>

bool tp_world_name_allowed(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > TP_WORLD_NAME_MAX || name[0] == '.' || name[0] == '/')
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
              c == '_' || c == '/' || c == '-'))
            return false;
        bool part_begins = i == 0 || name[i - 1] == '/';
        if (part_begins && c == '.' && name[i + 1] == '.' && (name[i + 2] == '/' || name[i + 2] == '\0'))
            return false;
    }
    return true;
}

void tp_world_name_copy(char out[TP_WORLD_NAME_MAX + 1], const char *name)
{
    size_t length = strnlen(name, TP_WORLD_NAME_MAX);
    memcpy(out, name, length);
    out[length] = '\0';
}
