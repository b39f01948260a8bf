/* Deals a shared total out to those who ask for it, in proportion to their priorities: deficit round robin.
 *
 * What it is: arithmetic on whole numbers, of units (expansions, guide units) and 1/4096 of one. No sessions, no clock. All who
 * ask are credited the same amount for each point of their priority, the largest with which what falls due is within the
 * total; each is dealt the whole units of its credit, within its own cap, and keeps the rest of it: what it is owed. Where
 * several units fall due at one instant and the total does not hold them all, those at the front of the round get theirs and
 * the others are owed it, and nobody is credited more before they have got it. So with a total T, n who ask, and P the sum of
 * their priorities:
 *
 *   - a deal gives away T, or all that the caps hold;
 *   - who asks without a break and is not held by its cap gets, over any number of deals, within 1 1/16 units of the credit of its
 *     priority (a unit and what one instant credits): two such of priorities p and q get the same per point but for
 *     1 1/16 (1/p + 1/q);
 *   - so it gets a unit within 1 1/16 (P/p + n) / T deals, rounded up, and one more.
 *
 * Who calls it: the scheduler, once for each total of a tick.
 */
#ifndef TP_DAEMON_SHARE_H
#define TP_DAEMON_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_PRIORITY_MAX = 255, TP_PRIORITY_DEFAULT = 16 };

/* A unit in the numbers of `owed`: an instant's credit, one for each point of priority, is less than one unit. */
enum { TP_SHARE_UNIT = 4096 };

/* More than any session may spend in a tick; caps and what is owed stay within it. */
#define TP_SHARE_MAX (UINT64_C(1) << 40)

/* What a session keeps between ticks. */
struct tp_share {
    uint64_t owed; /* in 1/TP_SHARE_UNIT */
    bool asks; /* it wanted more when it was last ticked, or has been given something new to look for since */
};

struct tp_claim {
    uint64_t
        owed; /* before the deal, and (without the slice) after it; in 1/TP_SHARE_UNIT, below TP_SHARE_MAX units */
    uint64_t cap;      /* units, up to TP_SHARE_MAX */
    uint64_t slice;    /* the answer: units */
    uint32_t priority; /* 1..TP_PRIORITY_MAX; 0 with cap 0: it does not ask, and keeps what it is owed */
};

/* Deals `total` units to the claims, given in the order of the round: see above. What a claim was credited beyond its cap
 * is not owed to it. Returns the sum of the slices, the least of `total` and the sum of the caps. Cost: O(count) some 15
 * times, without memory of its own. */
uint64_t tp_share_deal(struct tp_claim *claims, size_t count, uint64_t total);

#endif
