#pragma once

#include <optional>
#include <string>

#include "analyzer/model/run_digest.hpp"

namespace metatrain_timing::analyzer {

/// A digest as text, for `DigestStore`.
std::string digest_text(const RunDigest& digest);

/// Nothing for a text that is none, or of another version.
std::optional<RunDigest> parse_digest(const std::string& text);

}  // namespace metatrain_timing::analyzer
