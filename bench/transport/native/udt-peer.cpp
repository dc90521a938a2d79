// UDT 4: one stream of zeroes from client to server for a time, or a file.
//     udt-peer serve ADDRESS PORT MTU
//     udt-peer send ADDRESS PORT MTU SECONDS
//     udt-peer take ADDRESS PORT MTU FILE
//     udt-peer give ADDRESS PORT MTU FILE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <udt/udt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
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

static UDTSOCKET accept_one(UDTSOCKET socket, const sockaddr* address) {
    if (UDT::bind(socket, address, sizeof(sockaddr_in)) == UDT::ERROR) return UDT::INVALID_SOCK;
    if (UDT::listen(socket, 1) == UDT::ERROR) return UDT::INVALID_SOCK;
    return UDT::accept(socket, nullptr, nullptr);
}

static int serve(UDTSOCKET socket, const sockaddr* address) {
    UDTSOCKET from = accept_one(socket, address);
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

static bool whole(int (*call)(UDTSOCKET, char*, int), UDTSOCKET socket, void* bytes, int length) {
    for (int done = 0; done < length;) {
        int now = call(socket, (char*)bytes + done, length - done);
        if (now <= 0) return false;
        done += now;
    }
    return true;
}

static int receive(UDTSOCKET socket, char* bytes, int length) { return UDT::recv(socket, bytes, length, 0); }
static int transmit(UDTSOCKET socket, char* bytes, int length) { return UDT::send(socket, bytes, length, 0); }

// The length, the content, and a byte back once all is in the file.
static int take(UDTSOCKET socket, const sockaddr* address, const char* path) {
    UDTSOCKET from = accept_one(socket, address);
    if (from == UDT::INVALID_SOCK) return fail("accept");
    int64_t length = 0, offset = 0;
    if (!whole(receive, from, &length, sizeof length)) return fail("receive the length");
    std::fstream file(path, std::ios::out | std::ios::binary | std::ios::trunc);
    if (length > 0 && UDT::recvfile(from, file, offset, length) != length) return fail("receive the file");
    file.close();
    char done = 1;
    if (!whole(transmit, from, &done, 1)) return fail("say that it is there");
    sleep(1);
    return 0;
}

static int give(UDTSOCKET socket, const sockaddr* address, const char* path) {
    if (UDT::connect(socket, address, sizeof(sockaddr_in)) == UDT::ERROR) return fail("connect");
    std::fstream file(path, std::ios::in | std::ios::binary);
    file.seekg(0, std::ios::end);
    int64_t length = file.tellg(), offset = 0;
    char done = 0;
    if (!whole(transmit, socket, &length, sizeof length)) return fail("send the length");
    if (length > 0 && UDT::sendfile(socket, file, offset, length) != length) return fail("send the file");
    return whole(receive, socket, &done, 1) ? 0 : fail("hear that it is there");
}

int main(int count, char** words) {
    if (count < 5) return fprintf(stderr, "udt-peer serve|send|take|give ADDRESS PORT MTU [SECONDS|FILE]\n"), 2;
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)atoi(words[3]));
    inet_pton(AF_INET, words[2], &address.sin_addr);
    UDT::startup();
    UDTSOCKET socket = make(atoi(words[4]));
    const sockaddr* to = (sockaddr*)&address;
    std::string what = words[1];
    const char* more = count > 5 ? words[5] : "12";
    if (what == "take") _exit(take(socket, to, more));
    if (what == "give") _exit(give(socket, to, more));
    _exit(what == "serve" ? serve(socket, to) : send(socket, to, atof(more)));
}
