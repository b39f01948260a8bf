#include "client/cli/inspect_look.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[TP_LOOK_LISTS] = {
    [TP_LOOK_PATH] = "path",       [TP_LOOK_FRESH] = "fresh",       [TP_LOOK_OPEN] = "open",     [TP_LOOK_OPEN_G] = "open_g",
    [TP_LOOK_CLOSED] = "closed",   [TP_LOOK_CLOSED_G] = "closed_g", [TP_LOOK_RAISED] = "raised", [TP_LOOK_RAISED_BY] = "raised_by",
};

/* What follows "key": in a piece; NULL: it is not there. No string of a piece holds a quote, so that none looks like a key. */
static const char *value_of(const char *piece, const char *key)
{
    char quoted[32];
    int size = snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(piece, quoted);
    return at != NULL ? at + size : NULL;
}

static bool read_number(const char **at, uint64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0;
}

static bool number_of(const char *piece, const char *key, uint64_t *number)
{
    const char *at = value_of(piece, key);
    return at != NULL && read_number(&at, number);
}

static bool push(struct tp_look_numbers *list, uint64_t value)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 256;
        uint64_t *values = realloc(list->values, room * sizeof *values);
        if (values == NULL)
            return false;
        list->values = values;
        list->room = room;
    }
    list->values[list->count++] = value;
    return true;
}

enum taken { TAKEN, NOT_OF_THE_FORM, NO_ROOM };

/* Adds a list's numbers to those before. */
static enum taken take_list(const char *piece, const char *key, struct tp_look_numbers *list)
{
    const char *at = value_of(piece, key);
    if (at == NULL || *at++ != '[')
        return NOT_OF_THE_FORM;
    while (*at != ']') {
        uint64_t number;
        if (!read_number(&at, &number))
            return NOT_OF_THE_FORM;
        if (!push(list, number))
            return NO_ROOM;
        if (*at == ',')
            at++;
    }
    return TAKEN;
}

static enum taken take_whole(struct tp_look *look, const char *piece)
{
    uint64_t width, height, cell;
    const char *kind = value_of(piece, "kind"), *lists = strstr(piece, "\"path\":[");
    if (lists == NULL || kind == NULL || !number_of(piece, "width", &width) || !number_of(piece, "height", &height) ||
        !number_of(piece, "cell", &cell) || !number_of(piece, "ticks", &look->ticks))
        return NOT_OF_THE_FORM;
    if (width < 1 || height < 1 || width > UINT32_MAX || height > UINT32_MAX || cell >= width * height)
        return NOT_OF_THE_FORM;
    look->width = (uint32_t)width;
    look->height = (uint32_t)height;
    look->cell = (uint32_t)cell;
    look->is_graph = strncmp(kind, "\"graph\"", 7) == 0;
    look->head = strndup(piece, (size_t)(lists - piece));
    return look->head != NULL ? take_list(piece, "goals", &look->goals) : NO_ROOM;
}

/* Lists whose numbers belong together are as long as each other. */
static bool is_even(const struct tp_look *look)
{
    const struct tp_look_numbers *lists = look->lists;
    return lists[TP_LOOK_OPEN].count == lists[TP_LOOK_OPEN_G].count && lists[TP_LOOK_CLOSED].count == lists[TP_LOOK_CLOSED_G].count &&
           lists[TP_LOOK_RAISED].count == lists[TP_LOOK_RAISED_BY].count;
}

bool tp_look_add(struct tp_look *look, const char *piece, const char **words)
{
    uint64_t ticks;
    enum taken taken = look->head == NULL ? take_whole(look, piece) : TAKEN;
    if (taken == TAKEN && !number_of(piece, "ticks", &ticks))
        taken = NOT_OF_THE_FORM;
    for (int i = 0; i < TP_LOOK_LISTS && taken == TAKEN; i++)
        taken = take_list(piece, names[i], &look->lists[i]);
    const char *next = value_of(piece, "next");
    if (taken == TAKEN && (next == NULL || !is_even(look)))
        taken = NOT_OF_THE_FORM;
    *words = taken == NO_ROOM ? "out of memory" : "not a dump of a session";
    if (taken != TAKEN)
        return false;
    look->torn |= ticks != look->ticks;
    look->has_next = read_number(&next, &look->next);
    return true;
}

bool tp_look_write(const struct tp_look *look, FILE *out)
{
    fputs(look->head, out);
    for (int i = 0; i < TP_LOOK_LISTS; i++) {
        const struct tp_look_numbers *list = &look->lists[i];
        fprintf(out, "\"%s\":[", names[i]);
        for (size_t k = 0; k < list->count; k++)
            fprintf(out, k ? ",%llu" : "%llu", (unsigned long long)list->values[k]);
        fputs("],", out);
    }
    fprintf(out, "\"torn\":%s,\"cut\":%s,\"next\":", look->torn ? "true" : "false", look->has_next ? "true" : "false");
    if (look->has_next)
        fprintf(out, "%llu}\n", (unsigned long long)look->next);
    else
        fputs("null}\n", out);
    return fflush(out) == 0 && !ferror(out);
}

void tp_look_fini(struct tp_look *look)
{
    free(look->head);
    free(look->goals.values);
    for (int i = 0; i < TP_LOOK_LISTS; i++)
        free(look->lists[i].values);
    *look = (struct tp_look){0};
}
