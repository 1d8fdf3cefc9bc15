#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/load/database.hpp"

namespace metatrain_timing::analyzer {

/// A row while `for_each_row()` shows it. Columns are numbered from 0; values of an
/// unexpected type are converted as SQLite does.
class RowView {
  public:
    explicit RowView(sqlite3_value** values) : values_(values) {}

    std::int64_t integer(int column) const noexcept {
        return sqlite3_value_int64(values_[column]);
    }
    bool is_null(int column) const noexcept {
        return sqlite3_value_type(values_[column]) == SQLITE_NULL;
    }

  private:
    sqlite3_value** values_;
};

/// An aggregate function `visit_row()` of any number of columns, as long as this lives.
class RowFunction {
  public:
    using Step = void (*)(sqlite3_context*, int, sqlite3_value**);
    using Final = void (*)(sqlite3_context*);

    RowFunction(const Database& db, void* state, Step step, Final final)
        : db_(db.handle()) {
        if (set(state, step, final) != SQLITE_OK) {
            throw DatabaseError(sqlite3_errcode(db_), sqlite3_errmsg(db_));
        }
    }
    ~RowFunction() { set(nullptr, nullptr, nullptr); }
    RowFunction(const RowFunction&) = delete;
    RowFunction& operator=(const RowFunction&) = delete;

  private:
    int set(void* state, Step step, Final final) {
        constexpr int kAnyCount = -1;
        return sqlite3_create_function_v2(db_, "visit_row", kAnyCount, SQLITE_UTF8,
                                          state, nullptr, step, final, nullptr);
    }

    sqlite3* db_;
};

/// Calls `visit(RowView)` for each row of "SELECT `columns` FROM `source`" from inside
/// of SQLite, as an aggregate function: a quarter cheaper than a `Statement::step()`
/// for each, which counts with millions of rows (benchmarks/load_bench.cpp). `bind` is
/// called with the statement first. Rows come in the order in which SQLite finds them,
/// of a table without index by row id. What `visit` throws ends it, and is thrown here.
///
/// @throws DatabaseError; the rows before a damaged one were visited.
template <std::invocable<Statement&> Bind, std::invocable<const RowView&> Visit>
void for_each_row(const Database& db, std::string_view columns, std::string_view source,
                  Bind bind, Visit visit) {
    struct State {
        Visit visit;
        std::exception_ptr failure;
    } state{std::move(visit), nullptr};
    const auto add_row = [](sqlite3_context* context, int, sqlite3_value** values) {
        auto& own = *static_cast<State*>(sqlite3_user_data(context));
        try {
            own.visit(RowView(values));
        } catch (...) {
            own.failure = std::current_exception();
            sqlite3_result_error(context, "not read further", -1);
        }
    };
    const auto finish = [](sqlite3_context* context) { sqlite3_result_null(context); };
    const RowFunction function(db, &state, add_row, finish);
    std::string sql = "SELECT visit_row(";
    sql.append(columns).append(") FROM ").append(source);
    try {
        Statement rows = db.prepare(sql);
        bind(rows);
        rows.run();
    } catch (...) {
        if (state.failure) {
            std::rethrow_exception(state.failure);
        }
        throw;
    }
}

}  // namespace metatrain_timing::analyzer
