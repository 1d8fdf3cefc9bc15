#pragma once

#include "analyzer/cli/shell.hpp"

namespace metatrain_timing::analyzer {

/// `mt-analyze sql PATH QUERY`: answers a query over all files of a run.
void add_sql_command(CLI::App& app, Shell& shell);

}  // namespace metatrain_timing::analyzer
