#include "benchmarks/ticks.hpp"

#include <chrono>

namespace metatrain_timing::bench {
namespace {

double measure_ns_per_tick() noexcept {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kLength{50};
    const auto start = Clock::now();
    const std::uint64_t start_ticks = read_ticks();
    auto now = start;
    while (now - start < kLength) {
        now = Clock::now();
    }
    const std::uint64_t ticks = read_ticks() - start_ticks;
    return std::chrono::duration<double, std::nano>(now - start).count() /
           static_cast<double>(ticks);
}

}  // namespace

double ns_per_tick() noexcept {
    static const double length = measure_ns_per_tick();
    return length;
}

}  // namespace metatrain_timing::bench
