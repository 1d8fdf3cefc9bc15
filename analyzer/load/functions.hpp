#pragma once

#include "analyzer/load/database.hpp"

namespace metatrain_timing::analyzer {

/// Adds the aggregate functions median(x) and percentile(x, p), p from 0 to 100, to a
/// connection: linear interpolation between order statistics, as `quantile()`. NULLs
/// are left out; without values the result is NULL.
void add_functions(const Database& db);

}  // namespace metatrain_timing::analyzer
