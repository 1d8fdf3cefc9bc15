#include "analyzer/analysis/loop_parts.hpp"

#include <cstddef>
#include <set>

namespace metatrain_timing::analyzer {
namespace {

bool is_stage(const IntervalTotal& total, int number) {
    return static_cast<int>(total.stage) == number;
}

class PartFinder {
  public:
    PartFinder(const Track& track, const StageNumbers& stages)
        : track_(track), stages_(stages), parts_(track.totals.size(), LoopPart::none) {}

    std::vector<LoopPart> find() {
        find_waits();
        for (std::size_t i = 0; i < track_.totals.size(); ++i) {
            const IntervalTotal& total = track_.totals[i];
            if (!waited_.contains(total.iterator)) {
                continue;
            }
            if (is_stage(total, stages_.loader_end)) {
                parts_[i] = LoopPart::end;
            } else if (is_stage(total, stages_.step) && !is_inside_own_loop(total)) {
                parts_[i] = LoopPart::body;
            }
        }
        return std::move(parts_);
    }

  private:
    void find_waits() {
        for (const Interval& interval : track_.intervals) {
            if (is(interval, stages_.loader)) {
                waited_.insert(interval.iterator);
            }
        }
        for (std::size_t i = 0; i < track_.totals.size(); ++i) {
            const IntervalTotal& total = track_.totals[i];
            const auto parent = parent_of(total);
            if (is_stage(total, stages_.loader) &&
                !(parent && is_stage(track_.totals[*parent], stages_.loader))) {
                parts_[i] = LoopPart::wait;
                waited_.insert(total.iterator);
            }
        }
    }

    // A user's stage of that name in a body is no body.
    bool is_inside_own_loop(const IntervalTotal& total) const {
        for (auto at = parent_of(total); at; at = parent_of(track_.totals[*at])) {
            if (parts_[*at] != LoopPart::none &&
                track_.totals[*at].iterator == total.iterator) {
                return true;
            }
        }
        return false;
    }

    const Track& track_;
    const StageNumbers& stages_;
    std::vector<LoopPart> parts_;
    std::set<std::int32_t> waited_;  // iterators
};

}  // namespace

std::vector<LoopPart> find_loop_parts(const Track& track, const StageNumbers& stages) {
    return track.totals.empty() ? std::vector<LoopPart>()
                                : PartFinder(track, stages).find();
}

}  // namespace metatrain_timing::analyzer
