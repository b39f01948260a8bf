#include "client/cli/list_sessions.h"

#include <string.h>

/* Bytes that come as base64, read one by one. */
struct reading {
    const char *at;
    uint32_t bits; /* read and not given yet */
    unsigned count;
    bool failed; /* it ended before, or is no base64 */
};

static uint8_t read_byte(struct reading *reading)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    while (reading->count < 8 && !reading->failed) {
        const char *letter = *reading->at != '\0' ? strchr(letters, *reading->at) : NULL;
        reading->failed = letter == NULL;
        if (reading->failed)
            break;
        reading->bits = (reading->bits << 6 | (uint32_t)(letter - letters)) & 0xffff;
        reading->count += 6;
        reading->at++;
    }
    if (reading->failed)
        return 0;
    reading->count -= 8;
    return (uint8_t)(reading->bits >> reading->count);
}

static uint64_t read_varint(struct reading *reading)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = read_byte(reading);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    reading->failed = true;
    return 0;
}

static uint64_t read_id(struct reading *reading)
{
    uint64_t id = 0;
    for (unsigned shift = 0; shift < 64; shift += 8)
        id |= (uint64_t)read_byte(reading) << shift;
    return id;
}

/* Its form: daemon/view/view_agents.h. In an event of all sessions none is gone and none has changed. */
bool tp_listed_read(const char *data, uint64_t *left_out, void (*each)(const struct tp_listed *session, void *context), void *context)
{
    struct reading reading = {.at = data};
    for (int i = 0; i < 3; i++) /* its number, its time, how many there are */
        read_varint(&reading);
    *left_out = read_varint(&reading);
    uint64_t gone = read_varint(&reading), count = read_varint(&reading);
    if (gone != 0)
        return false;
    for (; count > 0 && !reading.failed; count--) {
        struct tp_listed session;
        read_varint(&reading); /* where the view keeps it */
        session.id = read_id(&reading);
        session.cell = read_varint(&reading);
        session.goal = read_varint(&reading);
        session.status = read_byte(&reading);
        read_varint(&reading); /* flags */
        if (!reading.failed && each != NULL)
            each(&session, context);
    }
    return !reading.failed && read_varint(&reading) == 0 && !reading.failed;
}
