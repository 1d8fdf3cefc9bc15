#pragma once

#include "analyzer/cli/shell.hpp"

namespace metatrain_timing::analyzer {

void add_whatif_command(CLI::App& app, Shell& shell);

}  // namespace metatrain_timing::analyzer
