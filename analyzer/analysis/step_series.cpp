#include "analyzer/analysis/step_series.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/stats/steady_state.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct TurnRef {
    std::size_t pass = 0;  // position in the group
    std::size_t turn = 0;
};

struct Step {
    std::vector<TurnRef> turns;
    std::int64_t number = 0;
    std::int64_t dur_ns = 0;
    bool complete = false;
    bool begins_pass = false;
    bool follows_gap = false;  // may lack turns
    bool lacks_wait = false;   // of one of its turns
};

// What one process did for the group.
struct ProcessSteps {
    std::int64_t epochs = 0;
    std::int64_t turns = 0;
    std::int64_t partial = 0;
    std::int64_t complete = 0;
    std::int64_t optimizer_calls = 0;
    SummedTurns summed;
    std::vector<Step> steps;
    std::vector<std::size_t> candidates;  // steps that may be steady

    std::int64_t all_turns() const { return turns + summed.bodies; }
    std::int64_t all_partial() const {
        return std::max<std::int64_t>(0, partial + summed.unfinished);
    }
    // Those only summed have as many optimizer calls each as those on record.
    std::int64_t all_steps(bool by_optimizer) const {
        if (!by_optimizer || optimizer_calls == 0) {
            return complete + (by_optimizer ? summed.optimizer_calls : summed.bodies);
        }
        return complete + std::llround(static_cast<double>(summed.optimizer_calls) *
                                       static_cast<double>(complete) /
                                       static_cast<double>(optimizer_calls));
    }
};

std::int64_t duration_ns(const Turn& turn) {
    return turn.wait_ns + turn.body_ns;
}

void add_turn(ProcessSteps& process, TurnRef at, const Pass& pass, bool by_optimizer) {
    const Turn& turn = pass.turns[at.turn];
    std::vector<Step>& steps = process.steps;
    const bool numbered = by_optimizer && turn.step >= 0;
    const bool goes_on = by_optimizer && !turn.follows_gap && !steps.empty() &&
                         !steps.back().complete &&
                         (!numbered || steps.back().number == turn.step);
    if (!goes_on) {
        const auto position = static_cast<std::int64_t>(steps.size());
        steps.emplace_back();
        steps.back().number = numbered ? turn.step : position;
        steps.back().follows_gap = turn.follows_gap;
    }
    Step& step = steps.back();
    step.turns.push_back(at);
    step.dur_ns += duration_ns(turn);
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
        for (std::size_t i = 0; i < process.steps.size(); ++i) {
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
        for (const std::size_t i : process.candidates) {
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
            add_turn(process, {p, t}, pass, by_optimizer);
        }
    }
    for (auto& [index, process] : processes) {
        choose_candidates(process);
    }
    return processes;
}

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
                    std::span<const Pass> passes, const PhaseGroup& group) {
    for (const std::size_t p : group.passes) {
        series.steady_turns.emplace_back(passes[p].turns.size(), false);
    }
    const SteadyState cut = find_cut(processes);
    series.settled = cut.settled;
    std::vector<std::int64_t> step_ns;
    std::vector<std::int64_t> turn_ns;
    for (const auto& [index, process] : processes) {
        for (std::size_t c = std::min(cut.from, process.candidates.size());
             c < process.candidates.size(); ++c) {
            const Step& step = process.steps[process.candidates[c]];
            if (cut.settled) {
                series.steady_from_step = std::min(
                    series.steady_from_step.value_or(step.number), step.number);
            }
            step_ns.push_back(step.dur_ns);
            series.accumulates |= step.turns.size() > 1;
            for (const TurnRef at : step.turns) {
                series.steady_turns[at.pass][at.turn] = true;
                turn_ns.push_back(
                    duration_ns(passes[group.passes[at.pass]].turns[at.turn]));
            }
        }
    }
    series.steady_steps = static_cast<std::int64_t>(step_ns.size());
    series.step = summarize(step_ns);
    series.turn = summarize(turn_ns);
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
    const bool by_optimizer = steps_by_optimizer(passes, group);
    const Processes processes = collect(passes, group, by_optimizer);
    StepSeries series;
    count(series, processes, by_optimizer);
    measure_steady(series, processes, passes, group);
    set_means(series, processes, passes, group);
    return series;
}

}  // namespace metatrain_timing::analyzer
