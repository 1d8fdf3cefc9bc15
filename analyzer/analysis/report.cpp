#include "analyzer/analysis/report.hpp"

#include <algorithm>
#include <set>

#include "analyzer/analysis/loader_labels.hpp"
#include "analyzer/analysis/loops.hpp"
#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/model/ended.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Loaders of the first rank that has any: the others' are the same loaders again.
std::vector<std::int32_t> loaders_of_one_rank(const Run& run, const PhaseGroup& group) {
    std::vector<std::int32_t> loaders;
    for (const std::int32_t loader : group.loaders) {
        const auto process_of = [&](std::int32_t l) {
            return run.loaders[static_cast<std::size_t>(l)].process;
        };
        if (loaders.empty() || process_of(loader) == process_of(loaders.front())) {
            loaders.push_back(loader);
        }
    }
    return loaders;
}

std::int64_t count_ranks(const Run& run, std::span<const Pass> passes,
                         const PhaseGroup& group) {
    std::set<std::int64_t> ranks;
    for (const std::size_t p : group.passes) {
        ranks.insert(run.processes[passes[p].process].rank);
    }
    return static_cast<std::int64_t>(ranks.size());
}

std::int64_t count_ranks(const Run& run) {
    std::set<std::int64_t> ranks;
    for (const Process& process : run.processes) {
        if (process.role == Role::main) {
            ranks.insert(process.rank);
        }
    }
    return static_cast<std::int64_t>(ranks.size());
}

std::vector<std::pair<std::string, std::string>> environment_of(const Run& run) {
    for (const Process& process : run.processes) {
        if (process.role == Role::main && !process.environment.empty()) {
            return process.environment;
        }
    }
    return {};
}

UnusedPasses sum_up_unused(const Run& run, const PhaseGroups& groups, std::size_t group,
                           const std::vector<WorkerTime>& workers) {
    UnusedPasses unused;
    unused.loader = groups.groups[group].loader;
    for (std::size_t i = 0; i < run.iterators.size(); ++i) {
        unused.passes +=
            groups.group_of_iterator[i] == static_cast<std::int32_t>(group);
    }
    for (const WorkerTime& worker : workers) {
        unused.batches += worker.batches;
        unused.worker_ns += worker.busy_ns;
    }
    return unused;
}

// Where a mistake in reading the report would be likely otherwise.
void add_warnings(Report& report) {
    for (const Process& process : report.run->processes) {
        for (const Warning& problem : process.health) {
            const bool known = std::any_of(
                report.warnings.begin(), report.warnings.end(),
                [&](const Warning& other) {
                    return other.code == problem.code && other.text == problem.text;
                });
            if (!known) {
                report.warnings.push_back(problem);
            }
        }
    }
    for (const PhaseReport& phase : report.phases) {
        if (!phase.steps.settled) {
            report.warnings.push_back(
                {"no_steady_state", "the step times of " + phase.name +
                                        " never settled; means are of all steps"});
        }
    }
}

// The phase that the run is about: the training that took longest, else the longest.
void put_main_phase_first(std::vector<PhaseReport>& phases) {
    const auto weight = [](const PhaseReport& phase) {
        return std::make_pair(phase.name == "train", phase.time.wall_ns);
    };
    const auto main = std::max_element(phases.begin(), phases.end(),
                                       [&](const PhaseReport& a, const PhaseReport& b) {
                                           return weight(a) < weight(b);
                                       });
    if (main != phases.end()) {
        std::rotate(phases.begin(), main, main + 1);
    }
}

}  // namespace

Report make_report(const Run& run) {
    const std::vector<Pass> passes = find_passes(run);
    const PhaseGroups groups = group_passes(run, passes);
    const std::size_t count = groups.groups.size();

    std::vector<StepSeries> series;
    for (const PhaseGroup& group : groups.groups) {
        series.push_back(measure_steps(passes, group));
    }
    auto workers = measure_workers(run, groups);
    std::vector<std::int64_t> worker_life_ns(count, 0);
    for (std::size_t g = 0; g < count; ++g) {
        for (const WorkerTime& worker : workers[g]) {
            worker_life_ns[g] += worker.life_ns;
        }
    }
    auto breakdowns = break_down(run, passes, groups, series, worker_life_ns);
    auto causes = find_wait_causes(run, passes, groups);
    auto rates = measure_rates(run, passes, groups);
    auto starts = measure_epoch_starts(run, passes, groups);

    Report report;
    report.run = &run;
    report.rank_count = count_ranks(run);
    report.ended = ended(run);
    report.loader_labels = loader_labels(run, passes);
    report.environment = environment_of(run);
    for (std::size_t g = 0; g < count; ++g) {
        const PhaseGroup& group = groups.groups[g];
        if (group.passes.empty()) {
            report.unused.push_back(sum_up_unused(run, groups, g, workers[g]));
            continue;
        }
        PhaseReport phase;
        phase.name = group.phase;
        phase.loader = group.loader;
        phase.loaders = loaders_of_one_rank(run, group);
        phase.rank_count = count_ranks(run, passes, group);
        phase.steps = std::move(series[g]);
        phase.time = std::move(breakdowns.of_group[g]);
        phase.wait_causes = std::move(causes[g]);
        phase.workers = std::move(workers[g]);
        phase.counters = std::move(rates[g]);
        phase.epoch_starts = std::move(starts[g]);
        report.phases.push_back(std::move(phase));
    }
    put_main_phase_first(report.phases);
    report.run_time = measure_run_time(run, passes, groups);
    report.other_threads = std::move(breakdowns.other_threads);
    report.processes = list_processes(run);
    report.warnings = run.warnings;
    add_warnings(report);
    report.verdict = judge(report);
    return report;
}

bool focus_on(Report& report, const std::string& phase) {
    const auto wanted =
        std::find_if(report.phases.begin(), report.phases.end(),
                     [&](const PhaseReport& one) { return one.name == phase; });
    if (wanted == report.phases.end()) {
        return false;
    }
    std::rotate(report.phases.begin(), wanted, std::next(wanted));
    report.verdict = judge(report);
    return true;
}

}  // namespace metatrain_timing::analyzer
