// SRT in file mode: one stream of zeroes from client to server for a time.
//     srt-peer serve ADDRESS PORT MTU
//     srt-peer send ADDRESS PORT MTU SECONDS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <srt/srt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meter.h"

enum { BUFFER = 256 << 20, UDP_BUFFER = 4 << 20, CHUNK = 1 << 20 };

static char chunk[CHUNK];

static int fail(const char* what) {
    fprintf(stderr, "srt-peer: %s: %s\n", what, srt_getlasterror_str());
    return 1;
}

static void set(SRTSOCKET socket, SRT_SOCKOPT option, int value) {
    if (srt_setsockflag(socket, option, &value, sizeof value) == SRT_ERROR) fail("option");
}

static SRTSOCKET make(int mtu) {
    SRTSOCKET socket = srt_create_socket();
    set(socket, SRTO_TRANSTYPE, SRTT_FILE);
    set(socket, SRTO_MSS, mtu);
    set(socket, SRTO_FC, BUFFER / mtu);
    set(socket, SRTO_SNDBUF, BUFFER);
    set(socket, SRTO_RCVBUF, BUFFER);
    set(socket, SRTO_UDP_SNDBUF, UDP_BUFFER);
    set(socket, SRTO_UDP_RCVBUF, UDP_BUFFER);
    return socket;
}

static int serve(SRTSOCKET socket, const struct sockaddr_in* address) {
    if (srt_bind(socket, (const struct sockaddr*)address, sizeof *address) == SRT_ERROR) return fail("bind");
    if (srt_listen(socket, 1) == SRT_ERROR) return fail("listen");
    SRTSOCKET from = srt_accept(socket, NULL, NULL);
    if (from == SRT_INVALID_SOCK) return fail("accept");
    for (;;) {
        int received = srt_recv(from, chunk, CHUNK);
        if (received <= 0) break;
        count_bytes(received, 0);
    }
    count_bytes(0, 1);
    return 0;
}

static int send_for(SRTSOCKET socket, const struct sockaddr_in* address, double seconds) {
    double end = monotonic() + seconds;
    if (srt_connect(socket, (const struct sockaddr*)address, sizeof *address) == SRT_ERROR) return fail("connect");
    while (monotonic() < end)
        if (srt_send(socket, chunk, CHUNK) == SRT_ERROR) return fail("send");
    return 0;
}

int main(int count, char** words) {
    if (count < 5) return fprintf(stderr, "srt-peer serve|send ADDRESS PORT MTU [SECONDS]\n"), 2;
    struct sockaddr_in address = {0};
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)atoi(words[3]));
    inet_pton(AF_INET, words[2], &address.sin_addr);
    srt_startup();
    SRTSOCKET socket = make(atoi(words[4]));
    int serves = strcmp(words[1], "serve") == 0;
    int result = serves ? serve(socket, &address) : send_for(socket, &address, count > 5 ? atof(words[5]) : 12);
    _exit(result);
}
