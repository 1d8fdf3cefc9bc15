#pragma once

#include <string>

#include "analyzer/model/query_result.hpp"
#include "analyzer/render/json.hpp"
#include "analyzer/render/table.hpp"

namespace metatrain_timing::analyzer {

/// `mt.sql/1`, see analyzer/schemas/sql.json: `columns` and `rows` of values; a blob is
/// its bytes in hexadecimal.
Json query_json(const QueryResult& result);

/// One row per row, numbers to the right; `null` stands for NULL.
Table query_table(const QueryResult& result, const std::string& null);

}  // namespace metatrain_timing::analyzer
