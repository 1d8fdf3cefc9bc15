#pragma once

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/intervals.hpp"
#include "analyzer/load/run_file.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Reads `interval_total` and `counter_total` of one file into the tracks of `run` that
/// `ids` leads to; rows of the same node become one. As `read_intervals()` for threads,
/// `problems` and errors.
void read_totals(RunFile& file, const FileIds& ids, Run& run,
                 IntervalProblems& problems);

}  // namespace metatrain_timing::analyzer
