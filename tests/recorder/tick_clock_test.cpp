#include "recorder/core/src/tick_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/platform.hpp"

namespace metatrain_timing::detail {
namespace {

void wait_a_period() {
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(TickFollower::kLeastPeriodNs + 1'000'000));
}

TEST(TickClockTest, IsTheClockBeforeItsFirstAdjustment) {
    const TickClock clock;
    EXPECT_FALSE(clock.is_ticking());
    const std::int64_t before = monotonic_ns();
    const std::int64_t now = clock.now_ns();
    EXPECT_LE(before, now);
    EXPECT_LE(now, monotonic_ns());
}

TEST(TickClockTest, TicksWhereTheKernelTrustsTheCounter) {
    TickClock clock;
    clock.adjust();
    EXPECT_FALSE(clock.is_ticking());
    wait_a_period();
    clock.adjust();
    EXPECT_EQ(clock.is_ticking(), read_ticks() != 0 && platform::trusts_ticks());
}

TEST(TickClockTest, StaysWithTheClock) {
    TickClock clock;
    std::int64_t worst_ns = 0;
    for (int i = 0; i < 20; ++i) {
        clock.adjust();
        const std::int64_t before = monotonic_ns();
        const std::int64_t now = clock.now_ns();
        const std::int64_t after = monotonic_ns();
        worst_ns = std::max({worst_ns, before - now, now - after});
        wait_a_period();
    }
    EXPECT_LE(worst_ns, TickFollower::kMaxErrorNs);
}

TEST(TickClockTest, IsReadWhileItIsAdjusted) {
    TickClock clock;
    std::atomic<bool> stop{false};
    std::thread adjusting([&] {
        while (!stop.load()) {
            clock.adjust();
        }
    });
    const std::int64_t start = monotonic_ns();
    std::int64_t worst_ns = 0;
    for (std::int64_t now = start; now - start < 200'000'000; now = monotonic_ns()) {
        worst_ns = std::max(worst_ns, now - clock.now_ns());
    }
    stop.store(true);
    adjusting.join();
    EXPECT_LE(worst_ns, TickFollower::kMaxErrorNs);
}

}  // namespace
}  // namespace metatrain_timing::detail
