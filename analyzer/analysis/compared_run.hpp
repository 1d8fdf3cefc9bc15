#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis/critical_steps.hpp"
#include "analyzer/analysis/fetch_parts.hpp"
#include "analyzer/analysis/findings.hpp"
#include "analyzer/analysis/run_facts.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// One phase of a run, made ready to be compared.
struct ComparedRun {
    std::string path;  // as the user named it
    std::unique_ptr<const Run> run;
    std::unique_ptr<const Findings> findings;
    std::size_t group = 0;
    std::vector<RunFact> facts;
    CriticalSteps steps;
    FetchParts fetches;

    const PhaseGroup& phase() const { return findings->groups().groups[group]; }
    const StepSeries& series() const { return findings->series()[group]; }
};

/// Takes the phase of this name, of several the one that took longest; where `phase` is
/// empty the training, else the longest. Nothing where the run has no such phase with
/// complete steps. Pure; O(n log n) in the intervals of the run.
std::optional<ComparedRun> prepare(std::string path, std::unique_ptr<const Run> run,
                                   const std::string& phase);

}  // namespace metatrain_timing::analyzer
