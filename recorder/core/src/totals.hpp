#pragma once

#include <cstdint>
#include <vector>

#include "recorder/core/src/drop_table.hpp"
#include "recorder/core/src/ring.hpp"

namespace metatrain_timing::detail {

/// Calls and time of each stage, and the sum of each counter, by number.
///
/// Guarded by the registry's mutex, under which records are counted.
class Totals {
  public:
    struct Stage {
        std::int64_t calls = 0;
        std::int64_t total_ns = 0;
    };

    /// Adds the records at positions [from, to).
    void add(const Ring& ring, std::uint64_t from, std::uint64_t to);
    /// Adds what `now` has more than `counted`, an earlier reading of the same table.
    void add(const DroppedSums& now, const DroppedSums& counted);
    void reset() noexcept;

    const std::vector<Stage>& stages() const noexcept { return stages_; }
    const std::vector<double>& counters() const noexcept { return counters_; }
    /// Whether something was counted, for each counter.
    const std::vector<bool>& counted() const noexcept { return counted_; }

  private:
    void add_stage(std::uint16_t stage, std::int64_t calls, std::int64_t total_ns);
    void add_counter(std::uint16_t counter, double value);

    std::vector<Stage> stages_;  // index: number of the name
    std::vector<double> counters_;
    std::vector<bool> counted_;
};

}  // namespace metatrain_timing::detail
