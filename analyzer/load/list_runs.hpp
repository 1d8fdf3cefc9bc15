#pragma once

#include <string>

#include "analyzer/model/run_list.hpp"

namespace metatrain_timing::analyzer {

/// The runs in the files that `path` stands for; "@<run>" is not allowed here.
/// O(intervals of training processes), without loading them.
RunList list_runs(const std::string& path);

}  // namespace metatrain_timing::analyzer
