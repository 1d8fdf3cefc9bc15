#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <array>
#include <cstdint>
#include <optional>

#include "recorder/core/src/record.hpp"

namespace metatrain_timing::detail {

/// A row of the table `interval`; 0 or kUnknown stand for NULL.
struct IntervalRow {
    std::int64_t track_id = 0;
    std::int64_t stage_id = 0;
    std::int64_t iterator_id = 0;
    std::int64_t start_ns = 0;
    std::int64_t dur_ns = 0;
    std::int64_t cpu_ns = -1;
    std::uint32_t step = kUnknown;
    std::uint32_t batch = kUnknown;
    std::uint8_t depth = 0;
};

/// Inserts intervals in the order of `add()`, fifty by one statement as long as there
/// are as many. Inside a transaction of the caller; throws SQLite::Exception.
class IntervalInsert {
  public:
    explicit IntervalInsert(const SQLite::Database& database);

    void add(const IntervalRow& row);
    /// Inserts what is still held back.
    void finish();

  private:
    static constexpr std::size_t kRowsPerStatement = 50;

    std::array<IntervalRow, kRowsPerStatement> rows_;
    std::size_t row_count_ = 0;
    const SQLite::Database& database_;
    SQLite::Statement one_;
    std::optional<SQLite::Statement> many_;  // short lives never need it
};

}  // namespace metatrain_timing::detail
