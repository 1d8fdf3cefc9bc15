#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/analysis/loops.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// The phase of loops in a thread that does not train, where another one does: it
/// fetches ahead, or evaluates beside. Their waits are not the training's.
inline constexpr std::string_view kBackground = "background";

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

/// Ranks that took part in the passes of a group.
std::int64_t count_ranks(const Run& run, std::span<const Pass> passes,
                         const PhaseGroup& group);

/// Of several phases the run is about the one with the greatest weight: the training
/// that took longest, else the longest that is not in the background.
std::tuple<bool, bool, std::int64_t> weight_of_phase(std::string_view phase,
                                                     std::int64_t wall_ns);

PhaseGroups group_passes(const Run& run, std::span<const Pass> passes);

}  // namespace metatrain_timing::analyzer
