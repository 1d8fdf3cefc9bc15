#include "recorder/core/src/previous_attempt.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include <metatrain_timing/schema/sql.hpp>
#include <string>

namespace metatrain_timing::detail {

std::optional<PreviousAttempt> find_previous_attempt(
    const std::filesystem::path& database) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(database, error)) {
        return std::nullopt;
    }
    try {
        constexpr int kBusyTimeoutMs = 200;
        const SQLite::Database file(database.string(), SQLite::OPEN_READONLY,
                                    kBusyTimeoutMs);
        SQLite::Statement newest(file,
                                 std::string(schema::statements::select_newest_run));
        if (!newest.executeStep()) {
            return std::nullopt;
        }
        return PreviousAttempt{newest.getColumn(0).getString(),
                               newest.getColumn(1).getInt64()};
    } catch (const SQLite::Exception&) {
        return std::nullopt;
    }
}

}  // namespace metatrain_timing::detail
