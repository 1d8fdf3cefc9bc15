#pragma once

#include <filesystem>
#include <optional>

#include "recorder/core/src/identity.hpp"

namespace metatrain_timing::detail {

/// Job and attempt of the newest run in a file, for a training that goes on there.
/// Reads only; nothing if there is no such file or it cannot be read.
std::optional<PreviousAttempt> find_previous_attempt(
    const std::filesystem::path& database);

}  // namespace metatrain_timing::detail
