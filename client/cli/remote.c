#include "client/cli/remote.h"

#include "base/version.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int tp_cli_client_failed(const struct tp_cli_usage *usage, const char *what,
                         const struct tp_client_error *error)
{
    return tp_cli_fail(usage, "%s: %s%s%s%s: %s", what, error->from_server ? "the server says " : "",
                       tp_client_code_name(error->code), error->field[0] != '\0' ? " for the field " : "",
                       error->field, error->message);
}

int tp_cli_remote_open(const struct tp_cli_usage *usage, const struct tp_cli_host_port *via,
                       struct tp_client **client)
{
    struct tp_client_error error;
    char words[TP_CLI_HOST_MAX + 16];
    snprintf(words, sizeof words, "%s:%u", via->host, via->port);
    if (tp_client_open(client, via->host, via->port, "tickpath/" TP_VERSION, 10000, &error) != 0)
        return tp_cli_client_failed(usage, words, &error);
    return TP_CLI_OK;
}

/* The profile as the protocol has it: classes not listed are impassable, an empty list is the benchmarks' profile. */
static size_t list_weights(const struct tp_profile *profile, struct tp_client_weight weights[256])
{
    struct tp_profile benchmarks;
    tp_profile_init_movingai(&benchmarks);
    if (memcmp(&benchmarks, profile, sizeof benchmarks) == 0)
        return 0;
    size_t n = 0;
    for (int class = 0; class < 256; class ++) {
        if (profile->weight[class] != 0)
            weights[n++] =
                (struct tp_client_weight){.terrain = (uint8_t) class, .weight = profile->weight[class]};
    }
    if (n == 0) /* nothing is passable; the list must not be empty for that */
        weights[n++] = (struct tp_client_weight){.terrain = '@', .weight = 0};
    return n;
}

int tp_cli_remote_put_map(const struct tp_cli_usage *usage, struct tp_client *client,
                          const struct tp_cli_map *map, const char *path, char name[96], uint64_t *epoch,
                          uint64_t *version)
{
    char stem[64];
    tp_cli_map_name(path, stem);
    struct tp_client_map info;
    struct tp_client_weight weights[256];
    size_t weight_count = list_weights(&map->map->profile, weights);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (attempt == 0)
            snprintf(name, 96, "tool/%s", stem);
        else
            snprintf(name, 96, "tool/%s-%ld", stem, (long)getpid());
        int error = tp_client_put_map(client, name, map->grid.width, map->grid.height, map->grid.cells,
                                      weights, weight_count, true, &info, TP_CLI_CALL_MS);
        if (error == 0) {
            *epoch = info.epoch;
            *version = info.version;
            return TP_CLI_OK;
        }
        if (error != TP_CLIENT_FAILED_PRECONDITION)
            break;
    }
    return tp_cli_client_failed(usage, "cannot put the map", tp_client_error(client));
}
