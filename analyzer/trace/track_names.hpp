#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// A thread on a timeline, by the numbers that viewers tell tracks by.
struct TraceTrack {
    std::int64_t pid = 0;
    std::int64_t tid = 0;
};

/// The tracks of a run on a timeline: what they are called, and where its threads are.
///
/// Numbers are the timeline's own, from 1: those of the system may be used again, and
/// hosts share them. Lives of the same worker, one after the other, are one process on
/// the timeline, so that a run of thousands of them can be looked at; where a life
/// begins before the one before it is over it goes beside it.
class TrackNames {
  public:
    struct ProcessName {
        std::int64_t pid = 0;  // also the order from top to bottom
        std::string name;
        std::vector<std::string> threads;  // tid is the position, from 1
    };

    /// `run` needs no intervals.
    explicit TrackNames(const Run& run);

    const std::vector<ProcessName>& processes() const { return processes_; }

    TraceTrack of(std::size_t process, std::size_t track) const {
        return tracks_[process][track];
    }
    /// Of all threads of a process.
    std::int64_t pid_of(std::size_t process) const { return pids_[process]; }

  private:
    void place_threads(const Run& run);

    std::vector<ProcessName> processes_;
    std::vector<std::int64_t> pids_;               // of Run::processes
    std::vector<std::vector<TraceTrack>> tracks_;  // of their tracks
};

}  // namespace metatrain_timing::analyzer
