#include "analyzer/analysis/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analyzer/analysis/metric_maker.hpp"
#include "analyzer/analysis/needed.hpp"
#include "analyzer/analysis/stage_metrics.hpp"
#include "analyzer/analysis/time_metrics.hpp"
#include "analyzer/stats/mean.hpp"

namespace metatrain_timing::analyzer {
namespace {

using Runs = std::span<const ComparedRun>;

constexpr double kLeastCount = 1e-6;  // of what a step may be divided by

// What a step holds on average; 0 where a run did not count that in every step.
double units_of(Runs side, const std::string& unit) {
    double mean = 0;
    for (const ComparedRun& run : side) {
        const auto counted = run.steps.units.find(unit);
        if (counted == run.steps.units.end()) {
            return 0;
        }
        const std::vector<double>& counts = counted->second;
        if (std::any_of(counts.begin(), counts.end(),
                        [](double count) { return !(count >= kLeastCount); })) {
            return 0;
        }
        mean += mean_of(counts) / static_cast<double>(side.size());
    }
    return mean;
}

// What steps are divided by where their sizes differ: samples or structures before
// atoms, as of these an epoch has as many whatever the batches are.
std::string choose_unit(Runs before, Runs after) {
    constexpr double kSameSize = 0.005;
    std::vector<std::string> names{"samples", "structures"};
    for (const auto& [name, counts] : before.front().steps.units) {
        names.push_back(name);
    }
    for (const std::string& name : names) {
        const double a = units_of(before, name);
        const double b = units_of(after, name);
        if (a > 0 && b > 0) {
            return std::abs(a - b) > kSameSize * std::max(a, b) ? name : "";
        }
    }
    return "";
}

std::vector<MeasuredRun> measure_all(Runs runs, const StepNumbers& numbers,
                                     const std::string& unit) {
    std::vector<MeasuredRun> side;
    for (const ComparedRun& run : runs) {
        side.push_back(measure(run, numbers, unit));
    }
    return side;
}

bool are_same_runs(Runs before, Runs after) {
    const auto identities = [](Runs side) {
        std::multiset<std::string> all;
        for (const ComparedRun& run : side) {
            all.insert(run.run->uuid);
        }
        return all;
    };
    return identities(before) == identities(after);
}

DiffSide describe_side(const std::vector<MeasuredRun>& measured,
                       const std::string& unit) {
    DiffSide side;
    for (const MeasuredRun& run : measured) {
        side.runs.push_back(run.compared);
        side.steps += static_cast<std::int64_t>(run.range.steps.size());
        side.effective_steps += run.step.effective_count;
        side.steady_steps +=
            static_cast<std::int64_t>(run.compared->steps.steady.size());
        side.warm_up_steps += run.compared->steps.warm_up_steps;
        if (side.shifts.empty()) {
            side.shifts = run.shifts;
        }
    }
    const MeasuredRun& first = measured.front();
    side.first_step = first.range.steps.front().number;
    side.last_step = first.range.steps.back().number;
    if (first.range.steps.size() < first.compared->steps.steady.size()) {
        for (const StepShift& shift : find_shifts(*first.compared, unit)) {
            if (shift.step <= side.first_step || shift.step >= side.last_step) {
                side.other_shifts.push_back(shift);
            }
        }
    }
    return side;
}

// Whether both sides change at the same steps, as far as blocks of steps can tell.
bool line_up(const DiffSide& before, const DiffSide& after) {
    constexpr double kNear = 0.05;  // of the steps compared
    const auto near = static_cast<std::int64_t>(
        kNear * static_cast<double>(before.last_step - before.first_step));
    return before.shifts.size() == after.shifts.size() &&
           std::equal(before.shifts.begin(), before.shifts.end(), after.shifts.begin(),
                      [&](const StepShift& a, const StepShift& b) {
                          return std::abs(a.step - b.step) <= near &&
                                 (a.relative > 0) == (b.relative > 0);
                      });
}

// Runs of one side are to be of one workload.
void require_like_runs(Diff& diff, Runs side, const char* whose) {
    std::string work;
    std::string settings;
    for (const ComparedRun& run : side) {
        for (const ChangedFact& fact : changed_facts(side.front().facts, run.facts)) {
            std::string& keys = fact.kind == FactKind::setting ? settings : work;
            if (fact.key != "command" && keys.find(fact.key) == std::string::npos) {
                keys += (keys.empty() ? "" : ", ") + fact.key;
            }
        }
    }
    if (!settings.empty()) {
        diff.warnings.push_back(
            {"facts_differ",
             fmt::format("runs of the {} side differ in {}", whose, settings)});
    }
    if (!work.empty() && !diff.options.force) {
        diff.step.change = Change::not_comparable;
        diff.reasons.push_back(
            fmt::format("Runs of the {} side did different work ({})", whose, work));
    }
}

// What both sides have in common is no noise.
void leave_out_shifts(Sides& sides) {
    for (auto* side : {&sides.before, &sides.after}) {
        for (MeasuredRun& run : *side) {
            run.step.error = run.error_between_shifts;
        }
    }
}

std::string describe_shift(const StepShift& shift) {
    return fmt::format("from step {} on its steps take {:+.0f} %", shift.step,
                       100 * shift.relative);
}

// Runs whose step time changes in the middle are no better than others for their first
// or last steps: which of them are to be compared nobody knows.
void require_stability(Diff& diff) {
    if (!line_up(diff.before, diff.after)) {
        const bool first = diff.before.shifts.size() >= diff.after.shifts.size();
        const DiffSide& side = first ? diff.before : diff.after;
        diff.reasons.push_back(fmt::format(
            "The {} side did not stay the same: {}, the other side's do not",
            first ? "first" : "second", describe_shift(side.shifts.front())));
        diff.step.change = Change::inconclusive;
        diff.needed = {};
    }
    for (const DiffSide* side : {&diff.before, &diff.after}) {
        if (!side->other_shifts.empty()) {
            const std::string whose = side == &diff.before ? "first" : "second";
            diff.warnings.push_back(
                {"step_changed",
                 fmt::format("the {} side changed where it is not compared: {}", whose,
                             describe_shift(side->other_shifts.front()))});
        }
    }
}

// Facts that make it another workload: sizes too, where nothing was counted that steps
// could be divided by.
void require_same_work(Diff& diff) {
    std::string keys;
    for (const ChangedFact& fact : diff.changed) {
        const bool matters = fact.kind == FactKind::workload ||
                             (fact.kind == FactKind::size && diff.unit.empty());
        if (matters && !fact.before.empty() && !fact.after.empty()) {
            keys += (keys.empty() ? "" : ", ") + fact.key;
        }
    }
    if (!keys.empty() && !diff.options.force) {
        diff.step.change = Change::not_comparable;
        diff.reasons.push_back("Both sides did different work (" + keys +
                               "): see the tables, or judge all the same by --force");
    }
}

}  // namespace

RunNoise assumed_noise() {
    return {0.01, 3, "assumed", 0};
}

Diff compare(std::span<const ComparedRun> before, std::span<const ComparedRun> after,
             const DiffOptions& options) {
    Diff diff;
    diff.options = options;
    diff.changed = changed_facts(before.front().facts, after.front().facts);
    diff.same_facts = count_same(before.front().facts, after.front().facts);
    diff.unit = choose_unit(before, after);
    diff.units_before = units_of(before, diff.unit);
    diff.units_after = units_of(after, diff.unit);
    StepNumbers numbers;
    if (diff.unit.empty()) {
        numbers = common_steps({before, after});
    }
    if (numbers.empty()) {
        numbers = {};
        diff.warnings.push_back({"no_common_steps",
                                 "no number of a steady step is on both sides: all "
                                 "steady steps are compared"});
    }
    Sides sides{measure_all(before, numbers, diff.unit),
                measure_all(after, numbers, diff.unit), are_same_runs(before, after)};
    diff.before = describe_side(sides.before, diff.unit);
    diff.after = describe_side(sides.after, diff.unit);
    if (line_up(diff.before, diff.after)) {
        leave_out_shifts(sides);
    }
    diff.step = compare_steps(sides, options);
    diff.stages = compare_stages(sides, options);
    diff.fetches = compare_fetches(sides, options);
    diff.distribution = compare_distribution(sides, options);
    diff.wall = compare_wall(sides, options);
    diff.beyond = compare_beyond(sides, options);
    diff.epoch_start = compare_epoch_starts(sides, options);
    if (sides.are_same) {
        diff.warnings.push_back(
            {"same_run", "both sides are the same run: there is nothing to find"});
        return diff;
    }
    if (diff.step.change == Change::inconclusive) {
        diff.needed = find_needed(sides, diff.step, options);
    }
    require_stability(diff);
    require_steps(diff);
    require_same_work(diff);
    require_like_runs(diff, before, "first");
    require_like_runs(diff, after, "second");
    return diff;
}

}  // namespace metatrain_timing::analyzer
