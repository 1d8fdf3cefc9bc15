#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/model/run.hpp"
#include "analyzer/render/json.hpp"
#include "analyzer/trace/trace_event.hpp"

namespace metatrain_timing::analyzer {

/// Who wrote a trace: what its names mean.
enum class TraceSource : std::uint8_t {
    chrome,     // anybody, or `mt-analyze export`
    kineto,     // torch.profiler
    viztracer,  // VizTracer
};

/// Makes a run of the events of traces: one process of each number that they have.
///
///     RunFromTrace made(TraceSource::kineto);
///     read_trace(path, [&](const TraceEvent& event) { made.add(event); });
///     made.end_file(members);
///     const Run run = made.finish();
///
/// Several files are ranks of one training. What cannot be understood is counted.
class RunFromTrace {
  public:
    explicit RunFromTrace(TraceSource source) : source_(source) {}

    void add(const TraceEvent& event);
    /// `members`: what stood beside the events of the file.
    void end_file(const Json& members);
    /// Tracks come out sorted and properly nested.
    /// @throws Error where what `mt-analyze export` put into a trace is damaged.
    Run finish();

    /// Events without a time, with a negative length, or beyond what 65,535 names hold.
    std::int64_t impossible_count() const { return impossible_count_; }

  private:
    using Place = std::pair<std::string, std::string>;  // pid, tid

    struct Thread {
        std::string name;
        Track track;
        std::vector<Interval> begun;  // by "B", innermost last
    };
    // What one file has.
    struct File {
        std::map<Place, Thread> threads;
        std::map<std::string, std::string> process_names;  // by pid
        Json members = Json::object();
    };

    bool is_wanted(const TraceEvent& event) const;
    bool set_name(std::vector<std::string>& names,
                  std::unordered_map<std::string, std::uint16_t>& known,
                  const std::string& name, std::uint16_t& number);
    bool make_interval(const TraceEvent& event, Interval& interval);
    void add_slice(const TraceEvent& event);
    void add_begin(const TraceEvent& event);
    void add_end(const TraceEvent& event);
    void add_counter(const TraceEvent& event);
    void add_names(const TraceEvent& event);
    Thread& thread_of(const TraceEvent& event) {
        return file_.threads[{event.pid, event.tid}];
    }

    void make_exported(File& file);
    void make_processes(File& file, std::int64_t rank, std::int64_t world_size);

    const TraceSource source_;
    File file_;  // that is being read
    std::vector<File> files_;
    std::unordered_map<std::string, std::uint16_t> stages_;
    std::unordered_map<std::string, std::uint16_t> counters_;
    std::int64_t impossible_count_ = 0;
    Run run_;
};

}  // namespace metatrain_timing::analyzer
