#include "daemon/store/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void tp_log_place_print(char text[TP_LOG_PLACE_TEXT_BYTES], struct tp_log_place place)
{
    snprintf(text, TP_LOG_PLACE_TEXT_BYTES, "%" PRIu64 "-%" PRIu64, place.ms, place.seq);
}

/* Reads a number from *at on, without leading zeros; false: there is none, or it is too large. */
static bool read_number(uint64_t *out, const char *text, size_t size, size_t *at)
{
    size_t first = *at;
    uint64_t value = 0;
    for (; *at < size && text[*at] >= '0' && text[*at] <= '9'; ++*at) {
        uint64_t digit = (uint64_t)(text[*at] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return *at > first && (text[first] != '0' || *at == first + 1);
}

bool tp_log_place_parse(struct tp_log_place *place, const char *text, size_t size)
{
    struct tp_log_place read = {0, 0};
    size_t at = 0;
    *place = read;
    if (!read_number(&read.ms, text, size, &at) || at == size || text[at++] != '-' || !read_number(&read.seq, text, size, &at) ||
        at != size)
        return false;
    *place = read;
    return true;
}

void tp_lineage_note(struct tp_lineage *lineage, const uint8_t bytes[TP_LOG_TAG_BYTES], struct tp_log_place last)
{
    struct tp_log_tag *newest = lineage->count > 0 ? &lineage->tags[lineage->count - 1] : NULL;
    if (newest == NULL || memcmp(newest->bytes, bytes, TP_LOG_TAG_BYTES) != 0) {
        if (lineage->count == TP_LINEAGE_MAX)
            memmove(&lineage->tags[0], &lineage->tags[1], (TP_LINEAGE_MAX - 1) * sizeof lineage->tags[0]);
        else
            lineage->count++;
        newest = &lineage->tags[lineage->count - 1];
        memcpy(newest->bytes, bytes, TP_LOG_TAG_BYTES);
    }
    newest->last = last;
}

const struct tp_log_tag *tp_lineage_find(const struct tp_lineage *lineage, const uint8_t bytes[TP_LOG_TAG_BYTES])
{
    for (uint32_t i = lineage->count; i > 0; i--)
        if (memcmp(lineage->tags[i - 1].bytes, bytes, TP_LOG_TAG_BYTES) == 0)
            return &lineage->tags[i - 1];
    return NULL;
}
