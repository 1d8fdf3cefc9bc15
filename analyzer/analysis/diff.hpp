#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/compared_run.hpp"
#include "analyzer/analysis/diff_options.hpp"
#include "analyzer/analysis/measured_run.hpp"
#include "analyzer/analysis/metric.hpp"
#include "analyzer/analysis/run_facts.hpp"

namespace metatrain_timing::analyzer {

/// What one side is made of.
struct DiffSide {
    std::vector<const ComparedRun*> runs;
    std::int64_t steps = 0;         // compared, of all runs
    double effective_steps = 0;     // independent ones would tell as much
    std::int64_t steady_steps = 0;  // of all runs
    std::int64_t warm_up_steps = 0;
    std::int64_t first_step = 0;    // numbers of the first and the last one compared,
    std::int64_t last_step = 0;     // of the first run
    std::vector<StepShift> shifts;  // of the first run that has some, in those compared
    std::vector<StepShift> other_shifts;  // the same, in steady steps not compared
};

/// What more would decide.
struct Needed {
    std::optional<std::int64_t> steps;  // more in each run
    std::optional<std::int64_t> runs;   // on each side, in all
};

struct Diff {
    DiffOptions options;
    DiffSide before;
    DiffSide after;
    std::vector<ChangedFact> changed;
    std::int64_t same_facts = 0;
    std::string unit;         // "structures"; empty: per step
    double units_before = 0;  // in a step
    double units_after = 0;
    Metric step;  // the headline; its change is the verdict
    std::vector<Metric> stages;
    std::vector<Metric> fetches;  // per batch: mostly hidden behind steps
    std::vector<Metric> distribution;
    Metric wall;
    std::vector<Metric> beyond;
    Metric epoch_start;
    Needed needed;                     // where the step is inconclusive
    std::vector<std::string> reasons;  // why it is inconclusive or not comparable
    std::vector<Warning> warnings;
};

/// Whether the second side's steps take longer than the first's, how sure that is, and
/// because of what. Each side has at least one run, and each run steady steps.
///
/// Compared are the steady steps of numbers that all runs have; where steps are of
/// another size, all of them, by what both sides counted. Pure and deterministic.
Diff compare(std::span<const ComparedRun> before, std::span<const ComparedRun> after,
             const DiffOptions& options);

}  // namespace metatrain_timing::analyzer
