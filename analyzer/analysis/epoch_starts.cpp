#include "analyzer/analysis/epoch_starts.hpp"

#include <map>

#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {
namespace {

// What making the workers of each pass cost the training process.
std::vector<std::vector<const Interval*>> find_worker_starts(const Run& run) {
    const StageNumbers stages(run);
    std::vector<std::vector<const Interval*>> starts(run.iterators.size());
    for (const Process& process : run.processes) {
        if (process.role == Role::worker) {
            continue;
        }
        for (const Track& track : process.tracks) {
            for (const Interval& interval : track.intervals) {
                if (is(interval, stages.worker_start) && interval.iterator >= 0) {
                    starts[static_cast<std::size_t>(interval.iterator)].push_back(
                        &interval);
                }
            }
        }
    }
    return starts;
}

}  // namespace

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
            const Turn& first = pass.turns.front();
            start.first_wait_ns = first.wait_ns;
            start.first_turn_ns = first.wait_ns + first.body_ns;
            const Track& track = run.processes[pass.process].tracks[pass.track];
            for (const std::uint32_t end : pass.ends) {
                start.end_ns += track.intervals[end].dur_ns;
            }
            for (const std::int32_t iterator : pass.iterators) {
                for (const Interval* made :
                     worker_starts[static_cast<std::size_t>(iterator)]) {
                    start.worker_start_ns += made->dur_ns;
                    const bool inside = made->start_ns >= pass.start_ns;
                    start.before_wall_ns += inside ? 0 : made->dur_ns;
                }
            }
            all[g].push_back(start);
        }
    }
    return all;
}

}  // namespace metatrain_timing::analyzer
