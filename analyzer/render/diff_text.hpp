#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis/diff.hpp"

namespace metatrain_timing::analyzer {

/// "REGRESSED  step time +4.8 % (+3.1 to +6.5), 41.2 ms -> 43.2 ms"
std::string diff_headline(const Diff& diff);

/// What to make of it, the headline first: because of which stage, what changed and
/// gained nothing, what the begins of epochs take, and what would decide.
std::vector<std::string> diff_sentences(const Diff& diff);

/// "+4.8 %", with as many digits as matter.
std::string format_change(double relative);

}  // namespace metatrain_timing::analyzer
