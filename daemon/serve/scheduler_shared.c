/* Sessions under a shared total: who goes when, and with how much.
 *
 *     idle sessions   those that were not searching when they were last ticked. They go first: most walk on along their paths
 *                     and leave the total to the others. One that has to search after all may spend what would be its part
 *                     if all searched.
 *     the round       the others: who waited longest is its front, of equals who is named first, from a session on that is
 *                     another with each tick; who set off since the last tick is its end. The front is dealt to first
 *                     (share.h), and is served last: so it has what the others left over.
 *
 * Under total_us the total is what the time holds by the pace of the ticks before (daemon/serve/pace.h) besides the moves of all
 * those to come, estimated anew every LOOK_NS of work, when the clock is looked at (in a long turn by the search itself, too).
 * So a batch that turns slow ends in time wherever that happens. Time is then what may run out, and the round is served otherwise:
 *
 *     who has no slice    first, by a move alone (search/budget.h: moves_only), without the clock: what is left of the time is known then
 *     who has one         who set off, who may not need it; then from the front on, until the time is over: who waited longest
 *                         does not go without
 *     who comes next      of those without a slice the front, should time be left over: not all of it is foreseen
 *
 * Where it does not hold a slice for all who ask, slices are portions (tp_pace_learn_portion), one each: taking up a search costs
 * more than many expansions of it. Who gets nothing of its slice is owed a portion of it (not more: the time that was not there is
 * nobody's debt), and has waited. The front's first slice is given whatever the clock says, TP_DEADLINE_STRIDE expansions of it at
 * the most: a total too short for anything still serves one session after the other. */
#include "daemon/serve/scheduler_internal.h"

enum {
    WAITED_CLASSES =
        256, /* who waited so long, or longer, goes in one class: what they are owed keeps them apart then */
    LOOK_NS = 2000,
    LOOK_WALKING_NS = 16000, /* nothing is decided by it among those that move alone: to learn how long that takes */
    BESIDE_NS =
        60000, /* of a total, for reading the request and sending the answer; a part of a small one: */
    BESIDE_SHARE = 16,
};

/* A total, and who may still spend of it. */
struct purse {
    struct tp_claim *claims; /* of the round, in its order */
    uint64_t all;            /* UINT64_MAX: no total; the rest then says nothing */
    uint64_t left;
    uint64_t dealt;      /* in slices of the round that are still to come */
    uint64_t priorities; /* of those in the round that are still to come and ask */
};

