#pragma once

#include <string>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Writes a run of memory as a new run file, with tables, rows and views; what is only
/// summed (`totals`) is left out. A file that exists is not overwritten, and none is
/// left half written.
/// @throws Error
void write_run(Run run, const std::string& path);

}  // namespace metatrain_timing::analyzer
