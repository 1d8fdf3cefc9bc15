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

constexpr std::size_t kFew = 32;

// Puts each interval of [begin, end) where it belongs among those before it.
void insert_each(Track& track, std::size_t begin, std::size_t end) {
    const bool has_cpu = !track.cpu_ns.empty();
    for (std::size_t i = begin + 1; i < end; ++i) {
        const auto first = track.intervals.begin();
        const auto own = first + static_cast<std::ptrdiff_t>(i);
        const auto place = std::upper_bound(first + static_cast<std::ptrdiff_t>(begin),
                                            own, *own, before);
        std::rotate(place, own, own + 1);
        if (has_cpu) {
            const auto cpus = track.cpu_ns.begin();
            std::rotate(cpus + (place - first), cpus + (own - first),
                        cpus + (own - first) + 1);
        }
    }
}

template <typename Value>
void apply(const std::vector<std::size_t>& order, std::vector<Value>& values,
           std::size_t begin) {
    std::vector<Value> sorted;
    sorted.reserve(order.size());
    for (const std::size_t i : order) {
        sorted.push_back(values[i]);
    }
    std::copy(sorted.begin(), sorted.end(),
              values.begin() + static_cast<std::ptrdiff_t>(begin));
}

// Sorts [begin, end) of both arrays. Most such parts are the few intervals below an
// outermost one, which are sorted in place.
void sort_part(Track& track, std::size_t begin, std::size_t end) {
    const auto first = track.intervals.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = track.intervals.begin() + static_cast<std::ptrdiff_t>(end);
    if (std::is_sorted(first, last, before)) {
        return;
    }
    if (end - begin <= kFew) {
        insert_each(track, begin, end);
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
    apply(order, track.intervals, begin);
    apply(order, track.cpu_ns, begin);
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
