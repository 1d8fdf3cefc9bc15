#include "analyzer/replay/fit.hpp"

#include <algorithm>

#include "analyzer/replay/loader_replay.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr int kRounds = 12;
constexpr double kMostLost = 0.6;
constexpr double kCloseEnough = 1e-3;  // of a turn
// Until a sleeper notices, where a core is free for it. What it took in a crowd is the
// crowd's, and comes back with it.
constexpr double kWakeUpNs = 0.3e6;

double part_left(double wall_ns, double queued_ns) {
    return wall_ns > 0 ? std::clamp(1 - queued_ns / wall_ns, 0.4, 1.0) : 1;
}

Work shorten(const Work& work, double part, double least_ns) {
    return {std::max(work.wall_ns * part, std::min(least_ns, work.wall_ns)),
            work.cpu_ns};
}

// Several threads may share it. Those that are not held up spin until the others are
// there: their CPU time shrinks with the wall.
Work shorten_body(const Work& work, double part, const Cpus& cpus) {
    const bool spins = is_shared(work);
    const Work result{work.wall_ns * part, work.cpu_ns * (spins ? part : 1)};
    return {std::max(result.wall_ns, result.cpu_ns / cpus.count), result.cpu_ns};
}

Workload without_queues(const Workload& recorded, const RecordedMeans& means,
                        const Cpus& cpus) {
    const double fetch = part_left(means.fetch_ns, means.fetch_queued_ns);
    const double body = part_left(means.body_ns, means.body_queued_ns);
    Workload result = recorded;
    result.index_latency_ns = std::min(recorded.index_latency_ns, kWakeUpNs);
    result.batch_latency_ns = std::min(recorded.batch_latency_ns, kWakeUpNs);
    for (PassWork& pass : result.passes) {
        for (BatchWork& batch : pass.batches) {
            batch.fetch = shorten(batch.fetch, fetch, batch.fetch.cpu_ns);
            batch.body = shorten_body(batch.body, body, cpus);
        }
    }
    return result;
}

double mean_turn(const Workload& work, const LoaderSettings& settings,
                 const Cpus& cpus) {
    const auto turns = steady_turns(work, replay(work, settings, cpus));
    double sum_ns = 0;
    for (const ReplayedTurn& turn : turns) {
        sum_ns += turn.turn_ns();
    }
    return turns.empty() ? 0 : sum_ns / static_cast<double>(turns.size());
}

}  // namespace

FittedWorkload fit(const Workload& recorded, const RecordedMeans& means,
                   const LoaderSettings& settings, double cpus) {
    FittedWorkload as_recorded{recorded, {cpus, 0}};
    if (means.fetch_queued_ns <= 0 && means.body_queued_ns <= 0) {
        return as_recorded;
    }
    FittedWorkload fitted{without_queues(recorded, means, {cpus, 0}), {cpus, 0}};
    const double wanted_ns = means.turn_ns * (1 - kCloseEnough);
    const auto is_too_fast = [&](double lost_part) {
        return mean_turn(fitted.work, settings, {cpus, lost_part}) < wanted_ns;
    };
    if (!is_too_fast(0)) {
        return fitted;
    }
    if (is_too_fast(kMostLost)) {
        return as_recorded;  // other programs were in the way, not these threads
    }
    double too_fast = 0;
    double too_slow = kMostLost;
    for (int round = 0; round < kRounds; ++round) {
        const double middle = (too_slow + too_fast) / 2;
        (is_too_fast(middle) ? too_fast : too_slow) = middle;
    }
    fitted.cpus.lost_part = too_slow;
    return fitted;
}

}  // namespace metatrain_timing::analyzer
