#pragma once

#include "analyzer/cli/shell.hpp"

namespace metatrain_timing::analyzer {

/// `mt-analyze runs PATH`: lists the runs of a file. `shell` outlives `app`.
void add_runs_command(CLI::App& app, Shell& shell);

}  // namespace metatrain_timing::analyzer
