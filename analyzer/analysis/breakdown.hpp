#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/findings.hpp"
#include "analyzer/analysis/stage_tree.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What the stages of one phase group cost, by where they ran.
struct Breakdown {
    std::int64_t wall_ns = 0;  // begin of the first wait to the end, summed over passes
    std::int64_t loader_ns = 0;   // waits
    std::int64_t step_ns = 0;     // bodies
    std::int64_t outside_ns = 0;  // the rest of wall_ns

    /// Rows of the training process: `loader` and `step` with their parts, `outside`
    /// with the ends of passes. Shares are of wall_ns; the rows at the top add up to
    /// it. A loop nested in a body is one row "<its phase> loop" there.
    std::vector<StageRow> main;
    /// Rows of the workers' own threads, shares are of `worker_life_ns`; the rows at
    /// the top add up to it. Then the rows of their sender threads, which work beside.
    std::vector<StageRow> worker;
    std::vector<StageRow> worker_sender;
    /// Rows of other threads of the training process, shares are of wall_ns.
    std::vector<StageRow> pin;
    std::vector<StageRow> thread;
    std::int64_t worker_life_ns = 0;  // lives of workers spent on the group
};

/// Stages of threads that run no loop and work for none: of training processes, and of
/// other children of theirs. Threads of one name are one.
struct OtherThread {
    Role role = Role::main;
    std::string thread;
    std::vector<StageRow> rows;  // shares are 0: there is no whole
};

struct Breakdowns {
    std::vector<Breakdown> of_group;
    std::vector<OtherThread> other_threads;
};

/// One breakdown for each group of the findings, in their order. `worker_life_ns` has
/// the summed worker lives of each group.
///
/// Pure; O(n) in the number of intervals.
Breakdowns break_down(const Findings& findings,
                      std::span<const std::int64_t> worker_life_ns);

}  // namespace metatrain_timing::analyzer
