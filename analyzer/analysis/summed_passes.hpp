#pragma once

#include <cstdint>
#include <limits>
#include <map>

#include "analyzer/analysis/stages.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Turns of a pass that are not on record one by one, see `IntervalTotal`.
struct SummedTurns {
    std::int64_t bodies = 0;
    std::int64_t unfinished = 0;  // more waits than bodies, of loaders that have bodies
    std::int64_t wait_ns = 0;
    std::int64_t body_ns = 0;
    std::int64_t optimizer_calls = 0;

    SummedTurns& operator+=(const SummedTurns& other);
};

/// What is summed of the turns over one iterator, and where it lies.
struct SummedPass {
    SummedTurns turns;
    std::int64_t waits = 0;
    std::int64_t ends = 0;  // `loader_end`
    std::int64_t ends_ns = 0;
    std::uint16_t depth = 0;  // of its waits and bodies in the nesting
    std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
};
using SummedPasses = std::map<std::int32_t, SummedPass>;  // by iterator

/// The passes of a track of which some turns are only summed. O(n) in its totals.
SummedPasses sum_passes(const Track& track, const StageNumbers& stages);

}  // namespace metatrain_timing::analyzer
