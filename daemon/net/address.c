#include "daemon/net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

int tp_address_read(struct tp_address *address, const char *text, const char **reason)
{
    memset(address, 0, sizeof *address);
    const char *colon = strrchr(text, ':');
    if (colon == NULL) {
        *reason = "an address is HOST:PORT";
        return TP_ERR_INVALID_ARGUMENT;
    }
    char *end;
    errno = 0;
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end != '\0' || errno != 0 || port > 65535) {
        *reason = "a port is a number from 0 to 65535";
        return TP_ERR_INVALID_ARGUMENT;
    }
    size_t length = (size_t)(colon - text);
    bool bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    if (bracketed) {
        text++;
        length -= 2;
    }
    if (length == 0 || length >= sizeof address->host) {
        *reason = "an address is HOST:PORT, for instance 127.0.0.1:7878 or [::1]:7878";
        return TP_ERR_INVALID_ARGUMENT;
    }
    memcpy(address->host, text, length);
    if (strcmp(address->host, "localhost") == 0)
        strcpy(address->host, "127.0.0.1");
    address->port = (uint16_t)port;
    struct in6_addr binary;
    if (inet_pton(bracketed ? AF_INET6 : AF_INET, address->host, &binary) != 1) {
        *reason = bracketed ? "not an IPv6 address between the brackets"
                            : "a host is a numeric address (an IPv6 one in brackets) or localhost";
        return TP_ERR_INVALID_ARGUMENT;
    }
    return 0;
}

socklen_t tp_address_socket(struct sockaddr_storage *out, const char *host, uint16_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        memcpy(out, &v4, sizeof v4);
        return sizeof v4;
    }
    if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
        memcpy(out, &v6, sizeof v6);
        return sizeof v6;
    }
    return 0;
}
