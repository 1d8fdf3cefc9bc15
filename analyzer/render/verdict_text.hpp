#pragma once

#include <string>

#include "analyzer/analysis/report.hpp"

namespace metatrain_timing::analyzer {

/// The verdict of a report in one to four sentences with numbers. Names in it are as
/// recorded: not yet escaped.
std::string verdict_text(const Report& report);

}  // namespace metatrain_timing::analyzer
