#include "daemon/serve/share.h"

/* What falls due of a claim when each point of priority is credited so much. */
static uint64_t due(const struct tp_claim *claim, uint64_t credit)
{
    uint64_t units = (claim->owed + claim->priority * credit) / TP_SHARE_UNIT;
    return units < claim->cap ? units : claim->cap;
}

static uint64_t all_due(const struct tp_claim *claims, size_t count, uint64_t credit)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += due(&claims[i], credit);
    return sum;
}

/* A credit that is not too much whatever the caps: what is owed and it make up the total at most. */
static uint64_t least_credit(const struct tp_claim *claims, size_t count, uint64_t total)
{
    uint64_t owed = 0, priorities = 0;
    for (size_t i = 0; i < count; i++)
        if (claims[i].priority > 0) {
            owed += claims[i].owed;
            priorities += claims[i].priority;
        }
    uint64_t credit = total / priorities * TP_SHARE_UNIT + total % priorities * TP_SHARE_UNIT / priorities;
    uint64_t covered = owed / priorities + 1;
    return credit > covered ? credit - covered : 0;
}

/* Between two credits, `low` being within the total and `high` not: near where a line through both would meet it, or, every
 * other time, half-way. */
static uint64_t between(uint64_t low, uint64_t high, double share, unsigned turn)
{
    uint64_t at = turn % 2 == 0 ? low + (uint64_t)((double)(high - low) * share) : low + (high - low) / 2;
    return at <= low ? low + 1 : at >= high ? high - 1 : at;
}

/* The largest credit with which no more falls due than the total; with none the sum is *sum, at most the total, which the caps exceed. */
static uint64_t largest_credit(const struct tp_claim *claims, size_t count, uint64_t total, uint64_t *sum)
{
    uint64_t low = least_credit(claims, count, total), step = TP_SHARE_UNIT / 8, high;
    if (low > 0)
        *sum = all_due(claims, count, low);
    uint64_t high_sum;
    for (;; step *= 2) {
        high = low + step;
        high_sum = all_due(claims, count, high);
        if (high_sum > total)
            break;
        low = high;
        *sum = high_sum;
    }
    for (unsigned turn = 0; high - low > 1; turn++) {
        uint64_t at = between(low, high, (double)(total - *sum) / (double)(high_sum - *sum), turn);
        uint64_t at_sum = all_due(claims, count, at);
        if (at_sum > total) {
            high = at;
            high_sum = at_sum;
        } else {
            low = at;
            *sum = at_sum;
        }
    }
    return low;
}

/* Takes the slice off what is owed; what a cap kept from falling due is forgotten. */
static void book(struct tp_claim *claim, uint64_t credit, uint64_t slice)
{
    claim->slice = slice;
    if (claim->priority == 0)
        return;
    claim->owed += claim->priority * credit;
    if (slice == claim->cap)
        claim->owed %= TP_SHARE_UNIT;
    else
        claim->owed -= slice * TP_SHARE_UNIT;
}

static uint64_t give_caps(struct tp_claim *claims, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        book(&claims[i], 0, claims[i].cap);
        sum += claims[i].cap;
    }
    return sum;
}

/* Less is there than is owed: the front of the round gets it. */
static uint64_t give_owed(struct tp_claim *claims, size_t count, uint64_t total)
{
    uint64_t left = total;
    for (size_t i = 0; i < count; i++) {
        uint64_t slice = due(&claims[i], 0);
        if (slice > left)
            slice = left;
        left -= slice;
        book(&claims[i], 0, slice);
    }
    return total;
}

uint64_t tp_share_deal(struct tp_claim *claims, size_t count, uint64_t total)
{
    uint64_t caps = 0;
    for (size_t i = 0; i < count; i++)
        caps += claims[i].cap;
    if (caps <= total)
        return give_caps(claims, count);
    uint64_t sum = all_due(claims, count, 0);
    if (sum > total)
        return give_owed(claims, count, total);
    uint64_t credit = largest_credit(claims, count, total, &sum), left = total - sum;
    for (size_t i = 0; i < count; i++) { /* an instant more: each of those that fall due then is one unit */
        uint64_t slice = due(&claims[i], credit), next = due(&claims[i], credit + 1);
        if (next > slice && left > 0) {
            slice++;
            left--;
        }
        book(&claims[i], credit + 1, slice);
    }
    return total;
}
