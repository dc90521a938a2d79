// UDT 4: one stream of zeroes from client to server for a time.
//     udt-peer serve ADDRESS PORT MTU
//     udt-peer send ADDRESS PORT MTU SECONDS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <udt/udt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "meter.h"

static const int BUFFER = 256 << 20;
// With more packets under way UDT 4.11 stops for ever.
static const int MOST_PACKETS = 44000;
static const int UDP_BUFFER = 4 << 20;

static int fail(const char* what) {
    fprintf(stderr, "udt-peer: %s: %s\n", what, UDT::getlasterror().getErrorMessage());
    return 1;
}

static UDTSOCKET make(int mtu) {
    UDTSOCKET socket = UDT::socket(AF_INET, SOCK_STREAM, 0);
    int packets = std::min(BUFFER / mtu, MOST_PACKETS), buffer = packets * mtu;
    linger at_once = {1, 0};
    UDT::setsockopt(socket, 0, UDT_MSS, &mtu, sizeof mtu);
    UDT::setsockopt(socket, 0, UDT_FC, &packets, sizeof packets);
    UDT::setsockopt(socket, 0, UDT_SNDBUF, &buffer, sizeof buffer);
    UDT::setsockopt(socket, 0, UDT_RCVBUF, &buffer, sizeof buffer);
    UDT::setsockopt(socket, 0, UDP_SNDBUF, &UDP_BUFFER, sizeof UDP_BUFFER);
    UDT::setsockopt(socket, 0, UDP_RCVBUF, &UDP_BUFFER, sizeof UDP_BUFFER);
    UDT::setsockopt(socket, 0, UDT_LINGER, &at_once, sizeof at_once);
    return socket;
}

static int serve(UDTSOCKET socket, const sockaddr* address) {
    if (UDT::bind(socket, address, sizeof(sockaddr_in)) == UDT::ERROR) return fail("bind");
    if (UDT::listen(socket, 1) == UDT::ERROR) return fail("listen");
    UDTSOCKET from = UDT::accept(socket, nullptr, nullptr);
    if (from == UDT::INVALID_SOCK) return fail("accept");
    std::vector<char> buffer(1 << 20);
    for (;;) {
        int received = UDT::recv(from, buffer.data(), (int)buffer.size(), 0);
        if (received <= 0) break;
        count_bytes(received, 0);
    }
    count_bytes(0, 1);
    return 0;
}

static int send(UDTSOCKET socket, const sockaddr* address, double seconds) {
    double end = monotonic() + seconds;
    if (UDT::connect(socket, address, sizeof(sockaddr_in)) == UDT::ERROR) return fail("connect");
    std::vector<char> zeroes(1 << 20);
    while (monotonic() < end)
        if (UDT::send(socket, zeroes.data(), (int)zeroes.size(), 0) == UDT::ERROR) return fail("send");
    return 0;
}

int main(int count, char** words) {
    if (count < 5) return fprintf(stderr, "udt-peer serve|send ADDRESS PORT MTU [SECONDS]\n"), 2;
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)atoi(words[3]));
    inet_pton(AF_INET, words[2], &address.sin_addr);
    UDT::startup();
    UDTSOCKET socket = make(atoi(words[4]));
    bool serves = std::string(words[1]) == "serve";
    int result = serves ? serve(socket, (sockaddr*)&address) : send(socket, (sockaddr*)&address, count > 5 ? atof(words[5]) : 12);
    _exit(result);
}
