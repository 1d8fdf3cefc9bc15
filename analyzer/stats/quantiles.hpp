#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace metatrain_timing::analyzer {

/// Mean, median and tail of a set of durations, in nanoseconds.
struct Summary {
    double mean_ns = 0;
    double median_ns = 0;
    double p95_ns = 0;
    double p99_ns = 0;
};

/// Quantile `q` (0 to 1) by linear interpolation between order statistics: type 7 of
/// Hyndman & Fan (1996), the default of numpy and R. Nothing for no values. O(n);
/// `values`, of std::int64_t or std::uint32_t, is reordered.
template <typename Value>
std::optional<double> quantile(std::vector<Value>& values, double q);

/// Nothing for no values; `values` is reordered.
template <typename Value>
std::optional<Summary> summarize(std::vector<Value>& values);

}  // namespace metatrain_timing::analyzer
