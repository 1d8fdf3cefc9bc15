#include "analyzer/analysis/step_series.hpp"

#include <algorithm>
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
};

// What one process did for the group.
struct ProcessSteps {
    std::int64_t epochs = 0;
    std::int64_t turns = 0;
    std::int64_t partial = 0;
    std::int64_t complete = 0;
    std::vector<Step> steps;
    std::vector<std::size_t> candidates;  // steps that may be steady
};

std::int64_t duration_ns(const Turn& turn) {
    return turn.wait_ns + turn.body_ns;
}

void add_turn(ProcessSteps& process, TurnRef at, const Turn& turn, bool by_optimizer) {
    std::vector<Step>& steps = process.steps;
    const bool numbered = by_optimizer && turn.step >= 0;
    const bool goes_on = by_optimizer && !steps.empty() && !steps.back().complete &&
                         (!numbered || steps.back().number == turn.step);
    if (!goes_on) {
        const auto position = static_cast<std::int64_t>(steps.size());
        steps.emplace_back();
        steps.back().number = numbered ? turn.step : position;
    }
    Step& step = steps.back();
    step.turns.push_back(at);
    step.dur_ns += duration_ns(turn);
    step.begins_pass |= at.turn == 0;
    step.complete = !by_optimizer || turn.has_optimizer;
    process.complete += step.complete ? 1 : 0;
}

void choose_candidates(ProcessSteps& process) {
    const auto choose = [&](auto accepts) {
        process.candidates.clear();
        for (std::size_t i = 0; i < process.steps.size(); ++i) {
            if (process.steps[i].complete && accepts(i)) {
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

}  // namespace

StepSeries measure_steps(std::span<const Pass> passes, const PhaseGroup& group) {
    const bool by_optimizer =
        std::any_of(group.passes.begin(), group.passes.end(), [&](std::size_t i) {
            const auto& turns = passes[i].turns;
            return std::any_of(turns.begin(), turns.end(),
                               [](const Turn& turn) { return turn.has_optimizer; });
        });

    StepSeries series;
    std::map<std::size_t, ProcessSteps> processes;
    for (std::size_t p = 0; p < group.passes.size(); ++p) {
        const Pass& pass = passes[group.passes[p]];
        ProcessSteps& process = processes[pass.process];
        process.epochs += 1;
        series.steady_turns.emplace_back(pass.turns.size(), false);
        for (std::size_t t = 0; t < pass.turns.size(); ++t) {
            if (pass.turns[t].partial) {
                process.partial += 1;
                continue;
            }
            process.turns += 1;
            add_turn(process, {p, t}, pass.turns[t], by_optimizer);
        }
    }
    for (auto& [index, process] : processes) {
        choose_candidates(process);
        series.epochs = std::max(series.epochs, process.epochs);
        series.steps = std::max(series.steps, process.complete);
        series.micro_steps = std::max(series.micro_steps, process.turns);
        series.partial_steps = std::max(series.partial_steps, process.partial);
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
    return series;
}

}  // namespace metatrain_timing::analyzer
