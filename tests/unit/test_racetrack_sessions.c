/* Vehicles with inertia under sessions: every move against a second opinion (tests/lib/drive.h), on maps that change, and the tracks of
 * the papers. The space alone: test_racetrack.c. */
#include "base/limits.h"
#include "map/track.h"
#include "search/session.h"
#include "tests/lib/drive.h"
#include "tests/lib/maps.h"

#include <stdlib.h>
#include <string.h>

/* A vehicle under watch: where it is by our own account of its moves. */
struct ride {
    struct tp_session *session;
    struct tp_session_params params;
    struct tp_pool pool;
    struct tp_map *map;
    struct drive_place at;
    uint32_t goal;
    uint64_t moves;
};

static void ride_open(struct ride *ride, struct tp_map *map, const struct tp_session_params *params)
{
    struct tp_refusal refusal;
    *ride = (struct ride){.params = *params, .map = map, .goal = params->goal};
    tp_pool_init(&ride->pool, NULL);
    int rc = tp_session_open(&ride->session, params, map, &ride->pool, &refusal);
    ck_assert_msg(rc == 0, "%s: %s %s", tp_error_name(rc), refusal.field, refusal.reason);
    ride->at = (struct drive_place){(int)(params->start % map->width), (int)(params->start / map->width),
                              params->start_vx, params->start_vy};
}

static void ride_close(struct ride *ride)
{
    tp_session_close(ride->session);
    ck_assert_uint_eq(ride->pool.used_bytes, 0);
    tp_pool_fini(&ride->pool);
    tp_map_unref(ride->map);
}

static bool at_goal(const struct ride *ride)
{
    return (uint32_t)ride->at.y * ride->map->width + (uint32_t)ride->at.x == ride->goal;
}

/* One tick: a vehicle that moves does what one of the accelerations does; one that does not, keeps cell and velocity. */
static struct tp_tick_reply ride_tick(struct ride *ride)
{
    struct tp_tick_reply reply;
    uint32_t cell = (uint32_t)ride->at.y * ride->map->width + (uint32_t)ride->at.x;
    bool was_there = at_goal(ride);
    tp_session_tick(ride->session, ride->map, NULL, &reply);
    struct drive_place to = {(int)(reply.to % ride->map->width), (int)(reply.to / ride->map->width), reply.vx,
                       reply.vy};
    const char *name = ride->params.algorithm->name;
    if (reply.from != cell)
        ck_abort_msg("%s: from %u, not %u", name, reply.from, cell);
    if (was_there) {
        if (reply.status != TP_STATUS_ARRIVED || reply.to != cell || reply.vx || reply.vy)
            ck_abort_msg("%s: not arrived", name);
        ride->at = to;
        return reply;
    }
    struct tp_session_stats stats;
    tp_session_stats(ride->session, &stats);
    if (stats.moves > ride->moves) {
        bool legal = false;
        for (int move = 0; move < 9 && !legal; move++) {
            struct drive_place end;
            legal = drive_move(ride->map, ride->goal, ride->at, move % 3 - 1, move / 3 - 1, &end) && drive_same(end, to);
        }
        if (!legal)
            ck_abort_msg("%s: no move leads from (%d, %d) at (%d, %d) to (%d, %d) at (%d, %d)", name,
                         ride->at.x, ride->at.y, ride->at.vx, ride->at.vy, to.x, to.y, to.vx, to.vy);
        if (reply.status != (reply.to == ride->goal ? TP_STATUS_ARRIVED : TP_STATUS_MOVING))
            ck_abort_msg("%s: status %d on %u", name, (int)reply.status, reply.to);
    } else if (!drive_same(to, ride->at)) {
        ck_abort_msg("%s: it moved and says it did not", name);
    }
    ride->moves = stats.moves;
    if (stats.cost != stats.moves * TP_COST_UNIT)
        ck_abort_msg("%s: cost %llu of %llu moves", name, (unsigned long long)stats.cost,
                     (unsigned long long)stats.moves);
    ride->at = to;
    return reply;
}

