#pragma once

#include "analyzer/cli/shell.hpp"

namespace metatrain_timing::analyzer {

/// `mt-analyze export PATH -o FILE [--steps A:B] [--rank N] [--gzip]`
void add_export_command(CLI::App& app, Shell& shell);

}  // namespace metatrain_timing::analyzer
