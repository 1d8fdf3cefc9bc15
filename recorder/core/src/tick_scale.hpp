#pragma once

#include <cstdint>
#include <optional>

namespace metatrain_timing::detail {

/// A counter of the CPU and CLOCK_MONOTONIC read at one instant.
struct TickReading {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
};

/// How ticks become nanoseconds, from `base_ticks` on and for `valid_ticks` after it. A
/// scale is not trusted for longer, so that a counter that went on while the clock
/// stood still (suspension) or jumped (migration of a virtual machine) is noticed by
/// its next reader.
struct TickScale {
    std::uint64_t base_ticks = 0;
    std::int64_t base_ns = 0;
    std::uint64_t factor = 0;  // nanoseconds a tick, times 2^32
    std::uint64_t valid_ticks = 0;

    bool covers(std::uint64_t ticks) const noexcept {
        return ticks - base_ticks < valid_ticks;
    }
    /// Right for ticks that are covered.
    std::int64_t ns(std::uint64_t ticks) const noexcept {
        return base_ns +
               static_cast<std::int64_t>(((ticks - base_ticks) * factor) >> 32);
    }
};

/// Makes scales that follow CLOCK_MONOTONIC from readings of both, a few each second.
///
/// A new scale begins where the one before it is at that instant, so that time never
/// jumps, and is a little faster or slower until the difference is gone. Whatever is
/// not drift (suspension, migration, a counter that changed its rate) gives up the
/// scale and begins anew; until then the clock itself is to be read.
class TickFollower {
  public:
    static constexpr std::int64_t kLeastPeriodNs = 20'000'000;
    static constexpr std::int64_t kValidNs = 500'000'000;
    static constexpr std::int64_t kMaxErrorNs = 50'000;
    static constexpr int kMaxRestarts = 20;  // a counter that needs more is not used

    /// The scale to use from now on; nothing: the clock itself.
    std::optional<TickScale> follow(TickReading now) noexcept;

    /// How far a scale was from the clock at worst, when it was looked at.
    std::int64_t worst_error_ns() const noexcept { return worst_error_ns_; }
    int restarts() const noexcept { return restarts_; }

  private:
    std::optional<TickScale> begin_anew(TickReading now) noexcept;

    std::optional<TickReading> last_;
    double ns_per_tick_ = 0;  // 0: not known yet
    std::optional<TickScale> scale_;
    std::int64_t worst_error_ns_ = 0;
    int restarts_ = 0;
};

}  // namespace metatrain_timing::detail
