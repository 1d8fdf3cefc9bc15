#include "recorder/core/src/thinning_walk.hpp"

namespace metatrain_timing::detail {
namespace {

constexpr std::int64_t kLongNs = 1'000'000'000;

bool is_of_a_batch(const WalkedInterval& interval) {
    return interval.subject.iterator_number > 0 && interval.subject.batch >= 0;
}

bool is_long(const WalkedInterval& interval) {
    return interval.end_ns - interval.start_ns >= kLongNs && !is_of_a_batch(interval);
}

bool encloses(const WalkedInterval& outer, const WalkedInterval& inner) {
    return outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns;
}

}  // namespace

// What is open may get long yet, so it decides for its parts only by its batch.
void ThinningWalk::enter(const WalkedInterval& open, const ThinningRule& rule) {
    const bool of_a_batch = is_of_a_batch(open);
    const bool is_free = is_next_free();
    const bool is_kept =
        is_free ? !of_a_batch || rule.keeps(open.subject) : enclosing_.back().is_kept;
    enclosing_.push_back({open, is_kept, is_free && !of_a_batch});
}

// Whether what comes next, inside of all these, decides for itself.
bool ThinningWalk::is_next_free() const noexcept {
    return enclosing_.empty() || enclosing_.back().parts_decide;
}

bool ThinningWalk::keeps(const WalkedInterval& interval, const ThinningRule& rule,
                         IntervalTotals& totals) {
    while (!enclosing_.empty() && !encloses(enclosing_.back().interval, interval)) {
        enclosing_.pop_back();
    }
    const bool is_free = is_next_free();
    const bool is_kept = is_free ? is_long(interval) || rule.keeps(interval.subject)
                                 : enclosing_.back().is_kept;
    enclosing_.push_back({interval, is_kept, is_free && is_long(interval)});
    if (!is_kept) {
        totals.add(node_of(enclosing_.size(), totals), interval.start_ns,
                   interval.end_ns - interval.start_ns, interval.cpu_ns);
    }
    return is_kept;
}

// Of the innermost of the first `depth`.
IntervalTotals::Node ThinningWalk::node_of(std::size_t depth, IntervalTotals& totals) {
    if (depth == 0) {
        return IntervalTotals::kTop;
    }
    Enclosing& last = enclosing_[depth - 1];
    if (last.generation != totals.generation()) {
        last.node = totals.child(node_of(depth - 1, totals), last.interval.track_id,
                                 last.interval.stage_id, last.interval.iterator_id);
        last.generation = totals.generation();
    }
    return last.node;
}

}  // namespace metatrain_timing::detail
