// What the peers in C and C++ share: how a receiver tells what it has got.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <time.h>

// Seconds of CLOCK_MONOTONIC, which all processes of the machine read alike.
static inline double monotonic(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// Prints `time total_bytes` at most every 50 ms, or now.
static inline void count_bytes(int64_t bytes, int now) {
    static int64_t total;
    static double printed;
    double time = monotonic();
    total += bytes;
    if (now || time - printed >= 0.05) {
        printed = time;
        printf("%.6f %lld\n", time, (long long)total);
        fflush(stdout);
    }
}
