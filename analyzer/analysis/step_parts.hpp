#pragma once

#include <span>
#include <vector>

#include "analyzer/analysis/critical_steps.hpp"
#include "analyzer/analysis/findings.hpp"
#include "analyzer/analysis/path_sums.hpp"

namespace metatrain_timing::analyzer {

/// Steps that are looked at together, the longest ones cut to a limit.
struct StepRange {
    std::span<const CriticalStep> steps;
    double limit_ns = 0;  // a longer step counts as this
    /// What parts of the other steps count, so that they add up to all: those of long
    /// steps are of what made them long.
    double part_weight = 1;

    double weight(const CriticalStep& step) const;
    double cut_ns(const CriticalStep& step) const;
};

/// The steps with the limit that one in forty passes. A mean without limit belongs to
/// the few steps that something else disturbed; a median does not see a wait that comes
/// with every fourth step.
StepRange limit_steps(std::span<const CriticalStep> steps);

/// The parts of the steps of a range, summed in batches of neighbours
/// (`batch_begin()`): {"loader"} is the wait, {"loader", "collate"} the slices of it
/// while a batch was in that stage, wherever that ran; {"step"} is the body, {"step",
/// "forward"} a stage in it. A loop nested in the body is one part, "evaluation loop".
/// The outermost add up to the steps. Pure; O(n log n) in the intervals of the steps.
std::vector<PathSum> find_step_parts(const Findings& findings,
                                     const CriticalSteps& steps,
                                     const StepRange& range);

}  // namespace metatrain_timing::analyzer
