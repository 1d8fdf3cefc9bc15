#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recorder/core/src/drop_table.hpp"
#include "recorder/core/src/open_stack.hpp"
#include "recorder/core/src/ring.hpp"

namespace metatrain_timing::detail {

struct ThreadState;

/// A thread as the table `track` shows it.
struct TrackInfo {
    std::uint64_t number = 0;  // 1, 2, … for each thread of the life
    std::int64_t tid = 0;
    std::string name;
};

/// Records that are not there one by one.
struct DropCounts {
    std::int64_t dropped = 0;
    std::int64_t unsummed = 0;  // of those, in no sum either
    bool operator==(const DropCounts&) const = default;
};

/// Records of one thread that are ready to be written: positions [from, to) of its
/// ring, and the intervals it has open.
struct Harvest {
    ThreadState* state = nullptr;  // nullptr: of a process that is dead
    const Ring* ring = nullptr;
    const OpenStack* open = nullptr;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    TrackInfo track;
    std::uint32_t name_version = 0;
    bool finished = false;  // the thread is gone: nothing will follow
    /// Records that the full ring did not take, since the thread began.
    std::int64_t dropped_count = 0;
    /// Their sums, unless all are written.
    std::optional<DroppedSums> dropped;
    /// Only where the run is thinned: what is open, outermost first.
    std::vector<OpenFrame> frames;
    bool has_all_frames = true;  // that enclose what was harvested, now or before
};

}  // namespace metatrain_timing::detail
