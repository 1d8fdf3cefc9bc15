#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace metatrain_timing::analyzer {

/// How much runs of one workload differ where nothing was changed.
struct LearnedNoise {
    /// What identifies the workload: its phase, and the facts that make it another one
    /// or its batches of another size. Runs with other settings have as much noise.
    std::map<std::string, std::string> workload;
    double relative = 0;    // standard deviation from run to run, as a part
    std::int64_t runs = 0;  // it was learned from
    std::int64_t learned_unix_ns = 0;
};

}  // namespace metatrain_timing::analyzer
