#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {

/// What SQLite said; the message does not name the file.
class DatabaseError : public Error {
  public:
    DatabaseError(int sqlite_code, const std::string& message)
        : Error(message), sqlite_code_(sqlite_code) {}

    /// The primary result code, such as SQLITE_CORRUPT.
    int sqlite_code() const noexcept { return sqlite_code_ & 0xFF; }

  private:
    int sqlite_code_;
};

/// A prepared statement. Columns are numbered from 0, parameters from 1. Values of an
/// unexpected type are converted as SQLite does, so a damaged row cannot do harm.
class Statement {
  public:
    Statement(sqlite3* db, std::string_view sql);

    /// True: there is a row.
    bool step();
    /// Runs a statement without rows and makes it ready for the next run.
    void run();
    void reset() noexcept { sqlite3_reset(get()); }

    void bind(int parameter, std::int64_t value);
    void bind(int parameter, double value);
    void bind(int parameter, std::string_view value);
    void bind(int parameter, std::nullptr_t);
    void bind(int parameter, std::optional<std::int64_t> value);

    std::int64_t integer(int column) const noexcept {
        return sqlite3_column_int64(get(), column);
    }
    double real(int column) const noexcept {
        return sqlite3_column_double(get(), column);
    }
    bool is_null(int column) const noexcept {
        return sqlite3_column_type(get(), column) == SQLITE_NULL;
    }
    std::optional<std::int64_t> maybe_integer(int column) const noexcept;
    /// At most `kTextLimit` bytes, cut at a character.
    std::string text(int column) const;

    sqlite3_stmt* get() const noexcept { return statement_.get(); }

    static constexpr std::size_t kTextLimit = 64 * 1024;

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept {
            sqlite3_finalize(statement);
        }
    };
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A connection to a SQLite database; one thread at a time.
///
/// Files are opened by their plain absolute path, never as a URI: names may hold any of
/// "%#? " and SQLite builds differ in what they take for a URI.
class Database {
  public:
    /// An existing file that is never written to.
    static Database open_read_only(const std::string& path);
    /// An existing file of ours.
    static Database open_writable(const std::string& path);
    /// A new file of ours.
    static Database create(const std::string& path);
    /// A database that vanishes with the connection: small in memory, large on disk.
    static Database temporary();

    Statement prepare(std::string_view sql) const { return {handle(), sql}; }
    /// Runs all statements of `sql`, of ours only.
    void execute(const std::string& sql) const;
    /// The first column of the first row, or 0.
    std::int64_t integer(std::string_view sql) const;

    sqlite3* handle() const noexcept { return handle_.get(); }

  private:
    Database(const std::string& path, int flags);

    struct Close {
        void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
    };
    std::unique_ptr<sqlite3, Close> handle_;
};

/// Makes a connection safe for a file that may come from a stranger: what is stored in
/// it can run no code, write nothing and take no more memory than rows of ours need.
/// `harden()` comes before anything is read.
void harden(const Database& db);

/// From here on the connection reads tables and nothing else.
void allow_reading_only(const Database& db);

}  // namespace metatrain_timing::analyzer
