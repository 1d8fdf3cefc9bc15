#pragma once

#include <cstdint>

namespace metatrain_timing::detail {

/// Sums of the intervals of one node, see the table `interval_total`.
struct IntervalSums {
    std::int64_t calls = 0;
    std::int64_t total_ns = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t cpu_wall_ns = 0;
    std::int64_t cpu_calls = 0;  // 0: cpu_ns is unknown
    std::int64_t first_ns = 0;   // where there are calls
    std::int64_t last_ns = 0;

    /// Adds one. `cpu_ns_or_none` -1: not measured. False where a sum does not fit:
    /// they are of no use then.
    bool add(std::int64_t start_ns, std::int64_t dur_ns,
             std::int64_t cpu_ns_or_none) noexcept;
};

/// Sums of what was counted, see the table `counter_total`.
struct CounterSums {
    std::int64_t calls = 0;
    double value = 0;

    void add(double counted) noexcept {
        ++calls;
        value += counted;
    }
};

}  // namespace metatrain_timing::detail
