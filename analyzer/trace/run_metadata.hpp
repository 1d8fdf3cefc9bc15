#pragma once

#include <string>

#include "analyzer/model/run.hpp"
#include "analyzer/trace/trace_clock.hpp"
#include "analyzer/trace/track_names.hpp"

namespace metatrain_timing::analyzer {

/// What a timeline cannot show of a run, as a JSON object `mt.trace/1`: the run, its
/// processes with the tracks they are on, loaders and passes. Times of processes are
/// nanoseconds since the trace began. Enough to make a run of the timeline again.
std::string run_metadata(const Run& run, const TraceClock& clock,
                         const TrackNames& names);

}  // namespace metatrain_timing::analyzer
