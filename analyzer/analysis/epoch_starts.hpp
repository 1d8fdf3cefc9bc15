#pragma once

#include <cstdint>
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
    std::int64_t first_wait_ns = 0;    // of the first turn
    std::int64_t first_turn_ns = 0;    // that wait, and the body after it
    std::int64_t end_ns = 0;           // of the pass: the stop of its workers
    /// Of `worker_start_ns`: spent before the wall of the group begins or in the wall
    /// of another, as it is inside no wait of this pass.
    std::int64_t before_wall_ns = 0;
};

/// The begins of the passes of each group, in the order of `groups` and of its passes.
std::vector<std::vector<EpochStart>> measure_epoch_starts(const Run& run,
                                                          std::span<const Pass> passes,
                                                          const PhaseGroups& groups);

}  // namespace metatrain_timing::analyzer
