#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// How many files of loader workers are not there: the most workers that ran at one
/// time of those that no file tells of. A file is one worker at a time, so this is the
/// number of files that a copy of `run.db` alone left behind.
std::int64_t missing_worker_files(const Run& run);

/// Adds the warning that says so, if there are any.
void warn_about_missing_files(const Run& run, std::vector<Warning>& warnings);

}  // namespace metatrain_timing::analyzer