static struct tp_session_params vehicle(const char *algorithm, uint32_t start, uint32_t goal, uint64_t k)
{
    struct tp_session_params params;
    tp_session_params_init(&params);
    params.algorithm = tp_algorithm_find(algorithm);
    params.motion = TP_MOTION_INERTIA;
    params.start = start;
    params.goal = goal;
    params.budget = tp_budget_k(k);
    return params;
}

/* A* drives as few moves as any driver can, and says so exactly where no driver can. */
START_TEST(test_astar_optimal)
{
    struct tp_test_rng rng = tp_test_rng("optimal");
    uint64_t maps = tp_test_steps(60, 3000);
    for (uint64_t i = 0; i < maps; i++) {
        uint32_t width = tp_test_between(&rng, 1, 10), height = tp_test_between(&rng, 1, 10);
        struct tp_map *map = tp_test_map_random(&rng, width, height, tp_test_below(&rng, 50));
        struct tp_session_params params = vehicle("astar", tp_test_below(&rng, width * height),
                                                  tp_test_below(&rng, width * height), TP_BUDGET_MAX);
        params.start_vx = (int8_t)((int)tp_test_below(&rng, 7) - 3);
        params.start_vy = (int8_t)((int)tp_test_below(&rng, 7) - 3);
        uint32_t *left = drive_moves_to_goal(map, params.goal);
        struct ride ride;
        ride_open(&ride, map, &params);
        uint32_t wanted = left[drive_state(map, ride.at)], moves = 0;
        if (!tp_map_passable(map, params.goal % width, params.goal / width) && params.start != params.goal)
            wanted = UINT32_MAX;
        struct tp_tick_reply reply = ride_tick(&ride);
        if (wanted == UINT32_MAX) {
            ck_assert_int_eq(reply.status, TP_STATUS_UNREACHABLE);
        } else {
            while (reply.status == TP_STATUS_MOVING && moves <= wanted) {
                moves++;
                reply = ride_tick(&ride);
            }
            ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
            ck_assert_uint_eq(ride.moves, wanted);
        }
        free(left);
        ride_close(&ride);
    }
}
END_TEST

