#include "daemon/serve/pace.h"

#include "search/budget.h"

enum { FEW = 4, /* expansions */ ANSWERS_MEASURED = 16 };

struct tp_pace tp_pace_begin(void)
{
    return (struct tp_pace){.turn_ns = 300, .search_ns = 500, .expansion_ns = 150, .portion = FEW, .answer_ns = 50};
}

static double between(double least, double value, double most)
{
    return value < least ? least : value > most ? most : value;
}

double tp_pace_ns(const struct tp_pace *pace, uint64_t turns, uint64_t searches, uint64_t expansions)
{
    return (double)turns * pace->turn_ns + (double)searches * pace->search_ns + (double)expansions * pace->expansion_ns;
}

uint64_t tp_pace_expansions(const struct tp_pace *pace, uint64_t left_ns, size_t searches, uint64_t portion)
{
    double left = (double)left_ns, fit = left / (pace->search_ns + (double)portion * pace->expansion_ns);
    return (uint64_t)((left - between(0, fit, (double)searches) * pace->search_ns) / pace->expansion_ns);
}

/* How far off a stretch was. Far out it is no pace: a page of memory, or another's turn on the processor. */
static double error_of(double took, double expected)
{
    double error = took - expected;
    return error > 8 * expected ? expected / 4 : error > 4 * expected ? 4 * expected : error;
}

static void move_by(double *estimate_ns, double part)
{
    *estimate_ns *= 1 + part;
    if (*estimate_ns < 1)
        *estimate_ns = 1;
}

void tp_pace_learn(struct tp_pace *pace, uint64_t turns, uint64_t searches, uint64_t expansions, uint64_t took_ns)
{
    double moves = tp_pace_ns(pace, turns, 0, 0), begun = tp_pace_ns(pace, 0, searches, 0), made = tp_pace_ns(pace, 0, 0, expansions);
    if (turns == 0)
        return;
    double error = error_of((double)took_ns, moves + begun + made);
    double rate = searches == 0 ? 0.03125 : error > 0 ? 0.125 : 0.0625;
    double step = error * rate / (moves * moves + begun * begun + made * made);
    move_by(&pace->turn_ns, step * moves);
    move_by(&pace->search_ns, step * begun);
    move_by(&pace->expansion_ns, step * made);
}

void tp_pace_learn_portion(struct tp_pace *pace, size_t asks, size_t searched)
{
    double worth = between(1, pace->search_ns / pace->expansion_ns, TP_DEADLINE_STRIDE);
    double grown = pace->portion * (searched * TP_PACE_TICKS_APART >= asks ? 1.125 : 0.875);
    pace->portion = between(worth < FEW ? worth : FEW, grown, worth);
}

void tp_pace_learn_answer(struct tp_pace *pace, size_t sessions, uint64_t took_ns)
{
    double each_ns = between(0, (double)took_ns / (double)sessions, 4 * pace->answer_ns);
    if (sessions >= ANSWERS_MEASURED)
        move_by(&pace->answer_ns, (each_ns / pace->answer_ns - 1) / 8);
}
