#include "analyzer/stats/quantiles.hpp"

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>

namespace metatrain_timing::analyzer {

std::optional<double> quantile(std::vector<std::int64_t>& values, double q) {
    if (values.empty()) {
        return std::nullopt;
    }
    const double position = q * static_cast<double>(values.size() - 1);
    const double below = std::floor(position);
    const auto lower = values.begin() + static_cast<std::ptrdiff_t>(below);
    std::nth_element(values.begin(), lower, values.end());
    const auto low = static_cast<double>(*lower);
    const double fraction = position - below;
    if (fraction == 0.0) {
        return low;
    }
    const auto next = std::min_element(lower + 1, values.end());
    return low + fraction * (static_cast<double>(*next) - low);
}

std::optional<Summary> summarize(std::vector<std::int64_t>& values) {
    if (values.empty()) {
        return std::nullopt;
    }
    Summary summary;
    summary.mean_ns = boost::math::statistics::mean(values.begin(), values.end());
    summary.median_ns = quantile(values, 0.5).value_or(0);
    summary.p95_ns = quantile(values, 0.95).value_or(0);
    summary.p99_ns = quantile(values, 0.99).value_or(0);
    return summary;
}

}  // namespace metatrain_timing::analyzer
