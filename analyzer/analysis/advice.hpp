#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis/findings.hpp"
#include "analyzer/analysis/predictions.hpp"
#include "analyzer/analysis/stage_tree.hpp"

namespace metatrain_timing::analyzer {

struct Report;

/// Another setting of the loader that is predicted to make steps shorter.
struct SettingAdvice {
    Prediction prediction;
    double saved_ns = 0;  // of a step and its part of the start of its pass
};

/// What a step would be shorter by if a stage took half of what it takes. A stage that
/// is hidden behind others saves next to nothing, however dear it is.
struct StageSaving {
    std::string stage;
    Where where = Where::main;
    double saved_ns = 0;  // of a step
};

/// What would make the training of a report faster, by replaying its main phase.
struct Advice {
    std::string problem;  // why nothing can be said; empty: it can
    Prediction now;       // the replay with the settings of the record
    /// Recorded without workers: what starting them takes is not known.
    bool guesses_worker_start = false;
    std::vector<SettingAdvice> settings;  // greatest saving first
    std::vector<StageSaving> stages;      // of the lowest level, greatest saving first
};

/// For `report.phases.front()`. Settings that need more workers than CPUs are granted,
/// or save less than 3 %, are not listed. Pure; some 20 replays.
Advice advise(const Findings& findings, const Report& report);

}  // namespace metatrain_timing::analyzer
