#pragma once

#include <string>

#include "analyzer/analysis/report.hpp"

namespace metatrain_timing::analyzer {

/// The verdict of a report in one to four sentences with numbers. Names in it are as
/// recorded: not yet escaped.
std::string verdict_text(const Report& report);

/// What else was looked at and is not the reason, and what is not on record, in one or
/// two sentences; empty where there is no verdict. What holds the training up is in the
/// verdict itself.
std::string checks_text(const Report& report);

/// The error of a report without any phase: a report on nothing would look like a
/// finding.
std::string no_steps_message(const Report& report, const std::string& path);

}  // namespace metatrain_timing::analyzer
