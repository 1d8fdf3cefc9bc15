#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/compared_run.hpp"
#include "analyzer/analysis/phase_account.hpp"
#include "analyzer/analysis/step_parts.hpp"
#include "analyzer/stats/change_points.hpp"
#include "analyzer/stats/series_mean.hpp"

namespace metatrain_timing::analyzer {

/// Numbers of the steps that are compared, both ends included.
struct StepNumbers {
    std::int64_t first = 0;
    std::int64_t last = std::numeric_limits<std::int64_t>::max();

    bool empty() const { return first > last; }
};

/// Those between the first and the last steady step of every run; empty where there is
/// none.
StepNumbers common_steps(std::initializer_list<std::span<const ComparedRun>> sides);

/// A change of the step time in the middle of a run.
struct StepShift {
    std::int64_t step = 0;     // number of the first step after it
    std::size_t position = 0;  // in the steps compared
    double relative = 0;       // the time after it over that before, less 1
};

/// One run, cut to what is compared.
struct MeasuredRun {
    const ComparedRun* compared = nullptr;
    StepRange range;
    double units = 1;  // in a step
    /// Per unit, in nanoseconds; the error is relative, the effective count that of
    /// what lies between `shifts`.
    SeriesMean step;
    VarianceTerm error_between_shifts;  // where that is all there is
    std::vector<PathSum> parts;
    PhaseAccount account;
    std::array<std::size_t, kSeriesBatches> batch_steps{};
    std::vector<StepShift> shifts;

    double steps() const { return static_cast<double>(range.steps.size()); }
};

/// The steps of a run and how long they take; no parts and no account. See `measure()`.
MeasuredRun measure_step(const ComparedRun& run, const StepNumbers& numbers,
                         const std::string& unit);

/// `unit` is the counter that steps are divided by, empty: none. The error of the step
/// is of a ratio of two means then. Pure; O(n log n) in the intervals of the steps.
MeasuredRun measure(const ComparedRun& run, const StepNumbers& numbers,
                    const std::string& unit);

/// Changes of the step time in all steady steps of a run, by at least 5 %: what is less
/// the variance of the mean covers.
std::vector<StepShift> find_shifts(const ComparedRun& run, const std::string& unit);

}  // namespace metatrain_timing::analyzer
