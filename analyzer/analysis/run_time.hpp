#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/loops.hpp"
#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

struct RunTimeRow {
    std::string
        what;  // phase of a loop, name of a stage outside of loops, "unattributed"
    std::string loader;  // of a loop
    std::int64_t total_ns = 0;
};

/// What the training processes of a run spent their lives on: rows that add up to
/// `wall_ns`. All sums over training processes.
struct RunTime {
    std::int64_t wall_ns = 0;
    std::int64_t process_count = 0;
    /// Loops in the order of the groups (those inside other loops are in these), stages
    /// outside of loops by total, `unattributed`: imports, model set-up, checkpoints, …
    std::vector<RunTimeRow> rows;
};

RunTime measure_run_time(const Run& run, std::span<const Pass> passes,
                         const PhaseGroups& groups);

}  // namespace metatrain_timing::analyzer
