#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/findings.hpp"

namespace metatrain_timing::analyzer {

/// What a fact of a run means to who compares it with another one.
enum class FactKind : std::uint8_t {
    setting,   // may be why it is faster: workers, versions, the commit
    workload,  // another value makes it another workload: model, data, device, ranks
    size,      // of a batch: another value compares per sample
};

struct RunFact {
    std::string key;    // "torch.version", "loader.num_workers"
    std::string value;  // empty: not on record
    FactKind kind = FactKind::setting;
};

/// The environment of the first training process that has one; empty: none has.
std::vector<std::pair<std::string, std::string>> environment_of(const Run& run);

/// What is on record of a run and of the loaders of one of its phase groups, by key:
/// the environment of its first training process, "loader.*", "ranks" and "epochs".
std::vector<RunFact> run_facts(const Findings& findings, std::size_t group);

/// A fact that differs. Of facts that only one side has: the value is empty.
struct ChangedFact {
    std::string key;
    std::string before;
    std::string after;
    FactKind kind = FactKind::setting;
};

/// How many facts are the same on both sides.
std::int64_t count_same(const std::vector<RunFact>& before,
                        const std::vector<RunFact>& after);

/// Facts that differ, by key. Both are in the order of `run_facts()`.
std::vector<ChangedFact> changed_facts(const std::vector<RunFact>& before,
                                       const std::vector<RunFact>& after);

}  // namespace metatrain_timing::analyzer
