#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// One time for all processes of a run: nanoseconds since the first of them started.
///
/// Processes of one boot of a host share CLOCK_MONOTONIC, so that nothing moves between
/// them; hosts are brought together by their calendar clocks, which may be off by what
/// their synchronisation is.
class TraceClock {
  public:
    explicit TraceClock(const Run& run) {
        std::map<std::string, std::int64_t> offset_of_boot;
        std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
        for (const Process& process : run.processes) {
            const std::int64_t offset_ns =
                offset_of_boot.try_emplace(process.boot_id, process.clock_offset_ns)
                    .first->second;
            offsets_ns_.push_back(offset_ns);
            begin_ns = std::min(begin_ns, clamped(process.started_ns, offset_ns));
        }
        begin_unix_ns_ = offsets_ns_.empty() ? 0 : std::max<std::int64_t>(begin_ns, 0);
        for (std::int64_t& offset_ns : offsets_ns_) {
            offset_ns = clamped(offset_ns, -begin_unix_ns_);
        }
    }

    /// When the trace begins, in Unix time.
    std::int64_t begin_unix_ns() const { return begin_unix_ns_; }

    /// A time of a process since then.
    std::int64_t at(std::size_t process, std::int64_t monotonic_ns) const {
        return clamped(monotonic_ns, offsets_ns_[process]);
    }

  private:
    // Times of a file may be anything.
    static std::int64_t clamped(std::int64_t a, std::int64_t b) {
        std::int64_t sum = 0;
        if (!__builtin_add_overflow(a, b, &sum)) {
            return sum;
        }
        return a < 0 ? std::numeric_limits<std::int64_t>::min()
                     : std::numeric_limits<std::int64_t>::max();
    }

    std::vector<std::int64_t> offsets_ns_;  // of each process
    std::int64_t begin_unix_ns_ = 0;
};

}  // namespace metatrain_timing::analyzer
