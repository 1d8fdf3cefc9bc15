#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "analyzer/model/stage_path.hpp"

namespace metatrain_timing::analyzer {

/// By how much a stage changed.
struct PartChange {
    StagePath path;
    double difference_ns = 0;
};

/// Whether one of `all` lies directly in `path`.
bool has_parts(std::span<const PartChange> all, const StagePath& path);

/// Those that make most of a change, either way, greatest first: without what is told
/// by its parts, at most `most`, and none of under 15 % of the greatest.
std::vector<PartChange> leading_parts(std::span<const PartChange> all,
                                      std::size_t most);

/// A stage in words: "`forward`", "waiting for `collate`".
std::string describe(const StagePath& path);

}  // namespace metatrain_timing::analyzer
