#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/run.hpp"
#include "analyzer/stats/series_mean.hpp"

namespace metatrain_timing::analyzer {

using BatchSums = std::array<double, kSeriesBatches>;

/// What a path of stages took, in each batch of steps.
struct PathSum {
    std::vector<std::string> path;
    BatchSums sums_ns{};

    double total_ns() const;
};

/// Sums of time by path of stages and batch. Like a StageTree without the single calls.
class PathSums {
  public:
    using Node = std::size_t;
    static constexpr Node kRoot = 0;

    PathSums() : nodes_(1) {}

    /// The part of `parent` of this name; made on first use. O(parts of the parent).
    Node child(Node parent, std::string_view name);

    void add(Node node, std::size_t batch, double dur_ns) {
        nodes_[node].sums_ns[batch] += dur_ns;
    }

    /// Every path, parents before their parts. Parts of one path add up to it: what
    /// they leave is "unattributed".
    std::vector<PathSum> rows() const;

  private:
    struct NodeData {
        std::string name;
        std::vector<Node> children;
        BatchSums sums_ns{};
    };

    void append(Node node, std::vector<std::string>& path,
                std::vector<PathSum>& rows) const;

    std::vector<NodeData> nodes_;
};

/// A node for an interval.
struct NestedNode {
    PathSums::Node node = PathSums::kRoot;
    bool is_whole = false;  // told without its parts
};

/// Adds intervals that lie in one another below `top`: those of the track from `first`
/// on that begin before `end_ns`. `node_of(interval, parent)` gives a NestedNode,
/// `add(node, dur_ns)` adds.
template <typename NodeOf, typename Add>
void add_nested(const Track& track, std::size_t first, std::int64_t end_ns,
                PathSums::Node top, NodeOf node_of, Add add) {
    struct Open {
        std::int64_t end_ns = 0;
        NestedNode nested;
    };
    boost::container::small_vector<Open, 16> open;
    for (std::size_t i = first; i < track.intervals.size(); ++i) {
        const Interval& interval = track.intervals[i];
        if (interval.start_ns >= end_ns) {
            break;
        }
        while (!open.empty() && open.back().end_ns <= interval.start_ns) {
            open.pop_back();
        }
        if (!open.empty() && open.back().nested.is_whole) {
            continue;
        }
        const NestedNode nested =
            node_of(interval, open.empty() ? top : open.back().nested.node);
        add(nested.node, interval.dur_ns);
        open.push_back({interval.end_ns(), nested});
    }
}

}  // namespace metatrain_timing::analyzer
