#include "analyzer/analysis/summed_passes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/analysis/loop_parts.hpp"

namespace metatrain_timing::analyzer {
namespace {

class Summer {
  public:
    Summer(const Track& track, const StageNumbers& stages)
        : track_(track), stages_(stages), parts_(find_loop_parts(track, stages)) {}

    SummedPasses sum() {
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const IntervalTotal& total = track_.totals[i];
            if (total.calls == 0) {
                continue;
            }
            if (parts_[i] != LoopPart::none) {
                add(total, parts_[i]);
            } else if (static_cast<int>(total.stage) == stages_.optimizer) {
                add_optimizer(total);
            }
        }
        for (auto& [iterator, pass] : passes_) {
            // Of zipped loaders the first has the bodies.
            pass.turns.unfinished =
                pass.turns.bodies > 0 ? pass.waits - pass.turns.bodies : 0;
        }
        std::erase_if(passes_, [](const auto& entry) {
            return entry.second.start_ns > entry.second.end_ns;  // only parts
        });
        return std::move(passes_);
    }

  private:
    void add(const IntervalTotal& total, LoopPart part) {
        SummedPass& pass = passes_[total.iterator];
        if (part == LoopPart::wait) {
            pass.waits += total.calls;
            pass.turns.wait_ns += total.total_ns;
            pass.depth = depth_of(total);
        } else if (part == LoopPart::body) {
            pass.turns.bodies += total.calls;
            pass.turns.body_ns += total.total_ns;
            pass.depth = depth_of(total);
        } else {
            pass.ends += total.calls;
            pass.ends_ns += total.total_ns;
        }
        pass.start_ns = std::min(pass.start_ns, total.first_ns);
        pass.end_ns = std::max(pass.end_ns, total.last_ns);
    }

    void add_optimizer(const IntervalTotal& total) {
        for (auto at = parent_of(total); at; at = parent_of(track_.totals[*at])) {
            if (parts_[*at] == LoopPart::body) {
                passes_[track_.totals[*at].iterator].turns.optimizer_calls +=
                    total.calls;
                return;
            }
        }
    }

    std::uint16_t depth_of(const IntervalTotal& total) const {
        std::uint16_t depth = 0;
        for (auto at = parent_of(total); at && depth < 65535;
             at = parent_of(track_.totals[*at])) {
            ++depth;
        }
        return depth;
    }

    const Track& track_;
    const StageNumbers& stages_;
    const std::vector<LoopPart> parts_;
    SummedPasses passes_;
};

}  // namespace

SummedTurns& SummedTurns::operator+=(const SummedTurns& other) {
    bodies += other.bodies;
    unfinished += other.unfinished;
    wait_ns += other.wait_ns;
    body_ns += other.body_ns;
    optimizer_calls += other.optimizer_calls;
    return *this;
}

SummedPasses sum_passes(const Track& track, const StageNumbers& stages) {
    return Summer(track, stages).sum();
}

}  // namespace metatrain_timing::analyzer
