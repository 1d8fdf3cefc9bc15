#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/tick_scale.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <x86intrin.h>
#endif

namespace metatrain_timing::detail {

/// The counter behind `TickClock`; about 10 ns, not ordered with what stands around it.
/// 0 on CPUs for which none is known.
inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
    return __rdtsc();
#else
    return 0;
#endif
}

/// CLOCK_MONOTONIC at half the cost of reading it (10 instead of 23 ns): where the
/// kernel trusts the CPU's counter, ticks are read and scaled.
///
/// Whoever drains calls `adjust()`; without that for half a second, and wherever the
/// counter is not trusted, the clock itself is read. `now_ns()` may go back by less
/// than 50 µs there and never else.
class TickClock {
  public:
    /// Any thread; no lock.
    std::int64_t now_ns() const noexcept {
        std::int64_t ns = 0;
        return read(ns) ? ns : monotonic_ns();
    }

    /// The same where it takes no call; false where it does. Two scales lie in turns in
    /// two places: one that is being written is not the one that is read.
    bool read(std::int64_t& ns) const noexcept {
        const std::uint32_t version = version_.load(std::memory_order_acquire);
        const Place& place = places_[version % places_.size()];
        TickScale scale;
        scale.base_ticks = place.base_ticks.load(std::memory_order_acquire);
        scale.base_ns = place.base_ns.load(std::memory_order_acquire);
        scale.factor = place.factor.load(std::memory_order_acquire);
        scale.valid_ticks = place.valid_ticks.load(std::memory_order_acquire);
        const std::uint64_t ticks = read_ticks();
        ns = scale.ns(ticks);
        return version_.load(std::memory_order_relaxed) == version &&
               scale.covers(ticks);
    }

    /// Compares with CLOCK_MONOTONIC and corrects; about 0.3 µs. One thread at a time.
    void adjust() noexcept;

    /// Whether ticks are read now.
    bool is_ticking() const noexcept;
    std::int64_t worst_error_ns() const noexcept { return follower_.worst_error_ns(); }

  private:
    struct Place {
        std::atomic<std::uint64_t> base_ticks{0};
        std::atomic<std::int64_t> base_ns{0};
        std::atomic<std::uint64_t> factor{0};
        std::atomic<std::uint64_t> valid_ticks{0};  // 0: none
    };

    void publish(const TickScale& scale) noexcept;

    std::array<Place, 2> places_;
    std::atomic<std::uint32_t> version_{0};
    // Whose thread calls adjust():
    std::optional<bool> is_trusted_;
    TickFollower follower_;
};

/// The process's own. A forked child goes on with its parent's scale.
extern constinit TickClock tick_clock;

}  // namespace metatrain_timing::detail
