#pragma once

#include <vector>

#include "analyzer/analysis/diff_options.hpp"
#include "analyzer/analysis/metric.hpp"
#include "analyzer/analysis/metric_maker.hpp"

namespace metatrain_timing::analyzer {

/// The step time, judged.
Metric compare_steps(const Sides& sides, const DiffOptions& options);

/// "mean", "median", "p95" and "p99" of the steady steps, each judged; their errors are
/// by the spread of batches of neighbours.
std::vector<Metric> compare_distribution(const Sides& sides,
                                         const DiffOptions& options);

/// All time of the phase, per step.
Metric compare_wall(const Sides& sides, const DiffOptions& options);

/// What that has beyond steady steps; see `PhaseAccount`.
std::vector<Metric> compare_beyond(const Sides& sides, const DiffOptions& options);

/// What the begin of an epoch takes beyond a steady step. Without an interval where a
/// run has one epoch only.
Metric compare_epoch_starts(const Sides& sides, const DiffOptions& options);

}  // namespace metatrain_timing::analyzer
