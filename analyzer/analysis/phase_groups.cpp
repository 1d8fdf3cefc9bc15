#include "analyzer/analysis/phase_groups.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/analysis/loader_labels.hpp"
#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::string_view kUnused = "unused";

// Which threads train: those with a backward or an optimizer.
class Trainers {
  public:
    explicit Trainers(const Run& run) : run_(run), stages_(run) {}

    /// Whether the loop of the pass only feeds a thread that trains: its waits are not
    /// the training's.
    bool is_fed_by(const Pass& pass) {
        const Process& process = run_.processes[pass.process];
        if (pass.phase != "evaluation" && pass.phase != "before-training") {
            return false;
        }
        if (process.tracks.size() < 2 || trains(process.tracks[pass.track])) {
            return false;
        }
        return std::any_of(process.tracks.begin(), process.tracks.end(),
                           [&](const Track& track) { return trains(track); });
    }

  private:
    bool trains(const Track& track) {
        const auto [known, is_new] = known_.try_emplace(&track, false);
        if (is_new) {
            const auto is_step = [&](int stage) {
                return stage == stages_.backward || stage == stages_.optimizer;
            };
            known->second =
                std::any_of(track.intervals.begin(), track.intervals.end(),
                            [&](const Interval& one) { return is_step(one.stage); }) ||
                std::any_of(
                    track.totals.begin(), track.totals.end(),
                    [&](const IntervalTotal& one) { return is_step(one.stage); });
        }
        return known->second;
    }

    const Run& run_;
    const StageNumbers stages_;
    std::map<const Track*, bool> known_;
};

int rank_of_phase(const PhaseGroup& group) {
    if (group.phase == kUnused) {
        return 4;
    }
    if (group.phase == "before-training") {
        return 3;
    }
    if (group.phase == "evaluation" || group.phase == kBackground) {
        return 2;
    }
    return group.phase == "train" ? 0 : 1;
}

class Grouper {
  public:
    Grouper(const Run& run, std::span<const Pass> passes)
        : run_(run),
          passes_(passes),
          trainers_(run),
          labels_(loader_labels(run, passes)) {
        result_.group_of_iterator.assign(run.iterators.size(), -1);
    }

    PhaseGroups make() {
        for (std::size_t i = 0; i < passes_.size(); ++i) {
            add_pass(i);
        }
        for (std::size_t i = 0; i < run_.iterators.size(); ++i) {
            if (result_.group_of_iterator[i] < 0 && run_.iterators[i].loader >= 0) {
                add_unwaited(i);
            }
        }
        sort();
        return std::move(result_);
    }

  private:
    const std::string& label_of(std::int32_t iterator) const {
        static const std::string none;
        const auto loader = run_.iterators[static_cast<std::size_t>(iterator)].loader;
        return loader < 0 ? none : labels_[static_cast<std::size_t>(loader)];
    }

    std::size_t group(const std::string& phase, const std::string& loader) {
        const auto [at, is_new] =
            index_.emplace(std::make_pair(phase, loader), result_.groups.size());
        if (is_new) {
            result_.groups.push_back({phase, loader, {}, {}});
        }
        return at->second;
    }

    void add_loader(PhaseGroup& group, std::int32_t loader) {
        if (loader >= 0 && std::find(group.loaders.begin(), group.loaders.end(),
                                     loader) == group.loaders.end()) {
            group.loaders.push_back(loader);
        }
    }

    // The labels of the pass's loaders, each once, as they first took part. Loaders of
    // a loop that mixes them are sorted: every epoch draws another order.
    std::string labels_of(const Pass& pass) const {
        std::vector<std::string> labels;
        for (const std::int32_t iterator : pass.iterators) {
            const std::string& label = label_of(iterator);
            if (std::find(labels.begin(), labels.end(), label) == labels.end()) {
                labels.push_back(label);
            }
        }
        if (!pass.is_zipped) {
            std::sort(labels.begin(), labels.end());
        }
        std::string joined;
        for (const std::string& label : labels) {
            joined += joined.empty() ? label : " + " + label;
        }
        return joined;
    }