struct batch {
    struct tp_schedule *schedule;
    struct purse expansions, guide;
    uint64_t hard_left;  /* of total_expansions; expansions.left is the time's, too */
    uint64_t priorities; /* of all sessions served */
    uint32_t *order;     /* indices of schedule->slots: `idle` of them, then the round */
    uint32_t *in_turn;   /* places in the round, as they are served */
    size_t idle, turns_left;
    size_t late_left; /* of those, what may come when the time is over: fetched for a search that is not made, such a move takes twice as long */
    size_t fresh; /* of the round: who set off */
    size_t sure; /* the place in the round whose slice is given whatever the clock says */
    size_t walking; /* of the round: who was dealt nothing, and is served first */
    uint64_t portion; /* slices are dealt in multiples of it: expansions */
    size_t slices_left; /* of those dealt, under a total of time, */
    size_t asks, searched; /* who asks, and who has had some of it in the round */
    bool is_short;      /* which does not hold a portion for all who ask */
    size_t next_end; /* the places of the round up to here that were dealt nothing come next, should time be left over */
    /* time */
    bool is_timed;
    uint64_t end_ns;                 /* of all that the total covers */
    uint64_t look_ns;                /* the clock at the last look, */
    uint64_t now_ns;                 /* and by estimate since */
    uint64_t turns, searches, expansions_made; /* since that look */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- time ---- */

static struct tp_pace *pace_of(const struct batch *batch)
{
    return &batch->schedule->sessions->pace;
}

static uint64_t turns_ns(const struct batch *batch, uint64_t turns)
{
    return (uint64_t)tp_pace_ns(pace_of(batch), turns, 0, 0);
}

/* Until the time is over but for the moves of those who are still to come. */
static uint64_t time_left_ns(const struct batch *batch)
{
    uint64_t until = batch->now_ns + turns_ns(batch, batch->turns_left + batch->late_left);
    return until < batch->end_ns ? batch->end_ns - until : 0;
}

/* Expansions that the time holds, as tp_pace_expansions has it. */
static uint64_t expansions_in_time(const struct batch *batch, size_t searches, uint64_t portion)
{
    return tp_pace_expansions(pace_of(batch), time_left_ns(batch), searches, portion);
}

static void look(struct batch *batch)
{
    const struct tp_clock *clock = &batch->schedule->clock;
    batch->look_ns = batch->now_ns = clock->now_us(clock->context) * 1000;
    batch->turns = batch->searches = batch->expansions_made = 0;
}

/* Looks at the clock if it is time for it, and estimates anew what there is to spend. */
static void keep_time(struct batch *batch, bool walks)
{
    if (!batch->is_timed || batch->now_ns < batch->look_ns + (walks ? LOOK_WALKING_NS : LOOK_NS))
        return;
    uint64_t from_ns = batch->look_ns, turns = batch->turns, searches = batch->searches, expansions = batch->expansions_made;
    look(batch);
    tp_pace_learn(pace_of(batch), turns, searches, expansions, batch->now_ns - from_ns);
    uint64_t holds = expansions_in_time(batch, batch->slices_left > 0 ? batch->slices_left : 1, batch->portion);
    batch->expansions.left = least(holds, batch->hard_left);
}

static void pass_time(struct batch *batch, uint64_t expansions)
{
    bool searched = expansions > 0;
    batch->now_ns += (uint64_t)tp_pace_ns(pace_of(batch), 1, searched, expansions);
    batch->turns++;
    batch->searches += searched;
    batch->expansions_made += expansions;
}

/* When a session's turn ends. */
struct turn {
    const struct tp_schedule *schedule;
    uint64_t end_us; /* UINT64_MAX: not by time */
    bool is_total;   /* the time is the total's, not the session's own */
    bool is_over;    /* from its beginning: it is for a move alone */
    bool has_looked; /* the scheduler looked for it just now: the first question is answered without */
    bool was_cut;    /* the total's time ended it */
};

static bool turn_over_cb(void *context)
{
    struct turn *turn = context;
    if (turn->is_over || tp__schedule_over(turn->schedule))
        return true;
    if (turn->end_us == UINT64_MAX)
        return false;
    if (turn->has_looked) {
        turn->has_looked = false;
        return false;
    }
    const struct tp_clock *clock = &turn->schedule->clock;
    bool is_over = clock->now_us(clock->context) >= turn->end_us;
    turn->was_cut = is_over && turn->is_total;
    return is_over;
}

/* ---- the total ---- */

/* share * priority / priorities, which may be large */
static uint64_t part_of(uint64_t share, uint64_t priority, uint64_t priorities)
{
    return share / priorities * priority + share % priorities * priority / priorities;
}

/* What a session may spend that was not expected to ask: its part, if all asked. */
static uint64_t idle_allowance(const struct batch *batch, const struct purse *purse, uint64_t cap,
                               uint64_t priority)
{
    if (purse->all == UINT64_MAX)
        return UINT64_MAX;
    return least(cap, least(purse->left, part_of(purse->all, priority, batch->priorities)));
}

/* What the next of the round may spend: its slice, as far as there is as much, and its part of what those behind it leave over. */
static uint64_t allowance(const struct batch *batch, const struct purse *purse, const struct tp_claim *claim,
                          uint64_t cap, uint64_t priority)
{
    if (purse->all == UINT64_MAX)
        return UINT64_MAX;
    if (claim->priority == 0)
        return idle_allowance(batch, purse, cap, priority);
    uint64_t room = least(claim->slice, purse->left);
    if (purse->left > purse->dealt)
        room += part_of(purse->left - purse->dealt, priority, purse->priorities);
    return least(cap, room);
}

static void spend(struct purse *purse, uint64_t units)
{
    if (purse->all != UINT64_MAX)
        purse->left -= least(units, purse->left);
}

/* The next of the round has had its turn. */
static void pass(struct purse *purse, const struct tp_claim *claim)
{
    purse->dealt -= claim->slice;
    purse->priorities -= claim->priority;
}

/* What a session may spend at most by its own budget: an upper bound. */
static uint64_t own_cap(const struct batch *batch, const struct tp_agent *agent)
{
    const struct tp_agent_budget *own = tp__schedule_budget(batch->schedule, agent);
    return own->kind == TP_BUDGET_DEADLINE || agent->is_unbounded ? TP_SHARE_MAX : own->expansions;
}

/* ---- a turn ---- */

/* Whether a session would go on searching. */
static bool wants_to_search(const struct tp_tick_reply *reply)
{
    return reply->status != TP_STATUS_ARRIVED && reply->status != TP_STATUS_UNREACHABLE &&
           (reply->flags & TP_FLAG_PATH_COMPLETE) == 0;
}

/* Whether it will ask for expansions next time. A proof of its cost (bound.h) goes on beside a path that is complete: that
 * is seen by what it spent. */
static bool asks_again(const struct tp_agent *agent, const struct tp_tick_reply *reply, uint64_t allowed)
{
    if (wants_to_search(reply))
        return true;
    if (!agent->is_bounded || reply->status == TP_STATUS_ARRIVED)
        return false;
    return allowed == 0 ? agent->search.asks : reply->work.expansions >= allowed;
}

static void tick(struct batch *batch, uint32_t index, uint64_t expansions, uint64_t guide, struct turn *turn)
{
    struct tp_schedule *schedule = batch->schedule;
    uint32_t slot = schedule->slots[index];
    struct tp_agent *agent = &schedule->sessions->agents[slot];
    const struct tp_agent_budget *own = tp__schedule_budget(schedule, agent);
    struct tp_budget budget = tp_agent_budget_for_check(own);
    if (own->kind == TP_BUDGET_DEADLINE) {
        uint64_t end_us = schedule->clock.now_us(schedule->clock.context) + own->deadline_us;
        turn->is_total = turn->end_us <= end_us;
        turn->end_us = least(end_us, turn->end_us);
    }
    turn->is_over = batch->is_timed && expansions == 0;
    bool is_asked = turn->end_us != UINT64_MAX || schedule->is_over != NULL;
    budget.expired = is_asked ? turn_over_cb : NULL;
    budget.context = turn;
    budget.expansions_max = expansions;
    budget.moves_only = turn->is_over;
    budget.is_shared = batch->is_timed;
    budget.caps_guide = true;
    budget.guide_max = guide;
    struct tp_tick_reply *reply = &schedule->replies[index];
    tp_session_tick(agent->session, tp__schedule_map(schedule, slot), &budget, reply);
    schedule->expansions += reply->work.expansions;
    tp__schedule_note(schedule, agent, reply);
    batch->hard_left -= least(reply->work.expansions, batch->hard_left);
    spend(&batch->expansions, reply->work.expansions);
    spend(&batch->guide, reply->work.guide);
    agent->is_fresh = false;
    batch->turns_left--;
    pass_time(batch, reply->work.expansions);
}

/* Counts a session that got nothing, and how long it has been so. `withheld`: a total, or its time, was spent. */
static void count_wait(struct tp_schedule *schedule, struct tp_agent *agent,
                       const struct tp_tick_reply *reply, bool withheld)
{
    if (withheld && reply->work.expansions == 0 && wants_to_search(reply)) {
        agent->waited++;
        schedule->starved++;
        if (agent->waited > schedule->starved_longest)
            schedule->starved_longest = agent->waited;
        return;
    }
    if (agent->waited > 0 && schedule->waits != NULL)
        tp_metric_observe(schedule->waits, agent->waited);
    agent->waited = 0;
}

/* What a session that is dealt guide units does not spend it does not ask for again. */
static void note_guide(struct tp_agent *agent, const struct tp_tick_reply *reply, uint64_t allowed)
{
    if (allowed > 0)
        agent->guide.asks = reply->work.guide >= allowed;
    else
        agent->guide.asks = agent->guide_units > 0;
    if (!agent->guide.asks)
        agent->guide.owed %= TP_SHARE_UNIT;
}

/* The time that a turn ends at. */
static uint64_t turn_end_us(const struct batch *batch)
{
    if (!batch->is_timed)
        return UINT64_MAX;
    uint64_t moves_ns = turns_ns(batch, batch->turns_left + batch->late_left);
    return batch->end_ns > moves_ns ? (batch->end_ns - moves_ns) / 1000 : 0;
}

/* Whether there is time for moves alone. */
static bool is_late(const struct batch *batch)
{
    return batch->is_timed && time_left_ns(batch) == 0;
}

/* A session that did not search walks on. */
static void serve_idle(struct batch *batch, uint32_t index)
{
    struct tp_schedule *schedule = batch->schedule;
    struct tp_agent *agent = &schedule->sessions->agents[schedule->slots[index]];
    keep_time(batch, false);
    uint64_t expansions = 0, units = 0;
    if (!is_late(batch)) {
        expansions = idle_allowance(batch, &batch->expansions, own_cap(batch, agent), agent->priority);
        units = idle_allowance(batch, &batch->guide, agent->guide_units, agent->priority);
    }
    struct turn turn = {
        .schedule = schedule, .end_us = turn_end_us(batch), .is_total = true, .has_looked = true};
    tick(batch, index, expansions, units, &turn);
    const struct tp_tick_reply *reply = &schedule->replies[index];
    agent->search.asks = asks_again(agent, reply, expansions);
    note_guide(agent, reply, units);
    count_wait(schedule, agent, reply, expansions == 0 || turn.was_cut);
}

/* Carries over what was dealt and not given: the total was spent, or its time over. */
static void carry(struct tp_share *share, const struct tp_claim *claim, uint64_t portion, uint64_t spent, bool was_cut)
{
    uint64_t whole = portion * TP_SHARE_UNIT;
    share->owed = claim->owed;
    if (was_cut && claim->slice > 0 && spent == 0)
        share->owed = share->owed % whole + whole;
    if (!share->asks)
        share->owed %= TP_SHARE_UNIT;
}

static bool has_slice(const struct batch *batch, size_t place)
{
    return batch->expansions.claims[place].slice > 0 || batch->guide.claims[place].slice > 0;
}

static void serve_next(struct batch *batch, size_t place)
{
    struct tp_schedule *schedule = batch->schedule;
    uint32_t index = batch->order[batch->idle + place];
    struct tp_agent *agent = &schedule->sessions->agents[schedule->slots[index]];
    const struct tp_claim *search = &batch->expansions.claims[place], *guide = &batch->guide.claims[place];
    bool walks = batch->is_timed && !has_slice(batch, place) && place >= batch->next_end;
    keep_time(batch, walks);
    struct turn turn = {
        .schedule = schedule, .end_us = turn_end_us(batch), .is_total = true, .has_looked = true};
    uint64_t expansions =
        allowance(batch, &batch->expansions, search, own_cap(batch, agent), agent->priority);
    uint64_t units = 0;
    if (!is_late(batch))
        units = allowance(batch, &batch->guide, guide, agent->guide_units, agent->priority);
    if (batch->is_short) /* one portion, or a move alone */
        expansions = batch->expansions.left < batch->portion || walks ? 0 : least(own_cap(batch, agent), batch->portion);
    if (batch->is_timed && place == batch->sure && expansions < search->slice) {
        expansions = least(least(search->slice, TP_DEADLINE_STRIDE), batch->hard_left);
        turn.end_us = UINT64_MAX;
    }
    batch->slices_left -= batch->is_timed && search->slice > 0;
    pass(&batch->expansions, search);
    pass(&batch->guide, guide);
    tick(batch, index, expansions, units, &turn);
    const struct tp_tick_reply *reply = &schedule->replies[index];
    bool was_cut = turn.was_cut || expansions < search->slice;
    agent->search.asks = asks_again(agent, reply, expansions);
    carry(&agent->search, search, batch->portion, reply->work.expansions, was_cut);
    note_guide(agent, reply, units);
    carry(&agent->guide, guide, 1, reply->work.guide, turn.was_cut || units < guide->slice);
    count_wait(schedule, agent, reply, expansions == 0 || was_cut);
}

/* ---- the batch ---- */

/* 0: idle; then who waited longest first; last who set off and may not need to search at all. */
static unsigned class_of(const struct batch *batch, const struct tp_agent *agent)
{
    bool asks = agent->search.asks || (agent->guide.asks && batch->guide.all != UINT64_MAX);
    if (!asks)
        return 0;
    if (agent->waited == 0 && agent->is_fresh)
        return WAITED_CLASSES + 1;
    return agent->waited < WAITED_CLASSES ? WAITED_CLASSES - agent->waited : 1;
}

/* Fills order[], by classes, each in the order named from the session on with which this tick's round begins. */
static void put_in_order(struct batch *batch)
{
    const struct tp_schedule *schedule = batch->schedule;
    size_t at[WAITED_CLASSES + 3] = {0}, count = schedule->served, first = schedule->tick % count;
    for (size_t i = 0; i < count; i++)
        at[class_of(batch, &schedule->sessions->agents[schedule->slots[i]]) + 1]++;
    batch->idle = at[1];
    batch->fresh = at[WAITED_CLASSES + 2];
    for (size_t i = 1; i <= WAITED_CLASSES + 1; i++)
        at[i] += at[i - 1];
    for (size_t i = 0; i < count; i++) {
        size_t index = i + first < count ? i + first : i + first - count;
        batch->order[at[class_of(batch, &schedule->sessions->agents[schedule->slots[index]])]++] =
            (uint32_t)index;
    }
}

static struct purse purse_of(struct tp_claim *claims, uint64_t total)
{
    uint64_t all = total == TP_TOTAL_NONE ? UINT64_MAX : total;
    return (struct purse){.claims = claims, .all = all, .left = all};
}

/* Deals what is left in portions, to each so many at the most; less than one to whom its cap holds there. */
static void deal(struct purse *purse, size_t count, uint64_t portion, uint64_t portions)
{
    if (purse->all == UINT64_MAX)
        return;
    for (size_t i = 0; i < count; i++) {
        purse->claims[i].owed /= portion;
        purse->claims[i].cap = least((purse->claims[i].cap + portion - 1) / portion, portions);
    }
    tp_share_deal(purse->claims, count, purse->left < portion ? 1 : purse->left / portion);
    for (size_t i = 0; i < count; i++) {
        struct tp_claim *claim = &purse->claims[i];
        claim->owed *= portion;
        claim->slice *= portion;
        purse->dealt += claim->slice;
        purse->priorities += claim->priority;
    }
}

/* Half as much again every other tick: so the pace tells a search from its expansions. */
static uint64_t portion_of(const struct batch *batch)
{
    double portion = pace_of(batch)->portion * (batch->schedule->tick % 2 == 0 ? 1 : 1.5);
    return (uint64_t)(portion + 0.5);
}

/* What is there to deal: what is left of the total, and what its time holds, one expansion at the least. */
static uint64_t in_time(const struct batch *batch, size_t searches, uint64_t portion)
{
    uint64_t holds = expansions_in_time(batch, searches, portion);
    return least(holds > 0 ? holds : 1, batch->hard_left);
}

/* What there is to deal under a total of time, and in which portions. Where there is no more of the expansions than of time, these are dealt. */
static void hold_time(struct batch *batch)
{
    batch->portion = portion_of(batch);
    batch->expansions.left = in_time(batch, batch->asks, batch->portion);
    if (batch->expansions.left == batch->hard_left)
        batch->portion = 1;
    else
        batch->is_short = batch->expansions.left / batch->portion < batch->asks;
}

/* Takes what each of the round asks for, and deals. */
static void deal_round(struct batch *batch, size_t count)
{
    struct tp_schedule *schedule = batch->schedule;
    size_t asks = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tp_agent *agent =
            &schedule->sessions->agents[schedule->slots[batch->order[batch->idle + i]]];
        bool searches = agent->search.asks && batch->expansions.all != UINT64_MAX;
        asks += searches;
        bool is_led = agent->guide.asks && batch->guide.all != UINT64_MAX;
        batch->expansions.claims[i] = (struct tp_claim){.owed = agent->search.owed,
                                                        .cap = searches ? own_cap(batch, agent) : 0,
                                                        .priority = searches ? agent->priority : 0};
        batch->guide.claims[i] = (struct tp_claim){.owed = agent->guide.owed,
                                                   .cap = is_led ? agent->guide_units : 0,
                                                   .priority = is_led ? agent->priority : 0};
    }
    batch->asks = asks;
    if (batch->is_timed)
        hold_time(batch);
    deal(&batch->expansions, count, batch->portion, batch->is_short ? 1 : UINT64_MAX);
    deal(&batch->guide, count, 1, UINT64_MAX);
}

