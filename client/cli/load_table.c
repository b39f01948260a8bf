#include "client/cli/load_internal.h"

#include "client/cli/play.h"

#include <stdio.h>

static double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

static double quantile_us(const struct tp_cli_histogram *histogram, uint32_t per_100k)
{
    return us(tp_cli_histogram_quantile(histogram, per_100k));
}

static double seconds_of(uint64_t ns)
{
    return ns > 0 ? (double)ns / 1e9 : 1e-9;
}

void tp_cli__load_progress(const struct tp_cli_load *load, double seconds)
{
    const struct tp_cli_load_figures *f = &load->figures;
    fprintf(stderr, "%6.1f s  %llu sent  %llu answered  %llu late  latency p50 %.0f us  p99 %.0f us", seconds,
            (unsigned long long)f->sent, (unsigned long long)f->answered, (unsigned long long)f->late,
            quantile_us(&f->latency, 50000), quantile_us(&f->latency, 99000));
    if (f->loop.count > 0)
        fprintf(stderr, "  loop p50 %.0f us  p99 %.0f us", quantile_us(&f->loop, 50000),
                quantile_us(&f->loop, 99000));
    fprintf(stderr, "\n");
}

/* ---- The table ---- */

static void print_times(const char *name, const struct tp_cli_histogram *times, const char *what)
{
    if (times->count == 0)
        return;
    printf("%-18s p50 %.0f us, p90 %.0f us, p99 %.0f us, p99.9 %.0f us, longest %.0f us; %s\n", name,
           quantile_us(times, 50000), quantile_us(times, 90000), quantile_us(times, 99000),
           quantile_us(times, 99900), us(times->max), what);
}

static const char *end_of(const struct tp_cli_load *load)
{
    static const char *const ends[] = {"time", "daemon", "signal", "failure"};
    return ends[load->figures.end];
}

static const char *words_of_end(const struct tp_cli_load *load)
{
    static const char *const words[] = {"", "; it ended early: the daemon was gone", "; it ended early: at a signal", "; it ended early: it failed"};
    return words[load->figures.end];
}

void tp_cli__load_table(const struct tp_cli_load *load)
{
    const struct tp_cli_load_figures *f = &load->figures;
    bool is_single = load->options.workload == TP_CLI_LOAD_SINGLE;
    double seconds = seconds_of(f->measured_ns), ticks = f->agent_ticks > 0 ? (double)f->agent_ticks : 1;
    printf("%-18s %s, %zu agents on %s%s\n", "load", tp_cli__load_names[load->options.workload],
           load->fleet.count, load->space.path, words_of_end(load));
    printf("%-18s %s\n", "algorithm", load->search.algorithm);
    if (is_single)
        printf("%-18s %llu in %.2f s on %zu connections: %.0f a second; %.2f s besides for new goals\n",
               "requests", (unsigned long long)f->answered, seconds, load->client_count,
               (double)f->answered / seconds, (double)f->off_clock_ns / 1e9);
    else
        printf("%-18s %llu in %.2f s, due %g a second: %llu sent, %llu late, %llu answered\n", "frames",
               (unsigned long long)f->intended, seconds, load->options.hz, (unsigned long long)f->sent,
               (unsigned long long)f->late, (unsigned long long)f->answered);
    print_times("latency", &f->latency, is_single ? "from the sending" : "from the time a frame was due");
    print_times("sent after", &f->delay, "the time a frame was due");
    print_times("daemon's loop", &f->loop, "CPU time a frame");
    if (is_single && load->loops.count > 0 && f->answered > 0)
        printf("%-18s %.2f us of CPU time a request, %.0f %% of a processor\n", "daemon's loop",
               us(f->loop_ns) / (double)f->answered, 100 * (double)f->loop_ns / 1e9 / seconds);
    printf("%-18s %llu: %.1f %% moving, %.1f %% searching, %.1f %% blocked, %.1f %% arrived, %.1f %% "
           "unreachable\n",
           "agent ticks", (unsigned long long)f->agent_ticks,
           100 * (double)f->statuses[TP_CLIENT_MOVING] / ticks,
           100 * (double)f->statuses[TP_CLIENT_SEARCHING] / ticks,
           100 * (double)f->statuses[TP_CLIENT_BLOCKED] / ticks,
           100 * (double)f->statuses[TP_CLIENT_ARRIVED] / ticks,
           100 * (double)f->statuses[TP_CLIENT_UNREACHABLE] / ticks);
    printf("%-18s %.1f %% of the agent ticks\n", "complete paths", 100 * (double)f->complete / ticks);
    if (f->starved > 0)
        printf("%-18s %.1f %% of the agent ticks, with nothing left of the frame's total; one for %llu frames on end at most\n",
               "starved", 100 * (double)f->starved / ticks, (unsigned long long)f->starved_longest);
    printf("%-18s %llu goals, %llu cells of the map\n", "renewed", (unsigned long long)f->goals,
           (unsigned long long)f->changed);
}

