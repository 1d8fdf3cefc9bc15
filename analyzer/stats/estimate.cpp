#include "analyzer/stats/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace metatrain_timing::analyzer {
namespace {

double mean_within(std::span<const RunValue> runs) {
    double sum = 0;
    for (const RunValue& run : runs) {
        sum += run.within.variance;
    }
    return sum / static_cast<double>(runs.size());
}

double squares(std::span<const RunValue> runs) {
    const double mean = mean_of(runs);
    double sum = 0;
    for (const RunValue& run : runs) {
        sum += (run.value - mean) * (run.value - mean);
    }
    return sum;
}

}  // namespace

double mean_of(std::span<const RunValue> runs) {
    double sum = 0;
    for (const RunValue& run : runs) {
        sum += run.value;
    }
    return runs.empty() ? 0 : sum / static_cast<double>(runs.size());
}

Difference estimate_difference(std::span<const RunValue> before,
                               std::span<const RunValue> after,
                               const BetweenRuns& between) {
    Difference difference;
    difference.value = mean_of(after) - mean_of(before);
    if (before.size() == 1 && after.size() == 1) {
        const std::array terms{before.front().within, after.front().within,
                               VarianceTerm{2 * between.variance, between.df}};
        difference.error = add_terms(terms);
        return difference;
    }
    const auto count = static_cast<double>(before.size() + after.size());
    const double within = (mean_within(before) * static_cast<double>(before.size()) +
                           mean_within(after) * static_cast<double>(after.size())) /
                          count;
    const double sides =
        1 / static_cast<double>(before.size()) + 1 / static_cast<double>(after.size());
    const double expected = between.variance + within;
    const double own_df = count - 2;
    double variance = expected;
    if (std::isfinite(between.df)) {
        variance = (between.df * expected + squares(before) + squares(after)) /
                   (between.df + own_df);
    }
    difference.error = {std::max(variance, within) * sides, between.df + own_df};
    return difference;
}

}  // namespace metatrain_timing::analyzer
