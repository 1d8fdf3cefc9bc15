#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis/predictions.hpp"
#include "analyzer/analysis/report.hpp"
#include "analyzer/analysis/whatif_question.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What `mt-analyze whatif` says.
struct WhatIf {
    std::string phase;
    std::string loader;
    LoaderSettings recorded;
    double recorded_step_ns = 0;
    double recorded_wait_ns = 0;
    double cpus = 0;        // granted
    std::size_t turns = 0;  // replayed
    std::map<std::string, double> scale;
    std::vector<Prediction> predictions;
    /// Index of the one that takes least, of those with no more workers than CPUs; of
    /// those within 3 % the one recorded, else the simplest.
    std::optional<std::size_t> best;
    std::vector<Warning> warnings;
};

/// For the phase that `report`, of the same findings, is about. Nothing where that
/// cannot be replayed; `problem` says why then.
std::optional<Predictor> make_predictor(const Findings& findings, const Report& report,
                                        std::vector<Warning>& warnings,
                                        std::string& problem);

/// Every combination of what is asked, for the phase that is asked for. Nothing where
/// that cannot be replayed or has no such stage; `problem` says so then. Pure.
/// @throws Error (usage) where there is no such phase.
std::optional<WhatIf> ask_what_if(const Findings& findings,
                                  const WhatIfQuestion& question, std::string& problem);

}  // namespace metatrain_timing::analyzer
