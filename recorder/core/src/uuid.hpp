#pragma once

#include <string>
#include <string_view>

namespace metatrain_timing::detail {

/// A random UUID (RFC 9562, version 4) from the kernel's generator.
std::string random_uuid();

/// A UUID made of a name (version 5), the same wherever it is made.
std::string name_uuid(std::string_view name);

/// Whether `text` is a UUID in the usual form of 36 characters.
bool is_uuid(std::string_view text) noexcept;

}  // namespace metatrain_timing::detail
