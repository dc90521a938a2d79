// For programs that cannot choose: LD_PRELOAD sets TCP_CONGESTION to $PEER_CONGESTION on each TCP socket.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int socket(int domain, int type, int protocol) {
    static int (*next)(int, int, int);
    if (!next) next = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    int made = next(domain, type, protocol);
    const char* name = getenv("PEER_CONGESTION");
    // Accepted sockets inherit it from the one that listens.
    if (made >= 0 && name && (domain == AF_INET || domain == AF_INET6) && (type & 0xf) == SOCK_STREAM)
        setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
    return made;
}
