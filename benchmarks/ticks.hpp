#pragma once

#include <cstdint>
#include <ctime>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace metatrain_timing::bench {

/// Now, on the cheapest clock of this machine: the time stamp counter on x86-64, else
/// CLOCK_MONOTONIC. Not ordered against the instructions around it.
inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
    return __rdtsc();
#else
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
#endif
}

/// Length of a tick, measured once against CLOCK_MONOTONIC; the first call takes 50 ms.
double ns_per_tick() noexcept;

}  // namespace metatrain_timing::bench
