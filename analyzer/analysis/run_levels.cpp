#include "analyzer/analysis/run_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/stats/change_points.hpp"
#include "analyzer/stats/mean.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kFewestForSpikes = 5;
constexpr double kSpike = 6;          // deviations
constexpr double kOfMedian = 1.4826;  // a normal deviation in median ones
constexpr double kSpikeOfLeastShift = 2;
constexpr std::size_t kRunsForASpike = 5;
constexpr double kAlpha = 0.05;  // of a change between its levels

// For each run of a level 1 where it lies far above it, -1 where below, else 0.
std::vector<int> far_sides(std::span<const double> values, double least) {
    const double median = upper_median({values.begin(), values.end()});
    std::vector<double> away;
    for (const double value : values) {
        away.push_back(std::abs(value - median));
    }
    const double limit =
        std::max(kSpike * kOfMedian * upper_median(away), kSpikeOfLeastShift * least);
    std::vector<int> sides;
    for (const double value : values) {
        const int side = value > median ? 1 : -1;
        sides.push_back(std::abs(value - median) > limit ? side : 0);
    }
    return sides;
}

void add_odd_runs(const RunLevel& level, std::span<const double> series, double least,
                  RunLevels& found) {
    if (level.size() < kFewestForSpikes) {
        return;
    }
    const std::vector<int> sides =
        far_sides(series.subspan(level.begin, level.size()), least);
    std::vector<std::size_t> alone;
    for (std::size_t begin = 0; begin < sides.size();) {
        std::size_t end = begin + 1;
        while (end < sides.size() && sides[end] == sides[begin]) {
            ++end;
        }
        if (sides[begin] != 0 && end == begin + 1) {
            alone.push_back(level.begin + begin);
        } else if (sides[begin] != 0) {
            found.stretches.push_back({level.begin + begin, level.begin + end});
        }
        begin = end;
    }
    if (alone.size() * kRunsForASpike <= level.size()) {
        found.spikes.insert(found.spikes.end(), alone.begin(), alone.end());
    }
}

void measure(RunLevel& level, std::span<const double> series,
             std::span<const std::size_t> spikes) {
    const std::vector<double> values = values_of(level, series, spikes);
    const auto count = static_cast<double>(values.size());
    level.value = mean_of(values);
    level.error = {sample_variance(values) / count, std::max(count - 1, 1.0)};
}

double p_of_change(const RunLevel& before, const RunLevel& after) {
    return two_sided_p(after.value - before.value,
                       add_terms(std::array{before.error, after.error}));
}

// Puts the two levels together that differ least surely; false: all surely do.
bool join_levels(std::vector<RunLevel>& levels, std::span<const double> series) {
    std::size_t weakest = 0;
    double p = kAlpha;
    for (std::size_t i = 1; i < levels.size(); ++i) {
        const double own = p_of_change(levels[i - 1], levels[i]);
        if (own > p) {
            weakest = i;
            p = own;
        }
    }
    if (weakest == 0) {
        return false;
    }
    levels[weakest - 1].end = levels[weakest].end;
    levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(weakest));
    measure(levels[weakest - 1], series, {});
    return true;
}

}  // namespace

std::vector<double> values_of(const RunLevel& level, std::span<const double> series,
                              std::span<const std::size_t> spikes) {
    std::vector<double> values;
    for (std::size_t i = level.begin; i < level.end; ++i) {
        if (std::find(spikes.begin(), spikes.end(), i) == spikes.end()) {
            values.push_back(series[i]);
        }
    }
    return values;
}

RunLevels find_levels(std::span<const double> series, double least) {
    LevelChange change;
    change.least_shift = least;
    RunLevels found;
    found.levels.push_back({0, series.size(), 0, {}, 1});
    for (const ChangePoint& point : find_change_points(series, change)) {
        found.levels.back().end = point.at;
        found.levels.push_back({point.at, series.size(), 0, {}, point.p});
    }
    for (RunLevel& level : found.levels) {
        measure(level, series, {});
    }
    while (join_levels(found.levels, series)) {
    }
    for (RunLevel& level : found.levels) {
        add_odd_runs(level, series, least, found);
        measure(level, series, found.spikes);
    }
    return found;
}

}  // namespace metatrain_timing::analyzer
