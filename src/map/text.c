/* Texts read line by line; see text.h. */
#include "map/text.h"

#include <string.h>

/* ---- Lines ---- */

struct tp__text tp__text_open(const char *text, size_t size, struct tp_place *place, const char **reason)
{
    *place = (struct tp_place){0};
    *reason = NULL;
    return (struct tp__text){.text = text, .size = size, .place = place, .reason = reason};
}

bool tp__text_next_line(struct tp__text *t)
{
    t->line++;
    t->start = t->at = t->end = t->next;
    if (t->start >= t->size)
        return false;
    const char *lf = memchr(t->text + t->start, '\n', t->size - t->start);
    t->end = lf ? (size_t)(lf - t->text) : t->size;
    t->next = lf ? t->end + 1 : t->size;
    if (t->end > t->start && t->text[t->end - 1] == '\r')
        t->end--;
    return true;
}

void tp__text_start_over(struct tp__text *t, size_t next, unsigned line)
{
    t->next = next;
    t->line = line;
}

int tp__text_refuse(const struct tp__text *t, size_t at, const char *reason)
{
    t->place->line = t->line;
    t->place->column = (unsigned)(at - t->start) + 1;
    *t->reason = reason;
    return TP_ERR_PARSE;
}

/* ---- Words and numbers ---- */

static bool is_blank(char ch)
{
    return ch == ' ' || ch == '\t';
}

static bool ends_word(const struct tp__text *t, char ch)
{
    return is_blank(ch) || (t->separator && ch == t->separator);
}

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

void tp__text_skip_blanks(struct tp__text *t)
{
    while (t->at < t->end && is_blank(t->text[t->at]))
        t->at++;
}

void tp__text_skip_word(struct tp__text *t)
{
    while (t->at < t->end && !ends_word(t, t->text[t->at]))
        t->at++;
}

bool tp__text_take_word(struct tp__text *t, const char *word)
{
    size_t length = strlen(word);
    if (t->end - t->at < length || memcmp(t->text + t->at, word, length) != 0)
        return false;
    if (t->at + length < t->end && !ends_word(t, t->text[t->at + length]))
        return false;
    t->at += length;
    return true;
}

int tp__text_read_number(struct tp__text *t, uint32_t *number)
{
    size_t first = t->at;
    uint32_t value = 0;
    bool large = false;
    for (; t->at < t->end && !ends_word(t, t->text[t->at]); t->at++) {
        if (!is_digit(t->text[t->at]))
            return tp__text_refuse(t, t->at, "a digit is expected here");
        uint32_t digit = (uint32_t)(t->text[t->at] - '0');
        if (value > (UINT32_MAX - digit) / 10)
            large = true;
        else
            value = value * 10 + digit;
    }
    if (t->at == first)
        return tp__text_refuse(t, first, "a number is missing");
    if (large)
        return tp__text_refuse(t, first, "the number is too large");
    *number = value;
    return 0;
}

/* mantissa * 10^exponent. Exact to one rounding while both factors are exact doubles (15 digits, 22 powers),
 * which every length written in a benchmark is; a few units in the last place otherwise. */
static double scale(uint64_t mantissa, int exponent)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double value = (double)mantissa;
    for (; exponent > 22; exponent -= 22)
        value *= 1e22;
    for (; exponent < -22; exponent += 22)
        value /= 1e22;
    return exponent < 0 ? value / power[-exponent] : value * power[exponent];
}

int tp__text_read_decimal(struct tp__text *t, double *number)
{
    size_t first = t->at, digits = 0;
    uint64_t mantissa = 0;
    int exponent = 0;
    bool fraction = false;
    for (; t->at < t->end; t->at++) {
        char ch = t->text[t->at];
        if (ch == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!is_digit(ch))
            break;
        digits++;
        bool kept = mantissa < UINT64_C(100000000000000000); /* 18 digits at most; the rest only count */
        if (kept)
            mantissa = mantissa * 10 + (uint64_t)(ch - '0');
        if (kept == fraction && exponent > -10000 && exponent < 10000)
            exponent += fraction ? -1 : 1;
    }
    if (digits == 0)
        return tp__text_refuse(t, first, "a number is missing");
    if (t->at < t->end && (t->text[t->at] == 'e' || t->text[t->at] == 'E')) {
        t->at++;
        bool negative = t->at < t->end && t->text[t->at] == '-';
        if (t->at < t->end && (t->text[t->at] == '-' || t->text[t->at] == '+'))
            t->at++;
        int power = 0;
        digits = 0;
        for (; t->at < t->end && is_digit(t->text[t->at]); t->at++, digits++)
            power = power < 10000 ? power * 10 + (t->text[t->at] - '0') : power;
        if (digits == 0)
            return tp__text_refuse(t, t->at, "a digit is expected here");
        exponent += negative ? -power : power;
    }
    if (t->at < t->end && !ends_word(t, t->text[t->at]))
        return tp__text_refuse(t, t->at, "a digit is expected here");
    if (mantissa == 0 || exponent < -340) {
        *number = 0;
        return 0;
    }
    if (exponent > 18 || scale(mantissa, exponent) > 1e18)
        return tp__text_refuse(t, first, "the number is too large");
    *number = scale(mantissa, exponent);
    return 0;
}

int tp__text_read_signed(struct tp__text *t, double *number)
{
    bool negative = t->at < t->end && t->text[t->at] == '-';
    t->at += negative;
    int rc = tp__text_read_decimal(t, number);
    if (!rc && negative)
        *number = -*number;
    return rc;
}
