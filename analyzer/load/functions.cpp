#include "analyzer/load/functions.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

namespace metatrain_timing::analyzer {
namespace {

// The values of one group; SQLite gives each group room for a pointer to them.
struct Group {
    std::vector<double> values;
    double percent = 50;
    bool bad_percent = false;
};

Group* group_of(sqlite3_context* context, bool make) {
    auto** place = static_cast<Group**>(
        sqlite3_aggregate_context(context, make ? sizeof(Group*) : 0));
    if (place == nullptr) {
        return nullptr;
    }
    if (*place == nullptr && make) {
        *place = new (std::nothrow) Group;
    }
    return *place;
}

void add_value(sqlite3_context* context, int count,
               sqlite3_value** arguments) noexcept {
    Group* group = group_of(context, true);
    if (group == nullptr) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (count == 2) {
        group->percent = sqlite3_value_double(arguments[1]);
        group->bad_percent =
            group->bad_percent || !(group->percent >= 0) || !(group->percent <= 100);
    }
    const int type = sqlite3_value_numeric_type(arguments[0]);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
        return;
    }
    try {
        group->values.push_back(sqlite3_value_double(arguments[0]));
    } catch (const std::bad_alloc&) {
        sqlite3_result_error_nomem(context);
    }
}

// Type 7 of Hyndman & Fan (1996), as numpy's default.
double percentile(std::vector<double>& values, double percent) {
    const double position = percent / 100 * static_cast<double>(values.size() - 1);
    const auto lower = static_cast<std::size_t>(position);
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(lower);
    std::nth_element(values.begin(), at, values.end());
    if (lower + 1 >= values.size()) {
        return *at;
    }
    const double next = *std::min_element(at + 1, values.end());
    return *at + (position - static_cast<double>(lower)) * (next - *at);
}

void finish(sqlite3_context* context) noexcept {
    Group* group = group_of(context, false);
    if (group == nullptr) {
        return;  // no row: NULL
    }
    if (group->bad_percent) {
        sqlite3_result_error(context, "percentile(x, p): p is from 0 to 100", -1);
    } else if (!group->values.empty()) {
        sqlite3_result_double(context, percentile(group->values, group->percent));
    }
    delete group;
}

}  // namespace

void add_functions(const Database& db) {
    constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    sqlite3_create_function_v2(db.handle(), "median", 1, kFlags, nullptr, nullptr,
                               add_value, finish, nullptr);
    sqlite3_create_function_v2(db.handle(), "percentile", 2, kFlags, nullptr, nullptr,
                               add_value, finish, nullptr);
}

}  // namespace metatrain_timing::analyzer
