#pragma once

#include <optional>

#include "analyzer/analysis/breakdown.hpp"
#include "analyzer/analysis/phase_cpus.hpp"

namespace metatrain_timing::analyzer {

/// How many CPUs the training process uses in the bodies of a group's loop: all its
/// threads, less what making and receiving batches took. Nothing where its CPU time was
/// not read often enough. Both are of the same group. Pure.
std::optional<double> measure_body_cpus(const PhaseCpus& cpus, const Breakdown& time);

}  // namespace metatrain_timing::analyzer
