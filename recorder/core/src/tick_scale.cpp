#include "recorder/core/src/tick_scale.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace metatrain_timing::detail {
namespace {

// An error is corrected over this time.
constexpr double kCorrectionNs = 200e6;
// The kernel slews CLOCK_MONOTONIC by 500 ppm at most.
constexpr double kMaxRateChange = 2e-3;
// Readings are some 10 ns wide. Where a scale takes over from the clock, it begins this
// much late, so that nobody sees time go back.
constexpr std::int64_t kReadingWidthNs = 100;

// Between 10 GHz and 10 MHz, as counters of CPUs are.
constexpr double kLeastNsPerTick = 0.1;
constexpr double kMostNsPerTick = 100;

TickScale make_scale(std::uint64_t ticks, std::int64_t ns, double ns_per_tick) {
    TickScale scale;
    scale.base_ticks = ticks;
    scale.base_ns = ns;
    scale.factor =
        static_cast<std::uint64_t>(std::llround(std::ldexp(ns_per_tick, 32)));
    scale.valid_ticks =
        static_cast<std::uint64_t>(TickFollower::kValidNs / ns_per_tick);
    return scale;
}

}  // namespace

std::optional<TickScale> TickFollower::follow(TickReading now) noexcept {
    if (restarts_ > kMaxRestarts) {
        return std::nullopt;
    }
    if (!last_) {
        last_ = now;
        return std::nullopt;
    }
    if (now.ticks <= last_->ticks || now.ns < last_->ns) {
        return begin_anew(now);
    }
    const std::int64_t elapsed_ns = now.ns - last_->ns;
    if (elapsed_ns < kLeastPeriodNs) {
        return scale_;
    }
    // A reading is some 10 ns wide, less than 1 ppm of the period.
    const double rate =
        static_cast<double>(elapsed_ns) / static_cast<double>(now.ticks - last_->ticks);
    const bool has_changed =
        ns_per_tick_ > 0 && std::abs(rate / ns_per_tick_ - 1) > kMaxRateChange;
    if (has_changed || rate < kLeastNsPerTick || rate > kMostNsPerTick) {
        return begin_anew(now);
    }
    if (!scale_ || !scale_->covers(now.ticks)) {
        scale_ = make_scale(now.ticks, now.ns + kReadingWidthNs, rate);
    } else {
        const std::int64_t base_ns = scale_->ns(now.ticks);
        const std::int64_t error_ns = base_ns - now.ns;
        worst_error_ns_ = std::max(worst_error_ns_, std::abs(error_ns));
        if (std::abs(error_ns) > kMaxErrorNs) {
            return begin_anew(now);
        }
        const double correction = static_cast<double>(error_ns) / kCorrectionNs;
        scale_ = make_scale(now.ticks, base_ns, rate * (1 - correction));
    }
    ns_per_tick_ = rate;
    last_ = now;
    return scale_;
}

std::optional<TickScale> TickFollower::begin_anew(TickReading now) noexcept {
    ++restarts_;
    last_ = now;
    ns_per_tick_ = 0;
    scale_.reset();
    return std::nullopt;
}

}  // namespace metatrain_timing::detail
