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

/// What a rank of a data-parallel training spends its steps on; means per step.
///
/// Ranks meet at the end of `backward`, where gradients are averaged: who comes to it
/// early waits inside of it.
struct RankWait {
    std::int64_t rank = 0;
    std::int64_t steps = 0;
    double own_ns = 0;       // from the end of a backward to the begin of the next
    double loader_ns = 0;    // of it: waiting for data
    double backward_ns = 0;  // with what it waits for others in it
    /// Of backward_ns, at least: longer than that of the rank which came last.
    double waits_for_others_ns = 0;
    double last_share = 0;  // of the steps: it was the one that came last
};

struct RankWaits {
    std::vector<RankWait> ranks;  // by rank; empty: nothing can be said
    double step_ns = 0;           // mean over steps and ranks
    /// The rank that the others wait for, where there is one.
    std::optional<std::int64_t> straggler;
    /// What it spends more on than the others: "loader", or empty for its own stages.
    std::string stage;
    double cost_ns = 0;  // what the others wait for it per step, at most
};

/// Of a group that trains on several ranks. Nothing is said where steps of the ranks do
/// not take the same time, so that they do not meet, or where no backward is on record.
/// A rank is named where others wait at least 5 % of a step and it is the last one in
/// at least 70 % of the steps. A rank that is slow inside of backward cannot be told:
/// all are in it equally long then. Only lengths are compared, no clocks. Pure.
RankWaits find_rank_waits(const Run& run, std::span<const Pass> passes,
                          const PhaseGroup& group);

}  // namespace metatrain_timing::analyzer
