#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/run.hpp"
#include "analyzer/render/json.hpp"

namespace metatrain_timing::analyzer {

/// The run that `mt-analyze export` described in the metadata of a trace (see
/// run_metadata.hpp): all but its rows, and where these belong.
class ExportedRun {
  public:
    /// Whether the members of a trace have such metadata.
    static bool is_in(const Json& members);

    /// @throws Error with one line where it is damaged.
    explicit ExportedRun(const Json& metadata);

    Run& run() { return run_; }

    /// The thread that what happened then on a track of the trace is of: of the lives
    /// of a worker on it, the last that had begun.
    /// @throws Error where the metadata knows no such track.
    Track& track_at(const std::string& pid, const std::string& tid, std::int64_t ns);

  private:
    void add_processes(const Json& metadata);

    Run run_;
    std::map<std::string, std::vector<std::size_t>> lives_;  // of a pid, by start
    std::map<std::pair<std::size_t, std::string>, std::size_t> tracks_;  // process, tid
};

}  // namespace metatrain_timing::analyzer
