#include "recorder/core/src/clock.hpp"

#include <ctime>
#include <limits>

namespace metatrain_timing::detail {
namespace {

std::int64_t read_ns(clockid_t clock) noexcept {
    timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::int64_t monotonic_ns() noexcept {
    return read_ns(CLOCK_MONOTONIC);
}

std::int64_t thread_cpu_ns() noexcept {
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

std::int64_t process_cpu_ns() noexcept {
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

ClockSnapshot read_clocks() noexcept {
    ClockSnapshot best;
    std::int64_t best_width = std::numeric_limits<std::int64_t>::max();
    for (int attempt = 0; attempt < 5; ++attempt) {
        const std::int64_t before = read_ns(CLOCK_MONOTONIC);
        const std::int64_t unix_ns = read_ns(CLOCK_REALTIME);
        const std::int64_t after = read_ns(CLOCK_MONOTONIC);
        if (after - before < best_width) {
            best_width = after - before;
            best = {before + best_width / 2, unix_ns};
        }
    }
    return best;
}

}  // namespace metatrain_timing::detail
