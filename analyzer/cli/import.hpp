#pragma once

#include "analyzer/cli/shell.hpp"

namespace metatrain_timing::analyzer {

/// `mt-analyze import TRACE... -o FILE [--from kineto|chrome|viztracer]`
void add_import_command(CLI::App& app, Shell& shell);

}  // namespace metatrain_timing::analyzer
