#include "analyzer/analysis/epoch_starts.hpp"

#include <cmath>
#include <map>

#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Making the workers of a pass, in the training process.
struct WorkerStart {
    std::int64_t start_ns = 0;
    std::int64_t total_ns = 0;
};

// Of each pass.
std::vector<std::vector<WorkerStart>> find_worker_starts(const Run& run) {
    const StageNumbers stages(run);
    std::vector<std::vector<WorkerStart>> starts(run.iterators.size());
    for (const Process& process : run.processes) {
        if (process.role == Role::worker) {
            continue;
        }
        for (const Track& track : process.tracks) {
            for (const Interval& interval : track.intervals) {
                if (is(interval, stages.worker_start) && interval.iterator >= 0) {
                    starts[static_cast<std::size_t>(interval.iterator)].push_back(
                        {interval.start_ns, interval.dur_ns});
                }
            }
            for (const IntervalTotal& total : track.totals) {
                if (total.stage == stages.worker_start && total.iterator >= 0 &&
                    total.calls > 0) {
                    starts[static_cast<std::size_t>(total.iterator)].push_back(
                        {total.first_ns, total.total_ns});
                }
            }
        }
    }
    return starts;
}

bool has_first_turn(const Pass& pass) {
    return !pass.turns.empty() && pass.turns.front().start_ns == pass.start_ns;
}

}  // namespace

EpochStartSums sum_up(const std::vector<EpochStart>& starts) {
    EpochStartSums sums;
    for (const EpochStart& start : starts) {
        ++sums.passes;
        sums.worker_start_ns += start.worker_start_ns;
        sums.before_wall_ns += start.before_wall_ns;
        sums.end_ns += start.end_ns;
        if (start.first_wait_ns) {
            ++sums.known_passes;
            sums.first_wait_ns += *start.first_wait_ns;
        }
    }
    return sums;
}

std::int64_t EpochStartSums::all_first_waits_ns() const {
    if (known_passes == 0 || known_passes == passes) {
        return first_wait_ns;
    }
    return std::llround(static_cast<double>(first_wait_ns) *
                        static_cast<double>(passes) /
                        static_cast<double>(known_passes));
}

std::vector<std::vector<EpochStart>> measure_epoch_starts(const Run& run,
                                                          std::span<const Pass> passes,
                                                          const PhaseGroups& groups) {
    const auto worker_starts = find_worker_starts(run);
    std::vector<std::vector<EpochStart>> all(groups.groups.size());
    for (std::size_t g = 0; g < all.size(); ++g) {
        std::map<std::size_t, std::int64_t> epochs;  // of each process
        for (const std::size_t p : groups.groups[g].passes) {
            const Pass& pass = passes[p];
            EpochStart start;
            start.rank = run.processes[pass.process].rank;
            start.epoch = epochs[pass.process]++;
            if (has_first_turn(pass)) {
                const Turn& first = pass.turns.front();
                start.first_wait_ns = first.wait_ns;
                start.first_turn_ns = first.wait_ns + first.body_ns;
            }
            start.end_ns = pass.ends_ns;
            for (const std::int32_t iterator : pass.iterators) {
                const auto at = static_cast<std::size_t>(iterator);
                for (const WorkerStart& made : worker_starts[at]) {
                    start.worker_start_ns += made.total_ns;
                    const bool inside = made.start_ns >= pass.start_ns;
                    start.before_wall_ns += inside ? 0 : made.total_ns;
                }
            }
            all[g].push_back(start);
        }
    }
    return all;
}

}  // namespace metatrain_timing::analyzer
