#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/load/run_stream.hpp"
#include "analyzer/trace/trace_clock.hpp"

namespace metatrain_timing::analyzer {

/// Finds when the training processes of each rank were at some steps, and which batches
/// these used: a first look at a run of which a part is wanted.
class StepWindow : public RowVisitor {
  public:
    struct Window {
        std::int64_t from_ns = 0;
        std::int64_t to_ns = 0;
    };

    StepWindow(const Run& run, const TraceClock& clock, std::int64_t first,
               std::int64_t last);

    bool wants(std::size_t process) override;
    void interval(const TrackTarget& at, const Interval& interval,
                  std::int64_t cpu_ns) override;
    void open(const TrackTarget& at, const Interval& interval) override;
    void counter(const TrackTarget&, const Counter&) override {}
    void file_ended() override {}

    bool is_empty() const { return windows_.empty(); }
    /// The steps that there are; nothing where there are none.
    std::optional<std::pair<std::int64_t, std::int64_t>> known_steps() const;

    /// Whether a stretch of a process is of these steps: within their time, or for one
    /// of their batches.
    bool has(std::size_t process, std::int64_t from_ns, std::int64_t to_ns,
             std::int32_t iterator, std::int32_t batch) const;

  private:
    const Run& run_;
    const TraceClock& clock_;
    const std::int64_t first_;
    const std::int64_t last_;
    std::map<std::int64_t, Window> windows_;  // by rank
    std::set<std::pair<std::int32_t, std::int32_t>> batches_;
    std::optional<std::pair<std::int64_t, std::int64_t>> known_;
};

}  // namespace metatrain_timing::analyzer
