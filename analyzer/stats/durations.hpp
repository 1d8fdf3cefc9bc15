#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/stats/quantiles.hpp"

namespace metatrain_timing::analyzer {

/// A set of durations in nanoseconds, to be summarized: in 4 bytes each as long as all
/// of them lie below 4.29 s, in 8 after that. Nothing is rounded.
class Durations {
  public:
    void add(std::int64_t dur_ns);
    void add(const Durations& others);

    std::size_t size() const { return short_ns_.size() + long_ns_.size(); }
    bool empty() const { return size() == 0; }
    std::int64_t total_ns() const { return total_ns_; }

    /// Nothing for no durations. Reorders them.
    std::optional<Summary> summarize();

  private:
    void widen();

    std::vector<std::uint32_t> short_ns_;  // all of them, or none
    std::vector<std::int64_t> long_ns_;    // the other way round
    std::int64_t total_ns_ = 0;
};

}  // namespace metatrain_timing::analyzer
