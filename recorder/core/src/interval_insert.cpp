#include "recorder/core/src/interval_insert.hpp"

#include <metatrain_timing/schema/sql.hpp>
#include <string>

#include "recorder/core/src/sql.hpp"

namespace metatrain_timing::detail {
namespace {

constexpr int kColumnCount = 9;

void bind_row(SQLite::Statement& statement, int first_index, const IntervalRow& row) {
    statement.bind(first_index, row.track_id);
    statement.bind(first_index + 1, row.stage_id);
    statement.bind(first_index + 2, row.start_ns);
    statement.bind(first_index + 3, row.dur_ns);
    statement.bind(first_index + 4, std::int64_t{row.depth});
    bind_unless(statement, first_index + 5, std::int64_t{row.step}, kUnknown);
    bind_unless(statement, first_index + 6, row.iterator_id, 0);
    bind_unless(statement, first_index + 7, std::int64_t{row.batch}, kUnknown);
    bind_unless(statement, first_index + 8, row.cpu_ns, -1);
}

}  // namespace

IntervalInsert::IntervalInsert(const SQLite::Database& database)
    : database_(database),
      one_(database, std::string(schema::statements::insert_interval)) {
}

void IntervalInsert::add(const IntervalRow& row) {
    rows_[row_count_++] = row;
    if (row_count_ < kRowsPerStatement) {
        return;
    }
    if (!many_) {
        many_.emplace(database_, std::string(schema::statements::insert_interval_50));
    }
    for (std::size_t index = 0; index < kRowsPerStatement; ++index) {
        bind_row(*many_, static_cast<int>(index) * kColumnCount + 1, rows_[index]);
    }
    row_count_ = 0;
    run(*many_);
}

void IntervalInsert::finish() {
    for (std::size_t index = 0; index < row_count_; ++index) {
        bind_row(one_, 1, rows_[index]);
        run(one_);
    }
    row_count_ = 0;
}

}  // namespace metatrain_timing::detail
