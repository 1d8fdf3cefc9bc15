#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/load/tables.hpp"

namespace metatrain_timing::analyzer {

/// One run as the rows of all files tell it, oldest first; its index, from 1, is what
/// `mt-analyze runs` shows.
///
/// The row of a training process counts for more than a worker's, which does not know
/// all; the run began when the first of them did.
std::vector<RunRow> distinct_runs(const std::vector<std::vector<RunRow>>& files);

/// The position in `runs` of the run that `selector` names: an index from 1, or the
/// beginning of a uuid; empty: the newest. Throws Error, led by `name`, where none or
/// several match.
std::size_t select_run(const std::vector<RunRow>& runs, const std::string& selector,
                       const std::string& name);

}  // namespace metatrain_timing::analyzer
