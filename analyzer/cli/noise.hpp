#pragma once

#include "analyzer/cli/shell.hpp"

namespace metatrain_timing::analyzer {

/// `mt-analyze noise RUN RUN RUN...`
void add_noise_command(CLI::App& app, Shell& shell);

}  // namespace metatrain_timing::analyzer