/* Every algorithm that takes vehicles, on maps that change under it: every move is one, UNREACHABLE is true. */
START_TEST(test_every_algorithm)
{
    struct tp_test_rng rng = tp_test_rng("every");
    uint64_t rounds = tp_test_steps(12, 400);
    size_t taken = 0;
    for (size_t row = 0; tp_algorithm_at(row); row++) {
        const struct tp_algorithm *algorithm = tp_algorithm_at(row);
        uint64_t arrived = 0;
        for (uint64_t i = 0; i < rounds; i++) {
            uint32_t width = tp_test_between(&rng, 4, 12), height = tp_test_between(&rng, 4, 12),
                     cells = width * height;
            struct tp_map *map = tp_test_map_random(&rng, width, height, tp_test_below(&rng, 30));
            struct tp_session_params params =
                vehicle(algorithm->name, tp_test_below(&rng, cells), tp_test_below(&rng, cells),
                        tp_test_between(&rng, 1, 200));
            if (algorithm->capabilities & TP_CAN_TAKE_W)
                params.w_milli = 1000 + 500 * tp_test_below(&rng, 9);
            struct tp_session *session;
            struct tp_refusal refusal;
            struct tp_pool pool;
            tp_pool_init(&pool, NULL);
            int rc = tp_session_open(&session, &params, map, &pool, &refusal);
            if (rc == TP_ERR_UNSUPPORTED) { /* a row for grids alone */
                ck_assert_ptr_nonnull(refusal.field);
                tp_map_unref(map);
                tp_pool_fini(&pool);
                continue;
            }
            tp_session_close(session);
            tp_pool_fini(&pool);
            struct ride ride;
            ride_open(&ride, map, &params);
            taken++;
            bool changes = i % 2;
            uint32_t *left = NULL, left_goal = 0; /* of the version and goal it was worked out for */
            uint64_t left_version = 0;
            for (int tick = 0; tick < 150; tick++) {
                struct tp_tick_reply reply = ride_tick(&ride);
                if (reply.status == TP_STATUS_UNREACHABLE) {
                    if (!left || left_version != ride.map->version || left_goal != ride.goal) {
                        free(left);
                        left = drive_moves_to_goal(ride.map, left_goal = ride.goal);
                        left_version = ride.map->version;
                    }
                    bool goal_free = tp_map_passable(ride.map, ride.goal % width, ride.goal / width);
                    if (goal_free && left[drive_state(ride.map, ride.at)] != UINT32_MAX)
                        ck_abort_msg("%s: UNREACHABLE is not true", algorithm->name);
                }
                arrived += reply.status == TP_STATUS_ARRIVED;
                if (changes && tp_test_percent(&rng, 30)) {
                    uint32_t cell = tp_test_below(&rng, cells);
                    tp_test_set(&ride.map, cell % width, cell / width, tp_test_percent(&rng, 50) ? '@' : '.');
                }
                if (changes && tp_test_percent(&rng, 3)) {
                    ride.goal = tp_test_below(&rng, cells);
                    ck_assert_int_eq(tp_session_retarget(ride.session, ride.goal), 0);
                }
                if (changes && tp_test_percent(&rng, 3)) {
                    uint32_t cell = tp_test_below(&rng, cells);
                    int vx = (int)tp_test_below(&rng, 7) - 3, vy = (int)tp_test_below(&rng, 7) - 3;
                    ck_assert_int_eq(tp_session_at_velocity(ride.session, cell, vx, vy), 0);
                    ride.at = (struct drive_place){(int)(cell % width), (int)(cell / width), vx, vy};
                }
                if (!changes && (reply.status == TP_STATUS_ARRIVED || reply.status == TP_STATUS_UNREACHABLE))
                    break;
            }
            free(left);
            ride_close(&ride);
        }
        if (taken && rounds >= 12 && algorithm->capabilities & TP_CAN_DETECT_UNREACHABLE)
            ck_assert_msg(arrived > 0, "%s never arrived", algorithm->name);
    }
    ck_assert_uint_gt(taken, 0);
}
END_TEST

/* A vehicle at speed, a wall put in front of it: it stops beside the wall, takes this for what happened, and drives on. */
START_TEST(test_wall_in_front)
{
    struct tp_map *map = tp_test_map_free(40, 5);
    struct tp_session_params params = vehicle("astar", 2 * 40 + 1, 2 * 40 + 38, TP_BUDGET_MAX);
    struct ride ride;
    ride_open(&ride, map, &params);
    while (ride.at.vx < 3)
        ride_tick(&ride);
    int x = ride.at.x;
    tp_test_set_rect(&ride.map, (uint32_t)x + 2, 0, 1, 4, '@');
    uint64_t moves = ride.moves;
    struct tp_tick_reply reply;
    do
        reply = ride_tick(&ride);
    while (reply.status != TP_STATUS_ARRIVED && ride.moves < moves + 40);
    ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
    ride_close(&ride);
}
END_TEST

