#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/analysis/critical_steps.hpp"
#include "analyzer/analysis/findings.hpp"

namespace metatrain_timing::analyzer {

/// Where the time of a phase goes beyond its steady steps, on one rank (the mean of
/// all). All of it: steps * step_ns + long_steps_ns + warm_up_ns + epoch_starts_ns +
/// outside_ns = wall_ns.
struct PhaseAccount {
    double wall_ns = 0;          // the loops, and making their workers
    double steps = 0;            // complete ones
    double step_ns = 0;          // what a steady one takes
    double long_steps_ns = 0;    // steady ones, beyond the limit that counts in step_ns
    double warm_up_ns = 0;       // steps before the steady ones, beyond step_ns each
    double epoch_starts_ns = 0;  // worker start, the first step beyond step_ns, stop
    double outside_ns = 0;       // the rest: partial turns, work between turns
    std::vector<double> starts_ns;  // epoch_starts_ns of each pass of each rank
};

/// `step_ns` is what a steady step takes. Pure; O(n) in the turns of the group.
PhaseAccount account_for(const Findings& findings, const CriticalSteps& steps,
                         double step_ns);

}  // namespace metatrain_timing::analyzer
