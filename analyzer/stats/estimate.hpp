#pragma once

#include <span>
#include <vector>

#include "analyzer/stats/student.hpp"

namespace metatrain_timing::analyzer {

/// What is known of a value in one run: that, and the variance that the run itself
/// tells.
struct RunValue {
    double value = 0;
    VarianceTerm within;
};

/// Of their values; 0 for no runs.
double mean_of(std::span<const RunValue> runs);

/// Variance from run to run beyond what a run can tell of itself, and how well it is
/// known. df infinity: as if it was known.
using BetweenRuns = VarianceTerm;

/// Difference of two sides of runs, `after` less `before`, of their means.
struct Difference {
    double value = 0;
    VarianceTerm error;
};

/// Where each side has one run the error is that of both values and `between` for each.
/// Where there are more their spread tells it too: both sides' spreads are taken to be
/// the same, and `between` counts as so many runs more as it has degrees of freedom
/// (Smyth, Stat. Appl. Genet. Mol. Biol. 3 (2004) 3, equation for the posterior
/// variance). Never less than what the runs tell of themselves.
Difference estimate_difference(std::span<const RunValue> before,
                               std::span<const RunValue> after,
                               const BetweenRuns& between);

}  // namespace metatrain_timing::analyzer
