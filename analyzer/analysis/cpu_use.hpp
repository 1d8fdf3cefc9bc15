#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What was used of the CPUs between two instants.
struct CpuUse {
    std::int64_t wall_ns = 0;
    double cpu_ns = 0;
    double queued_ns = -1;  // could have run and had no CPU; -1: unknown
};

/// Of `readings` between two instants; between two readings use is taken to be even.
/// Nothing where the readings cover less than half of the stretch. O(log n).
std::optional<CpuUse> cpu_use_between(const std::vector<CpuReading>& readings,
                                      std::int64_t from_ns, std::int64_t to_ns);

}  // namespace metatrain_timing::analyzer
