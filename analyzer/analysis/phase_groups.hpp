#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/loops.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Passes that are reported together: one phase over one loader, or over one set of
/// loaders that a loop zips or mixes, on all ranks.
struct PhaseGroup {
    std::string phase;
    /// Labels of the loaders, joined by " + "; empty for a loop without a loader.
    std::string loader;
    std::vector<std::size_t> passes;    // indices into the passes, in order
    std::vector<std::int32_t> loaders;  // indices into Run::loaders, on all ranks
};

/// Which group each pass and each iterator belongs to.
struct PhaseGroups {
    /// Training first, then phases the user named, evaluation, before-training; within
    /// each by first wait. Last those of phase "unused": they have no passes.
    std::vector<PhaseGroup> groups;
    std::vector<std::int32_t> group_of_iterator;  // -1: none
};

PhaseGroups group_passes(const Run& run, std::span<const Pass> passes);

}  // namespace metatrain_timing::analyzer
