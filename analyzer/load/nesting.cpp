#include "analyzer/load/nesting.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace metatrain_timing::analyzer {
namespace {

bool before(const Interval& a, const Interval& b) {
    if (a.start_ns != b.start_ns) {
        return a.start_ns < b.start_ns;
    }
    return a.dur_ns != b.dur_ns ? a.dur_ns > b.dur_ns : a.depth < b.depth;
}

// Sorts [begin, end) of both arrays.
void sort_part(Track& track, std::size_t begin, std::size_t end) {
    const auto first = track.intervals.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = track.intervals.begin() + static_cast<std::ptrdiff_t>(end);
    if (std::is_sorted(first, last, before)) {
        return;
    }
    if (track.cpu_ns.empty()) {
        std::stable_sort(first, last, before);
        return;
    }
    std::vector<std::size_t> order(end - begin);
    std::iota(order.begin(), order.end(), begin);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return before(track.intervals[a], track.intervals[b]);
    });
    std::vector<Interval> intervals;
    std::vector<std::int64_t> cpu_ns;
    for (const std::size_t i : order) {
        intervals.push_back(track.intervals[i]);
        cpu_ns.push_back(track.cpu_ns[i]);
    }
    std::copy(intervals.begin(), intervals.end(), first);
    std::copy(cpu_ns.begin(), cpu_ns.end(),
              track.cpu_ns.begin() + static_cast<std::ptrdiff_t>(begin));
}

void sort_track(Track& track) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < track.intervals.size(); ++i) {
        if (track.intervals[i].depth == 0) {
            sort_part(track, begin, i + 1);
            begin = i + 1;
        }
    }
    sort_part(track, begin, track.intervals.size());
    if (!std::is_sorted(track.intervals.begin(), track.intervals.end(), before)) {
        sort_part(track, 0, track.intervals.size());
    }
}

}  // namespace

std::size_t sort_and_nest(Track& track) {
    sort_track(track);
    std::size_t cut = 0;
    std::vector<std::int64_t> open_until;  // ends of the enclosing intervals
    for (Interval& interval : track.intervals) {
        while (!open_until.empty() && open_until.back() <= interval.start_ns) {
            open_until.pop_back();
        }
        if (!open_until.empty() && interval.end_ns() > open_until.back()) {
            interval.dur_ns = open_until.back() - interval.start_ns;
            ++cut;
        }
        open_until.push_back(interval.end_ns());
    }
    if (cut > 0) {  // a shorter interval may now stand before its parent
        sort_part(track, 0, track.intervals.size());
    }
    return cut;
}

}  // namespace metatrain_timing::analyzer
