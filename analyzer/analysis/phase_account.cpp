#include "analyzer/analysis/phase_account.hpp"

#include <algorithm>

#include "analyzer/analysis/epoch_starts.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Of one rank.
void add_steps(PhaseAccount& account, const ProcessSteps& process, std::size_t from) {
    std::vector<bool> is_steady(process.steps.size(), false);
    double steady_ns = 0;
    for (const std::uint32_t i : process.steady(from)) {
        is_steady[i] = true;
        steady_ns += static_cast<double>(process.steps[i].dur_ns);
    }
    account.long_steps_ns +=
        steady_ns - account.step_ns * static_cast<double>(process.steady(from).size());
    for (std::size_t i = 0; i < process.steps.size(); ++i) {
        const Step& step = process.steps[i];
        if (!is_steady[i] && step.complete && !step.begins_pass) {
            account.warm_up_ns += static_cast<double>(step.dur_ns) - account.step_ns;
        }
    }
}

// Which passes begin with a step that is steady, as all of them do.
bool begins_are_steady(const ProcessSteps& process, std::size_t from) {
    const auto steady = process.steady(from);
    return std::any_of(steady.begin(), steady.end(),
                       [&](std::uint32_t i) { return process.steps[i].begins_pass; });
}

// First steps by their pass, so that it is looked through once.
std::vector<double> first_steps_ns(const ProcessSteps& process, std::size_t passes) {
    std::vector<double> first(passes, -1);
    for (const Step& step : process.steps) {
        if (step.complete && step.begins_pass) {
            double& own = first[process.turns_of(step).front().pass];
            own = own < 0 ? static_cast<double>(step.dur_ns) : own;
        }
    }
    return first;
}

}  // namespace

PhaseAccount account_for(const Findings& findings, const CriticalSteps& steps,
                         double step_ns) {
    const PhaseGroup& group = findings.groups().groups[steps.group];
    const std::size_t from = steps.of_ranks.cut.from;
    PhaseAccount account;
    account.step_ns = step_ns;
    std::map<std::size_t, std::vector<double>> first_of_process;
    for (const auto& [index, process] : steps.of_ranks.processes) {
        account.steps +=
            static_cast<double>(process.all_steps(steps.of_ranks.by_optimizer));
        add_steps(account, process, from);
        first_of_process[index] = begins_are_steady(process, from)
                                      ? std::vector<double>(group.passes.size(), -1)
                                      : first_steps_ns(process, group.passes.size());
    }
    const auto starts =
        measure_epoch_starts(findings.run(), findings.passes(), findings.groups());
    for (std::size_t p = 0; p < group.passes.size(); ++p) {
        const Pass& pass = findings.passes()[group.passes[p]];
        const EpochStart& start = starts[steps.group][p];
        const double first_ns = first_of_process[pass.process][p];
        account.starts_ns.push_back(
            static_cast<double>(start.before_wall_ns + start.end_ns) +
            (first_ns < 0 ? 0 : first_ns - step_ns));
        account.epoch_starts_ns += account.starts_ns.back();
        account.wall_ns += static_cast<double>(pass.end_ns - pass.start_ns) +
                           static_cast<double>(start.before_wall_ns);
    }
    const auto ranks =
        static_cast<double>(std::max<std::size_t>(1, steps.of_ranks.processes.size()));
    for (double* sum : {&account.wall_ns, &account.steps, &account.long_steps_ns,
                        &account.warm_up_ns, &account.epoch_starts_ns}) {
        *sum /= ranks;
    }
    account.outside_ns = account.wall_ns - account.steps * step_ns -
                         account.long_steps_ns - account.warm_up_ns -
                         account.epoch_starts_ns;
    return account;
}

}  // namespace metatrain_timing::analyzer
