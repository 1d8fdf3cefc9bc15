#include "analyzer/analysis/run_levels.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/stats/change_points.hpp"
#include "analyzer/stats/mean.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kFewestForSpikes = 5;
constexpr double kSpike = 6;          // deviations
constexpr double kOfMedian = 1.4826;  // a normal deviation in median ones
constexpr double kSpikeOfLeastShift = 2;

void add_spikes(const RunLevel& level, std::span<const double> series, double least,
                std::vector<std::size_t>& spikes) {
    if (level.size() < kFewestForSpikes) {
        return;
    }
    const auto values = series.subspan(level.begin, level.size());
    const double median = upper_median({values.begin(), values.end()});
    std::vector<double> away;
    for (const double value : values) {
        away.push_back(std::abs(value - median));
    }
    const double limit =
        std::max(kSpike * kOfMedian * upper_median(away), kSpikeOfLeastShift * least);
    for (std::size_t i = 0; i < away.size(); ++i) {
        if (away[i] > limit) {
            spikes.push_back(level.begin + i);
        }
    }
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
        add_spikes(level, series, least, found.spikes);
        const std::vector<double> values = values_of(level, series, found.spikes);
        const auto count = static_cast<double>(values.size());
        level.value = mean_of(values);
        level.error = {sample_variance(values) / count, std::max(count - 1, 1.0)};
    }
    return found;
}

}  // namespace metatrain_timing::analyzer
