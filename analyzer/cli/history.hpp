#pragma once

#include "analyzer/cli/shell.hpp"

namespace metatrain_timing::analyzer {

/// `mt-analyze history RUNS...`
void add_history_command(CLI::App& app, Shell& shell);

}  // namespace metatrain_timing::analyzer
