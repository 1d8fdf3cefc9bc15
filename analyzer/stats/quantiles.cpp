#include "analyzer/stats/quantiles.hpp"

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <cstddef>

namespace metatrain_timing::analyzer {
namespace {

// `sorted_until`: the values before it are none greater than those from it on. Moved on
// to the order statistic below the quantile, so that the next, greater one is found in
// the rest.
template <typename Value>
double next_quantile(std::vector<Value>& values, double q, std::size_t& sorted_until) {
    const double position = q * static_cast<double>(values.size() - 1);
    const double below = std::floor(position);
    const auto at = static_cast<std::size_t>(below);
    const auto lower = values.begin() + static_cast<std::ptrdiff_t>(at);
    std::nth_element(values.begin() + static_cast<std::ptrdiff_t>(sorted_until), lower,
                     values.end());
    sorted_until = at;
    const auto low = static_cast<double>(*lower);
    const double fraction = position - below;
    if (fraction == 0.0) {
        return low;
    }
    const auto next = std::min_element(lower + 1, values.end());
    return low + fraction * (static_cast<double>(*next) - low);
}

}  // namespace

template <typename Value>
std::optional<double> quantile(std::vector<Value>& values, double q) {
    if (values.empty()) {
        return std::nullopt;
    }
    std::size_t none = 0;
    return next_quantile(values, q, none);
}

template <typename Value>
std::optional<Summary> summarize(std::vector<Value>& values) {
    if (values.empty()) {
        return std::nullopt;
    }
    Summary summary;
    summary.mean_ns = boost::math::statistics::mean(values.begin(), values.end());
    std::size_t sorted_until = 0;
    summary.median_ns = next_quantile(values, 0.5, sorted_until);
    summary.p95_ns = next_quantile(values, 0.95, sorted_until);
    summary.p99_ns = next_quantile(values, 0.99, sorted_until);
    return summary;
}

template std::optional<double> quantile(std::vector<std::int64_t>&, double);
template std::optional<double> quantile(std::vector<std::uint32_t>&, double);
template std::optional<Summary> summarize(std::vector<std::int64_t>&);
template std::optional<Summary> summarize(std::vector<std::uint32_t>&);

}  // namespace metatrain_timing::analyzer
