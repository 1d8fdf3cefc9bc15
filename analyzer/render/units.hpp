#pragma once

#include <cstdint>
#include <string>

/// Numbers for people: significant digits only, the unit always said.
namespace metatrain_timing::analyzer {

inline constexpr double kSecond = 1e9;  // in nanoseconds

/// "38 us", "2.61 ms", "214 ms", "24.3 s", "3 min 20 s", "5 h 12 min".
std::string format_duration(double ns);

/// A difference: "+2.61 ms", "-214 ms".
std::string with_sign(double ns);

/// "72 %", "1.2 %", "<0.1 %", "0 %".
std::string format_share(double share);

/// "2.61", "214", "12,800": three digits, all of those before the point.
std::string format_number(double value);

/// How many or how much of something: "8", "12,800"; as `format_number()` where it is
/// not whole.
std::string format_amount(double value);

/// How many digits after the point a column shows whose greatest value is `greatest`:
/// at least three digits of it.
int decimals_for(double greatest);

/// `value` with `decimals` digits; "<0.1" for what would show as 0 and is not.
std::string format_fixed(double value, int decimals);

/// "1 epoch", "5 epochs", "2 batches"; `plural` is for nouns that take more than an
/// "s".
std::string format_count(std::int64_t count, const std::string& noun,
                         const std::string& plural = "");

/// "2026-11-29 14:02:11", local time; "unknown time" for 0 and what no calendar holds.
std::string format_time(std::int64_t unix_ns);

}  // namespace metatrain_timing::analyzer
