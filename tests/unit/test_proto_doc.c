/* PROTOCOL.md against what it describes: the table of statuses, flags and errors against the .proto, error.h
 * and session.h; the sections of the messages against the .proto's messages. No missing, no extra, equal
 * numbers. Runs from the project's root. */
#include "base/error.h"
#include "base/limits.h"
#include "map/graph.h"
#include "proto/tickpath.pb-c.h"
#include "search/algorithm.h"
#include "search/inspect.h"
#include "search/session.h"
#include "tests/lib/harness.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 128, CELLS_MAX = 8, LINE_BYTES = 2048 };

struct row {
    char kind[16], name[48];
    long number;
};

struct table {
    struct row row[ROWS_MAX];
    size_t count;
};

static const struct row *row_find(const struct table *table, const char *kind, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->row[i].kind, kind) == 0 && strcmp(table->row[i].name, name) == 0)
            return &table->row[i];
    return NULL;
}

static size_t row_count(const struct table *table, const char *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        count += strcmp(table->row[i].kind, kind) == 0;
    return count;
}

static FILE *open_text(const char *path)
{
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "cannot read %s; the test runs from the project's root", path);
    return file;
}

/* Cuts `| a | b |` into trimmed cells without their backquotes; returns how many. */
static size_t cut_row(char *line, char *cell[CELLS_MAX])
{
    size_t count = 0;
    if (line[0] != '|')
        return 0;
    for (char *at = line + 1, *bar; count < CELLS_MAX && (bar = strchr(at, '|')) != NULL; at = bar + 1) {
        *bar = 0;
        while (*at == ' ' || *at == '`')
            at++;
        char *end = at + strlen(at);
        while (end > at && (end[-1] == ' ' || end[-1] == '`'))
            *--end = 0;
        cell[count++] = at;
    }
    return count;
}

static void read_doc_table(struct table *table)
{
    table->count = 0;
    FILE *file = open_text("proto/PROTOCOL.md");
    char line[LINE_BYTES], *cell[CELLS_MAX];
    while (fgets(line, sizeof line, file)) {
        if (cut_row(line, cell) != 5)
            continue;
        bool known = !strcmp(cell[0], "status") || !strcmp(cell[0], "flag") || !strcmp(cell[0], "error");
        if (!known)
            continue;
        ck_assert_uint_lt(table->count, ROWS_MAX);
        struct row *row = &table->row[table->count];
        char *end;
        row->number = strtol(cell[2], &end, 10);
        ck_assert_msg(end != cell[2] && *end == 0, "%s: '%s' is no number", cell[1], cell[2]);
        ck_assert_msg(!row_find(table, cell[0], cell[1]), "%s %s stands twice", cell[0], cell[1]);
        ck_assert_msg(cell[3][0] && cell[4][0], "%s %s: what it means or what to do is missing", cell[0],
                      cell[1]);
        snprintf(row->kind, sizeof row->kind, "%s", cell[0]);
        snprintf(row->name, sizeof row->name, "%s", cell[1]);
        table->count++;
    }
    fclose(file);
}

/* The members `TP_<KIND>_NAME = n` or `= 1 << n` of a header's enum. */
static void read_header_enum(struct table *table, const char *path, const char *kind, const char *prefix)
{
    FILE *file = open_text(path);
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, file)) {
        char *at = line;
        while (*at == ' ')
            at++;
        if (strncmp(at, prefix, strlen(prefix)) != 0)
            continue;
        at += strlen(prefix);
        struct row *row = &table->row[table->count];
        size_t length = 0;
        while (isupper((unsigned char)at[length]) || isdigit((unsigned char)at[length]) || at[length] == '_')
            length++;
        long number;
        int shift;
        if (sscanf(at + length, " = 1 << %d", &shift) == 1)
            number = 1L << shift;
        else if (sscanf(at + length, " = %ld", &number) != 1)
            continue;
        ck_assert_uint_lt(table->count, ROWS_MAX);
        snprintf(row->kind, sizeof row->kind, "%s", kind);
        snprintf(row->name, sizeof row->name, "%.*s", (int)length, at);
        row->number = number;
        table->count++;
    }
    fclose(file);
}

