#pragma once

#include "analyzer/cli/shell.hpp"

namespace metatrain_timing::analyzer {

/// `mt-analyze merge PATH -o FILE | --in-place`: makes one file of many.
void add_merge_command(CLI::App& app, Shell& shell);

}  // namespace metatrain_timing::analyzer