    void add_pass(std::size_t i) {
        const bool feeds = trainers_.is_fed_by(passes_[i]);
        const std::size_t g = group(feeds ? std::string(kBackground) : passes_[i].phase,
                                    labels_of(passes_[i]));
        result_.groups[g].passes.push_back(i);
        for (const std::int32_t iterator : passes_[i].iterators) {
            const auto at = static_cast<std::size_t>(iterator);
            result_.group_of_iterator[at] = static_cast<std::int32_t>(g);
            add_loader(result_.groups[g], run_.iterators[at].loader);
        }
    }

    // Passes nobody waited for; workers may have prefetched for them.
    void add_unwaited(std::size_t iterator) {
        const std::size_t g =
            group(std::string(kUnused), label_of(static_cast<std::int32_t>(iterator)));
        result_.group_of_iterator[iterator] = static_cast<std::int32_t>(g);
        add_loader(result_.groups[g], run_.iterators[iterator].loader);
    }

    void sort() {
        std::vector<std::size_t> order(result_.groups.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            order[i] = i;
        }
        const auto begin_of = [&](const PhaseGroup& group) {
            return group.passes.empty() ? 0 : passes_[group.passes.front()].start_ns;
        };
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const PhaseGroup& left = result_.groups[a];
            const PhaseGroup& right = result_.groups[b];
            return std::make_pair(rank_of_phase(left), begin_of(left)) <
                   std::make_pair(rank_of_phase(right), begin_of(right));
        });
        std::vector<PhaseGroup> sorted;
        std::vector<std::int32_t> new_index(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            sorted.push_back(std::move(result_.groups[order[i]]));
            new_index[order[i]] = static_cast<std::int32_t>(i);
        }
        result_.groups = std::move(sorted);
        for (std::int32_t& g : result_.group_of_iterator) {
            g = g < 0 ? g : new_index[static_cast<std::size_t>(g)];
        }
    }

    const Run& run_;
    std::span<const Pass> passes_;
    Trainers trainers_;
    std::vector<std::string> labels_;
    std::map<std::pair<std::string, std::string>, std::size_t> index_;
    PhaseGroups result_;
};

}  // namespace

std::optional<std::size_t> PhaseGroups::group_of(std::int32_t iterator) const {
    const std::int32_t group =
        iterator < 0 ? -1 : group_of_iterator[static_cast<std::size_t>(iterator)];
    return group < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(group));
}

LoopGroups find_loop_groups(std::span<const Pass> passes, const PhaseGroups& groups) {
    LoopGroups result;
    for (std::size_t g = 0; g < groups.groups.size(); ++g) {
        for (const std::size_t p : groups.groups[g].passes) {
            LoopsOfTrack& of_track = result[{passes[p].process, passes[p].track}];
            if (passes[p].iterators.empty()) {
                of_track[-1] = g;
            }
            for (const std::int32_t iterator : passes[p].iterators) {
                of_track[iterator] = g;
            }
        }
    }
    return result;
}

PhaseGroups group_passes(const Run& run, std::span<const Pass> passes) {
    return Grouper(run, passes).make();
}

std::int64_t count_ranks(const Run& run, std::span<const Pass> passes,
                         const PhaseGroup& group) {
    std::set<std::int64_t> ranks;
    for (const std::size_t p : group.passes) {
        ranks.insert(run.processes[passes[p].process].rank);
    }
    return static_cast<std::int64_t>(ranks.size());
}

std::tuple<bool, bool, std::int64_t> weight_of_phase(std::string_view phase,
                                                     std::int64_t wall_ns) {
    return {phase == "train", phase != kBackground, wall_ns};
}

}  // namespace metatrain_timing::analyzer