static void compare(const struct table *doc, const struct table *other, const char *kind, const char *where)
{
    for (size_t i = 0; i < other->count; i++) {
        const struct row *theirs = &other->row[i];
        if (strcmp(theirs->kind, kind) != 0)
            continue;
        const struct row *ours = row_find(doc, kind, theirs->name);
        ck_assert_msg(ours != NULL, "%s %s of %s is missing in PROTOCOL.md", kind, theirs->name, where);
        ck_assert_msg(ours->number == theirs->number, "%s %s is %ld in PROTOCOL.md, %ld in %s", kind,
                      theirs->name, ours->number, theirs->number, where);
    }
    ck_assert_msg(row_count(doc, kind) == row_count(other, kind), "PROTOCOL.md has %zu of %s, %s has %zu",
                  row_count(doc, kind), kind, where, row_count(other, kind));
}

static void add_wire_enum(struct table *table, const ProtobufCEnumDescriptor *descriptor, const char *kind)
{
    for (unsigned i = 0; i < descriptor->n_values; i++) {
        if (strcmp(descriptor->values[i].name, "NO_FLAG") == 0)
            continue;
        struct row *row = &table->row[table->count++];
        snprintf(row->kind, sizeof row->kind, "%s", kind);
        snprintf(row->name, sizeof row->name, "%s", descriptor->values[i].name);
        row->number = descriptor->values[i].value;
    }
}

START_TEST(test_table_equals_wire)
{
    static struct table doc, wire;
    read_doc_table(&doc);
    wire.count = 0;
    add_wire_enum(&wire, &tickpath__status__descriptor, "status");
    add_wire_enum(&wire, &tickpath__flag__descriptor, "flag");
    add_wire_enum(&wire, &tickpath__error_code__descriptor, "error");
    compare(&doc, &wire, "status", "tickpath.proto");
    compare(&doc, &wire, "flag", "tickpath.proto");
    compare(&doc, &wire, "error", "tickpath.proto");
    ck_assert_uint_eq(row_count(&doc, "status"), 5);
    ck_assert_uint_eq(doc.count, wire.count);
}
END_TEST

