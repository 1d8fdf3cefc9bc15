#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/analysis/loops.hpp"
#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What the begin of one pass cost the training process.
struct EpochStart {
    std::int64_t rank = 0;
    std::int64_t epoch = 0;            // passes of the group on this rank before
    std::int64_t worker_start_ns = 0;  // making the iterator and its workers
    /// Of the first turn, where that is on record: its wait, and with the body after
    /// it.
    std::optional<std::int64_t> first_wait_ns;
    std::optional<std::int64_t> first_turn_ns;
    std::int64_t end_ns = 0;  // of the pass: the stop of its workers
    /// Of `worker_start_ns`: spent before the wall of the group begins or in the wall
    /// of another, as it is inside no wait of this pass.
    std::int64_t before_wall_ns = 0;
};

/// Sums over the passes of a group, and of those whose first turn is on record.
struct EpochStartSums {
    std::int64_t passes = 0;
    std::int64_t worker_start_ns = 0;
    std::int64_t before_wall_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t known_passes = 0;
    std::int64_t first_wait_ns = 0;

    /// Of all passes: the others are taken to be as those known.
    std::int64_t all_first_waits_ns() const;
};
EpochStartSums sum_up(const std::vector<EpochStart>& starts);

/// The begins of the passes of each group, in the order of `groups` and of its passes.
std::vector<std::vector<EpochStart>> measure_epoch_starts(const Run& run,
                                                          std::span<const Pass> passes,
                                                          const PhaseGroups& groups);

}  // namespace metatrain_timing::analyzer
