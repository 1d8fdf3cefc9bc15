#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/analysis/stages.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// The node of `Track::totals` that encloses `total`.
inline std::optional<std::size_t> parent_of(const IntervalTotal& total) {
    return total.parent < 0 ? std::nullopt
                            : std::optional(static_cast<std::size_t>(total.parent));
}

/// What a node of `Track::totals` is to the loops of its track, as `find_passes()` sees
/// intervals: a wait for a batch, a body, the end of a pass, or none of these.
enum class LoopPart : std::uint8_t { none, wait, body, end };

/// For each node of the totals of `track`. O(n) in its nodes and intervals.
std::vector<LoopPart> find_loop_parts(const Track& track, const StageNumbers& stages);

}  // namespace metatrain_timing::analyzer
