#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/loops.hpp"
#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What was counted in a phase group, and how fast.
struct CounterRate {
    std::string name;
    double total = 0;  // on all ranks
    /// Total over the waits and bodies of the loop, worked out for each rank and added
    /// up: ranks work at the same time. Never a mean of rates. Nothing without such
    /// time.
    std::optional<double> per_s;
};

/// The counters of each group, in the order of `groups`, by name.
std::vector<std::vector<CounterRate>> measure_rates(const Run& run,
                                                    std::span<const Pass> passes,
                                                    const PhaseGroups& groups);

}  // namespace metatrain_timing::analyzer
