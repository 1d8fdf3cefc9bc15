#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace metatrain_timing::analyzer {

/// 0 for no values.
inline double mean_of(std::span<const double> values) {
    return values.empty() ? 0
                          : std::accumulate(values.begin(), values.end(), 0.0) /
                                static_cast<double>(values.size());
}

/// Of values that do not depend on each other; 0 for fewer than two.
inline double sample_variance(std::span<const double> values) {
    const double mean = mean_of(values);
    double squares = 0;
    for (const double value : values) {
        squares += (value - mean) * (value - mean);
    }
    return values.size() < 2 ? 0 : squares / static_cast<double>(values.size() - 1);
}

/// The upper one of two in the middle; 0 for no values. O(n).
inline double upper_median(std::vector<double> values) {
    if (values.empty()) {
        return 0;
    }
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace metatrain_timing::analyzer
