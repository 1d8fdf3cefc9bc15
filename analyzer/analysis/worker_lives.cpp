#include "analyzer/analysis/worker_lives.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/analysis/stage_tree.hpp"
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
        for (const IntervalTotal& total : track.totals) {
            last = std::max(last, total.calls > 0 ? total.last_ns : last);
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
        if (!track.totals.empty()) {
            add_with_sums(worker, track);
            return;
        }
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
            add_stage(*current, interval.stage, 1, interval.dur_ns);
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
    // Where some intervals are only summed it is not known where the gaps lie: what is
    // left of the life is shared out by what is known to be spent on each group.
    void add_with_sums(const Process& worker, const Track& track) {
        std::map<WorkerTime*, std::int64_t> known_ns;
        const auto add = [&](std::int32_t pass, int stage, std::int64_t calls,
                             std::int64_t total_ns) {
            if (WorkerTime* time = time_of(worker, pass)) {
                add_stage(*time, stage, calls, total_ns);
                known_ns[time] += total_ns;
            }
        };
        const std::vector<std::int32_t> passes = passes_served(track);
        std::size_t position = 0;
        for_each_outermost(track, [&](const Interval& interval) {
            add(passes[position++], interval.stage, 1, interval.dur_ns);
        });
        for (const IntervalTotal& total : track.totals) {
            if (total.parent < 0) {
                add(pass_served(track, total), total.stage, total.calls,
                    total.total_ns);
            }
        }
        std::int64_t all_known_ns = 0;
        for (const auto& [time, ns] : known_ns) {
            all_known_ns += ns;
        }
        std::int64_t rest_ns = std::max<std::int64_t>(
            0, last_sign_of_life(worker) - worker.started_ns - all_known_ns);
        for (const auto& [time, ns] : known_ns) {
            const auto share_ns = static_cast<std::int64_t>(
                share_of(ns, all_known_ns) * static_cast<double>(rest_ns));
            all_known_ns -= ns;
            const std::int64_t own_ns = all_known_ns > 0 ? share_ns : rest_ns;
            rest_ns -= own_ns;
            time->lives += 1;
            time->unattributed_ns += own_ns;
            time->life_ns += ns + own_ns;
        }
    }

    WorkerTime* time_of(const Process& worker, std::int32_t iterator) {
        const auto group = groups_.group_of(iterator);
        if (!group) {
            return nullptr;
        }
        const LifeKey key{worker.rank,
                          run_.iterators[static_cast<std::size_t>(iterator)].loader,
                          worker.worker_id.value_or(0)};
        WorkerTime& time = times_[*group][key];
        std::tie(time.rank, time.loader, time.worker) = key;
        return &time;
    }

    void add_stage(WorkerTime& time, int stage, std::int64_t calls,
                   std::int64_t total_ns) const {
        if (stage == stages_.fetch) {
            time.busy_ns += total_ns;
            time.batches += calls;
        } else if (stage == stages_.worker_idle) {
            time.idle_ns += total_ns;
        } else if (stage == stages_.worker_start) {
            time.start_ns += total_ns;
        } else {
            time.unattributed_ns += total_ns;
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
    const auto tells = [&](const auto& part) {
        return part.stage == stages.fetch || part.stage == stages.worker_idle ||
               part.stage == stages.worker_start;
    };
    for (std::size_t t = 0; t < worker.tracks.size(); ++t) {
        const Track& track = worker.tracks[t];
        if (std::any_of(track.intervals.begin(), track.intervals.end(), tells) ||
            std::any_of(track.totals.begin(), track.totals.end(), tells)) {
            return static_cast<std::int32_t>(t);
        }
    }
    return -1;
}

std::int32_t pass_served(const Track& track, const IntervalTotal& total) {
    const auto is_known = [](const auto& part) { return part.iterator >= 0; };
    if (is_known(total)) {
        return total.iterator;
    }
    const auto known = std::find_if(track.totals.begin(), track.totals.end(), is_known);
    if (known != track.totals.end()) {
        return known->iterator;
    }
    const auto kept =
        std::find_if(track.intervals.begin(), track.intervals.end(), is_known);
    return kept == track.intervals.end() ? -1 : kept->iterator;
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
