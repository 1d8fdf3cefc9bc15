#include "recorder/core/src/tick_clock.hpp"

#include <limits>

#include "recorder/core/src/platform.hpp"

namespace metatrain_timing::detail {
namespace {

/// The tightest of a few: being descheduled between the two would shift the scale.
TickReading read_both() noexcept {
    TickReading best;
    std::uint64_t best_width = std::numeric_limits<std::uint64_t>::max();
    for (int attempt = 0; attempt < 4; ++attempt) {
        const std::uint64_t before = read_ticks();
        const std::int64_t ns = monotonic_ns();
        const std::uint64_t width = read_ticks() - before;
        if (width < best_width) {
            best_width = width;
            best = {before + width / 2, ns};
        }
    }
    return best;
}

}  // namespace

constinit TickClock tick_clock;

void TickClock::adjust() noexcept {
    if (!is_trusted_) {
        is_trusted_ = read_ticks() != 0 && platform::trusts_ticks();
    }
    if (!*is_trusted_) {
        return;
    }
    publish(follower_.follow(read_both()).value_or(TickScale{}));
}

bool TickClock::is_ticking() const noexcept {
    const std::uint32_t version = version_.load(std::memory_order_relaxed);
    const Place& place = places_[version % places_.size()];
    return place.valid_ticks.load(std::memory_order_relaxed) != 0;
}

void TickClock::publish(const TickScale& scale) noexcept {
    const std::uint32_t next = version_.load(std::memory_order_relaxed) + 1;
    Place& place = places_[next % places_.size()];
    place.base_ticks.store(scale.base_ticks, std::memory_order_release);
    place.base_ns.store(scale.base_ns, std::memory_order_release);
    place.factor.store(scale.factor, std::memory_order_release);
    place.valid_ticks.store(scale.valid_ticks, std::memory_order_release);
    version_.store(next, std::memory_order_release);
}

}  // namespace metatrain_timing::detail
