#pragma once

#include <vector>

#include "analyzer/analysis/compared_run.hpp"
#include "analyzer/analysis/diff.hpp"
#include "analyzer/analysis/diff_question.hpp"
#include "analyzer/analysis/gate.hpp"

namespace metatrain_timing::analyzer {

/// The answer to a question about files; `diff` points to the runs.
struct DiffAnswer {
    std::vector<ComparedRun> before;
    std::vector<ComparedRun> after;
    Diff diff;  // its warnings are of the runs too
    GateOutcome gate;
};

/// Loads runs, each made ready to be compared.
///
/// @throws Error with one line where a run has nothing to compare, or comes twice.
std::vector<ComparedRun> load_compared(const std::vector<std::string>& paths,
                                       const std::string& phase);

/// Loads both sides, side by side where another thread can be had, and compares them.
///
/// Where the noise of runs is not given it is taken from the noise file, if the
/// workload is there.
///
/// @throws Error with one line where a run has nothing to compare, or a gate is none.
DiffAnswer diff_files(const DiffQuestion& question);

}  // namespace metatrain_timing::analyzer