START_TEST(test_table_equals_errors)
{
    static struct table doc, list;
    read_doc_table(&doc);
    list.count = 0;
#define ADD(NAME, NUMBER, TEXT)                                                                              \
    snprintf(list.row[list.count].kind, sizeof list.row->kind, "error");                                     \
    snprintf(list.row[list.count].name, sizeof list.row->name, "%s", #NAME);                                 \
    ck_assert_int_eq(TP_ERR_##NAME, -(NUMBER));                                                              \
    ck_assert_str_eq(tp_error_name(TP_ERR_##NAME), #NAME);                                                   \
    list.row[list.count++].number = NUMBER;
    TP_ERROR_LIST(ADD)
#undef ADD
    compare(&doc, &list, "error", "error.h");
}
END_TEST

START_TEST(test_table_equals_session)
{
    static struct table doc, header;
    read_doc_table(&doc);
    header.count = 0;
    read_header_enum(&header, "src/search/session.h", "status", "TP_STATUS_");
    read_header_enum(&header, "src/search/session.h", "flag", "TP_FLAG_");
    compare(&doc, &header, "status", "session.h");
    compare(&doc, &header, "flag", "session.h");
    for (size_t i = 0; i < doc.count; i++)
        if (strcmp(doc.row[i].kind, "status") == 0)
            ck_assert_str_eq(tp_status_name((uint32_t)doc.row[i].number), doc.row[i].name);
    ck_assert_str_eq(tp_status_name(0), "NONE");
    ck_assert_str_eq(tp_status_name((uint32_t)row_count(&doc, "status") + 1), "UNKNOWN");
    /* the reader of headers reads what the compiler reads */
    ck_assert_int_eq(row_find(&header, "status", "UNREACHABLE")->number, TP_STATUS_UNREACHABLE);
    ck_assert_int_eq(row_find(&header, "flag", "DEAD_END")->number, TP_FLAG_DEAD_END);
}
END_TEST

/* The table of heuristics holds the numbers of the .proto, and there is one for each of domain.h's. */
START_TEST(test_heuristics)
{
    static const struct {
        const char *name;
        int wire, ours;
    } pairs[] = {
#define PAIR(name) {#name, TICKPATH__HEURISTIC__HEURISTIC_##name, TP_HEURISTIC_##name}
        PAIR(OCTILE), PAIR(MANHATTAN), PAIR(EUCLID), PAIR(FREESPACE), PAIR(MAXIMUM), PAIR(ZERO),
#undef PAIR
    };
    enum { PAIRS = sizeof pairs / sizeof pairs[0] };
    for (size_t i = 0; i < PAIRS; i++)
        ck_assert_msg(pairs[i].wire == pairs[i].ours, "HEURISTIC_%s is %d on the wire, %d in domain.h", pairs[i].name,
                      pairs[i].wire, pairs[i].ours);
    ck_assert_uint_eq(tickpath__heuristic__descriptor.n_values, PAIRS);
    ck_assert_int_eq(TP_HEURISTIC_ZERO, PAIRS); /* the last one of the header: none is left out */
    FILE *file = open_text("proto/PROTOCOL.md");
    char line[LINE_BYTES], *cell[CELLS_MAX];
    size_t rows = 0;
    while (fgets(line, sizeof line, file)) {
        if (cut_row(line, cell) != 4 || strncmp(cell[0], "HEURISTIC_", 10) != 0)
            continue;
        const ProtobufCEnumValue *value =
            protobuf_c_enum_descriptor_get_value_by_name(&tickpath__heuristic__descriptor, cell[0]);
        ck_assert_msg(value != NULL, "%s is no heuristic of the .proto", cell[0]);
        ck_assert_int_eq(value->value, strtol(cell[1], NULL, 10));
        rows++;
    }
    fclose(file);
    ck_assert_uint_eq(rows, PAIRS);
}
END_TEST

/* What holds an agent: the same numbers and names in the header, the .proto and the page, and the page's words are the header's. */
START_TEST(test_holds)
{
    static const struct {
        const char *name, *means;
        int number;
    } holds[] = {
#define X(id, number, name, means) {name, means, number},
        TP_HOLDS(X)
#undef X
    };
    enum { HOLDS = sizeof holds / sizeof holds[0] };
    ck_assert_uint_eq(tickpath__hold__descriptor.n_values, HOLDS);
    FILE *file = open_text("proto/PROTOCOL.md");
    char line[LINE_BYTES], *cell[CELLS_MAX];
    size_t rows = 0;
    bool is_there = false;
    while (fgets(line, sizeof line, file)) {
        if (cut_row(line, cell) != 3) {
            is_there = false;
            continue;
        }
        if (is_there && cell[0][0] != '-') {
            ck_assert_uint_lt(rows, HOLDS);
            const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value_by_name(&tickpath__hold__descriptor, cell[0]);
            ck_assert_msg(value != NULL, "%s is no hold of the .proto", cell[0]);
            ck_assert_int_eq(value->value, holds[rows].number);
            ck_assert_int_eq(strtol(cell[1], NULL, 10), holds[rows].number);
            ck_assert_str_eq(cell[0], holds[rows].name);
            ck_assert_str_eq(cell[2], holds[rows].means);
            rows++;
        }
        is_there |= strcmp(cell[0], "hold") == 0;
    }
    fclose(file);
    ck_assert_uint_eq(rows, HOLDS);
}
END_TEST

static const ProtobufCMessageDescriptor *const messages[] = {
    &tickpath__request__descriptor,
    &tickpath__reply__descriptor,
    &tickpath__hello__descriptor,
    &tickpath__welcome__descriptor,
    &tickpath__ping__descriptor,
    &tickpath__pong__descriptor,
    &tickpath__error__descriptor,
    &tickpath__put_map__descriptor,
    &tickpath__class_weight__descriptor,
    &tickpath__put_graph__descriptor,
    &tickpath__map_chunk__descriptor,
    &tickpath__open_map__descriptor,
    &tickpath__put_profile__descriptor,
    &tickpath__profile_put__descriptor,
    &tickpath__subscribe__descriptor,
    &tickpath__subscribed__descriptor,
    &tickpath__map_changed__descriptor,
    &tickpath__drop_map__descriptor,
    &tickpath__map_dropped__descriptor,
    &tickpath__map_info__descriptor,
    &tickpath__change_costs__descriptor,
    &tickpath__rectangle__descriptor,
    &tickpath__bitmap__descriptor,
    &tickpath__changed__descriptor,
    &tickpath__budget__descriptor,
    &tickpath__open_session__descriptor,
    &tickpath__session_opened__descriptor,
    &tickpath__set_goal__descriptor,
    &tickpath__goal_set__descriptor,
    &tickpath__close_session__descriptor,
    &tickpath__sessions_closed__descriptor,
    &tickpath__tick__descriptor,
    &tickpath__ticked__descriptor,
    &tickpath__refused__descriptor,
    &tickpath__path__descriptor,
    &tickpath__dump_session__descriptor,
    &tickpath__session_dump__descriptor,
    &tickpath__list__descriptor,
    &tickpath__listing__descriptor,
    &tickpath__session_info__descriptor,
    &tickpath__algorithm_info__descriptor,
};
enum { MESSAGES = sizeof messages / sizeof messages[0] };

/* Every message of the .proto has a section, and each of its fields a row there in the .proto's order; no
 * other rows. */
START_TEST(test_sections_equal_messages)
{
    FILE *file = open_text("proto/PROTOCOL.md");
    char line[LINE_BYTES], *cell[CELLS_MAX];
    const ProtobufCMessageDescriptor *message = NULL;
    unsigned sections = 0, field = 0;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#') {
            ck_assert_msg(!message || field == message->n_fields, "%s: row of %s is missing",
                          message->short_name, message->fields[field].name);
            message = NULL;
            if (strncmp(line, "### ", 4) != 0)
                continue;
            line[strcspn(line, "\n")] = 0;
            for (size_t i = 0; i < MESSAGES; i++)
                if (strcmp(messages[i]->short_name, line + 4) == 0)
                    message = messages[i];
            ck_assert_msg(message != NULL, "section '%s' is no message", line + 4);
            sections++;
            field = 0;
        } else if (message && strncmp(line, "| `", 3) == 0 && cut_row(line, cell) >= 2) {
            ck_assert_msg(field < message->n_fields, "%s has no field %s", message->short_name, cell[0]);
            /* protobuf-c lists fields by number, as the .proto does */
            ck_assert_str_eq(cell[0], message->fields[field].name);
            field++;
        }
    }
    fclose(file);
    ck_assert_uint_eq(sections, MESSAGES);
}
END_TEST

/* The list of messages above is the .proto's own. */
START_TEST(test_messages_are_all)
{
    FILE *file = open_text("proto/tickpath.proto");
    char line[LINE_BYTES], name[64];
    unsigned count = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "message %63[A-Za-z]", name) != 1)
            continue;
        bool known = false;
        for (size_t i = 0; i < MESSAGES; i++)
            known |= strcmp(messages[i]->short_name, name) == 0;
        ck_assert_msg(known, "message %s is not in this test's list", name);
        count++;
    }
    fclose(file);
    ck_assert_uint_eq(count, MESSAGES);
}
END_TEST

