#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace metatrain_timing::test {

/// The rows of a query as text, columns parted by '|', NULL as "NULL".
inline std::vector<std::string> query(const SQLite::Database& database,
                                      const std::string& sql) {
    SQLite::Statement statement(database, sql);
    std::vector<std::string> rows;
    while (statement.executeStep()) {
        std::string row;
        for (int column = 0; column < statement.getColumnCount(); ++column) {
            row += column == 0 ? "" : "|";
            row += statement.getColumn(column).isNull()
                       ? "NULL"
                       : statement.getColumn(column).getString();
        }
        rows.push_back(row);
    }
    return rows;
}

inline std::vector<std::string> query(const std::filesystem::path& file,
                                      const std::string& sql) {
    return query(SQLite::Database(file.string(), SQLite::OPEN_READONLY, 2000), sql);
}

/// The single number a query gives.
inline std::int64_t number(const std::filesystem::path& file, const std::string& sql) {
    return std::stoll(query(file, sql).at(0));
}

}  // namespace metatrain_timing::test
