#include "analyzer/stats/series_mean.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "analyzer/stats/mean.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kMostValues = 10'000;

// Deviations from the mean of neighbours put together, so that there are few.
std::vector<double> deviations(std::span<const double> series, double mean) {
    const std::size_t together = (series.size() + kMostValues - 1) / kMostValues;
    std::vector<double> result;
    result.reserve(series.size() / together);
    for (std::size_t at = 0; at + together <= series.size(); at += together) {
        result.push_back(mean_of(series.subspan(at, together)) - mean);
    }
    return result;
}

double autocovariance(std::span<const double> values, std::size_t lag) {
    double sum = 0;
    for (std::size_t i = lag; i < values.size(); ++i) {
        sum += values[i] * values[i - lag];
    }
    return sum / static_cast<double>(values.size());
}

// Of the mean of `values`, whose own mean is 0.
double long_run_variance(std::span<const double> values) {
    double sum = -autocovariance(values, 0);
    double last = std::numeric_limits<double>::infinity();
    for (std::size_t lag = 0; lag + 1 < values.size(); lag += 2) {
        const double pair =
            autocovariance(values, lag) + autocovariance(values, lag + 1);
        if (pair <= 0) {
            break;
        }
        last = std::min(last, pair);
        sum += 2 * last;
    }
    return std::max(sum, 0.0) / static_cast<double>(values.size());
}

VarianceTerm variance_by_batches(std::span<const double> series) {
    std::vector<double> sums;
    std::vector<std::size_t> counts;
    for (std::size_t b = 0; b < kSeriesBatches; ++b) {
        const std::size_t begin = batch_begin(b, series.size());
        const std::size_t end = batch_begin(b + 1, series.size());
        const auto batch = series.subspan(begin, end - begin);
        sums.push_back(std::accumulate(batch.begin(), batch.end(), 0.0));
        counts.push_back(batch.size());
    }
    return batch_variance(sums, counts);
}

}  // namespace

std::size_t batch_begin(std::size_t batch, std::size_t count) {
    return batch * count / kSeriesBatches;
}

VarianceTerm batch_variance(std::span<const double> sums,
                            std::span<const std::size_t> counts) {
    const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
    const auto count = static_cast<double>(
        std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    double squares = 0;
    std::size_t batches = 0;
    for (std::size_t b = 0; b < sums.size(); ++b) {
        if (counts[b] > 0) {
            const auto own = static_cast<double>(counts[b]);
            const double deviation = sums[b] - total / count * own;
            squares += deviation * deviation;
            ++batches;
        }
    }
    if (batches < 2) {
        return {};
    }
    const auto free = static_cast<double>(batches - 1);
    return {squares * static_cast<double>(batches) / free / (count * count), free};
}

SeriesMean estimate_mean(std::span<const double> series) {
    SeriesMean result;
    if (series.empty()) {
        return result;
    }
    const auto count = static_cast<double>(series.size());
    result.mean = mean_of(series);
    result.effective_count = count;
    if (series.size() < 2) {
        return result;
    }
    const double variance = sample_variance(series);
    if (variance == 0) {
        result.error.df = count - 1;
        return result;
    }
    const double long_run =
        long_run_variance(deviations(series, result.mean)) * count / (count - 1);
    const VarianceTerm batches = variance_by_batches(series);
    if (long_run > 0) {
        result.effective_count = std::min(count, variance / long_run);
    }
    const double own_df = std::max(1.0, result.effective_count - 1);
    result.error = batches.variance > long_run
                       ? VarianceTerm{batches.variance, std::min(batches.df, own_df)}
                       : VarianceTerm{long_run, own_df};
    return result;
}

}  // namespace metatrain_timing::analyzer
