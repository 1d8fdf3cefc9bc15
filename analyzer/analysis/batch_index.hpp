#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/analysis/stages.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// A stretch of the life of a batch: one interval of one of the stages `put_index`,
/// `fetch`, `send`, `receive` and `pin`.
struct BatchEvent {
    std::int32_t batch = -1;
    std::uint32_t track = 0;     // position in the tracks of the index
    std::uint32_t interval = 0;  // of the track
};

/// Finds what is on record of each batch outside of the loop that uses it, by (pass,
/// batch). `run` must outlive it. 12 bytes an event; O(n log n) to make, O(log n) to
/// ask.
class BatchIndex {
  public:
    BatchIndex(const Run& run, const StageNumbers& stages);

    /// In order of process, track and time.
    std::span<const BatchEvent> of(std::int32_t iterator, std::int32_t batch) const;

    /// When the first of the batches after this one, as far as `count` further, lay in
    /// the training process, received and pinned; nothing: none on record did.
    std::optional<std::int64_t> ready_after(std::int32_t iterator, std::int32_t batch,
                                            std::int64_t count) const;

    /// Whether some of what workers did is only summed.
    bool are_summed() const { return are_summed_; }

    /// Index into Run::processes.
    std::size_t process_of(const BatchEvent& event) const {
        return tracks_[event.track].process;
    }
    const Process& process(const BatchEvent& event) const {
        return run_.processes[process_of(event)];
    }
    const Track& track(const BatchEvent& event) const {
        return *tracks_[event.track].track;
    }
    const Interval& interval(const BatchEvent& event) const {
        return track(event).intervals[event.interval];
    }

  private:
    struct TrackOf {
        std::size_t process = 0;
        const Track* track = nullptr;
    };
    struct Ready {
        std::int32_t batch = -1;
        std::int64_t at_ns = 0;
    };

    template <typename Visit>
    void for_each_event(const StageNumbers& stages, Visit visit) const;
    void find_ready(const StageNumbers& stages);

    const Run& run_;
    std::vector<TrackOf> tracks_;
    // One list for each pass, side by side: of pass i from `..._begin_[i]` to the next.
    std::vector<BatchEvent> events_;
    std::vector<std::size_t> events_begin_;
    std::vector<Ready> ready_;  // in the order of batches
    std::vector<std::size_t> ready_begin_;
    bool are_summed_ = false;
};

}  // namespace metatrain_timing::analyzer
