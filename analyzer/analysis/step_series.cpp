#include "analyzer/analysis/step_series.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "analyzer/analysis/steps.hpp"
#include "analyzer/stats/durations.hpp"

namespace metatrain_timing::analyzer {
namespace {

std::int64_t duration_ns(const Turn& turn) {
    return turn.wait_ns + turn.body_ns;
}

using Processes = std::map<std::size_t, ProcessSteps>;

void count(StepSeries& series, const Processes& processes, bool by_optimizer) {
    for (const auto& [index, process] : processes) {
        const std::int64_t steps = process.all_steps(by_optimizer);
        series.epochs = std::max(series.epochs, process.epochs);
        series.steps = std::max(series.steps, steps);
        series.all_steps += steps;
        series.micro_steps = std::max(series.micro_steps, process.all_turns());
        series.partial_steps = std::max(series.partial_steps, process.all_partial());
        series.summed_turns += process.summed.bodies;
    }
}

void measure_steady(StepSeries& series, const Processes& processes,
                    const SteadyState& cut, std::span<const Pass> passes,
                    const PhaseGroup& group) {
    for (const std::size_t p : group.passes) {
        series.steady_turns.emplace_back(passes[p].turns.size(), false);
    }
    series.settled = cut.settled;
    Durations steps;
    Durations turns;
    for (const auto& [index, process] : processes) {
        for (const std::uint32_t candidate : process.steady(cut.from)) {
            const Step& step = process.steps[candidate];
            if (cut.settled) {
                series.steady_from_step = std::min<std::int64_t>(
                    series.steady_from_step.value_or(step.number), step.number);
            }
            steps.add(step.dur_ns);
            series.accumulates |= step.turn_count > 1;
            for (const TurnRef at : process.turns_of(step)) {
                series.steady_turns[at.pass][at.turn] = true;
                turns.add(duration_ns(passes[group.passes[at.pass]].turns[at.turn]));
            }
        }
    }
    series.steady_steps = static_cast<std::int64_t>(steps.size());
    series.step = steps.summarize();
    series.turn = turns.summarize();
}

// Of all, where some turns are only summed.
void set_means(StepSeries& series, const Processes& processes,
               std::span<const Pass> passes, const PhaseGroup& group) {
    std::int64_t turns = 0;
    for (const auto& [index, process] : processes) {
        turns += process.all_turns();
    }
    std::int64_t total_ns = 0;
    for (const std::size_t p : group.passes) {
        total_ns += passes[p].wait_ns() + passes[p].body_ns();
    }
    const auto set = [&](std::optional<Summary>& summary, std::int64_t count) {
        if (summary && count > 0) {
            summary->mean_ns =
                static_cast<double>(total_ns) / static_cast<double>(count);
        }
    };
    if (series.summed_turns > 0) {
        set(series.step, series.all_steps);
        set(series.turn, turns);
    }
}

}  // namespace

StepSeries measure_steps(std::span<const Pass> passes, const PhaseGroup& group) {
    const GroupSteps steps = find_steps(passes, group);
    StepSeries series;
    count(series, steps.processes, steps.by_optimizer);
    measure_steady(series, steps.processes, steps.cut, passes, group);
    set_means(series, steps.processes, passes, group);
    return series;
}

}  // namespace metatrain_timing::analyzer
