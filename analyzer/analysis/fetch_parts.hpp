#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "analyzer/analysis/findings.hpp"
#include "analyzer/analysis/path_sums.hpp"

namespace metatrain_timing::analyzer {

/// What making the batches of a phase group took, in workers, where most of it is
/// hidden behind steps, or without: {"fetch"}, {"fetch", "collate"}, ...
struct FetchParts {
    std::array<std::size_t, kSeriesBatches> counts{};  // in each tenth of each process
    std::vector<PathSum> parts;

    std::size_t count() const;
};

/// Of each process, all but the first batch that it made: much is read for the first
/// time there. Pure; O(n) in the intervals.
FetchParts find_fetch_parts(const Findings& findings, std::size_t group);

}  // namespace metatrain_timing::analyzer
