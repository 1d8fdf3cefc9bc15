#pragma once

#include <string>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Saves the last records of processes that were killed while they recorded for `path`,
/// a run file that need not be there, and says so in `warnings`. Their files are
/// completed by that, as their own process would have done; others are not touched.
void save_records_of_the_killed(const std::string& path,
                                std::vector<Warning>& warnings);

}  // namespace metatrain_timing::analyzer
