#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analyzer/stats/student.hpp"

namespace metatrain_timing::analyzer {

/// Runs one after the other between two changes, or before the first or after the last.
struct RunLevel {
    std::size_t begin = 0;  // index of its first run
    std::size_t end = 0;
    double value = 0;    // mean, without spikes
    VarianceTerm error;  // of that
    double p = 1;        // of the change that it begins with; 1 for the first level

    std::size_t size() const { return end - begin; }
};

/// Runs one after the other, from `begin` to before `end`.
struct RunStretch {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// A series of runs, cut where its level changes.
struct RunLevels {
    std::vector<RunLevel> levels;       // at least one, one after the other
    std::vector<std::size_t> spikes;    // runs far from their level, alone
    std::vector<RunStretch> stretches;  // neighbours that are, together
};

/// Changes are those of `find_change_points()` by `least` or more whose levels surely
/// differ (95 %, Welch): runs that go up and down are no new level. Far is six
/// deviations (by the median deviation) from the median of a level of five runs or
/// more, and twice `least`. A spike is far without a neighbour that is so on the same
/// side, one in five runs at most; others count in the level. `series` is not empty.
/// Pure.
RunLevels find_levels(std::span<const double> series, double least);

/// Values of a level, without spikes.
std::vector<double> values_of(const RunLevel& level, std::span<const double> series,
                              std::span<const std::size_t> spikes);

}  // namespace metatrain_timing::analyzer
