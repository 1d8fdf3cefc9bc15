#pragma once

#include <string>

#include "analyzer/model/query_result.hpp"

namespace metatrain_timing::analyzer {

/// Answers one SQL query over a whole run, all its files at once.
///
/// `run` is a selector (empty: the newest run) or "all". Tables and views are those of
/// schema/, views as this version defines them, whatever the file holds; beside
/// SQLite's functions there are median(x) and percentile(x, p), p from 0 to 100. The
/// query can read and nothing else. Throws Error: what SQLite said, or that the query
/// is no query.
///
/// A single file is read where it is; several are gathered in a temporary database
/// first, about 1 us an interval.
QueryResult run_query(const std::string& path, const std::string& run,
                      const std::string& sql);

}  // namespace metatrain_timing::analyzer
