#pragma once

#include <string>

#include "analyzer/analysis/diff.hpp"
#include "analyzer/render/diff_json.hpp"
#include "analyzer/render/table.hpp"
#include "analyzer/render/text.hpp"

namespace metatrain_timing::analyzer {

/// The verdict, what changed, the tables, and the verdict again. `verbose`: every row,
/// and the method.
std::string diff_text(const Diff& diff, const GateOutcome& gate, const TextStyle& style,
                      bool verbose);

/// For a comment on a pull request.
std::string diff_markdown(const Diff& diff, const GateOutcome& gate);

/// Every metric, in seconds.
std::string diff_csv(const Diff& diff);

}  // namespace metatrain_timing::analyzer
