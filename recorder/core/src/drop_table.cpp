#include "recorder/core/src/drop_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace metatrain_timing::detail {
namespace {

constexpr std::uint16_t kNoParent = 0xFFFF;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// What tells the nodes of a generation apart.
struct Key {
    std::uint32_t iterator = kUnknown;
    std::uint16_t name = 0;
    std::uint16_t parent = kNoParent;  // index of the node
};

Key key_of(const Label& label, bool knows_pass) noexcept {
    return {knows_pass ? label.context.iterator : kUnknown, label.name, kNoParent};
}

// The index of `key`; of a new entry where there is none, up to `limit` of them.
template <std::size_t count, typename Sums>
std::size_t find_or_make(std::array<std::atomic<std::uint64_t>, count>& keys,
                         std::array<Latched<Sums>, count>& sums,
                         std::atomic<std::uint32_t>& used, std::size_t limit,
                         Key key) noexcept {
    const auto wanted = std::bit_cast<std::uint64_t>(key);
    const std::size_t size = used.load(std::memory_order_relaxed);
    for (std::size_t index = 0; index < size; ++index) {
        if (keys[index].load(std::memory_order_relaxed) == wanted) {
            return index;
        }
    }
    if (size >= limit) {
        return kNone;
    }
    keys[size].store(wanted, std::memory_order_relaxed);
    sums[size].store({});
    used.store(static_cast<std::uint32_t>(size + 1), std::memory_order_release);
    return size;
}

bool is_possible(const IntervalSums& sums) noexcept {
    return sums.calls >= 0 && sums.total_ns >= 0 && sums.cpu_calls >= 0 &&
           sums.cpu_calls <= sums.calls && sums.cpu_ns >= 0 && sums.cpu_wall_ns >= 0 &&
           sums.cpu_wall_ns <= sums.total_ns && sums.first_ns <= sums.last_ns &&
           (sums.calls > 0 || sums.total_ns == 0);
}

bool is_possible(const CounterSums& sums) noexcept {
    return sums.calls >= 0 && std::isfinite(sums.value);
}

}  // namespace

DropTable::Generation& DropTable::current() noexcept {
    return generation_.load(std::memory_order_relaxed) % 2 == 0 ? first_ : second_;
}

// Takes the place of the generation before the current one.
bool DropTable::begin_generation() noexcept {
    const std::uint64_t now = generation_.load(std::memory_order_relaxed);
    if (acknowledged_.load(std::memory_order_acquire) < now) {
        return false;
    }
    Generation& next = now % 2 == 0 ? second_ : first_;
    next.node_count.store(0, std::memory_order_relaxed);
    next.counter_count.store(0, std::memory_order_relaxed);
    generation_.store(now + 1, std::memory_order_release);
    return true;
}

Latched<IntervalSums>* DropTable::node_of(const Record& record, const OpenStack& open,
                                          bool knows_pass) noexcept {
    Generation& in = current();
    const std::size_t limit = knows_pass ? kNodesOfPasses : kNodes;
    std::size_t parent = kNoParent;
    for (std::uint32_t depth = 0; depth <= record.label.depth; ++depth) {
        const bool is_parent = depth < record.label.depth;
        const auto frame = is_parent ? open.peek(depth) : std::nullopt;
        if (is_parent && !frame) {
            return nullptr;
        }
        Key key = key_of(is_parent ? frame->label() : record.label, knows_pass);
        key.parent = static_cast<std::uint16_t>(parent);
        parent = find_or_make(in.node_keys, in.node_sums, in.node_count, limit, key);
        if (parent == kNone) {
            return nullptr;
        }
    }
    return &in.node_sums[parent];
}

Latched<CounterSums>* DropTable::node_of(const Record& record,
                                         bool knows_pass) noexcept {
    Generation& in = current();
    const std::size_t limit = knows_pass ? kCountersOfPasses : kCounters;
    const std::size_t index =
        find_or_make(in.counter_keys, in.counter_sums, in.counter_count, limit,
                     key_of(record.label, knows_pass));
    return index == kNone ? nullptr : &in.counter_sums[index];
}

