#include "analyzer/stats/steady_state.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "analyzer/stats/mean.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kBatch = 5;
constexpr std::size_t kShortest = 20;     // values; below, nothing is cut
constexpr double kLeast = 0.05;           // by which a warm-up differs from the rest
constexpr std::size_t kCanUnsettle = 10;  // batches; below, the last cut may be chance

std::vector<double> batch_medians(std::span<const std::int64_t> series) {
    std::vector<double> medians;
    medians.reserve(series.size() / kBatch);
    for (std::size_t at = 0; at + kBatch <= series.size(); at += kBatch) {
        std::array<std::int64_t, kBatch> batch{};
        std::copy_n(series.begin() + static_cast<std::ptrdiff_t>(at), kBatch,
                    batch.begin());
        std::nth_element(batch.begin(), batch.begin() + kBatch / 2, batch.end());
        medians.push_back(static_cast<double>(batch[kBatch / 2]));
    }
    return medians;
}

bool differs(std::span<const double> warm_up, std::span<const double> rest) {
    if (warm_up.empty()) {
        return false;
    }
    const double steady = mean_of(rest);
    return std::abs(mean_of(warm_up) - steady) >= kLeast * steady;
}

}  // namespace

SteadyState find_steady_state(std::span<const std::int64_t> series) {
    if (series.size() < kShortest) {
        return {};
    }
    const std::vector<double> z = batch_medians(series);
    const std::size_t last_cut = z.size() / 2;

    // From the back, so that mean and squared deviations grow by one value a time
    // (Welford): no cancellation between large sums.
    std::size_t best = 0;
    double best_value = 0;
    double mean = 0;
    double squares = 0;
    for (std::size_t d = z.size(); d-- > 0;) {
        const auto count = static_cast<double>(z.size() - d);
        const double delta = z[d] - mean;
        mean += delta / count;
        squares += delta * (z[d] - mean);
        const double value = squares / (count * count);
        // <= : of equal cuts the earliest one, which keeps most values
        if (d <= last_cut && (d == last_cut || value <= best_value)) {
            best = d;
            best_value = value;
        }
    }
    if (!differs(std::span(z).subspan(0, best), std::span(z).subspan(best))) {
        return {};
    }
    if (best == last_cut && z.size() >= kCanUnsettle) {
        return {0, false};
    }
    return {best * kBatch, true};
}

}  // namespace metatrain_timing::analyzer