static void begin(struct batch *batch)
{
    struct tp_schedule *schedule = batch->schedule;
    batch->hard_left = schedule->total_expansions == TP_TOTAL_NONE ? UINT64_MAX : schedule->total_expansions;
    batch->turns_left = schedule->served;
    batch->order = schedule->order;
    batch->in_turn = schedule->order + schedule->capacity;
    batch->expansions = purse_of(schedule->claims, schedule->total_expansions);
    batch->guide = purse_of(schedule->claims + schedule->capacity, schedule->total_guide_units);
    for (size_t i = 0; i < schedule->served; i++)
        batch->priorities += schedule->sessions->agents[schedule->slots[i]].priority;
    batch->is_timed = schedule->total_us != TP_TOTAL_NONE;
    if (!batch->is_timed)
        return;
    look(batch);
    uint64_t from_ns = schedule->has_begun ? schedule->began_us * 1000 : batch->now_ns;
    uint64_t whole_ns = schedule->total_us * 1000;
    uint64_t beside_ns = (uint64_t)((double)schedule->served * pace_of(batch)->answer_ns) +
                         least(BESIDE_NS, whole_ns / BESIDE_SHARE);
    batch->end_ns = from_ns + (whole_ns > beside_ns ? whole_ns - beside_ns : 0);
    batch->expansions.all = batch->expansions.left = in_time(batch, 0, 1);
}