/* The table of limits holds the library's numbers, written with commas. */
START_TEST(test_limits)
{
    static const struct {
        const char *limit; /* how the row begins, up to a blank or its end */
        unsigned long long value;
    } limits[] = {
        {"cells of one map", TP_MAP_CELLS_MAX},       {"changes in one batch", TP_BATCH_CHANGES_MAX},
        {"weight of a terrain class", TP_WEIGHT_MAX}, {"w", TP_W_MILLI_MAX / 1000},
        {"k`, `resource_limit", TP_BUDGET_MAX},       {"trace_steps` (c)", TP_C_MAX},
        {"nodes of one graph", TP_GRAPH_NODES_MAX},   {"edges of one graph", TP_GRAPH_EDGES_MAX},
        {"edges out of one node", TP_GRAPH_DEGREE_MAX},
        {"edges into one node", TP_GRAPH_IN_DEGREE_MAX},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        char want[40] = "", digits[32];
        int length = snprintf(digits, sizeof digits, "%llu", limits[i].value);
        for (int d = 0, out = 0; d < length; d++) {
            if (d > 0 && (length - d) % 3 == 0)
                want[out++] = ',';
            want[out++] = digits[d];
        }
        FILE *file = open_text("proto/PROTOCOL.md");
        char line[LINE_BYTES], *cell[CELLS_MAX];
        bool found = false;
        while (!found && fgets(line, sizeof line, file)) {
            size_t begins = strlen(limits[i].limit);
            if (cut_row(line, cell) != 4 || strncmp(cell[0], limits[i].limit, begins) != 0 ||
                (cell[0][begins] != 0 && cell[0][begins] != ' '))
                continue;
            found = true;
            ck_assert_msg(strstr(cell[1], want) != NULL, "%s: '%s' does not hold %s", cell[0], cell[1], want);
        }
        fclose(file);
        ck_assert_msg(found, "no row of limits begins with '%s'", limits[i].limit);
    }
}
END_TEST

