#include "analyzer/analysis/worker_lives.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {
namespace {

// The outermost intervals: those that begin after every earlier one ended.
template <typename Visit>
void for_each_outermost(const Track& track, Visit visit) {
    std::int64_t end_ns = 0;
    bool is_first = true;
    for (const Interval& interval : track.intervals) {
        if (is_first || interval.start_ns >= end_ns) {
            visit(interval);
            end_ns = interval.end_ns();
            is_first = false;
        }
    }
}

std::int64_t last_sign_of_life(const Process& process) {
    std::int64_t last = process.ended_ns.value_or(process.started_ns);
    for (const Track& track : process.tracks) {
        for (const Interval& interval : track.intervals) {
            last = std::max(last, interval.end_ns());
        }
        for (const Interval& open : track.open) {
            last = std::max(last, open.start_ns);
        }
    }
    return last;
}

using LifeKey =
    std::tuple<std::int64_t, std::int32_t, std::int64_t>;  // rank, loader, worker

class LifeMeter {
  public:
    LifeMeter(const Run& run, const PhaseGroups& groups)
        : run_(run), groups_(groups), stages_(run), times_(groups.groups.size()) {}

    void add(const Process& worker) {
        const std::int32_t index = fetching_track(run_, worker);
        if (index < 0) {
            return;
        }
        const Track& track = worker.tracks[static_cast<std::size_t>(index)];
        const std::vector<std::int32_t> passes = passes_served(track);
        std::int64_t at_ns = worker.started_ns;
        WorkerTime* current = nullptr;
        std::vector<WorkerTime*> seen;
        std::size_t position = 0;
        for_each_outermost(track, [&](const Interval& interval) {
            if (WorkerTime* time = time_of(worker, passes[position++])) {
                current = time;
            }
            if (current == nullptr) {
                return;
            }
            if (std::find(seen.begin(), seen.end(), current) == seen.end()) {
                seen.push_back(current);
                current->lives += 1;
            }
            add_interval(*current, interval);
            // a gap belongs to what comes after it
            const std::int64_t gap_ns =
                std::max<std::int64_t>(0, interval.start_ns - at_ns);
            current->unattributed_ns += gap_ns;
            current->life_ns += gap_ns + interval.dur_ns;
            at_ns = interval.end_ns();
        });
        if (current != nullptr) {
            const std::int64_t rest_ns =
                std::max<std::int64_t>(0, last_sign_of_life(worker) - at_ns);
            current->unattributed_ns += rest_ns;
            current->life_ns += rest_ns;
        }
    }

    std::vector<std::vector<WorkerTime>> take() {
        std::vector<std::vector<WorkerTime>> lists(times_.size());
        for (std::size_t g = 0; g < times_.size(); ++g) {
            for (const auto& [key, time] : times_[g]) {
                lists[g].push_back(time);
            }
        }
        return lists;
    }

  private:
    WorkerTime* time_of(const Process& worker, std::int32_t iterator) {
        if (iterator < 0) {
            return nullptr;
        }
        const auto at = static_cast<std::size_t>(iterator);
        const std::int32_t group = groups_.group_of_iterator[at];
        if (group < 0) {
            return nullptr;
        }
        const LifeKey key{worker.rank, run_.iterators[at].loader,
                          worker.worker_id.value_or(0)};
        WorkerTime& time = times_[static_cast<std::size_t>(group)][key];
        std::tie(time.rank, time.loader, time.worker) = key;
        return &time;
    }

    void add_interval(WorkerTime& time, const Interval& interval) const {
        if (is(interval, stages_.fetch)) {
            time.busy_ns += interval.dur_ns;
            time.batches += 1;
        } else if (is(interval, stages_.worker_idle)) {
            time.idle_ns += interval.dur_ns;
        } else if (is(interval, stages_.worker_start)) {
            time.start_ns += interval.dur_ns;
        } else {
            time.unattributed_ns += interval.dur_ns;
        }
    }

    const Run& run_;
    const PhaseGroups& groups_;
    const StageNumbers stages_;
    std::vector<std::map<LifeKey, WorkerTime>> times_;
};

}  // namespace

std::int32_t fetching_track(const Run& run, const Process& worker) {
    const StageNumbers stages(run);
    for (std::size_t t = 0; t < worker.tracks.size(); ++t) {
        for (const Interval& interval : worker.tracks[t].intervals) {
            if (is(interval, stages.fetch) || is(interval, stages.worker_idle) ||
                is(interval, stages.worker_start)) {
                return static_cast<std::int32_t>(t);
            }
        }
    }
    return -1;
}

std::vector<std::int32_t> passes_served(const Track& track) {
    std::vector<std::int32_t> passes;
    for_each_outermost(
        track, [&](const Interval& interval) { passes.push_back(interval.iterator); });
    std::int32_t next = -1;
    for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
        next = *pass < 0 ? next : *pass;
        *pass = next;
    }
    std::int32_t last = -1;
    for (std::int32_t& pass : passes) {
        last = pass < 0 ? last : pass;
        pass = last;
    }
    return passes;
}

std::vector<std::vector<WorkerTime>> measure_workers(const Run& run,
                                                     const PhaseGroups& groups) {
    LifeMeter meter(run, groups);
    for (const Process& process : run.processes) {
        if (process.role == Role::worker) {
            meter.add(process);
        }
    }
    return meter.take();
}

}  // namespace metatrain_timing::analyzer
