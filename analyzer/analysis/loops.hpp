#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/summed_passes.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// One round of a loop over a loader: the wait for a batch and the body that uses it.
struct Turn {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;   // of the body, or of the last wait
    std::int64_t wait_ns = 0;  // of all its waits
    std::int64_t body_ns = 0;
    std::uint32_t first_wait = 0;  // position in Pass::waits
    /// One, more where several loaders are zipped, none where the process ended while
    /// it waited, or where the wait is only summed.
    std::uint32_t wait_count = 0;
    std::optional<std::uint32_t> body;  // index of the `step` interval
    std::int32_t step = -1;             // training steps done before, -1: unknown
    std::int32_t optimizer_calls = 0;   // in the body, not in a loop nested there
    bool partial = false;               // see "Loops, phases, steps" in docs/design.md
    bool follows_gap = false;           // turns before it in its pass are only summed

    bool has_optimizer() const { return optimizer_calls > 0; }
    bool lacks_wait() const { return wait_count == 0 && body.has_value(); }
};

/// One pass of a loop over its loader, or over several that are zipped or take turns.
struct Pass {
    std::size_t process = 0;  // index into Run::processes
    std::size_t track = 0;    // index into its tracks
    /// Indices into Run::iterators, in the order of their first waits. Empty for a loop
    /// that was timed without a loader.
    std::vector<std::int32_t> iterators;
    std::string phase;
    std::vector<Turn> turns;  // in order of time; empty where all are only summed
    std::vector<std::uint32_t> waits;   // `loader` intervals, see waits_of()
    std::optional<SummedTurns> summed;  // where some are
    std::vector<std::uint32_t> ends;    // `loader_end` intervals
    bool exhausted = false;             // it ended because the data did
    bool is_zipped = false;             // its turns wait for several loaders
    std::int64_t start_ns = 0;          // begin of the first wait
    std::int64_t end_ns = 0;            // end of the last wait, body or `loader_end`
    std::int64_t ends_ns = 0;           // length of all `loader_end`s

    /// Those of a turn, as indices into the track's intervals.
    std::span<const std::uint32_t> waits_of(const Turn& turn) const {
        return std::span(waits).subspan(turn.first_wait, turn.wait_count);
    }

    /// Of all turns, those only summed too.
    std::int64_t wait_ns() const;
    std::int64_t body_ns() const;
};

/// The passes of all processes but workers, in order of process, track and begin.
///
/// Waits at one place of the nesting with no body between them belong to one turn
/// (zipped loaders), unless they repeat a loader. Passes of the same phase and depth
/// that overlap in time are one loop that takes turns (metatrain's CombinedDataLoader).
/// Intervals of a nested loop are turns of passes of their own. Begins, ends and counts
/// include what is only summed.
///
/// Pure; O(n log n) in the number of waits and bodies, O(n) in the other intervals.
std::vector<Pass> find_passes(const Run& run);

}  // namespace metatrain_timing::analyzer
