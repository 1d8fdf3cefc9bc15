#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/analysis/stage_tree.hpp"

namespace metatrain_timing::analyzer {

struct Report;

/// What holds the training up, by the share of its time that it waits for data.
enum class BoundBy : std::uint8_t {
    input,    // at least 30 %
    mixed,    // at least 10 %
    compute,  // less
    unknown,  // there is no complete step
};

std::string_view to_string(BoundBy bound_by);

/// A stage without recorded parts, and what it costs.
struct Leaf {
    std::string stage;
    Where where = Where::main;
    double per_unit_ns = 0;  // per step of the loop's body, per batch of the loader
    double share = 0;        // of the step or of making a batch
    std::optional<double> cpu_per_unit_ns;
};

/// What most of the waits were for: the causes of one stage put together.
struct WaitedFor {
    std::string cause;  // of the greater part, see WaitCause
    std::string stage;
    double share = 0;  // of all waits
    std::optional<Leaf>
        cost;  // of that stage per batch, where it is a part of making one
};

/// The judgement on the first phase of a report, in numbers; render/ puts it into
/// words.
struct Verdict {
    BoundBy bound_by = BoundBy::unknown;
    /// What it is bound by: the stage most waited for, or the dearest one of the body.
    std::string stage;
    double wait_share = 0;                 // waits / wall
    std::optional<double> steady_wait_ns;  // per step
    std::optional<double> steady_step_ns;  // wait and body
    std::int64_t pass_count = 0;           // on all ranks
    double first_wait_ns = 0;              // mean over passes
    double first_wait_share = 0;           // of the wall
    std::optional<WaitedFor> waited_for;
    std::optional<Leaf> input;              // dearest part of making a batch
    std::optional<Leaf> compute;            // dearest part of the body
    std::optional<double> worker_batch_ns;  // worker time per batch
    /// Worker processes at a time, where they are more than the CPUs granted.
    std::optional<std::int64_t> crowded_workers;
    double granted_cpus = 0;
};

/// Judges `report.phases.front()`; the rest of the report must be complete.
Verdict judge(const Report& report);

}  // namespace metatrain_timing::analyzer