bool DropTable::add_interval(const Record& record, std::int64_t cpu_ns,
                             const OpenStack& open) noexcept {
    Latched<IntervalSums>* node = node_of(record, open, true);
    if (node == nullptr && begin_generation()) {
        node = node_of(record, open, true);
    }
    if (node == nullptr) {
        node = node_of(record, open, false);
    }
    if (node == nullptr) {
        return false;
    }
    IntervalSums sums = node->load();
    if (!sums.add(record.start_ns, static_cast<std::int64_t>(record.payload), cpu_ns)) {
        return false;
    }
    node->store(sums);
    return true;
}

bool DropTable::add_counter(const Record& record) noexcept {
    Latched<CounterSums>* node = node_of(record, true);
    if (node == nullptr && begin_generation()) {
        node = node_of(record, true);
    }
    if (node == nullptr) {
        node = node_of(record, false);
    }
    if (node == nullptr) {
        return false;
    }
    CounterSums sums = node->load();
    sums.add(std::bit_cast<double>(record.payload));
    if (!std::isfinite(sums.value)) {
        return false;
    }
    node->store(sums);
    return true;
}

DroppedSums DropTable::read() const {
    DroppedSums sums;
    sums.generation = generation_.load(std::memory_order_acquire);
    // The one before is as it will stay, and stays until it is acknowledged.
    const bool has_older =
        sums.generation > 0 &&
        acknowledged_.load(std::memory_order_relaxed) < sums.generation;
    const bool is_even = sums.generation % 2 == 0;
    if (has_older) {
        read(is_even ? second_ : first_, sums.generation - 1, sums);
    }
    read(is_even ? first_ : second_, sums.generation, sums);
    return sums;
}

void DropTable::read(const Generation& from, std::uint64_t generation,
                     DroppedSums& into) {
    // Bounded, so that numbers of damaged bytes fit.
    const auto of_generation = static_cast<std::int64_t>(generation % (1ULL << 48U));
    const std::int64_t first_node =
        of_generation * static_cast<std::int64_t>(std::max(kNodes, kCounters));
    const std::size_t node_count =
        std::min<std::size_t>(from.node_count.load(std::memory_order_acquire), kNodes);
    std::array<bool, kNodes> is_known{};
    for (std::size_t index = 0; index < node_count; ++index) {
        const auto key =
            std::bit_cast<Key>(from.node_keys[index].load(std::memory_order_relaxed));
        const IntervalSums sums = from.node_sums[index].load();
        const bool is_top = key.parent == kNoParent;
        const bool has_place = is_top || (key.parent < index && is_known[key.parent]);
        if (has_place && key.name != 0 && is_possible(sums)) {
            is_known[index] = true;
            into.intervals.push_back(
                {first_node + static_cast<std::int64_t>(index),
                 is_top ? DroppedSums::kTop : first_node + key.parent, key.name,
                 key.iterator, sums});
        }
    }
    const std::size_t counter_count = std::min<std::size_t>(
        from.counter_count.load(std::memory_order_acquire), kCounters);
    for (std::size_t index = 0; index < counter_count; ++index) {
        const auto key = std::bit_cast<Key>(
            from.counter_keys[index].load(std::memory_order_relaxed));
        const CounterSums sums = from.counter_sums[index].load();
        if (key.name != 0 && is_possible(sums)) {
            into.counters.push_back({first_node + static_cast<std::int64_t>(index),
                                     key.name, key.iterator, sums});
        }
    }
}

void DropTable::clear() noexcept {
    first_.node_count.store(0, std::memory_order_relaxed);
    first_.counter_count.store(0, std::memory_order_relaxed);
    second_.node_count.store(0, std::memory_order_relaxed);
    second_.counter_count.store(0, std::memory_order_relaxed);
    acknowledged_.store(0, std::memory_order_relaxed);
    generation_.store(0, std::memory_order_release);
}

}  // namespace metatrain_timing::detail
