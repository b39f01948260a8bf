#include "client/cli/remote.h"

#include "base/version.h"

#include <stdio.h>
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

int tp_cli_remote_put_map(const struct tp_cli_usage *usage, struct tp_client *client,
                          const struct tp_cli_map *map, const char *path, char name[96], uint64_t *epoch,
                          uint64_t *version)
{
    char stem[64];
    tp_cli_map_name(path, stem);
    struct tp_client_map info;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (attempt == 0)
            snprintf(name, 96, "tool/%s", stem);
        else
            snprintf(name, 96, "tool/%s-%ld", stem, (long)getpid());
        int error = tp_client_put_map(client, name, map->grid.width, map->grid.height, map->grid.cells, NULL,
                                      0, true, &info, TP_CLI_CALL_MS);
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
