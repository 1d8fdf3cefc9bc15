#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "analyzer/analysis/loops.hpp"
#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/analysis/summed_passes.hpp"
#include "analyzer/stats/steady_state.hpp"

namespace metatrain_timing::analyzer {

/// A turn of a group.
struct TurnRef {
    std::uint32_t pass = 0;  // position in the group
    std::uint32_t turn = 0;
};

/// A step of one process; see `StepSeries`.
struct Step {
    std::int64_t dur_ns = 0;
    std::uint32_t first_turn = 0;  // position in ProcessSteps::turn_refs
    std::uint32_t turn_count = 0;
    std::int32_t number = 0;
    bool complete = false;
    bool begins_pass = false;
    bool follows_gap = false;  // may lack turns
    bool lacks_wait = false;   // of one of its turns
};

/// What one process did for the group.
struct ProcessSteps {
    std::int64_t epochs = 0;
    std::int64_t turns = 0;
    std::int64_t partial = 0;
    std::int64_t complete = 0;
    std::int64_t optimizer_calls = 0;
    SummedTurns summed;
    std::vector<TurnRef> turn_refs;  // complete turns, in the order of steps
    std::vector<Step> steps;
    std::vector<std::uint32_t> candidates;  // steps that may be steady

    std::span<const TurnRef> turns_of(const Step& step) const {
        return std::span(turn_refs).subspan(step.first_turn, step.turn_count);
    }

    /// Those only summed too.
    std::int64_t all_turns() const { return turns + summed.bodies; }
    std::int64_t all_partial() const {
        return std::max<std::int64_t>(0, partial + summed.unfinished);
    }
    /// Those only summed have as many optimizer calls each as those on record.
    std::int64_t all_steps(bool by_optimizer) const;

    /// The candidates from this one on.
    std::span<const std::uint32_t> steady(std::size_t from) const {
        return std::span(candidates).subspan(std::min(from, candidates.size()));
    }
};

/// The steps of a group.
struct GroupSteps {
    bool by_optimizer = false;                      // else every complete turn is one
    std::map<std::size_t, ProcessSteps> processes;  // by index into Run::processes
    /// Which candidates of each process are steady: those from `cut.from` on.
    SteadyState cut;
};

/// Pure; O(n) in the turns of the group.
GroupSteps find_steps(std::span<const Pass> passes, const PhaseGroup& group);

}  // namespace metatrain_timing::analyzer
