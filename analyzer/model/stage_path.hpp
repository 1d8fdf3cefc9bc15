#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace metatrain_timing::analyzer {

/// A stage with those it lies in, outermost first: {"loader", "collate"}.
using StagePath = std::vector<std::string>;

/// "loader/collate"
inline std::string path_name(const StagePath& path) {
    return fmt::format("{}", fmt::join(path, "/"));
}

}  // namespace metatrain_timing::analyzer
