#include "analyzer/analysis/measured_run.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/stats/mean.hpp"

namespace metatrain_timing::analyzer {
namespace {

std::span<const CriticalStep> steps_within(const ComparedRun& run,
                                           const StepNumbers& numbers) {
    const std::vector<CriticalStep>& steps = run.steps.steady;
    const auto begin = std::find_if(
        steps.begin(), steps.end(),
        [&](const CriticalStep& step) { return step.number >= numbers.first; });
    const auto end =
        std::find_if(steps.rbegin(), steps.rend(), [&](const CriticalStep& step) {
            return step.number <= numbers.last;
        }).base();
    return begin < end ? std::span(begin, end) : std::span<const CriticalStep>();
}

std::vector<double> counts_in(const ComparedRun& run,
                              std::span<const CriticalStep> steps,
                              const std::string& unit) {
    const auto counted = run.steps.units.find(unit);
    if (counted == run.steps.units.end() || steps.empty()) {
        return {};
    }
    const auto first = steps.data() - run.steps.steady.data();
    const auto begin = counted->second.begin() + first;
    return {begin, begin + static_cast<std::ptrdiff_t>(steps.size())};
}

// How long each step took beside what it should have by what it counts: 0 on average,
// between two shifts too.
std::vector<double> residuals(const StepRange& range, std::span<const double> counts,
                              std::span<const StepShift> shifts) {
    std::vector<double> series;
    series.reserve(range.steps.size());
    for (const CriticalStep& step : range.steps) {
        series.push_back(range.cut_ns(step));
    }
    const double step_ns = mean_of(series);
    const double units = counts.empty() ? 1 : mean_of(counts);
    for (std::size_t i = 0; i < series.size(); ++i) {
        series[i] = (step_ns > 0 ? series[i] / step_ns : 1) -
                    (counts.empty() ? 1 : counts[i] / units);
    }
    std::size_t begin = 0;
    for (std::size_t s = 0; !shifts.empty() && s <= shifts.size(); ++s) {
        const std::size_t end = s < shifts.size() ? shifts[s].position : series.size();
        const double level = mean_of(std::span(series).subspan(begin, end - begin));
        std::for_each(series.begin() + static_cast<std::ptrdiff_t>(begin),
                      series.begin() + static_cast<std::ptrdiff_t>(end),
                      [&](double& value) { value -= level; });
        begin = end;
    }
    return series;
}

SeriesMean mean_step(const StepRange& range, std::span<const double> counts) {
    SeriesMean mean = estimate_mean(residuals(range, counts, {}));
    double total_ns = 0;
    for (const CriticalStep& step : range.steps) {
        total_ns += range.cut_ns(step);
    }
    const double units = counts.empty() ? 1 : mean_of(counts);
    mean.mean = total_ns / static_cast<double>(range.steps.size()) / units;
    return mean;
}

// Where the medians of blocks of neighbours change their level.
std::vector<StepShift> find_shifts(std::span<const CriticalStep> steps,
                                   std::span<const double> counts) {
    constexpr double kLeastShift = 0.05;
    constexpr double kAlpha = 0.001;       // of a run; many are looked at
    constexpr std::size_t kShortest = 10;  // steps in a block
    constexpr std::size_t kMostBlocks = 400;
    const std::size_t block = std::max(kShortest, steps.size() / kMostBlocks);
    std::vector<double> medians;
    std::vector<double> values;
    for (std::size_t at = 0; at + block <= steps.size(); at += block) {
        values.clear();
        for (std::size_t i = at; i < at + block; ++i) {
            const double units = counts.empty() ? 1 : counts[i];
            if (units > 0) {
                values.push_back(static_cast<double>(steps[i].dur_ns) / units);
            }
        }
        medians.push_back(std::log(std::max(upper_median(values), 1e-3)));
    }
    std::vector<StepShift> shifts;
    LevelChange change;
    change.least_shift = std::log1p(kLeastShift);
    change.alpha = kAlpha;
    for (const ChangePoint& point : find_change_points(medians, change)) {
        const std::size_t position = point.at * block;
        shifts.push_back({steps[position].number, position, std::expm1(point.shift)});
    }
    return shifts;
}

}  // namespace

StepNumbers common_steps(std::initializer_list<std::span<const ComparedRun>> sides) {
    StepNumbers common;
    for (const std::span<const ComparedRun> side : sides) {
        for (const ComparedRun& run : side) {
            common.first =
                std::max<std::int64_t>(common.first, run.steps.steady.front().number);
            common.last =
                std::min<std::int64_t>(common.last, run.steps.steady.back().number);
        }
    }
    return common;
}

MeasuredRun measure_step(const ComparedRun& run, const StepNumbers& numbers,
                         const std::string& unit) {
    const std::span<const CriticalStep> steps = steps_within(run, numbers);
    MeasuredRun measured;
    measured.compared = &run;
    measured.range = limit_steps(steps);
    const std::vector<double> counts = counts_in(run, steps, unit);
    measured.units = counts.empty() ? 1 : mean_of(counts);
    measured.shifts = find_shifts(steps, counts);
    measured.step = mean_step(measured.range, counts);
    measured.error_between_shifts = measured.step.error;
    if (!measured.shifts.empty()) {
        const SeriesMean between =
            estimate_mean(residuals(measured.range, counts, measured.shifts));
        measured.error_between_shifts = between.error;
        measured.step.effective_count = between.effective_count;
    }
    return measured;
}

MeasuredRun measure(const ComparedRun& run, const StepNumbers& numbers,
                    const std::string& unit) {
    MeasuredRun measured = measure_step(run, numbers, unit);
    measured.parts = find_step_parts(*run.findings, run.steps, measured.range);
    measured.account =
        account_for(*run.findings, run.steps, measured.step.mean * measured.units);
    for (std::size_t b = 0; b < kSeriesBatches; ++b) {
        measured.batch_steps[b] = batch_begin(b + 1, measured.range.steps.size()) -
                                  batch_begin(b, measured.range.steps.size());
    }
    return measured;
}

std::vector<StepShift> find_shifts(const ComparedRun& run, const std::string& unit) {
    return find_shifts(run.steps.steady, counts_in(run, run.steps.steady, unit));
}

}  // namespace metatrain_timing::analyzer
