#pragma once

#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <limits>

#include "recorder/core/src/sums.hpp"

/// What SQLiteCpp leaves to its callers.
namespace metatrain_timing::detail {

/// Binds `value`, or NULL where it is `null_value`. `parameter`: a name or a number;
/// bindings outlive a reset.
template <typename Parameter>
void bind_unless(SQLite::Statement& statement, Parameter parameter, std::int64_t value,
                 std::int64_t null_value) {
    if (value == null_value) {
        statement.bind(parameter);
    } else {
        statement.bind(parameter, value);
    }
}

/// Binds the columns of `interval_total` that are sums.
inline void bind_sums(SQLite::Statement& statement, const IntervalSums& sums) {
    constexpr std::int64_t kUnknownTime = std::numeric_limits<std::int64_t>::min();
    const bool has_times = sums.calls > 0;
    statement.bind(":calls", sums.calls);
    statement.bind(":total_ns", sums.total_ns);
    bind_unless(statement, ":cpu_ns", sums.cpu_calls == 0 ? -1 : sums.cpu_ns, -1);
    statement.bind(":cpu_wall_ns", sums.cpu_wall_ns);
    bind_unless(statement, ":first_ns", has_times ? sums.first_ns : kUnknownTime,
                kUnknownTime);
    bind_unless(statement, ":last_ns", has_times ? sums.last_ns : kUnknownTime,
                kUnknownTime);
}

/// Runs a statement to its end, so that it is whole, and makes it ready for the next
/// time.
inline void run(SQLite::Statement& statement) {
    statement.exec();
    statement.reset();
}

/// The same for one that returns a row id; 0 where it returns no row.
inline std::int64_t run_for_id(SQLite::Statement& statement) {
    std::int64_t id = 0;
    while (statement.executeStep()) {
        id = statement.getColumn(0).getInt64();
    }
    statement.reset();
    return id;
}

}  // namespace metatrain_timing::detail
