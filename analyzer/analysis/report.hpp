#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/advice.hpp"
#include "analyzer/analysis/breakdown.hpp"
#include "analyzer/analysis/counter_rates.hpp"
#include "analyzer/analysis/epoch_starts.hpp"
#include "analyzer/analysis/findings.hpp"
#include "analyzer/analysis/phase_cpus.hpp"
#include "analyzer/analysis/processes.hpp"
#include "analyzer/analysis/rank_waits.hpp"
#include "analyzer/analysis/run_time.hpp"
#include "analyzer/analysis/step_series.hpp"
#include "analyzer/analysis/verdict.hpp"
#include "analyzer/analysis/wait_causes.hpp"
#include "analyzer/analysis/worker_lives.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// One phase over one loader, or over the loaders that one loop zips or mixes.
struct PhaseReport {
    std::string name;       // "train", "evaluation", "before-training" or the user's
    std::string loader;     // labels joined by " + "; empty: a loop without a loader
    std::size_t group = 0;  // index into the groups of the findings
    std::vector<std::int32_t> loaders;  // indices into Run::loaders, one rank's
    std::int64_t rank_count = 0;        // ranks that took part
    std::int64_t worker_count = 0;      // worker processes at a time, on all ranks
    bool makes_loaders_anew = false;    // a DataLoader for each pass
    StepSeries steps;
    Breakdown time;
    std::vector<WaitCause> wait_causes;
    std::vector<PassWaits> pass_waits;
    std::vector<WorkerTime> workers;
    std::vector<CounterRate> counters;
    std::vector<EpochStart> epoch_starts;
    RankWaits rank_waits;
    PhaseCpus cpus;

    /// Whether some turns are not on record one by one. What is said per step is then
    /// of all steps, else of the steady ones.
    bool is_summed() const { return steps.summed_turns > 0; }
    std::int64_t shown_steps() const {
        return is_summed() ? steps.all_steps : steps.steady_steps;
    }
    std::int64_t shown_ns(const StageRow& row) const {
        return is_summed() ? row.total_ns : row.steady_ns;
    }
    std::int64_t shown_calls(const StageRow& row) const {
        return is_summed() ? row.calls : row.steady_calls;
    }
};

/// Passes that were made, and perhaps prefetched, but never waited for.
struct UnusedPasses {
    std::string loader;
    std::int64_t passes = 0;
    std::int64_t batches = 0;    // fetched for them
    std::int64_t worker_ns = 0;  // spent on fetching them
};

/// Everything `mt-analyze report` says. Times are sums over ranks where not said
/// otherwise.
struct Report {
    const Run* run = nullptr;  // what it is about; outlives the report
    std::int64_t rank_count = 0;
    std::string ended;                       // see model/ended.hpp
    std::vector<std::string> loader_labels;  // of Run::loaders
    std::vector<std::pair<std::string, std::string>> environment;  // of the first rank
    std::vector<PhaseReport> phases;  // the one the verdict is about first
    std::vector<UnusedPasses> unused;
    RunTime run_time;
    std::vector<OtherThread> other_threads;
    std::vector<ProcessLives> processes;
    Verdict verdict;
    std::optional<Advice> advice;   // of the first phase, where `advise()` was asked
    std::vector<Warning> warnings;  // of loading, recording and analysis
};

/// Pure. A run without any loop gives a report without phases.
Report make_report(const Findings& findings);

/// Puts the first phase of this name to the front, so that verdict and advice are about
/// it. Empty: all stays as it is.
/// @throws Error (usage) with one line where there is no such phase.
void choose_phase(Report& report, const std::string& wanted);

}  // namespace metatrain_timing::analyzer
