#pragma once

#include <map>
#include <optional>
#include <string>

#include "analyzer/analysis/breakdown.hpp"
#include "analyzer/analysis/predictions.hpp"

namespace metatrain_timing::analyzer {

/// What it means for a batch that stages take `factors` (by name) of what they take
/// now. Nothing where one of them makes no part of a batch's life; `problem` says so.
std::optional<StageScale> find_stage_scale(const Breakdown& time,
                                           const std::map<std::string, double>& factors,
                                           std::string& problem);

}  // namespace metatrain_timing::analyzer
