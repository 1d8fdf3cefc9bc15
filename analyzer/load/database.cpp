#include "analyzer/load/database.hpp"

#include <array>
#include <filesystem>
#include <utility>

namespace metatrain_timing::analyzer {
namespace {

[[noreturn]] void fail(sqlite3* db, int code) {
    throw DatabaseError(code,
                        db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
}

void check(sqlite3* db, int code) {
    if (code != SQLITE_OK) {
        fail(db, code);
    }
}

// A reader waits this long for a writer that is in the middle of a transaction.
constexpr int kBusyTimeoutMs = 5000;

// The longest text or blob that is read at all; a longer one makes its row an error.
constexpr int kLengthLimit = 16 * 1024 * 1024;

int reading_authorizer(void*, int action, const char*, const char*, const char*,
                       const char*) {
    // functions: count(), max(), typeof(), all in statements of ours
    return action == SQLITE_SELECT || action == SQLITE_READ ||
                   action == SQLITE_FUNCTION || action == SQLITE_TRANSACTION
               ? SQLITE_OK
               : SQLITE_DENY;
}

}  // namespace

Statement::Statement(sqlite3* db, std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    check(db, sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()),
                                 &statement, nullptr));
    statement_.reset(statement);
}

bool Statement::step() {
    const int code = sqlite3_step(get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        fail(sqlite3_db_handle(get()), code);
    }
    return code == SQLITE_ROW;
}

void Statement::run() {
    while (step()) {
    }
    reset();
}

void Statement::bind(int parameter, std::int64_t value) {
    check(sqlite3_db_handle(get()), sqlite3_bind_int64(get(), parameter, value));
}

void Statement::bind(int parameter, double value) {
    check(sqlite3_db_handle(get()), sqlite3_bind_double(get(), parameter, value));
}

void Statement::bind(int parameter, std::string_view value) {
    check(sqlite3_db_handle(get()),
          sqlite3_bind_text64(get(), parameter, value.data(), value.size(),
                              SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(int parameter, std::nullptr_t) {
    check(sqlite3_db_handle(get()), sqlite3_bind_null(get(), parameter));
}

void Statement::bind(int parameter, std::optional<std::int64_t> value) {
    if (value) {
        bind(parameter, *value);
    } else {
        bind(parameter, nullptr);
    }
}

std::optional<std::int64_t> Statement::maybe_integer(int column) const noexcept {
    return is_null(column) ? std::nullopt : std::optional(integer(column));
}

std::string Statement::text(int column) const {
    const auto* bytes =
        reinterpret_cast<const char*>(sqlite3_column_text(get(), column));
    if (bytes == nullptr) {
        return {};
    }
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(get(), column));
    std::string_view text(bytes, size);
    if (size > kTextLimit) {
        std::size_t end = kTextLimit;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
            --end;
        }
        text = text.substr(0, end);
    }
    return std::string(text);
}

Database::Database(const std::string& path, int flags) {
    // SQLite takes "file:..." for a URI and ":memory:" for no file; an absolute path
    // is neither.
    const std::string name =
        path.empty() ? path : std::filesystem::absolute(path).string();
    sqlite3* db = nullptr;
    const int code =
        sqlite3_open_v2(name.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    handle_.reset(db);
    check(db, code);
    sqlite3_busy_timeout(db, kBusyTimeoutMs);
}

Database Database::open_read_only(const std::string& path) {
    return {path, SQLITE_OPEN_READONLY};
}

Database Database::open_writable(const std::string& path) {
    return {path, SQLITE_OPEN_READWRITE};
}

Database Database::create(const std::string& path) {
    return {path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
}

Database Database::temporary() {
    return {"", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
}

void Database::execute(const std::string& sql) const {
    check(handle(), sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr));
}

std::int64_t Database::integer(std::string_view sql) const {
    Statement statement = prepare(sql);
    return statement.step() ? statement.integer(0) : 0;
}

void harden(const Database& db) {
    constexpr std::array<std::pair<int, int>, 5> kSettings{{
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    }};
    for (const auto& [setting, value] : kSettings) {
        check(db.handle(), sqlite3_db_config(db.handle(), setting, value, nullptr));
    }
    constexpr std::array<std::pair<int, int>, 6> kLimits{{
        {SQLITE_LIMIT_LENGTH, kLengthLimit},
        {SQLITE_LIMIT_SQL_LENGTH, 1024 * 1024},
        {SQLITE_LIMIT_COLUMN, 200},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    }};
    for (const auto& [limit, value] : kLimits) {
        sqlite3_limit(db.handle(), limit, value);
    }
    db.execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;");
}

void allow_reading_only(const Database& db) {
    sqlite3_set_authorizer(db.handle(), reading_authorizer, nullptr);
}

}  // namespace metatrain_timing::analyzer