/* The goal is met at any speed, also where the vehicle is put there, and where the goal comes to it. */
START_TEST(test_arrival)
{
    struct tp_session_params params = vehicle("tbwa", 3, 3, 10);
    params.start_vx = 3;
    params.open_list = TP_OPEN_LIST_EXACT; /* by the other it may stand and search on its way */
    struct ride ride;
    ride_open(&ride, tp_test_map_free(20, 1), &params);
    ck_assert(tp_session_arrived(ride.session));
    ck_assert_int_eq(ride_tick(&ride).status, TP_STATUS_ARRIVED);
    ride.goal = 19;
    ck_assert_int_eq(tp_session_retarget(ride.session, 19), 0);
    ck_assert(!tp_session_arrived(ride.session));
    while (ride.at.vx < 2)
        ck_assert_int_eq(ride_tick(&ride).status, TP_STATUS_MOVING);
    ride.goal = (uint32_t)ride.at.x;
    ck_assert_int_eq(tp_session_retarget(ride.session, ride.goal), 0);
    ck_assert_int_eq(ride_tick(&ride).status, TP_STATUS_ARRIVED);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, ride.goal, -3, 0), 0);
    ck_assert(tp_session_arrived(ride.session));
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 0, 1, 0), 0);
    ck_assert(!tp_session_arrived(ride.session));
    ride.at = (struct drive_place){0, 0, 1, 0};
    while (ride_tick(&ride).status == TP_STATUS_MOVING)
        continue;
    ck_assert(at_goal(&ride));
    ck_assert_uint_eq(tp_session_cell(ride.session), ride.goal);
    ride_close(&ride);
}
END_TEST

/* The path asked for is the one then driven. */
START_TEST(test_path)
{
    struct tp_session_params params = vehicle("astar", 0, 11 * 12 + 11, TP_BUDGET_MAX);
    struct ride ride;
    ride_open(&ride, tp_test_map_free(12, 12), &params);
    ride_tick(&ride);
    uint32_t cells[40], count = tp_session_path(ride.session, cells, 40);
    ck_assert_uint_ge(count, 3);
    ck_assert_uint_eq(cells[0], (uint32_t)ride.at.y * 12 + (uint32_t)ride.at.x);
    ck_assert_uint_eq(cells[count - 1], ride.goal);
    for (uint32_t i = 1; i < count; i++)
        ck_assert_uint_eq(ride_tick(&ride).to, cells[i]);
    ck_assert(at_goal(&ride));
    ride_close(&ride);
}
END_TEST

static void refused(const struct tp_session_params *params, const struct tp_map *map, int error,
                    const char *field)
{
    struct tp_session *session;
    struct tp_refusal refusal;
    struct tp_pool pool;
    tp_pool_init(&pool, NULL);
    ck_assert_int_eq(tp_session_open(&session, params, map, &pool, &refusal), error);
    ck_assert_ptr_null(session);
    ck_assert_str_eq(refusal.field, field);
    ck_assert_ptr_nonnull(refusal.reason);
    tp_pool_fini(&pool);
}

START_TEST(test_refusals)
{
    struct tp_map *map = tp_test_map_free(8, 8);
    struct tp_session_params params = vehicle("tbwa", 0, 63, 10), good = params;
    params.start_vx = 4;
    refused(&params, map, TP_ERR_INVALID_ARGUMENT, "start_vx");
    params.start_vx = -3;
    params.start_vy = -4;
    refused(&params, map, TP_ERR_INVALID_ARGUMENT, "start_vy");
    params = good;
    params.motion = TP_MOTION_STEPS;
    params.start_vx = 1;
    refused(&params, map, TP_ERR_INVALID_ARGUMENT, "start_vx");
    params.start_vx = 0;
    params.start_vy = -1;
    refused(&params, map, TP_ERR_INVALID_ARGUMENT, "start_vy");
    params = good;
    params.motion = (enum tp_motion)7;
    refused(&params, map, TP_ERR_INVALID_ARGUMENT, "motion");
    params = good;
    params.algorithm = tp_algorithm_find("rtbwa");
    params.knowledge = TP_KNOWLEDGE_FREESPACE;
    refused(&params, map, TP_ERR_UNSUPPORTED, "knowledge");
    params = good;
    params.algorithm = tp_algorithm_find("tba");
    params.budget = tp_budget_r(100, 900, 10);
    params.shortcut = true;
    refused(&params, map, TP_ERR_UNSUPPORTED, "shortcut");

    struct ride ride;
    ride_open(&ride, map, &good);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 64, 0, 0), TP_ERR_OUT_OF_RANGE);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, 4, 0), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, 0, -4), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, INT32_MIN, INT32_MAX), TP_ERR_INVALID_ARGUMENT);
    ck_assert_uint_eq(tp_session_cell(ride.session), 0);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, -3, 3), 0);
    ck_assert_uint_eq(tp_session_cell(ride.session), 1);
    ride_close(&ride);

    map = tp_test_map_free(8, 8);
    good.motion = TP_MOTION_STEPS;
    ride_open(&ride, map, &good);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, 1, 0), TP_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(tp_session_at_velocity(ride.session, 1, 0, 0), 0);
    ride_close(&ride);
}
END_TEST

