#include "analyzer/load/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <metatrain_timing/schema/sql.hpp>
#include <string_view>
#include <utility>

#include "analyzer/load/functions.hpp"
#include "analyzer/load/gather.hpp"
#include "analyzer/load/open_files.hpp"
#include "analyzer/load/select.hpp"
#include "analyzer/load/source.hpp"

namespace metatrain_timing::analyzer {
namespace {

bool is_one_of(const char* name, std::initializer_list<std::string_view> names) {
    return name != nullptr &&
           std::find(names.begin(), names.end(), name) != names.end();
}

// Reading, and what tells about tables; no statement that changes, attaches or loads.
int query_authorizer(void*, int action, const char* first, const char* second,
                     const char*, const char*) {
    switch (action) {
        case SQLITE_SELECT:
        case SQLITE_READ:
        case SQLITE_RECURSIVE:
            return SQLITE_OK;
        case SQLITE_FUNCTION:
            return is_one_of(second, {"load_extension", "fts3_tokenizer"}) ? SQLITE_DENY
                                                                           : SQLITE_OK;
        case SQLITE_PRAGMA:
            return is_one_of(first, {"table_info", "table_xinfo", "table_list",
                                     "index_list", "index_info", "foreign_key_list",
                                     "function_list", "compile_options"}) ||
                           (second == nullptr &&
                            is_one_of(first,
                                      {"user_version", "application_id",
                                       "database_list", "page_count", "page_size"}))
                       ? SQLITE_OK
                       : SQLITE_DENY;
        default:
            return SQLITE_DENY;
    }
}

SqlValue value_of(sqlite3_stmt* row, int column) {
    switch (sqlite3_column_type(row, column)) {
        case SQLITE_INTEGER:
            return sqlite3_column_int64(row, column);
        case SQLITE_FLOAT:
            return sqlite3_column_double(row, column);
        case SQLITE_NULL:
            return std::monostate{};
        default:
            break;
    }
    const bool is_text = sqlite3_column_type(row, column) == SQLITE_TEXT;
    const void* bytes =
        is_text ? sqlite3_column_text(row, column) : sqlite3_column_blob(row, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
    std::string value(bytes == nullptr ? "" : static_cast<const char*>(bytes),
                      bytes == nullptr ? 0 : size);
    return is_text ? SqlValue(std::move(value)) : SqlValue(Blob{std::move(value)});
}

[[noreturn]] void fail_query(const Database& db) {
    const int code = sqlite3_errcode(db.handle()) & 0xFF;
    throw Error(code == SQLITE_AUTH
                    ? "sql: only reading is allowed; this does something else"
                    : std::string("sql: ") + sqlite3_errmsg(db.handle()) +
                          "; docs/schema.md lists tables and views");
}

// Prepared with its own look at what follows: one query, no more.
Statement prepare_query(const Database& db, const std::string& sql) {
    const auto has_query = [&](const char* text) {
        sqlite3_stmt* statement = nullptr;
        const int code = sqlite3_prepare_v2(db.handle(), text, -1, &statement, nullptr);
        sqlite3_finalize(statement);
        return code != SQLITE_OK || statement != nullptr;
    };
    if (sql.find('\0') != std::string::npos) {
        throw Error("sql: the query holds a zero byte", ErrorCode::usage);
    }
    sqlite3_stmt* probe = nullptr;
    const char* rest = nullptr;
    if (sqlite3_prepare_v2(db.handle(), sql.c_str(), -1, &probe, &rest) != SQLITE_OK) {
        fail_query(db);
    }
    const bool is_query = probe != nullptr && sqlite3_stmt_readonly(probe) != 0;
    const bool is_empty = probe == nullptr;
    sqlite3_finalize(probe);
    if (is_empty) {
        throw Error("sql: the query is empty", ErrorCode::usage);
    }
    if (!is_query) {
        throw Error("sql: only reading is allowed; this does something else");
    }
    if (has_query(rest)) {
        throw Error("sql: one query at a time; there is more after the first ';'",
                    ErrorCode::usage);
    }
    return db.prepare(
        std::string_view(sql.c_str(), static_cast<std::size_t>(rest - sql.c_str())));
}

// Table-valued functions are declared at their first use, which looks like writing to
// the authorizer: those that are worth having are used once before it is there.
void declare_table_functions(const Database& db) {
    for (const char* sql :
         {"SELECT 1 FROM pragma_table_info('run')",
          "SELECT 1 FROM pragma_table_xinfo('run')",
          "SELECT 1 FROM pragma_table_list('run')",
          "SELECT 1 FROM pragma_index_list('run')",
          "SELECT 1 FROM pragma_index_info('run')", "SELECT 1 FROM json_each('[]')",
          "SELECT 1 FROM json_tree('[]')"}) {
        db.integer(sql);
    }
}

void answer(const Database& db, const std::string& sql, QueryResult& result) {
    declare_table_functions(db);
    sqlite3_set_authorizer(db.handle(), query_authorizer, nullptr);
    Statement query = prepare_query(db, sql);
    const int column_count = sqlite3_column_count(query.get());
    for (int i = 0; i < column_count; ++i) {
        result.columns.emplace_back(sqlite3_column_name(query.get(), i));
    }
    for (;;) {
        const int code = sqlite3_step(query.get());
        if (code == SQLITE_DONE) {
            return;
        }
        if (code != SQLITE_ROW) {
            fail_query(db);
        }
        auto& row = result.rows.emplace_back();
        for (int i = 0; i < column_count; ++i) {
            row.push_back(value_of(query.get(), i));
        }
    }
}

// Today's views over a file as it is: temporary ones stand before any of the file's
// own.
void add_temporary_views(const Database& db) {
    sqlite3_set_authorizer(db.handle(), nullptr, nullptr);
    constexpr std::string_view kCreate = "CREATE VIEW";
    for (const schema::NamedSql& view : schema::views()) {
        std::string sql(view.sql);
        sql.replace(sql.find(kCreate), kCreate.size(), "CREATE TEMP VIEW");
        db.execute(sql);
    }
}

}  // namespace

QueryResult run_query(const std::string& path, const std::string& run,
                      const std::string& sql) {
    const RunSource source = resolve(path, run);
    const bool all = source.selector == "all";
    OpenFiles opened = open_files(source);
    std::vector<RunRow> runs = distinct_runs(opened.runs);
    if (!all) {
        runs = {runs[select_run(runs, source.selector, source.name)]};
    }
    QueryResult result;
    if (opened.files.size() == 1 && runs.size() == opened.runs.front().size()) {
        for (Warning& warning : missing_files(runs, opened)) {
            opened.warnings.push_back(std::move(warning));
        }
        const Database& db = opened.files.front().database();
        add_temporary_views(db);
        add_functions(db);
        answer(db, sql, result);
    } else {
        const Database db = Database::temporary();
        db.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;");
        gather(runs, opened, db);
        db.execute("COMMIT");
        harden(db);
        sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_ENABLE_VIEW, 1, nullptr);
        add_functions(db);
        answer(db, sql, result);
    }
    result.files = std::move(opened.statuses);
    result.warnings = std::move(opened.warnings);
    return result;
}

}  // namespace metatrain_timing::analyzer
