#include "analyzer/analysis/compared_run.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace metatrain_timing::analyzer {
namespace {

std::int64_t wall_ns(const Findings& findings, const PhaseGroup& group) {
    std::int64_t total_ns = 0;
    for (const std::size_t p : group.passes) {
        total_ns += findings.passes()[p].end_ns - findings.passes()[p].start_ns;
    }
    return total_ns;
}

std::optional<std::size_t> choose_group(const Findings& findings,
                                        const std::string& phase) {
    std::optional<std::size_t> best;
    std::tuple<bool, bool, std::int64_t> best_weight;
    for (std::size_t g = 0; g < findings.groups().groups.size(); ++g) {
        const PhaseGroup& group = findings.groups().groups[g];
        if (!findings.series()[g].step || (!phase.empty() && group.phase != phase)) {
            continue;
        }
        const auto weight = weight_of_phase(group.phase, wall_ns(findings, group));
        if (!best || weight > best_weight) {
            best = g;
            best_weight = weight;
        }
    }
    return best;
}

}  // namespace

std::optional<ComparedRun> prepare(std::string path, std::unique_ptr<const Run> run,
                                   const std::string& phase) {
    ComparedRun compared;
    compared.path = std::move(path);
    compared.run = std::move(run);
    compared.findings = std::make_unique<Findings>(*compared.run);
    const auto group = choose_group(*compared.findings, phase);
    if (!group) {
        return std::nullopt;
    }
    compared.group = *group;
    compared.facts = run_facts(*compared.findings, *group);
    compared.steps = find_critical_steps(*compared.findings, *group);
    const auto& steady = compared.steps.steady;
    if (std::all_of(steady.begin(), steady.end(),
                    [](const CriticalStep& step) { return step.dur_ns == 0; })) {
        return std::nullopt;
    }
    compared.fetches = find_fetch_parts(*compared.findings, *group);
    return compared;
}

}  // namespace metatrain_timing::analyzer
