#pragma once

#include <optional>
#include <span>
#include <string>

#include "analyzer/model/run_digest.hpp"

namespace metatrain_timing::analyzer {

/// A time of a run by its name: "step", "mean", "median", "p95", "p99", or a stage of a
/// step ("loader/collate") or of making a batch ("fetch/collate") by its path, or by
/// its last name where only one path of the run has it.
///
/// Nothing where the run has no such stage. Pure.
std::optional<double> metric_ns(const RunDigest& run, const std::string& name);

/// The full name of a metric that some of the runs have: for a stage its path.
///
/// @throws Error (usage) where no run has it, or its last name belongs to several
/// paths.
std::string find_metric_name(std::span<const RunDigest> runs, const std::string& name);

}  // namespace metatrain_timing::analyzer
