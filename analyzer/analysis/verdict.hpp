#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis/checks.hpp"
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

/// A stage, and what it costs without its recorded parts.
struct Leaf {
    std::string stage;
    Where where = Where::main;
    double per_unit_ns = 0;  // per step of the loop's body, per batch of the loader
    double share = 0;        // of the step or of making a batch
    std::optional<double> cpu_per_unit_ns;
};

/// What most of the waits were for. The stages of making a batch count as one: they
/// follow each other, so that time saved in any of them shortens the wait, and the last
/// one, which is waited for most, need not be the dearest.
struct WaitedFor {
    enum class What : std::uint8_t {
        making,        // batches still being made, this one or an earlier one
        worker_start,  // workers that were not ready for work
        worker_idle,   // indices that had not reached an idle worker
        sending,       // batches on their way out of their worker
        taking_over,   // batches that had been sent: receiving, pinning, queueing
        other,         // something else that the waiting thread did
    };
    What what = What::other;
    std::string stage;  // the dearest of making a batch, else the one most waited for
    double share = 0;   // of all waits
};

/// The judgement on the first phase of a report, in numbers; render/ puts it into
/// words.
struct Verdict {
    BoundBy bound_by = BoundBy::unknown;
    /// What it is bound by: the stage most waited for, or the dearest one of the body.
    std::string stage;
    /// Waits by time, after the warm-up; in everything where no step is steady.
    double wait_share = 0;
    std::optional<double> steady_wait_ns;  // per step
    std::optional<double> steady_step_ns;  // wait and body
    std::int64_t pass_count = 0;           // on all ranks
    /// Making the workers of a pass and waiting for its first batch, mean over passes.
    double pass_start_ns = 0;
    /// The same and the end of the pass before, mean over passes but the first.
    double between_passes_ns = 0;
    double between_share = 0;         // starts and ends of passes, of all time
    bool between_is_most = false;     // of the waits after the warm-up
    bool makes_workers_anew = false;  // for each pass
    std::optional<WaitedFor> waited_for;
    std::optional<Leaf> input;              // dearest part of making a batch
    std::optional<Leaf> compute;            // dearest part of the body
    double batch_ns = 0;                    // what making a batch takes
    std::optional<double> worker_batch_ns;  // the same, if workers make it
    bool workers_unrecorded =
        false;  // there were workers, but nothing of them was read
    /// Worker processes at a time, where they are more than the CPUs granted.
    std::optional<std::int64_t> crowded_workers;
    double granted_cpus = 0;
    std::vector<Check> checks;  // what else could hold the training up
};

/// Judges `report.phases.front()`; the rest of the report must be complete.
Verdict judge(const Report& report);

}  // namespace metatrain_timing::analyzer
