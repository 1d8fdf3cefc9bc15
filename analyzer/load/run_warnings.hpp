#pragma once

#include <vector>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/intervals.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What a reader of a run has to know of how complete it is: rows that were skipped,
/// files that are missing, records that were dropped or thinned, processes that still
/// record, and what the recorders noted themselves.
void warn_of_run(const AssembledRun& assembled, const IntervalProblems& problems,
                 std::vector<Warning>& warnings);

}  // namespace metatrain_timing::analyzer
