#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/analysis/loops.hpp"
#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/stats/quantiles.hpp"

namespace metatrain_timing::analyzer {

/// The steps of a phase group: how many, which of them are steady, how long they took.
///
/// A step is what one optimizer step ends: one turn, or several with gradient
/// accumulation; where no optimizer steps, every complete turn is one. Its time is the
/// sum of its waits and bodies.
///
/// Steady is what MSER-5 leaves of the series of step times; the step that begins a
/// pass is left out before, as it waits for the workers to start. Ranks share the
/// latest cut.
///
/// Of turns that are only summed the counts are known: those of steps, where several
/// make one, by their optimizer calls. Steady are then some of those on record.
struct StepSeries {
    std::int64_t epochs = 0;         // counts are of the rank that has most
    std::int64_t steps = 0;          // complete ones
    std::int64_t micro_steps = 0;    // complete turns
    std::int64_t partial_steps = 0;  // turns that were cut short
    std::int64_t all_steps = 0;      // complete ones, on all ranks together
    std::int64_t summed_turns = 0;   // complete ones not on record, on all ranks
    bool accumulates = false;        // some steps have several turns

    bool settled = true;  // false: the times never settled, and all count as steady
    /// Number of the first steady step; nothing if there is no complete step or the
    /// series never settled.
    std::optional<std::int64_t> steady_from_step;
    std::int64_t steady_steps = 0;  // on all ranks together
    /// Of the steady steps on all ranks, and of their turns. Where some turns are only
    /// summed the means are of all.
    std::optional<Summary> step;
    std::optional<Summary> turn;
    /// For each pass of the group, in its order: which turns belong to steady steps.
    std::vector<std::vector<bool>> steady_turns;
};

StepSeries measure_steps(std::span<const Pass> passes, const PhaseGroup& group);

}  // namespace metatrain_timing::analyzer
