#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/run.hpp"
#include "analyzer/trace/run_from_trace.hpp"

namespace metatrain_timing::analyzer {

struct ImportAnswer {
    std::uint64_t event_count = 0;
    std::uint64_t interval_count = 0;
    std::vector<Warning> warnings;
};

/// "kineto", "viztracer" or "chrome", which an empty text is too.
/// @throws Error (usage) with one line.
TraceSource parse_trace_source(const std::string& text);

/// Makes a run file of traces; several are ranks of one training. About 1 µs and 50
/// bytes of memory an event. A file that exists is not overwritten.
/// @throws Error where a trace cannot be read, or has no events.
ImportAnswer import_trace(const std::vector<std::string>& traces, TraceSource source,
                          const std::string& output);

}  // namespace metatrain_timing::analyzer
