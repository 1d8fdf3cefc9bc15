#pragma once

#include <cstdint>

namespace metatrain_timing::detail {

/// CLOCK_MONOTONIC in nanoseconds. One call of the vDSO, no system call.
std::int64_t monotonic_ns() noexcept;

/// CPU time of the calling thread in nanoseconds. A system call, about 0.5 µs.
std::int64_t thread_cpu_ns() noexcept;

/// CPU time of all threads of the process. A system call.
std::int64_t process_cpu_ns() noexcept;

/// The two clocks read at one instant: what ties monotonic times to the calendar.
struct ClockSnapshot {
    std::int64_t monotonic_ns = 0;
    std::int64_t unix_ns = 0;
};

/// Reads the pair a few times and keeps the tightest one: being descheduled between the
/// two reads would shift all times of a process.
ClockSnapshot read_clocks() noexcept;

}  // namespace metatrain_timing::detail
