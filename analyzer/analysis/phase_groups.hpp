#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
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

    /// Of an iterator, an index into `groups`; nothing where it is -1 or of no group.
    std::optional<std::size_t> group_of(std::int32_t iterator) const;
};

using TrackKey = std::pair<std::size_t, std::size_t>;  // process, its track
using LoopsOfTrack = std::map<std::int32_t, std::size_t>;
using LoopGroups = std::map<TrackKey, LoopsOfTrack>;

/// The group of each loop of a track, by its iterators; -1: the loop without a loader.
LoopGroups find_loop_groups(std::span<const Pass> passes, const PhaseGroups& groups);

PhaseGroups group_passes(const Run& run, std::span<const Pass> passes);

}  // namespace metatrain_timing::analyzer
