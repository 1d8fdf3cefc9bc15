#pragma once

#include <memory>

#include "analyzer/trace/output_file.hpp"
#include "analyzer/trace/trace_writer.hpp"

namespace metatrain_timing::analyzer {

/// Writes the JSON object format of "Trace Event Format" (Google, 2016), which
/// chrome://tracing, Perfetto and others open: complete events ("X"), "B" for what
/// never ended, flows ("s", "f"), counters ("C") and names ("M"). Times are
/// microseconds, to the nanosecond. `file` outlives the writer, and is not closed by
/// it.
std::unique_ptr<TraceWriter> make_chrome_trace(OutputFile& file);

}  // namespace metatrain_timing::analyzer
