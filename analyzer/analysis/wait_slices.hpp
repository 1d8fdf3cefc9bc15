#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "analyzer/analysis/batch_index.hpp"
#include "analyzer/analysis/findings.hpp"
#include "analyzer/analysis/sweep.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What a slice of a wait was spent on; see `WaitCause::cause`. In the order of their
/// names.
enum class WaitKind : std::uint8_t {
    earlier_batch,
    fetch,
    main,
    pin,
    ready,
    receive,
    send,
    summed,  // lies in what is only summed: shared out in the end
    unattributed,
    worker_idle,
    worker_start,
};

std::string_view name_of(WaitKind kind);

/// Whose slice of a wait it is.
struct SliceCause {
    WaitKind kind = WaitKind::unattributed;
    int stage = -1;  // index into Run::stages, -1: none
    std::int64_t worker = -1;
    auto operator<=>(const SliceCause&) const = default;
};

/// Cuts waits of one run into slices, each with one cause.
class WaitSlicer {
  public:
    using Sink = std::function<void(const SliceCause&, std::int64_t from_ns,
                                    std::int64_t to_ns)>;

    /// `findings` outlive it.
    explicit WaitSlicer(const Findings& findings);

    /// Calls `sink` for the slices of a wait, an index into the intervals of the
    /// waiting `track`: first what the waiting thread did, in order, between them the
    /// rest. They add up to the wait. O(log n) and what overlaps the wait.
    void cut(const Track& track, std::uint32_t wait, const Sink& sink);

  private:
    using Events = boost::container::small_vector<BatchEvent, 4>;

    void cut_gap(const Track& waiting, const Interval& wait, std::int64_t from_ns,
                 std::int64_t to_ns, const Sink& sink);
    void cut_worker_part(const BatchEvent& fetch, std::int64_t from_ns,
                         std::int64_t to_ns, const Sink& sink);
    SliceCause cause_in_worker(const Track& track, const Slice& slice,
                               const Interval& fetch, std::int64_t worker) const;
    void cut_way_to_main(const BatchEvent& fetch, Events& events, std::int64_t from_ns,
                         std::int64_t to_ns, const Sink& sink);
    void cut_queue(const Track& sender, std::int64_t from_ns, std::int64_t to_ns,
                   std::int64_t worker, const Sink& sink);
    const std::vector<std::uint32_t>& outermost(const Track& track);

    const Run& run_;
    const StageNumbers& stages_;
    const BatchIndex& batches_;
    std::map<const Track*, std::vector<std::uint32_t>> outermost_;
};

}  // namespace metatrain_timing::analyzer
