#pragma once

#include <string>

#include "analyzer/analysis/gate_outcome.hpp"
#include "analyzer/analysis/history.hpp"
#include "analyzer/render/text.hpp"

namespace metatrain_timing::analyzer {

/// The whole answer of `mt-analyze history`: the verdict first and last.
std::string history_text(const History& history, const GateOutcome& gate,
                         const TextStyle& style);

/// The same for a pull request.
std::string history_markdown(const History& history, const GateOutcome& gate);

/// A line for each run, for programs.
std::string history_csv(const History& history);

}  // namespace metatrain_timing::analyzer
