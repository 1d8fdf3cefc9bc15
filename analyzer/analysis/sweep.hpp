#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// A stretch of a track in which the same intervals were open.
struct Slice {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    const Interval* outermost = nullptr;  // null: none of the swept intervals was open
    const Interval* innermost = nullptr;

    std::int64_t dur_ns() const { return end_ns - start_ns; }
};

/// Cuts [from_ns, to_ns) of a track into slices and calls `visit` for each, in order,
/// without gaps. Swept are the intervals from `first` on; none before it may be open
/// in a slice that matters. O(n) in the intervals that begin before `to_ns`.
template <typename Visit>
void sweep(const Track& track, std::size_t first, std::int64_t from_ns,
           std::int64_t to_ns, Visit visit) {
    boost::container::small_vector<const Interval*, 16> open;  // waits are many
    std::int64_t at_ns = from_ns;
    const auto emit_until = [&](std::int64_t end_ns) {
        end_ns = std::min(end_ns, to_ns);
        if (end_ns > at_ns) {
            visit(Slice{at_ns, end_ns, open.empty() ? nullptr : open.front(),
                        open.empty() ? nullptr : open.back()});
            at_ns = end_ns;
        }
    };
    const auto close_until = [&](std::int64_t time_ns) {
        while (!open.empty() && open.back()->end_ns() <= time_ns) {
            emit_until(open.back()->end_ns());
            open.pop_back();
        }
    };
    for (std::size_t i = first; i < track.intervals.size(); ++i) {
        const Interval& interval = track.intervals[i];
        if (interval.start_ns >= to_ns) {
            break;
        }
        close_until(interval.start_ns);
        emit_until(interval.start_ns);
        open.push_back(&interval);
    }
    close_until(to_ns);
    emit_until(to_ns);
}

/// Positions of the outermost intervals of a track, for `first_overlapping()`.
inline std::vector<std::uint32_t> find_outermost(const Track& track) {
    std::vector<std::uint32_t> positions;
    std::int64_t end_ns = 0;
    for (std::uint32_t i = 0; i < track.intervals.size(); ++i) {
        const Interval& interval = track.intervals[i];
        if (positions.empty() || interval.start_ns >= end_ns) {
            positions.push_back(i);
            end_ns = interval.end_ns();
        }
    }
    return positions;
}

/// Where to begin a sweep from `from_ns`: the last outermost interval that begins at or
/// before it, else the first one.
inline std::size_t first_overlapping(const Track& track,
                                     const std::vector<std::uint32_t>& outermost,
                                     std::int64_t from_ns) {
    const auto after =
        std::upper_bound(outermost.begin(), outermost.end(), from_ns,
                         [&](std::int64_t time_ns, std::uint32_t i) {
                             return time_ns < track.intervals[i].start_ns;
                         });
    return after == outermost.begin() ? 0 : *(after - 1);
}

}  // namespace metatrain_timing::analyzer
