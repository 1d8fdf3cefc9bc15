#pragma once

#include "analyzer/analysis/diff.hpp"
#include "analyzer/analysis/metric_maker.hpp"

namespace metatrain_timing::analyzer {

/// How many steps or runs would make the interval of the step narrow enough to decide,
/// if the difference stayed what it is.
Needed find_needed(const Sides& sides, const Metric& step, const DiffOptions& options);

/// Where a side has too few steps for any verdict: says so, and takes it away. Under 50
/// steps or what 20 independent ones would tell, the intervals are too narrow (steps
/// that depend on each other for long: 9 % instead of 1 % with 12 effective ones). Few
/// effective ones are enough where the difference is three times what the interval is
/// wide to either side.
void require_steps(Diff& diff);

}  // namespace metatrain_timing::analyzer
