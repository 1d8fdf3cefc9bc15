#pragma once

#include "analyzer/cli/shell.hpp"

namespace metatrain_timing::analyzer {

/// What stands for the "--" between both sides on the command line, as CLI11 takes that
/// away.
inline constexpr const char* kBetweenSides = "\x1f";

/// `mt-analyze diff BEFORE AFTER`, or `diff BEFORE... -- AFTER...`.
void add_diff_command(CLI::App& app, Shell& shell);

}  // namespace metatrain_timing::analyzer
