#pragma once

#include <string>

#include "analyzer/analysis/gate_outcome.hpp"
#include "analyzer/render/json.hpp"

namespace metatrain_timing::analyzer {

/// "gate failed: step:2%"; empty where no gate was asked for.
std::string gate_line(const GateOutcome& gate);

/// `{"rule": ..., "passed": ..., "broken": [...]}`: null where no gate was asked for,
/// `passed` null where that cannot be told.
Json gate_json(const GateOutcome& gate);

}  // namespace metatrain_timing::analyzer
