#pragma once

#include "analyzer/analysis/report.hpp"
#include "analyzer/render/json.hpp"

namespace metatrain_timing::analyzer {

/// The report as `mt.report/1`, see analyzer/schemas/report.json and docs/report.md:
/// times in seconds, shares from 0 to 1, unknown is null. `phase` keeps the phases of
/// that name only; empty: all.
Json report_json(const Report& report, const std::string& phase = "");

}  // namespace metatrain_timing::analyzer
