#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace metatrain_timing::detail {

/// `text` as valid UTF-8 of at most `max_bytes`, for a TEXT column: each byte that is
/// no part of a well-formed character, and each NUL, becomes U+FFFD; what is too long
/// is cut between two characters.
std::string to_utf8(std::string_view text, std::size_t max_bytes);

}  // namespace metatrain_timing::detail