/* Under a total of time, which part of the round is served first: who only moves, so that the time of that is known; who set off; the others with
 * slices; those who come next. */
static unsigned part_of_round(const struct batch *batch, size_t place, size_t count)
{
    if (!has_slice(batch, place))
        return place < batch->next_end ? 3 : 0;
    return place >= count - batch->fresh ? 1 : 2;
}

/* Where time is short: as many as have slices may come next, or as should have had one. */
static size_t end_of_next(const struct batch *batch, size_t count)
{
    size_t place = 0, next = batch->slices_left > count / TP_PACE_TICKS_APART ? batch->slices_left : count / TP_PACE_TICKS_APART + 1;
    for (; batch->is_short && place < count && next > 0; place++)
        next -= !has_slice(batch, place);
    return place;
}

/* Fills in_turn[]: without a total of time from the round's end to its front, with one by parts, and in those from the front on. */
static void put_in_turn(struct batch *batch, size_t count)
{
    for (size_t place = 0; place < count && !batch->is_timed; place++)
        batch->in_turn[count - 1 - place] = (uint32_t)place;
    if (!batch->is_timed)
        return;
    for (size_t place = 0; place < count; place++)
        batch->slices_left += batch->expansions.claims[place].slice > 0;
    batch->next_end = end_of_next(batch, count);
    size_t at[5] = {0};
    for (size_t place = 0; place < count; place++)
        at[part_of_round(batch, place, count) + 1]++;
    batch->walking = at[1];
    for (unsigned part = 1; part < 4; part++)
        at[part + 1] += at[part];
    for (size_t place = 0; place < count; place++)
        batch->in_turn[at[part_of_round(batch, place, count)]++] = (uint32_t)place;
}

