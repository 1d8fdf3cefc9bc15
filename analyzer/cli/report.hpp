#pragma once

#include "analyzer/cli/shell.hpp"

namespace metatrain_timing::analyzer {

/// `mt-analyze report PATH`: where the time of a run goes. `shell` outlives `app`.
void add_report_command(CLI::App& app, Shell& shell);

}  // namespace metatrain_timing::analyzer
