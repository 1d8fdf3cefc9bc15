#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace metatrain_timing::analyzer {

/// "1 row", "2 rows", "2 processes".
inline std::string counted(std::int64_t count, std::string_view noun) {
    const std::string_view plural = noun.ends_with('s') ? "es" : "s";
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural);
}

}  // namespace metatrain_timing::analyzer
