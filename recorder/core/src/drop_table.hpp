#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "recorder/core/src/latched.hpp"
#include "recorder/core/src/open_stack.hpp"
#include "recorder/core/src/record.hpp"
#include "recorder/core/src/sums.hpp"

namespace metatrain_timing::detail {

/// What a table held when it was read; values only grow until the next reading.
struct DroppedSums {
    static constexpr std::int64_t kTop = -1;

    struct Interval {
        std::int64_t node = 0;  // its number in the table, never that of another one
        std::int64_t parent = kTop;
        std::uint16_t stage = 0;
        std::uint32_t iterator = kUnknown;
        IntervalSums sums;
    };
    struct Counter {
        std::int64_t node = 0;
        std::uint16_t counter = 0;
        std::uint32_t iterator = kUnknown;
        CounterSums sums;
    };

    std::uint64_t generation = 0;
    std::vector<Interval> intervals;  // by number: a parent comes before its parts
    std::vector<Counter> counters;

    bool empty() const noexcept { return intervals.empty() && counters.empty(); }
};

/// Exact sums of what one thread could not put into its full ring. It lies in the
/// thread's area and outlives a killed process; zeros are an empty table.
///
/// Intervals are summed by their path of stages, each with its iterator. As each pass
/// over a loader has an iterator of its own, nodes get used up: they come in
/// generations of kNodes, of which two are there at a time. The owner begins the next
/// one when a generation is full and the one before it was acknowledged. Where that one
/// was not yet, as the database cannot be written for long, the last nodes are kept for
/// sums whose iterators are unknown; what finds no node there either is not summed.
class DropTable {
  public:
    static constexpr std::size_t kNodes = 96;
    static constexpr std::size_t kNodesOfPasses = 72;
    static constexpr std::size_t kCounters = 32;
    static constexpr std::size_t kCountersOfPasses = 24;

    /// Owner: adds an interval that was nested in the first `depth` of `open`. False
    /// where it is not summed. `cpu_ns` -1: not measured. Costs 0.1 to 0.4 us.
    bool add_interval(const Record& record, std::int64_t cpu_ns,
                      const OpenStack& open) noexcept;
    bool add_counter(const Record& record) noexcept;

    /// Any thread, and on any bytes: nodes are left out that no owner could have made.
    DroppedSums read() const;
    /// Everything that a `read()` of that generation gave is where it is to be. Not
    /// while anybody reads.
    void acknowledge(std::uint64_t generation) noexcept {
        acknowledged_.store(generation, std::memory_order_release);
    }

    /// Where nobody reads, before another thread becomes the owner.
    void clear() noexcept;

  private:
    struct Generation {
        std::atomic<std::uint32_t> node_count{0};
        std::atomic<std::uint32_t> counter_count{0};
        std::array<std::atomic<std::uint64_t>, kNodes> node_keys{};
        std::array<Latched<IntervalSums>, kNodes> node_sums{};
        std::array<std::atomic<std::uint64_t>, kCounters> counter_keys{};
        std::array<Latched<CounterSums>, kCounters> counter_sums{};
    };

    Generation& current() noexcept;
    bool begin_generation() noexcept;
    Latched<IntervalSums>* node_of(const Record& record, const OpenStack& open,
                                   bool knows_pass) noexcept;
    Latched<CounterSums>* node_of(const Record& record, bool knows_pass) noexcept;
    static void read(const Generation& from, std::uint64_t generation,
                     DroppedSums& into);

    std::atomic<std::uint64_t> generation_{0};  // odd ones in the second place
    Generation first_;
    Generation second_;
    // Of who reads: no generation before this one is needed any more.
    alignas(64) std::atomic<std::uint64_t> acknowledged_{0};
};

}  // namespace metatrain_timing::detail
