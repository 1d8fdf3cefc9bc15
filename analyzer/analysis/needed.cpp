#include "analyzer/analysis/needed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyzer/stats/student.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::int64_t kFewestSteps = 50;  // of a side
constexpr double kFewestEffective = 20;    // of a side
constexpr double kMostNeeded = 1e7;        // beyond, nobody waits for it

double variance_within(const std::vector<MeasuredRun>& side) {
    double sum = 0;
    for (const MeasuredRun& run : side) {
        sum += run.step.error.variance;
    }
    return sum / static_cast<double>(side.size());
}

// Half the width that the interval has to have.
double wanted_half(double value, double least) {
    return value >= least ? value : std::max(least - value, least / 4);
}

// Whether the difference is so large that an interval thrice as long would do.
bool is_plain(const Metric& step) {
    constexpr double kTimes = 3;
    const double low = std::log1p(*step.relative_low);
    const double high = std::log1p(*step.relative_high);
    return std::abs(low + high) / 2 > kTimes * (high - low) / 2;
}

void decide_nothing(Diff& diff) {
    diff.step.change = Change::inconclusive;
    for (auto* metrics : {&diff.stages, &diff.fetches, &diff.distribution}) {
        for (Metric& metric : *metrics) {
            if (metric.change != Change::added && metric.change != Change::removed) {
                metric.change = Change::inconclusive;
            }
        }
    }
}

std::int64_t rounded_up(double value, double unit) {
    return static_cast<std::int64_t>(std::ceil(value / unit) * unit);
}

}  // namespace

Needed find_needed(const Sides& sides, const Metric& step, const DiffOptions& options) {
    const double half =
        (std::log1p(*step.relative_high) - std::log1p(*step.relative_low)) / 2;
    const double wanted = wanted_half(std::abs(std::log1p(*step.relative)),
                                      std::log1p(options.min_effect));
    if (half <= 0 || wanted >= half) {
        return {};
    }
    const double z =
        half_width({1, std::numeric_limits<double>::infinity()}, options.confidence);
    const double allowed = (wanted / z) * (wanted / z);
    const double noise = options.noise.relative * options.noise.relative;
    const double within = variance_within(sides.before) + variance_within(sides.after);
    const auto runs =
        static_cast<double>(std::min(sides.before.size(), sides.after.size()));
    Needed needed;
    const double left = allowed - 2 * noise / runs;
    if (left > 0 && within / runs > left && std::isinf(options.noise.df)) {
        const double more = sides.before.front().steps() * (within / runs / left - 1);
        if (more < kMostNeeded) {
            needed.steps = rounded_up(more, 10);
        }
    }
    const double in_all = std::max((2 * noise + within) / allowed, runs + 1);
    if (in_all < kMostNeeded) {
        needed.runs = rounded_up(std::max(in_all, 3.0), 1);
    }
    return needed;
}

void require_steps(Diff& diff) {
    for (const DiffSide* side : {&diff.before, &diff.after}) {
        const auto steps = static_cast<double>(side->steps);
        const bool tells_enough =
            side->effective_steps >= kFewestEffective || is_plain(diff.step);
        if (side->steps >= kFewestSteps && tells_enough) {
            continue;
        }
        const double ratio =
            std::max(static_cast<double>(kFewestSteps) / std::max(1.0, steps),
                     kFewestEffective / std::max(1.0, side->effective_steps));
        diff.needed.steps = std::max(diff.needed.steps.value_or(0),
                                     rounded_up(steps * (ratio - 1) + 1, 10));
        diff.reasons.push_back(fmt::format(
            "{} side has {} steady steps to compare, which tell as much as {:.0f} "
            "independent ones: too few",
            side == &diff.before ? "The first" : "The second", side->steps,
            side->effective_steps));
        decide_nothing(diff);
    }
}

}  // namespace metatrain_timing::analyzer