static void serve_round(struct batch *batch)
{
    size_t count = batch->schedule->served - batch->idle;
    if (batch->is_timed)
        look(batch);
    deal_round(batch, count);
    while (batch->sure < count && batch->expansions.claims[batch->sure].slice == 0)
        batch->sure++;
    put_in_turn(batch, count);
    if (batch->is_timed)
        look(batch); /* dealing took its time, and no turn */
    struct tp_line line = {
        .order = batch->order + batch->idle, .place = batch->in_turn, .count = count, .walking = batch->walking};
    for (size_t i = 0; i < count; i++) {
        if (i >= batch->walking && batch->is_timed) {
            batch->late_left = count - 1 - i;
            line.walking = is_late(batch) ? count : batch->walking;
        }
        tp__line_fetch(batch->schedule, &line, i);
        serve_next(batch, batch->in_turn[i]);
        batch->searched += batch->schedule->replies[batch->order[batch->idle + batch->in_turn[i]]].work.expansions > 0;
    }
}

void tp__schedule_serve_shared(struct tp_schedule *schedule)
{
    if (schedule->served == 0)
        return;
    struct batch batch = {.schedule = schedule, .portion = 1};
    begin(&batch);
    put_in_order(&batch);
    const struct tp_line idle = {.order = batch.order, .count = batch.idle, .walking = batch.idle};
    for (size_t i = 0; i < batch.idle; i++) {
        tp__line_fetch(schedule, &idle, i);
        serve_idle(&batch, batch.order[i]);
    }
    serve_round(&batch);
    if (batch.is_short)
        tp_pace_learn_portion(&schedule->sessions->pace, batch.asks, batch.searched);
}

void tp_schedule_answered(struct tp_schedule *schedule, uint64_t took_us)
{
    tp_pace_learn_answer(&schedule->sessions->pace, schedule->served, took_us * 1000);
}
