#pragma once

#include "analyzer/analysis/diff.hpp"
#include "analyzer/analysis/gate.hpp"
#include "analyzer/render/json.hpp"

namespace metatrain_timing::analyzer {

/// mt.diff/1; see schemas/diff.json and docs/diff.md.
Json diff_json(const Diff& diff, const GateOutcome& gate);

}  // namespace metatrain_timing::analyzer
