#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/load/assemble.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Brings the intervals of threads, which come in the order of their ends, into the
/// order of their begins, the enclosing one first, as timelines want them.
///
/// What an outermost interval encloses is known when it comes, so that only that is
/// kept. Where an outermost interval encloses very many (a block around the whole
/// training) they are handed on before it, in stretches that are in order.
class SliceOrder {
  public:
    struct Row {
        Interval interval;
        std::int64_t cpu_ns = -1;
    };

    /// Calls `sink(TrackTarget, Row)` for rows whose turn has come.
    template <typename Sink>
    void add(const TrackTarget& at, const Interval& interval, std::int64_t cpu_ns,
             Sink sink) {
        std::vector<Row>& rows = waiting_[{at.process, at.track}];
        rows.push_back({interval, cpu_ns});
        if (interval.depth == 0 || rows.size() >= kMostRows) {
            hand_on(at, rows, sink);
        }
    }

    /// Hands on the rest: what its outermost interval never came for.
    template <typename Sink>
    void finish(Sink sink) {
        for (auto& [place, rows] : waiting_) {
            hand_on({place.first, place.second}, rows, sink);
        }
        waiting_.clear();
    }

  private:
    static constexpr std::size_t kMostRows = 1 << 18;

    template <typename Sink>
    static void hand_on(const TrackTarget& at, std::vector<Row>& rows, Sink sink) {
        std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
            return std::pair(a.interval.start_ns, a.interval.depth) <
                   std::pair(b.interval.start_ns, b.interval.depth);
        });
        for (const Row& row : rows) {
            sink(at, row);
        }
        rows.clear();
    }

    std::map<std::pair<std::size_t, std::size_t>, std::vector<Row>> waiting_;
};

}  // namespace metatrain_timing::analyzer
