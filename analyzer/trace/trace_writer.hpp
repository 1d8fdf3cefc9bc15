#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/trace/track_names.hpp"

namespace metatrain_timing::analyzer {

/// A stretch on a timeline. Times are nanoseconds since the trace began.
struct TraceSlice {
    TraceTrack track;
    std::string_view name;
    std::string_view category;
    std::int64_t start_ns = 0;
    std::int64_t dur_ns = 0;  // -1: had not ended when recording did
    // What it belongs to; -1: unknown.
    std::int64_t step = -1;
    std::int64_t iterator = -1;
    std::int64_t batch = -1;
    std::int64_t epoch = -1;
    std::int64_t cpu_ns = -1;
};

/// One end of an arrow from a slice to another; ends with the same `id` belong
/// together.
struct TraceFlow {
    TraceTrack track;
    std::uint64_t id = 0;
    std::int64_t at_ns = 0;  // within the slice that it is bound to
    bool begins = false;
};

struct TraceCounter {
    TraceTrack track;
    std::string_view name;
    std::int64_t at_ns = 0;
    double value = 0;
    // What it belongs to; -1: unknown.
    std::int64_t step = -1;
    std::int64_t iterator = -1;
    std::int64_t batch = -1;
};

/// Writes a timeline in one format, event by event.
class TraceWriter {
  public:
    virtual ~TraceWriter() = default;
    virtual void begin(const TrackNames& names) = 0;
    virtual void slice(const TraceSlice& slice) = 0;
    virtual void flow(const TraceFlow& flow) = 0;
    virtual void counter(const TraceCounter& counter) = 0;
    /// `metadata`: a JSON object that tells of the run.
    virtual void end(const std::string& metadata) = 0;
};

}  // namespace metatrain_timing::analyzer
