#include "analyzer/analysis/checks.hpp"

#include <algorithm>

#include "analyzer/analysis/report.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Only where several workers make batches that are to be taken in order can one be
// held up by another.
bool has_a_line(const Report& report, const PhaseReport& phase) {
    return std::any_of(
        phase.loaders.begin(), phase.loaders.end(), [&](std::int32_t index) {
            const Loader& loader = report.run->loaders[static_cast<std::size_t>(index)];
            return loader.in_order && loader.num_workers > 1;
        });
}

std::optional<double> head_of_line_share(const PhaseReport& phase) {
    std::int64_t summed_ns = 0;
    for (const PassWaits& pass : phase.pass_waits) {
        summed_ns += pass.summed_ns;
    }
    if (2 * summed_ns > phase.time.loader_ns) {
        return std::nullopt;  // most waits are not on record one by one
    }
    std::int64_t held_ns = 0;
    for (const WaitCause& cause : phase.wait_causes) {
        held_ns += cause.head_of_line_ns;
    }
    return share_of(held_ns, phase.time.wall_ns);
}

std::optional<double> ranks_share(const RankWaits& waits) {
    if (waits.ranks.empty() || waits.step_ns <= 0) {
        return std::nullopt;
    }
    return waits.straggler ? waits.cost_ns / waits.step_ns : 0;
}

// What workers lack of CPUs counts as far as it is waited for.
std::optional<double> worker_cpu_share(const PhaseReport& phase, double wait_share) {
    const auto& queued = phase.cpus.worker_queued_share;
    return queued ? std::optional(*queued * wait_share) : std::nullopt;
}

}  // namespace

std::string_view to_string(Suspect suspect) {
    switch (suspect) {
        case Suspect::epoch_starts:
            return "epoch_starts";
        case Suspect::head_of_line:
            return "head_of_line";
        case Suspect::training_cpu:
            return "training_cpu";
        case Suspect::worker_cpu:
            return "worker_cpu";
        case Suspect::ranks:
            return "ranks";
    }
    return "";
}

std::vector<Check> check_suspects(const Report& report, double between_share,
                                  double wait_share) {
    const PhaseReport& phase = report.phases.front();
    std::vector<Check> checks{{Suspect::epoch_starts, between_share}};
    if (has_a_line(report, phase)) {
        checks.push_back({Suspect::head_of_line, head_of_line_share(phase)});
    }
    checks.push_back({Suspect::training_cpu, phase.cpus.main_queued_share});
    if (phase.worker_count > 0) {
        checks.push_back({Suspect::worker_cpu, worker_cpu_share(phase, wait_share)});
    }
    if (phase.rank_count > 1) {
        checks.push_back({Suspect::ranks, ranks_share(phase.rank_waits)});
    }
    return checks;
}

}  // namespace metatrain_timing::analyzer
