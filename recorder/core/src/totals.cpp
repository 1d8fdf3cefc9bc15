#include "recorder/core/src/totals.hpp"

#include <algorithm>
#include <bit>

namespace metatrain_timing::detail {
namespace {

// What was known of a node; both are in the order of their numbers.
template <typename Nodes>
auto sums_of(const Nodes& nodes, std::int64_t number) {
    const auto at = std::lower_bound(
        nodes.begin(), nodes.end(), number,
        [](const auto& node, std::int64_t wanted) { return node.node < wanted; });
    return at != nodes.end() && at->node == number ? at->sums : decltype(at->sums){};
}

}  // namespace

void Totals::add(const Ring& ring, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t position = from; position != to; ++position) {
        const Record& record = ring.at(position);
        switch (record.label.kind) {
            case RecordKind::interval:
            case RecordKind::interval_with_cpu:
                add_stage(record.label.name, 1,
                          static_cast<std::int64_t>(record.payload));
                break;
            case RecordKind::counter:
                add_counter(record.label.name, std::bit_cast<double>(record.payload));
                break;
            case RecordKind::cpu:
                break;
        }
    }
}

void Totals::add(const DroppedSums& now, const DroppedSums& counted) {
    for (const DroppedSums::Interval& node : now.intervals) {
        const IntervalSums known = sums_of(counted.intervals, node.node);
        if (node.sums.calls != known.calls) {
            add_stage(node.stage, node.sums.calls - known.calls,
                      node.sums.total_ns - known.total_ns);
        }
    }
    for (const DroppedSums::Counter& node : now.counters) {
        const CounterSums known = sums_of(counted.counters, node.node);
        if (node.sums.calls != known.calls) {
            add_counter(node.counter, node.sums.value - known.value);
        }
    }
}

void Totals::add_stage(std::uint16_t stage, std::int64_t calls, std::int64_t total_ns) {
    if (stage >= stages_.size()) {
        stages_.resize(stage + 1U);
    }
    stages_[stage].calls += calls;
    stages_[stage].total_ns += total_ns;
}

void Totals::add_counter(std::uint16_t counter, double value) {
    if (counter >= counters_.size()) {
        counted_.resize(counter + 1U);  // if only one, then it
        counters_.resize(counter + 1U);
    }
    counters_[counter] += value;
    counted_[counter] = true;
}

void Totals::reset() noexcept {
    stages_.clear();
    counters_.clear();
    counted_.clear();
}

}  // namespace metatrain_timing::detail
