#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis/findings.hpp"

namespace metatrain_timing::analyzer {

/// Why the training process waited: slices of its waits of one cause.
struct WaitCause {
    /// "main": the waiting thread itself did `stage` (with 0 workers everything);
    /// "worker_start": the batch's worker was not ready for work yet;
    /// "worker_idle": its worker waited for the index of this batch;
    /// "earlier_batch": its worker was still busy in `stage` with another batch;
    /// "fetch": its worker was at work on this batch, in `stage`;
    /// "send": the batch was on its way out of the worker;
    /// "receive", "pin": another thread of the training process had it;
    /// "ready": it had been sent, and nothing is on record that held it up: the taking
    /// over itself, or batches before it in the queue;
    /// "unattributed": none of these is on record.
    std::string cause;
    std::string stage;  // innermost, empty for "ready" and "unattributed"
    std::optional<std::int64_t> worker;
    std::int64_t total_ns = 0;
    double share = 0;  // of all waits of the group
    /// Of total_ns: while a batch that came later in the order lay ready. Of the waits
    /// on record.
    std::int64_t head_of_line_ns = 0;
    /// Standard error of `share`, where some waits are only summed and there is enough
    /// to tell it from.
    std::optional<double> share_error;
};

/// The waits of one pass, by `WaitCause::cause`.
struct PassWaits {
    std::int64_t rank = 0;
    std::int64_t epoch = 0;     // of the first loader, where several are zipped
    std::int64_t total_ns = 0;  // what the causes and `summed_ns` add up to
    std::map<std::string, std::int64_t> causes;
    std::int64_t summed_ns = 0;  // only summed, so that the causes are not known
};

/// Of one group.
struct GroupWaits {
    std::vector<WaitCause> causes;  // greatest first, `unattributed` last
    std::vector<PassWaits> passes;  // in the order of the group
};

/// Why the loops of each group waited, in the order of the groups. The causes of one
/// group add up to its waits to the nanosecond.
///
/// What the waiting thread did comes first; the rest of a wait goes by where the batch
/// was and, before its fetch, by what its worker did. Where waits are only summed, what
/// the waiting thread did in them is known; the rest is shared out as in the waits on
/// record. Pure; O(n log n).
std::vector<GroupWaits> find_wait_causes(const Findings& findings);

}  // namespace metatrain_timing::analyzer
