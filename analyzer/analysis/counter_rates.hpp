#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/loops.hpp"
#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What was counted in single batches: how much they differ in size.
struct BatchSpread {
    std::int64_t batches = 0;  // in which it was counted
    double min = 0;
    double median = 0;
    double max = 0;
};

/// What was counted in a phase group, and how fast.
struct CounterRate {
    std::string name;
    double total = 0;  // on all ranks
    /// Total over the waits and bodies of the loop, worked out for each rank and added
    /// up: ranks work at the same time. Never a mean of rates. Nothing without such
    /// time.
    std::optional<double> per_s;
    /// Waits and bodies of all ranks that counted, over the total: what one of them
    /// takes a rank. Nothing without such time, or where the total is not positive.
    std::optional<double> each_ns;
    /// Of the batches on record one by one; nothing where it was counted in none.
    std::optional<BatchSpread> per_batch;
};

/// The counters of each group, in the order of `groups`, by name.
std::vector<std::vector<CounterRate>> measure_rates(const Run& run,
                                                    std::span<const Pass> passes,
                                                    const PhaseGroups& groups);

}  // namespace metatrain_timing::analyzer
