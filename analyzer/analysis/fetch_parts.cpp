#include "analyzer/analysis/fetch_parts.hpp"

#include <algorithm>
#include <numeric>

#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Adds an interval of a track and all that lies in it.
void add_tree(PathSums& sums, const Run& run, const Track& track, std::size_t top,
              std::size_t batch) {
    const auto add = [&](PathSums::Node node, std::int64_t dur_ns) {
        sums.add(node, batch, static_cast<double>(dur_ns));
    };
    const auto node_of = [&](const Interval& interval, PathSums::Node parent) {
        return NestedNode{sums.child(parent, run.stages[interval.stage])};
    };
    const Interval& whole = track.intervals[top];
    const PathSums::Node node = node_of(whole, PathSums::kRoot).node;
    add(node, whole.dur_ns);
    add_nested(track, top + 1, whole.end_ns(), node, node_of, add);
}

}  // namespace

std::size_t FetchParts::count() const {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

FetchParts find_fetch_parts(const Findings& findings, std::size_t group) {
    const Run& run = findings.run();
    FetchParts result;
    PathSums sums;
    std::vector<std::size_t> fetches;
    for (const Process& process : run.processes) {
        for (const Track& track : process.tracks) {
            fetches.clear();
            for (std::size_t i = 0; i < track.intervals.size(); ++i) {
                const Interval& interval = track.intervals[i];
                if (is(interval, findings.stages().fetch) &&
                    findings.groups().group_of(interval.iterator) == group) {
                    fetches.push_back(i);
                }
            }
            if (!fetches.empty()) {
                fetches.erase(fetches.begin());
            }
            for (std::size_t batch = 0; batch < kSeriesBatches; ++batch) {
                const std::size_t end = batch_begin(batch + 1, fetches.size());
                for (std::size_t i = batch_begin(batch, fetches.size()); i < end; ++i) {
                    add_tree(sums, run, track, fetches[i], batch);
                    ++result.counts[batch];
                }
            }
        }
    }
    result.parts = sums.rows();
    return result;
}

}  // namespace metatrain_timing::analyzer
