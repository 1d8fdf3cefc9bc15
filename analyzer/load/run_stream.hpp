#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/intervals.hpp"
#include "analyzer/load/open_files.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Takes the large rows of a run as they are read. Of each thread intervals come in the
/// order of their ends, so that one that encloses others follows them.
class RowVisitor {
  public:
    virtual ~RowVisitor() = default;
    /// Whether the rows of this process are wanted.
    virtual bool wants(std::size_t process) = 0;
    /// `cpu_ns` -1: not measured.
    virtual void interval(const TrackTarget& at, const Interval& interval,
                          std::int64_t cpu_ns) = 0;
    /// One that had not ended when recording did; its `dur_ns` is 0.
    virtual void open(const TrackTarget& at, const Interval& interval) = 0;
    virtual void counter(const TrackTarget& at, const Counter& counter) = 0;
    /// The rows of a file are over; a thread has all of its rows in one file.
    virtual void file_ended() = 0;
};

/// A run that is read row by row, as often as wanted, without keeping its intervals:
/// memory does not grow with their number.
class RunStream {
  public:
    /// `path` and `run` as of `load_run()`.
    RunStream(const std::string& path, const std::string& run);

    /// The run: all but intervals and counted values.
    const Run& run() const { return assembled_.run; }
    /// How many intervals there are about: the ids of all files, those of other runs
    /// too.
    std::uint64_t row_count() const { return row_count_; }

    /// Reads all files. `on_file(done, total)` is called before each.
    void visit(RowVisitor& visitor,
               const std::function<void(std::size_t, std::size_t)>& on_file = {});

    /// Once all was visited: what is not in what was shown, and why.
    std::vector<Warning> warnings() const;

  private:
    void visit_file(std::size_t file, RowVisitor& visitor);

    OpenFiles opened_;
    AssembledRun assembled_;
    IntervalProblems problems_;  // of the last visit
    std::uint64_t row_count_ = 0;
};

}  // namespace metatrain_timing::analyzer
