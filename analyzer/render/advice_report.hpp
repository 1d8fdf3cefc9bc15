#pragma once

#include <optional>

#include "analyzer/analysis/advice.hpp"
#include "analyzer/render/json.hpp"
#include "analyzer/render/table.hpp"

namespace metatrain_timing::analyzer {

/// What would save most: up to three settings and three stages. Nothing where nothing
/// can be said.
std::optional<Table> advice_table(const Advice& advice);

/// The key `advice` of `mt.report/1`.
Json advice_json(const Advice& advice);

}  // namespace metatrain_timing::analyzer
