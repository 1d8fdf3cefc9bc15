#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "analyzer/render/json.hpp"
#include "analyzer/trace/trace_event.hpp"

namespace metatrain_timing::analyzer {

/// What reading a trace came to.
struct TraceEnd {
    std::uint64_t event_count = 0;
    /// Members beside the events, such as `metadata`, `distributedInfo`: numbers as
    /// texts, `traceEvents` left out.
    Json members = Json::object();
    std::string damage;  // what ended it before its end; empty: nothing
};

/// Reads a Chrome trace, an object with `traceEvents` or an array of events, compressed
/// by gzip or not, event by event. One that is cut off, or that never had an end (which
/// writers in a hurry leave), is read as far as it goes; `damage` says so.
/// @throws Error where the file cannot be read, or has no events at all.
TraceEnd read_trace(const std::string& path,
                    const std::function<void(const TraceEvent&)>& visit);

}  // namespace metatrain_timing::analyzer