/* ---- The tracks of the papers ---- */

/* A* from every start to every finish drives as few moves as anyone can. */
static const struct track_file {
    const char *name;
    uint32_t width, height, starts, finishes;
} track_files[] = {
    {"racetrack/barto-small", 35, 12, 1, 3},
    {"racetrack/barto-big", 30, 33, 1, 7},
    {"racetrack/hansen-bigger", 69, 33, 1, 10},
    {"racetrack/derived-hansen-33x207", 207, 33, 1, 10},
};

START_TEST(test_track_files)
{
    const char *maps = tp_test_maps_or_skip();
    if (!maps)
        return;
    const struct track_file *file = &track_files[_i];
    size_t size;
    char *text = tp_test_read_file(tp_test_path(maps, file->name, ".track"), &size);
    struct tp_track track;
    struct tp_place place;
    const char *reason;
    int rc = tp_track_parse(&track, text, size, &place, &reason);
    ck_assert_msg(rc == 0, "%s:%u:%u: %s", file->name, place.line, place.column, reason);
    free(text);
    ck_assert(track.width == file->width && track.height == file->height);
    ck_assert(track.start_count == file->starts && track.finish_count == file->finishes);
    struct tp_profile profile;
    tp_profile_init_movingai(&profile);
    struct tp_map *map;
    ck_assert_int_eq(tp_map_build(&map, track.width, track.height, track.cells, &profile, 1), 0);
    for (size_t i = 0; i < track.finish_count; i += 9) {
        uint32_t *left = drive_moves_to_goal(map, track.finishes[i]);
        struct tp_session_params params = vehicle("astar", track.starts[0], track.finishes[i], TP_BUDGET_MAX);
        struct ride ride;
        ride_open(&ride, (struct tp_map *)(uintptr_t)tp_map_ref(map), &params);
        uint32_t wanted = left[drive_state(map, ride.at)], moves = 0;
        ck_assert_uint_ne(wanted, UINT32_MAX);
        struct tp_tick_reply reply;
        do
            reply = ride_tick(&ride);
        while (reply.status == TP_STATUS_MOVING && moves++ < wanted);
        ck_assert_int_eq(reply.status, TP_STATUS_ARRIVED);
        ck_assert_uint_eq(ride.moves, wanted);
        ride_close(&ride);
        free(left);
    }
    tp_map_unref(map);
    tp_track_fini(&track);
}
END_TEST

static Suite *racetrack_sessions_suite(void)
{
    Suite *suite = suite_create("racetrack sessions");
    TCase *sessions = tcase_create("sessions");
    tcase_add_test(sessions, test_astar_optimal);
    tcase_add_test(sessions, test_every_algorithm);
    tcase_add_test(sessions, test_wall_in_front);
    tcase_add_test(sessions, test_arrival);
    tcase_add_test(sessions, test_path);
    tcase_add_test(sessions, test_refusals);
    suite_add_tcase(suite, sessions);
    TCase *tracks = tcase_create("tracks");
    tcase_add_loop_test(tracks, test_track_files, 0, sizeof track_files / sizeof *track_files);
    suite_add_tcase(suite, tracks);
    return suite;
}

int main(void)
{
    return tp_test_main("test_racetrack_sessions", racetrack_sessions_suite);
}
