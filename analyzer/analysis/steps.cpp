#include "analyzer/analysis/steps.hpp"

#include <cmath>

namespace metatrain_timing::analyzer {
namespace {

void add_turn(ProcessSteps& process, TurnRef at, const Pass& pass, bool by_optimizer) {
    const Turn& turn = pass.turns[at.turn];
    std::vector<Step>& steps = process.steps;
    const bool numbered = by_optimizer && turn.step >= 0;
    const bool goes_on = by_optimizer && !turn.follows_gap && !steps.empty() &&
                         !steps.back().complete &&
                         (!numbered || steps.back().number == turn.step);
    if (!goes_on) {
        const auto position = static_cast<std::int32_t>(steps.size());
        steps.emplace_back();
        steps.back().number = numbered ? turn.step : position;
        steps.back().follows_gap = turn.follows_gap;
        steps.back().first_turn = static_cast<std::uint32_t>(process.turn_refs.size());
    }
    Step& step = steps.back();
    process.turn_refs.push_back(at);
    step.turn_count += 1;
    step.dur_ns += turn.wait_ns + turn.body_ns;
    step.lacks_wait |= turn.lacks_wait();
    step.begins_pass |= at.turn == 0 && turn.start_ns == pass.start_ns;
    step.complete = !by_optimizer || turn.has_optimizer();
    process.complete += step.complete ? 1 : 0;
    process.optimizer_calls += turn.optimizer_calls;
}

void choose_candidates(ProcessSteps& process) {
    const bool accumulates = process.turns > process.complete;
    const auto choose = [&](auto accepts) {
        process.candidates.clear();
        for (std::uint32_t i = 0; i < process.steps.size(); ++i) {
            const Step& step = process.steps[i];
            const bool is_whole =
                !step.lacks_wait && !(accumulates && step.follows_gap);
            if (step.complete && is_whole && accepts(i)) {
                process.candidates.push_back(i);
            }
        }
        return !process.candidates.empty();
    };
    // Where every step begins a pass there is nothing else to show.
    if (!choose([&](std::size_t i) { return !process.steps[i].begins_pass; }) &&
        !choose([](std::size_t i) { return i > 0; })) {
        choose([](std::size_t) { return true; });
    }
}

SteadyState find_cut(const std::map<std::size_t, ProcessSteps>& processes) {
    SteadyState cut;
    for (const auto& [index, process] : processes) {
        std::vector<std::int64_t> series;
        series.reserve(process.candidates.size());
        for (const std::uint32_t i : process.candidates) {
            series.push_back(process.steps[i].dur_ns);
        }
        const SteadyState own = find_steady_state(series);
        cut.from = std::max(cut.from, own.from);
        cut.settled &= own.settled;
    }
    if (!cut.settled) {
        cut.from = 0;
    }
    return cut;
}

using Processes = std::map<std::size_t, ProcessSteps>;

bool steps_by_optimizer(std::span<const Pass> passes, const PhaseGroup& group) {
    return std::any_of(group.passes.begin(), group.passes.end(), [&](std::size_t i) {
        const auto& turns = passes[i].turns;
        return (passes[i].summed && passes[i].summed->optimizer_calls > 0) ||
               std::any_of(turns.begin(), turns.end(),
                           [](const Turn& turn) { return turn.has_optimizer(); });
    });
}

Processes collect(std::span<const Pass> passes, const PhaseGroup& group,
                  bool by_optimizer) {
    Processes processes;
    for (std::size_t p = 0; p < group.passes.size(); ++p) {
        const Pass& pass = passes[group.passes[p]];
        ProcessSteps& process = processes[pass.process];
        process.epochs += 1;
        process.summed += pass.summed.value_or(SummedTurns());
        for (std::size_t t = 0; t < pass.turns.size(); ++t) {
            if (pass.turns[t].partial) {
                process.partial += 1;
                continue;
            }
            process.turns += 1;
            process.partial -= pass.turns[t].lacks_wait() ? 1 : 0;  // it is summed
            const TurnRef at{static_cast<std::uint32_t>(p),
                             static_cast<std::uint32_t>(t)};
            add_turn(process, at, pass, by_optimizer);
        }
    }
    for (auto& [index, process] : processes) {
        choose_candidates(process);
    }
    return processes;
}

}  // namespace

std::int64_t ProcessSteps::all_steps(bool by_optimizer) const {
    if (!by_optimizer || optimizer_calls == 0) {
        return complete + (by_optimizer ? summed.optimizer_calls : summed.bodies);
    }
    return complete + std::llround(static_cast<double>(summed.optimizer_calls) *
                                   static_cast<double>(complete) /
                                   static_cast<double>(optimizer_calls));
}

GroupSteps find_steps(std::span<const Pass> passes, const PhaseGroup& group) {
    GroupSteps steps;
    steps.by_optimizer = steps_by_optimizer(passes, group);
    steps.processes = collect(passes, group, steps.by_optimizer);
    steps.cut = find_cut(steps.processes);
    return steps;
}

}  // namespace metatrain_timing::analyzer
