#pragma once

#include <optional>
#include <string>

#include "analyzer/analysis/findings.hpp"
#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/analysis/step_series.hpp"
#include "analyzer/model/run.hpp"
#include "analyzer/replay/workload.hpp"

namespace metatrain_timing::analyzer {

/// What a phase has to do, taken from what is on record of it.
struct RecordedWorkload {
    Workload work;
    LoaderSettings settings;  // it was recorded with
    double cpus = 1;          // granted; one for each process where that is not known
    bool knows_cpus = false;
    double body_cpus = 0;     // used at a time in bodies
    std::size_t turns = 0;    // in `work`
    std::size_t fetches = 0;  // of these, batches whose fetch is on record
    /// Of the turns in `work` that count: mean wait and mean body, as recorded.
    double wait_ns = 0;
    double body_ns = 0;
    /// Mean over the batches in `work`, as recorded.
    double fetch_ns = 0;
    /// Of these: could have run and had no CPU; 0 also where that is not on record.
    double fetch_queued_ns = 0;
    double body_queued_ns = 0;
    bool knows_transport = false;  // send and receive were recorded
    bool knows_worker_start = false;
};

/// Reads the workload of one phase group, by its number, off the records of its first
/// rank: of at most `max_turns` turns, the last ones.
///
/// CPU time that was not measured is taken to be what `body_cpus` says for bodies (CPUs
/// that the training process uses meanwhile, of all its threads), all of it for what
/// the training thread does while it waits, and none for other stages.
///
/// Nothing where there is no loop over exactly one loader with complete turns; `reason`
/// says so then. Pure; O(turns log n).
std::optional<RecordedWorkload> find_workload(const Findings& findings,
                                              std::size_t group, double body_cpus,
                                              std::size_t max_turns,
                                              std::string& reason);

}  // namespace metatrain_timing::analyzer
