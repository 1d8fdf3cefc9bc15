#include "analyzer/analysis/batch_index.hpp"

#include <algorithm>
#include <numeric>

namespace metatrain_timing::analyzer {
namespace {

struct ByBatch {
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
        return a.batch < b.batch;
    }
};

template <typename Value>
std::span<const Value> part_of(const std::vector<Value>& values,
                               const std::vector<std::size_t>& begin,
                               std::int32_t iterator) {
    const auto at = static_cast<std::size_t>(iterator);
    if (iterator < 0 || at + 1 >= begin.size()) {
        return {};
    }
    return std::span(values).subspan(begin[at], begin[at + 1] - begin[at]);
}

}  // namespace

BatchIndex::BatchIndex(const Run& run, const StageNumbers& stages) : run_(run) {
    for (std::size_t p = 0; p < run.processes.size(); ++p) {
        for (const Track& track : run.processes[p].tracks) {
            tracks_.push_back({p, &track});
            are_summed_ |=
                run.processes[p].role == Role::worker && !track.totals.empty();
        }
    }
    events_begin_.assign(run.iterators.size() + 1, 0);
    for_each_event(stages, [&](std::size_t pass, const BatchEvent&) {
        ++events_begin_[pass + 1];
    });
    std::partial_sum(events_begin_.begin(), events_begin_.end(), events_begin_.begin());
    events_.resize(events_begin_.back());
    std::vector<std::size_t> next(events_begin_.begin(), events_begin_.end() - 1);
    for_each_event(stages, [&](std::size_t pass, const BatchEvent& event) {
        events_[next[pass]++] = event;
    });
    for (std::size_t pass = 0; pass < run.iterators.size(); ++pass) {
        const auto at = [&](std::size_t position) {
            return events_.begin() + static_cast<std::ptrdiff_t>(position);
        };
        std::stable_sort(at(events_begin_[pass]), at(events_begin_[pass + 1]),
                         ByBatch());
    }
    find_ready(stages);
}

template <typename Visit>
void BatchIndex::for_each_event(const StageNumbers& stages, Visit visit) const {
    for (std::uint32_t t = 0; t < tracks_.size(); ++t) {
        const auto& intervals = tracks_[t].track->intervals;
        for (std::uint32_t i = 0; i < intervals.size(); ++i) {
            const Interval& interval = intervals[i];
            const bool wanted =
                is(interval, stages.fetch) || is(interval, stages.send) ||
                is(interval, stages.put_index) || is(interval, stages.receive) ||
                is(interval, stages.pin);
            if (wanted && interval.iterator >= 0 && interval.batch >= 0) {
                visit(static_cast<std::size_t>(interval.iterator),
                      BatchEvent{interval.batch, t, i});
            }
        }
    }
}

void BatchIndex::find_ready(const StageNumbers& stages) {
    const auto in_main = std::count_if(
        events_.begin(), events_.end(),
        [&](const BatchEvent& event) { return is(interval(event), stages.receive); });
    ready_.reserve(static_cast<std::size_t>(in_main));
    ready_begin_.push_back(0);
    for (std::size_t pass = 0; pass < run_.iterators.size(); ++pass) {
        for (std::size_t i = events_begin_[pass]; i < events_begin_[pass + 1]; ++i) {
            const Interval& one = interval(events_[i]);
            if (!is(one, stages.receive) && !is(one, stages.pin)) {
                continue;
            }
            const bool is_new = ready_.size() == ready_begin_.back() ||
                                ready_.back().batch != events_[i].batch;
            if (is_new) {
                ready_.push_back({events_[i].batch, one.end_ns()});
            }
            ready_.back().at_ns = std::max(ready_.back().at_ns, one.end_ns());
        }
        ready_begin_.push_back(ready_.size());
    }
}

std::optional<std::int64_t> BatchIndex::ready_after(std::int32_t iterator,
                                                    std::int32_t batch,
                                                    std::int64_t count) const {
    const auto ready = part_of(ready_, ready_begin_, iterator);
    std::optional<std::int64_t> earliest;
    for (auto at =
             std::upper_bound(ready.begin(), ready.end(), Ready{batch, 0}, ByBatch());
         at != ready.end() && at->batch <= batch + count; ++at) {
        earliest = std::min(earliest.value_or(at->at_ns), at->at_ns);
    }
    return earliest;
}

std::span<const BatchEvent> BatchIndex::of(std::int32_t iterator,
                                           std::int32_t batch) const {
    const auto events = part_of(events_, events_begin_, iterator);
    const auto [first, last] = std::equal_range(events.begin(), events.end(),
                                                BatchEvent{batch, 0, 0}, ByBatch());
    return {first, last};
}

}  // namespace metatrain_timing::analyzer
