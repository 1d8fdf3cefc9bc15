#pragma once

#include <cstddef>
#include <span>

#include "analyzer/stats/student.hpp"

namespace metatrain_timing::analyzer {

/// Batches that a series is cut into, see `batch_variance()`.
inline constexpr std::size_t kSeriesBatches = 10;

/// The mean of a series of values that depend on those before.
struct SeriesMean {
    double mean = 0;
    VarianceTerm error;          // of the mean
    double effective_count = 0;  // independent values would tell as much
};

/// Variance of the mean of values of which `sums` has batches of neighbours: the spread
/// of the means of the batches. `counts` are the values in each.
///
/// Source: method of batch means; Law, Simulation Modeling and Analysis, 5th edition,
/// 2015, section 9.5.3. Few batches are long ones, so that neighbours hardly depend on
/// each other.
VarianceTerm batch_variance(std::span<const double> sums,
                            std::span<const std::size_t> counts);

/// The mean and how well it is known: the larger of the variance by batches, and of the
/// long-run variance by autocovariances as far as Geyer's initial monotone positive
/// sequence goes, with degrees of freedom by the effective count. The larger, as each
/// is too small at times: the first where there are few batches, the second where
/// values depend on each other over long stretches. Long series are put together to
/// some 10,000 means first, which leaves both as they are.
///
/// Source: Geyer, Statistical Science 7 (1992) 473, section 3.3. Not for fewer than two
/// values: the error is 0 then. O(n) and lags that matter times 10,000.
SeriesMean estimate_mean(std::span<const double> series);

/// First value of each batch of `count` values, and `count` at the end.
std::size_t batch_begin(std::size_t batch, std::size_t count);

}  // namespace metatrain_timing::analyzer
