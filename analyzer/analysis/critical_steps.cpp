#include "analyzer/analysis/critical_steps.hpp"

#include <algorithm>
#include <unordered_map>

namespace metatrain_timing::analyzer {
namespace {

// Steady steps of one rank, in their order.
std::vector<CriticalStep> steps_of_rank(const ProcessSteps& process, std::size_t index,
                                        std::size_t from) {
    std::vector<CriticalStep> steps;
    for (const std::uint32_t candidate : process.steady(from)) {
        const Step& step = process.steps[candidate];
        steps.push_back({step.number, step.dur_ns, index, candidate});
    }
    return steps;
}

// Keeps of `slowest` what the rank has too, with the longer of the two.
void join(std::vector<CriticalStep>& slowest, const std::vector<CriticalStep>& rank) {
    std::vector<CriticalStep> joined;
    auto other = rank.begin();
    for (const CriticalStep& step : slowest) {
        while (other != rank.end() && other->number < step.number) {
            ++other;
        }
        if (other != rank.end() && other->number == step.number) {
            joined.push_back(other->dur_ns > step.dur_ns ? *other : step);
            ++other;
        }
    }
    slowest = std::move(joined);
}

// When turns of a process begin, and which steady step each belongs to.
struct TurnTime {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::size_t step = 0;  // position in CriticalSteps::steady
};

std::vector<TurnTime> turn_times(const Findings& findings, const CriticalSteps& steps,
                                 const ProcessSteps& process) {
    std::unordered_map<std::int32_t, std::size_t> position_of;
    for (std::size_t i = 0; i < steps.steady.size(); ++i) {
        position_of.emplace(steps.steady[i].number, i);
    }
    const PhaseGroup& group = findings.groups().groups[steps.group];
    std::vector<TurnTime> times;
    for (const std::uint32_t candidate : process.steady(steps.of_ranks.cut.from)) {
        const Step& step = process.steps[candidate];
        const auto position = position_of.find(step.number);
        if (position == position_of.end()) {
            continue;
        }
        for (const TurnRef at : process.turns_of(step)) {
            const Turn& turn = findings.passes()[group.passes[at.pass]].turns[at.turn];
            times.push_back({turn.start_ns, turn.end_ns, position->second});
        }
    }
    std::sort(times.begin(), times.end(), [](const TurnTime& a, const TurnTime& b) {
        return a.start_ns < b.start_ns;
    });
    return times;
}

// What the process counted in its steady steps.
void add_units(CriticalSteps& steps, const Findings& findings, std::size_t index) {
    const Run& run = findings.run();
    const auto of_process = steps.of_ranks.processes.find(index);
    const std::vector<TurnTime> times = turn_times(findings, steps, of_process->second);
    for (const Track& track : run.processes[index].tracks) {
        for (const Counter& counter : track.counters) {
            if (findings.groups().group_of(counter.iterator) != steps.group) {
                continue;
            }
            const auto next =
                std::upper_bound(times.begin(), times.end(), counter.at_ns,
                                 [](std::int64_t at_ns, const TurnTime& time) {
                                     return at_ns < time.start_ns;
                                 });
            if (next == times.begin()) {
                continue;
            }
            const TurnTime& turn = *std::prev(next);
            if (turn.end_ns < counter.at_ns) {
                continue;
            }
            auto& counts = steps.units[run.counter_names[counter.name]];
            counts.resize(steps.steady.size());
            counts[turn.step] += counter.value;
        }
    }
}

}  // namespace

CriticalSteps find_critical_steps(const Findings& findings, std::size_t group) {
    CriticalSteps steps;
    steps.group = group;
    steps.of_ranks = find_steps(findings.passes(), findings.groups().groups[group]);
    const std::size_t from = steps.of_ranks.cut.from;
    bool is_first = true;
    for (const auto& [index, process] : steps.of_ranks.processes) {
        if (is_first) {
            steps.steady = steps_of_rank(process, index, from);
            steps.warm_up_steps = static_cast<std::int64_t>(
                process.candidates.size() - process.steady(from).size());
            is_first = false;
        } else {
            join(steps.steady, steps_of_rank(process, index, from));
        }
    }
    if (!steps.steady.empty()) {
        for (const auto& [index, process] : steps.of_ranks.processes) {
            add_units(steps, findings, index);
        }
    }
    return steps;
}

}  // namespace metatrain_timing::analyzer
