#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace metatrain_timing::analyzer {

/// An event of a Chrome trace, as "Trace Event Format" (Google, 2016) has it. What it
/// lacks is empty.
struct TraceEvent {
    char phase = 0;  // 'X', 'B', 'E', 'C', 'M', ...; 0: none
    std::string name;
    std::string category;
    std::string pid;  // numbers and words are both in use
    std::string tid;
    std::optional<std::int64_t> ts_ns;
    std::optional<std::int64_t> dur_ns;
    /// Texts and numbers among the arguments; what is deeper is left out.
    std::map<std::string, std::string> args;
    std::map<std::string, std::string> others;  // the same, of the event itself

    void clear() { *this = TraceEvent(); }
};

/// Microseconds as they are written, to nanoseconds: exact, where the number has up to
/// nine digits after the point. Nothing for what is no number or does not fit.
std::optional<std::int64_t> parse_us(const std::string& text);

}  // namespace metatrain_timing::analyzer
