#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/analysis/stages.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What a node of `Track::totals` is to the loops of its track, as `find_passes()` sees
/// intervals: a wait for a batch, a body, the end of a pass, or none of these.
enum class LoopPart : std::uint8_t { none, wait, body, end };

/// For each node of the totals of `track`. O(n) in its nodes and intervals.
std::vector<LoopPart> find_loop_parts(const Track& track, const StageNumbers& stages);

}  // namespace metatrain_timing::analyzer
