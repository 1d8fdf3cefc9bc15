#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer::test {

namespace summing {

using Node = std::tuple<std::int32_t, std::uint16_t, std::int32_t>;

inline void add(IntervalTotal& total, const Interval& interval, std::int64_t cpu_ns) {
    const bool is_first = total.calls == 0;
    total.first_ns =
        is_first ? interval.start_ns : std::min(total.first_ns, interval.start_ns);
    total.last_ns =
        is_first ? interval.end_ns() : std::max(total.last_ns, interval.end_ns());
    ++total.calls;
    total.total_ns += interval.dur_ns;
    if (cpu_ns >= 0) {
        total.cpu_ns = std::max<std::int64_t>(total.cpu_ns, 0) + cpu_ns;
        total.cpu_wall_ns += interval.dur_ns;
    }
}

struct Enclosing {
    std::int64_t end_ns = 0;
    bool is_kept = true;
    std::int32_t node = -1;
};

template <typename Keeps>
void sum_intervals(Track& track, Keeps keeps) {
    Track kept;
    std::map<Node, std::int32_t> nodes;
    std::vector<Enclosing> enclosing;
    for (std::size_t i = 0; i < track.intervals.size(); ++i) {
        const Interval& interval = track.intervals[i];
        const std::int64_t cpu_ns = track.cpu_ns.empty() ? -1 : track.cpu_ns[i];
        while (!enclosing.empty() && enclosing.back().end_ns <= interval.start_ns) {
            enclosing.pop_back();
        }
        Enclosing own;
        own.end_ns = interval.end_ns();
        own.is_kept = enclosing.empty() ? keeps(interval.iterator, interval.batch)
                                        : enclosing.back().is_kept;
        if (own.is_kept) {
            kept.intervals.push_back(interval);
            kept.cpu_ns.push_back(cpu_ns);
        } else {
            const std::int32_t parent = enclosing.empty() ? -1 : enclosing.back().node;
            const auto [at, is_new] =
                nodes.try_emplace({parent, interval.stage, interval.iterator},
                                  static_cast<std::int32_t>(track.totals.size()));
            own.node = at->second;
            if (is_new) {
                IntervalTotal total;
                total.parent = parent;
                total.stage = interval.stage;
                total.iterator = interval.iterator;
                track.totals.push_back(total);
            }
            add(track.totals[static_cast<std::size_t>(own.node)], interval, cpu_ns);
        }
        enclosing.push_back(own);
    }
    track.intervals = std::move(kept.intervals);
    track.cpu_ns = std::move(kept.cpu_ns);
}

template <typename Keeps>
void sum_counters(Track& track, Keeps keeps) {
    std::vector<Counter> kept;
    for (const Counter& counter : track.counters) {
        if (keeps(counter.iterator, counter.batch)) {
            kept.push_back(counter);
        } else {
            track.counter_totals.push_back(
                {counter.iterator, counter.name, counter.value});
        }
    }
    track.counters = std::move(kept);
}

}  // namespace summing

/// The same run as its recorder leaves it at its size limit: one by one only what
/// `keeps(iterator, batch)` accepts, with its parts, and the sums of the rest.
template <typename Keeps>
Run summed(Run run, Keeps keeps) {
    for (Process& process : run.processes) {
        for (Track& track : process.tracks) {
            summing::sum_intervals(track, keeps);
            summing::sum_counters(track, keeps);
        }
    }
    return run;
}

}  // namespace metatrain_timing::analyzer::test
