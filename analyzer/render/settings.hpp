#pragma once

#include <string>

#include "analyzer/render/json.hpp"
#include "analyzer/replay/workload.hpp"

namespace metatrain_timing::analyzer {

/// `num_workers`, `prefetch_factor` (null without workers), `in_order`,
/// `persistent_workers`, `pin_memory`.
Json settings_json(const LoaderSettings& settings);

/// As arguments of a DataLoader: "num_workers=2, prefetch_factor=2".
std::string describe(const LoaderSettings& settings);

/// What is other than in `from`, likewise.
std::string describe_change(const LoaderSettings& to, const LoaderSettings& from);

}  // namespace metatrain_timing::analyzer
