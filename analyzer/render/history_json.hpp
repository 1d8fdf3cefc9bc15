#pragma once

#include <vector>

#include "analyzer/analysis/gate_outcome.hpp"
#include "analyzer/analysis/history.hpp"
#include "analyzer/render/json.hpp"

namespace metatrain_timing::analyzer {

/// `mt.history/1`; its schema is analyzer/schemas/history.json.
Json history_json(const History& history, const GateOutcome& gate,
                  const std::vector<FileStatus>& files,
                  const std::vector<Warning>& warnings);

}  // namespace metatrain_timing::analyzer
