#include "daemon/store/redis_entry.h"

#include "daemon/store/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSTANCE_DIGITS = 16 };

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool tp__redis_number_read(uint64_t *out, const char *text, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return size > 0;
}

static bool hex_read(uint8_t *bytes, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        int high = hex_digit(text[2 * i]), low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        bytes[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

static bool origin_read(struct tp_redis_entry *entry, struct tp_redis_text text)
{
    uint8_t bytes[INSTANCE_DIGITS / 2];
    if (text.size < INSTANCE_DIGITS + 2 || text.bytes[INSTANCE_DIGITS] != '-' || !hex_read(bytes, sizeof bytes, text.bytes) ||
        !tp__redis_number_read(&entry->number, text.bytes + INSTANCE_DIGITS + 1, text.size - INSTANCE_DIGITS - 1))
        return false;
    entry->instance = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        entry->instance = entry->instance << 8 | bytes[i];
    return true;
}

static bool is_text(struct tp_redis_text text, const char *words)
{
    return text.size == strlen(words) && memcmp(text.bytes, words, text.size) == 0;
}

static enum tp_redis_entry_kind kind_of(struct tp_redis_text text)
{
    static const struct {
        const char *words;
        enum tp_redis_entry_kind kind;
    } kinds[] = {{"batch", TP_REDIS_BATCH}, {"put", TP_REDIS_PUT}, {"drop", TP_REDIS_DROP}, {"mark", TP_REDIS_MARK}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_text(text, kinds[i].words))
            return kinds[i].kind;
    return TP_REDIS_UNKNOWN;
}

/* Takes the fields it knows out of the texts; one it does not know is passed over. False: one of them is malformed, or one is missing. */
static bool fields_read(struct tp_redis_entry *entry)
{
    bool has_epoch = false, has_data = false, has_tag = false, has_field = false;
    for (size_t i = 0; i + 1 < entry->text_count; i += 2) {
        struct tp_redis_text name = entry->texts[i], value = entry->texts[i + 1];
        uint64_t number;
        if (name.size != 1)
            continue;
        switch (name.bytes[0]) {
        case 't':
            entry->kind = kind_of(value);
            break;
        case 'e':
            if (!tp__redis_number_read(&entry->epoch, value.bytes, value.size))
                return false;
            has_epoch = true;
            break;
        case 'o':
            if (!origin_read(entry, value))
                return false;
            break;
        case 'd':
            entry->data = value;
            has_data = true;
            break;
        case 'f':
            entry->field = value;
            has_field = value.size > 0;
            break;
        case 'g':
            has_tag = value.size == 2 * TP_LOG_TAG_BYTES && hex_read(entry->tag, TP_LOG_TAG_BYTES, value.bytes);
            if (!has_tag)
                return false;
            break;
        case 'v':
            if (!tp__redis_number_read(&entry->base_version, value.bytes, value.size))
                return false;
            entry->has_base_version = true;
            break;
        case 'u':
            if (!tp__redis_number_read(&number, value.bytes, value.size))
                return false;
            entry->is_unplaced = true;
            entry->unplaced_count = number;
            break;
        default:
            break;
        }
    }
    switch (entry->kind) {
    case TP_REDIS_PUT:
        return has_epoch && has_field && has_tag;
    case TP_REDIS_BATCH:
        return has_epoch && has_data;
    case TP_REDIS_MARK:
        return has_tag;
    case TP_REDIS_DROP:
    case TP_REDIS_UNKNOWN:
        return true;
    }
    return false;
}

bool tp__redis_place_read(struct tp_log_place *place, const redisReply *reply)
{
    *place = (struct tp_log_place){0};
    return (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS) &&
           tp_log_place_parse(place, reply->str, (size_t)reply->len);
}

int tp__redis_entry_read(struct tp_redis_entry **out, const redisReply *reply)
{
    *out = NULL;
    struct tp_log_place place;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !tp__redis_place_read(&place, reply->element[0]) ||
        reply->element[1]->type != REDIS_REPLY_ARRAY)
        return TP_ERR_CORRUPT;
    const redisReply *texts = reply->element[1];
    size_t bytes = sizeof(struct tp_redis_entry) + texts->elements * sizeof(struct tp_redis_text);
    for (size_t i = 0; i < texts->elements; i++) {
        if (texts->element[i]->type != REDIS_REPLY_STRING)
            return TP_ERR_CORRUPT;
        bytes += (size_t)texts->element[i]->len;
    }
    struct tp_redis_entry *entry = malloc(bytes);
    if (entry == NULL)
        return TP_ERR_NO_MEMORY;
    *entry = (struct tp_redis_entry){.place = place, .bytes = bytes, .text_count = texts->elements};
    char *to = (char *)(entry->texts + entry->text_count);
    for (size_t i = 0; i < texts->elements; i++) {
        size_t size = (size_t)texts->element[i]->len;
        if (size > 0)
            memcpy(to, texts->element[i]->str, size);
        entry->texts[i] = (struct tp_redis_text){to, size};
        to += size;
    }
    if (!fields_read(entry))
        entry->kind = TP_REDIS_UNKNOWN;
    *out = entry;
    return 0;
}

int tp__redis_entry_batch(struct tp_batch *batch, const struct tp_redis_entry *entry)
{
    *batch = (struct tp_batch){
        .is_placed = !entry->is_unplaced,
        .unplaced_count = entry->unplaced_count,
        .has_epoch = true,
        .epoch = entry->epoch,
        .has_base_version = entry->has_base_version,
        .base_version = entry->base_version,
    };
    int error = tp_batch_decode(entry->data.bytes, entry->data.size, &batch->changes, &batch->count);
    if (error == 0 && batch->unplaced_count > batch->count) {
        free(batch->changes);
        batch->changes = NULL;
        error = TP_ERR_CORRUPT;
    }
    if (error == 0)
        tp_batch_key(entry->data.bytes, entry->data.size, &batch->key);
    return error;
}

void tp__redis_origin_print(char text[TP_REDIS_ORIGIN_BYTES], uint64_t instance, uint64_t number)
{
    snprintf(text, TP_REDIS_ORIGIN_BYTES, "%016" PRIx64 "-%" PRIu64, instance, number);
}

void tp__redis_tag_print(char text[TP_REDIS_TAG_TEXT_BYTES], const uint8_t tag[TP_LOG_TAG_BYTES])
{
    for (size_t i = 0; i < TP_LOG_TAG_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", tag[i]);
}
