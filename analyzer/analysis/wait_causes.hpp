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

/// Why the training process waited: slices of its waits of one cause.
struct WaitCause {
    /// "main": the waiting thread itself did `stage` (with 0 workers everything);
    /// "worker_start": the batch's worker was not ready for work yet;
    /// "earlier_batch": its worker was still busy in `stage` with another batch;
    /// "fetch": its worker was at work on this batch, in `stage`;
    /// "send": the batch was on its way out of the worker;
    /// "receive", "pin": another thread of the training process had it;
    /// "unattributed": none of these is on record.
    std::string cause;
    std::string stage;  // innermost, empty for "unattributed"
    std::optional<std::int64_t> worker;
    std::int64_t total_ns = 0;
    double share = 0;  // of all waits of the group
};

/// The causes of each group's waits, greatest first and `unattributed` last, in the
/// order of `groups`; those of one group add up to its waits to the nanosecond.
///
/// Every instant of a wait has one cause, the first that applies of the list above but
/// for the order of the last ones: fetch, send, receive and pin, earlier_batch,
/// worker_start. Pure; O(n log n).
std::vector<std::vector<WaitCause>> find_wait_causes(const Run& run,
                                                     std::span<const Pass> passes,
                                                     const PhaseGroups& groups);

}  // namespace metatrain_timing::analyzer
