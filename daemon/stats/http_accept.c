#include "daemon/stats/http_accept.h"

#include <string.h>
#include <strings.h>

enum { Q_ONE = 1000 };

/* A part of the header between separators, without the blanks around it. */
struct part {
    const char *bytes;
    size_t size;
};

/* Takes the next part up to a separator outside of quotes; false at the end of `rest`. */
static bool take_part(struct part *rest, char separator, struct part *part)
{
    if (rest->bytes == NULL)
        return false;
    size_t size = 0;
    for (bool is_quoted = false; size < rest->size && (is_quoted || rest->bytes[size] != separator); size++) {
        if (rest->bytes[size] == '"')
            is_quoted = !is_quoted;
        else if (is_quoted && rest->bytes[size] == '\\' && size + 1 < rest->size)
            size++;
    }
    *part = (struct part){rest->bytes, size};
    if (size < rest->size)
        *rest = (struct part){rest->bytes + size + 1, rest->size - size - 1};
    else
        *rest = (struct part){0};
    while (part->size > 0 && strchr(" \t", part->bytes[0]) != NULL)
        part->bytes++, part->size--;
    while (part->size > 0 && strchr(" \t", part->bytes[part->size - 1]) != NULL)
        part->size--;
    return true;
}

static bool is_word(struct part part, const char *word)
{
    return part.size == strlen(word) && strncasecmp(part.bytes, word, part.size) == 0;
}

/* A q in thousandths; what is none counts as 0, so that nobody gets what was not asked for. */
static int read_q(struct part value)
{
    if (value.size == 0 || value.size > 5 || (value.bytes[0] != '0' && value.bytes[0] != '1') ||
        (value.size > 1 && value.bytes[1] != '.'))
        return 0;
    int q = (value.bytes[0] - '0') * Q_ONE;
    for (size_t i = 2, unit = Q_ONE / 10; i < value.size; i++, unit /= 10) {
        if (value.bytes[i] < '0' || value.bytes[i] > '9')
            return 0;
        q += (value.bytes[i] - '0') * (int)unit;
    }
    return q <= Q_ONE ? q : 0;
}

/* One media range. */
struct range {
    struct part type;
    struct part version; /* size 0: none is named */
    int q;
};

static struct range read_range(struct part rest)
{
    struct range range = {.q = Q_ONE};
    struct part parameter;
    take_part(&rest, ';', &range.type);
    while (take_part(&rest, ';', &parameter)) {
        struct part name = {0}, value = parameter;
        take_part(&value, '=', &name);
        if (value.size >= 2 && value.bytes[0] == '"' && value.bytes[value.size - 1] == '"')
            value = (struct part){value.bytes + 1, value.size - 2};
        if (is_word(name, "q"))
            range.q = read_q(value);
        else if (is_word(name, "version"))
            range.version = value;
    }
    return range;
}

enum tp_stats_format tp_http_accept_format(const char *accept)
{
    int open_q = 0, text_q = 0, text_closeness = 0;
    struct part rest = {accept, accept != NULL ? strlen(accept) : 0}, part;
    while (take_part(&rest, ',', &part)) {
        struct range range = read_range(part);
        int closeness = is_word(range.type, "text/plain") ? 3 : is_word(range.type, "text/*") ? 2 : is_word(range.type, "*/*");
        if (closeness == 3 && range.version.size > 0 && !is_word(range.version, "0.0.4"))
            closeness = 0;
        if (closeness > text_closeness || (closeness > 0 && closeness == text_closeness && range.q > text_q)) {
            text_closeness = closeness;
            text_q = range.q;
        }
        if (is_word(range.type, "application/openmetrics-text") && range.q > open_q &&
            (range.version.size == 0 || is_word(range.version, "1.0.0")))
            open_q = range.q;
    }
    return open_q > 0 && open_q >= text_q ? TP_STATS_OPENMETRICS : TP_STATS_TEXT;
}
