#pragma once

#include <vector>

#include "analyzer/analysis/diff_options.hpp"
#include "analyzer/analysis/metric.hpp"
#include "analyzer/analysis/metric_maker.hpp"

namespace metatrain_timing::analyzer {

/// The parts of a step, "loader" and "step" with what is in them. At every level they
/// add up, so that the differences of the outermost are that of the step.
///
/// Said to have changed are those of which at most one in twenty did not (Benjamini and
/// Hochberg), whose interval leaves out 0, and whose own time changed by the least
/// effect; the same are those whose difference surely does not matter for the step.
std::vector<Metric> compare_stages(const Sides& sides, const DiffOptions& options);

/// What making a batch takes, whoever makes it: "fetch" with what is in it.
std::vector<Metric> compare_fetches(const Sides& sides, const DiffOptions& options);

}  // namespace metatrain_timing::analyzer
