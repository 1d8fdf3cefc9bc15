#pragma once

#include <cstdint>
#include <vector>

#include "recorder/core/src/interval_totals.hpp"
#include "recorder/core/src/thinning_rule.hpp"

namespace metatrain_timing::detail {

/// An interval as a walk sees it; ids are rows of the file.
struct WalkedInterval {
    std::int64_t track_id = 0;
    std::int64_t stage_id = 0;
    std::int64_t iterator_id = 0;  // 0: none
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t cpu_ns = -1;  // -1: not measured
    ThinningSubject subject;
};

/// Decides which intervals of one track stay, from the last to the first to end: an
/// enclosing one comes before its parts. Parts share the fate of the outermost interval
/// around them, so that what is kept is kept whole, but for intervals of a second and
/// more that are of no batch (a phase of the training, an epoch): those are few, and
/// all kept, and their parts decide for themselves.
class ThinningWalk {
  public:
    /// One that has not ended, the outermost first; before everything else.
    void enter(const WalkedInterval& open, const ThinningRule& rule);

    /// Whether the interval stays; one that does not is added to `totals`.
    bool keeps(const WalkedInterval& interval, const ThinningRule& rule,
               IntervalTotals& totals);

  private:
    struct Enclosing {
        WalkedInterval interval;
        bool is_kept = true;
        bool parts_decide = false;
        IntervalTotals::Node node = 0;
        std::uint64_t generation = 0;  // of `node`
    };

    bool is_next_free() const noexcept;
    IntervalTotals::Node node_of(std::size_t depth, IntervalTotals& totals);

    std::vector<Enclosing> enclosing_;  // outermost first
};

}  // namespace metatrain_timing::detail
