#include "analyzer/analysis/rank_waits.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr double kSameStep = 0.10;     // how far steps of ranks that meet may differ
constexpr double kWorthNaming = 0.05;  // of a step
constexpr double kMostlyLast = 0.70;   // of the steps
constexpr std::size_t kLeastSteps = 5;

// One optimizer step of a rank, up to the end of its last backward.
struct RankStep {
    double own_ns = 0;
    double loader_ns = 0;
    double backward_ns = 0;
};

using StepsOfRank = std::map<std::int32_t, RankStep>;  // by number of the step

class StepReader {
  public:
    explicit StepReader(const Run& run) : run_(run), stages_(run) {}

    // Steps that follow another one of the same pass.
    void add(const Pass& pass, StepsOfRank& steps) const {
        const Track& track = run_.processes[pass.process].tracks[pass.track];
        const Interval* before = nullptr;  // the backward of the step before
        double loader_ns = 0;
        for (const Turn& turn : pass.turns) {
            if (!turn.body || turn.follows_gap) {
                before = nullptr;
            }
            loader_ns += static_cast<double>(turn.wait_ns);
            if (!turn.body || !turn.has_optimizer()) {
                continue;
            }
            const Interval* backward = last_backward(track, *turn.body);
            if (backward != nullptr && before != nullptr && turn.step >= 0) {
                steps[turn.step] = {
                    static_cast<double>(backward->start_ns - before->end_ns()),
                    loader_ns, static_cast<double>(backward->dur_ns)};
            }
            before = backward;
            loader_ns = 0;
        }
    }

  private:
    const Interval* last_backward(const Track& track, std::uint32_t body) const {
        const Interval& whole = track.intervals[body];
        const Interval* last = nullptr;
        for (std::size_t i = body + 1;
             i < track.intervals.size() && track.intervals[i].start_ns < whole.end_ns();
             ++i) {
            const Interval& part = track.intervals[i];
            if (part.depth == whole.depth + 1 && is(part, stages_.backward)) {
                last = &part;
            }
        }
        return last;
    }

    const Run& run_;
    const StageNumbers stages_;
};

// The steps that all ranks have.
std::vector<std::int32_t> common_steps(
    const std::map<std::int64_t, StepsOfRank>& of_rank) {
    std::vector<std::int32_t> common;
    for (const auto& [step, first] : of_rank.begin()->second) {
        const bool all = std::all_of(
            of_rank.begin(), of_rank.end(),
            [step = step](const auto& rank) { return rank.second.contains(step); });
        if (all) {
            common.push_back(step);
        }
    }
    return common;
}

class Sums {
  public:
    explicit Sums(const std::map<std::int64_t, StepsOfRank>& of_rank) {
        for (const auto& [rank, steps] : of_rank) {
            waits_.ranks.emplace_back().rank = rank;
        }
    }

    void add(const std::vector<RankStep>& steps) {
        const auto last = std::min_element(steps.begin(), steps.end(),
                                           [](const RankStep& a, const RankStep& b) {
                                               return a.backward_ns < b.backward_ns;
                                           });
        double shortest_ns = steps.front().own_ns + steps.front().backward_ns;
        double longest_ns = shortest_ns;
        for (std::size_t r = 0; r < steps.size(); ++r) {
            const RankStep& step = steps[r];
            RankWait& rank = waits_.ranks[r];
            rank.steps += 1;
            rank.own_ns += step.own_ns;
            rank.loader_ns += step.loader_ns;
            rank.backward_ns += step.backward_ns;
            rank.waits_for_others_ns += step.backward_ns - last->backward_ns;
            const double whole_ns = step.own_ns + step.backward_ns;
            shortest_ns = std::min(shortest_ns, whole_ns);
            longest_ns = std::max(longest_ns, whole_ns);
            waits_.step_ns += whole_ns / static_cast<double>(steps.size());
        }
        waits_.ranks[static_cast<std::size_t>(last - steps.begin())].last_share += 1;
        difference_ns_ += longest_ns - shortest_ns;
        ++count_;
    }

    RankWaits finish() {
        const auto count = static_cast<double>(count_);
        if (count_ < kLeastSteps || difference_ns_ > kSameStep * waits_.step_ns) {
            return {};
        }
        waits_.step_ns /= count;
        for (RankWait& rank : waits_.ranks) {
            rank.own_ns /= count;
            rank.loader_ns /= count;
            rank.backward_ns /= count;
            rank.waits_for_others_ns /= count;
            rank.last_share /= count;
        }
        name_straggler();
        return std::move(waits_);
    }

  private:
    void name_straggler() {
        const auto last = std::max_element(waits_.ranks.begin(), waits_.ranks.end(),
                                           [](const RankWait& a, const RankWait& b) {
                                               return a.last_share < b.last_share;
                                           });
        double cost_ns = 0;
        double others_loader_ns = 0;
        double others_own_ns = 0;
        for (const RankWait& rank : waits_.ranks) {
            if (&rank != &*last) {
                cost_ns = std::max(cost_ns, rank.waits_for_others_ns);
                others_loader_ns = std::max(others_loader_ns, rank.loader_ns);
                others_own_ns = std::max(others_own_ns, rank.own_ns);
            }
        }
        const bool is_slow = last->own_ns - others_own_ns >= 0;
        if (last->last_share < kMostlyLast || !is_slow ||
            cost_ns < kWorthNaming * waits_.step_ns) {
            return;
        }
        waits_.straggler = last->rank;
        waits_.cost_ns = cost_ns;
        const double by_loader_ns = last->loader_ns - others_loader_ns;
        waits_.stage = by_loader_ns > cost_ns / 2 ? "loader" : "";
    }

    RankWaits waits_;
    double difference_ns_ = 0;
    std::size_t count_ = 0;
};

}  // namespace

RankWaits find_rank_waits(const Run& run, std::span<const Pass> passes,
                          const PhaseGroup& group) {
    std::map<std::int64_t, StepsOfRank> of_rank;
    for (const std::size_t p : group.passes) {
        of_rank[run.processes[passes[p].process].rank];
    }
    if (of_rank.size() < 2) {
        return {};
    }
    const StepReader reader(run);
    for (const std::size_t p : group.passes) {
        reader.add(passes[p], of_rank[run.processes[passes[p].process].rank]);
    }
    Sums sums(of_rank);
    for (const std::int32_t step : common_steps(of_rank)) {
        std::vector<RankStep> steps;
        for (const auto& [rank, own] : of_rank) {
            steps.push_back(own.at(step));
        }
        sums.add(steps);
    }
    return sums.finish();
}

}  // namespace metatrain_timing::analyzer