/* AlgorithmInfo's row holds every capability as "number words", in the order of the bits, and nothing else. */
START_TEST(test_capability_bits)
{
    char want[LINE_BYTES] = "a sum of";
    unsigned long last = 0;
#define ADD(capability, bit, words)                                                                          \
    ck_assert_msg((unsigned long)capability > last, #capability " is out of order, or its bit taken");                      \
    snprintf(want + strlen(want), sizeof want - strlen(want), "%s %lu %s", last ? "," : "", 1ul << (bit), words); \
    last = capability;
    TP_CAPABILITIES(ADD)
#undef ADD
    FILE *file = open_text("proto/PROTOCOL.md");
    char line[LINE_BYTES], *cell[CELLS_MAX];
    size_t rows = 0;
    while (fgets(line, sizeof line, file)) {
        if (cut_row(line, cell) < 2 || strcmp(cell[0], "capabilities") != 0)
            continue;
        ck_assert_str_eq(cell[1], want);
        rows++;
    }
    fclose(file);
    ck_assert_uint_eq(rows, 1);
}
END_TEST

static Suite *proto_doc_suite(void)
{
    Suite *suite = suite_create("proto_doc");
    TCase *cases = tcase_create("doc");
    tcase_add_test(cases, test_table_equals_wire);
    tcase_add_test(cases, test_table_equals_errors);
    tcase_add_test(cases, test_table_equals_session);
    tcase_add_test(cases, test_sections_equal_messages);
    tcase_add_test(cases, test_messages_are_all);
    tcase_add_test(cases, test_limits);
    tcase_add_test(cases, test_heuristics);
    tcase_add_test(cases, test_holds);
    tcase_add_test(cases, test_capability_bits);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return tp_test_main("test_proto_doc", proto_doc_suite);
}
