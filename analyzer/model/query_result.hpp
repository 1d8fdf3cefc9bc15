#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Bytes that are no text.
struct Blob {
    std::string bytes;
};

/// A value of SQL; std::monostate is NULL.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string, Blob>;

/// What a query answered.
struct QueryResult {
    std::vector<std::string> columns;
    std::vector<std::vector<SqlValue>> rows;
    std::vector<FileStatus> files;
    std::vector<Warning> warnings;
};

}  // namespace metatrain_timing::analyzer