/* ---- JSON ---- */

/* A text in quotes, with what JSON does not take in them escaped. */
static void print_text(const char *key, const char *text)
{
    printf("\"%s\": \"", key);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20)
            printf("\\u%04x", byte);
        else
            printf(byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
    }
    printf("\", ");
}

static void print_count(const char *key, uint64_t count)
{
    printf("\"%s\": %llu, ", key, (unsigned long long)count);
}

static void print_histogram(const char *key, const struct tp_cli_histogram *times)
{
    static const struct {
        const char *key;
        uint32_t per_100k;
    } quantiles[] = {{"min", 0},     {"p50", 50000},   {"p90", 90000},
                     {"p99", 99000}, {"p99_9", 99900}, {"max", 100000}};
    if (times->count == 0) {
        printf("\"%s\": null, ", key);
        return;
    }
    printf("\"%s\": {\"count\": %llu, \"mean\": %.3f", key, (unsigned long long)times->count,
           tp_cli_histogram_mean(times) / 1e3);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        printf(", \"%s\": %.3f", quantiles[i].key, quantile_us(times, quantiles[i].per_100k));
    printf("}, ");
}

void tp_cli__load_json(const struct tp_cli_load *load)
{
    const struct tp_cli_load_figures *f = &load->figures;
    bool is_single = load->options.workload == TP_CLI_LOAD_SINGLE;
    printf("{");
    print_text("workload", tp_cli__load_names[load->options.workload]);
    print_text("ended", end_of(load));
    print_text("map", load->space.path);
    print_text("algorithm", load->search.algorithm);
    print_count("width", load->space.map.map->width);
    print_count("height", load->space.map.map->height);
    print_count("agents", load->fleet.count);
    print_count("connections", load->client_count);
    if (is_single)
        printf("\"hz\": null, ");
    else
        printf("\"hz\": %g, ", load->options.hz);
    printf("\"seconds\": %.6f, \"seconds_off_clock\": %.6f, ", (double)f->measured_ns / 1e9,
           (double)f->off_clock_ns / 1e9);
    print_count("intended", f->intended);
    print_count("sent", f->sent);
    print_count("answered", f->answered);
    print_count("late", f->late);
    printf("\"answered_per_s\": %.3f, ", (double)f->answered / seconds_of(f->measured_ns));
    print_histogram("latency_us", &f->latency);
    print_histogram("sent_after_us", &f->delay);
    print_histogram("loop_cpu_us", &f->loop);
    print_count("loop_cpu_shared", f->loop_shared);
    if (is_single && load->loops.count > 0 && f->answered > 0)
        printf("\"loop_cpu_us_per_request\": %.3f, ", us(f->loop_ns) / (double)f->answered);
    else
        printf("\"loop_cpu_us_per_request\": null, ");
    print_count("agent_ticks", f->agent_ticks);
    print_count("moving", f->statuses[TP_CLIENT_MOVING]);
    print_count("searching", f->statuses[TP_CLIENT_SEARCHING]);
    print_count("blocked", f->statuses[TP_CLIENT_BLOCKED]);
    print_count("arrived", f->statuses[TP_CLIENT_ARRIVED]);
    print_count("unreachable", f->statuses[TP_CLIENT_UNREACHABLE]);
    print_count("path_complete", f->complete);
    print_count("starved", f->starved);
    print_count("starved_longest", f->starved_longest);
    print_count("goals_renewed", f->goals);
    printf("\"cells_changed\": %llu}\n", (unsigned long long)f->changed);
}
