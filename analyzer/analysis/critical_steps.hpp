#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/analysis/findings.hpp"
#include "analyzer/analysis/steps.hpp"

namespace metatrain_timing::analyzer {

/// A step of a whole run: it takes as long as on the rank where it takes longest.
struct CriticalStep {
    std::int32_t number = 0;
    std::int64_t dur_ns = 0;
    std::size_t process = 0;  // index into Run::processes: that rank
    std::uint32_t step = 0;   // index into its ProcessSteps::steps
};

/// The steady steps of a phase group, on all its ranks together.
struct CriticalSteps {
    std::size_t group = 0;  // index into the groups of the findings
    GroupSteps of_ranks;
    std::vector<CriticalStep> steady;  // those that all ranks have, in their order
    std::int64_t warm_up_steps = 0;    // before the first steady one, on one rank
    /// What each steady step counted, on all ranks together ("atoms"); by name.
    std::map<std::string, std::vector<double>> units;
};

/// Pure; O(n log n) in the turns and counters of the group.
CriticalSteps find_critical_steps(const Findings& findings, std::size_t group);

}  // namespace metatrain_timing::analyzer
