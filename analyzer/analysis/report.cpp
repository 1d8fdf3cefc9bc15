#include "analyzer/analysis/report.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <set>

#include "analyzer/analysis/loader_labels.hpp"
#include "analyzer/analysis/run_facts.hpp"
#include "analyzer/error.hpp"
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

// Of the loaders of one pass: those of the next come when its workers are gone.
std::int64_t count_workers(const Run& run, std::span<const Pass> passes,
                           const PhaseGroup& group) {
    std::int64_t most = 0;
    for (const std::size_t p : group.passes) {
        std::set<std::int32_t> loaders;
        std::int64_t workers = 0;
        for (const std::int32_t iterator : passes[p].iterators) {
            const auto at = static_cast<std::size_t>(iterator);
            const std::int32_t loader = run.iterators[at].loader;
            if (loader >= 0 && loaders.insert(loader).second) {
                workers += run.loaders[static_cast<std::size_t>(loader)].num_workers;
            }
        }
        most = std::max(most, workers);
    }
    return most;
}

// Whether no loader is used for a second pass, though there are several.
bool makes_loaders_anew(const Run& run, std::span<const Pass> passes,
                        const PhaseGroup& group) {
    std::set<std::int32_t> loaders;
    for (const std::size_t p : group.passes) {
        for (const std::int32_t iterator : passes[p].iterators) {
            const auto at = static_cast<std::size_t>(iterator);
            if (!loaders.insert(run.iterators[at].loader).second) {
                return false;
            }
        }
    }
    return static_cast<std::int64_t>(group.passes.size()) >
           count_ranks(run, passes, group);
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
        return weight_of_phase(phase.name, phase.time.wall_ns);
    };
    const auto main = std::max_element(phases.begin(), phases.end(),
                                       [&](const PhaseReport& a, const PhaseReport& b) {
                                           return weight(a) < weight(b);
                                       });
    if (main != phases.end()) {
        std::rotate(phases.begin(), main, main + 1);
    }
}

// What a phase has that no other phase needs to be looked at for.
PhaseReport describe_phase(const Findings& findings, std::size_t number) {
    const Run& run = findings.run();
    const std::vector<Pass>& passes = findings.passes();
    const PhaseGroup& group = findings.groups().groups[number];
    PhaseReport phase;
    phase.name = group.phase;
    phase.loader = group.loader;
    phase.group = number;
    phase.loaders = loaders_of_one_rank(run, group);
    phase.rank_count = count_ranks(run, passes, group);
    phase.worker_count =
        count_workers(run, passes, group) * std::max<std::int64_t>(phase.rank_count, 1);
    phase.makes_loaders_anew = makes_loaders_anew(run, passes, group);
    phase.steps = findings.series()[number];
    phase.rank_waits = find_rank_waits(run, passes, group);
    phase.cpus = measure_phase_cpus(run, passes, group);
    return phase;
}

// "'train', 'evaluation'": each once.
std::string names_of_phases(const Report& report) {
    std::vector<std::string> names;
    for (const PhaseReport& phase : report.phases) {
        const std::string name = "'" + phase.name + "'";
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            names.push_back(name);
        }
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Report make_report(const Findings& findings) {
    const Run& run = findings.run();
    const std::vector<Pass>& passes = findings.passes();
    const PhaseGroups& groups = findings.groups();
    const std::size_t count = groups.groups.size();

    auto workers = measure_workers(run, groups);
    std::vector<std::int64_t> worker_life_ns(count, 0);
    for (std::size_t g = 0; g < count; ++g) {
        for (const WorkerTime& worker : workers[g]) {
            worker_life_ns[g] += worker.life_ns;
        }
    }
    // The two that take longest, side by side where another thread can be had.
    auto waits = std::async(std::launch::async | std::launch::deferred,
                            [&] { return find_wait_causes(findings); });
    auto breakdowns = break_down(findings, worker_life_ns);
    auto causes = waits.get();
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
        PhaseReport phase = describe_phase(findings, g);
        phase.time = std::move(breakdowns.of_group[g]);
        phase.wait_causes = std::move(causes[g].causes);
        phase.pass_waits = std::move(causes[g].passes);
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

void choose_phase(Report& report, const std::string& wanted) {
    if (wanted.empty()) {
        return;
    }
    const auto found =
        std::find_if(report.phases.begin(), report.phases.end(),
                     [&](const PhaseReport& one) { return one.name == wanted; });
    if (found == report.phases.end()) {
        throw Error("phase '" + wanted + "': no such phase; there are " +
                        names_of_phases(report),
                    ErrorCode::usage);
    }
    std::rotate(report.phases.begin(), found, std::next(found));
    report.verdict = judge(report);
}

}  // namespace metatrain_timing::analyzer
