#include "analyzer/analysis/breakdown.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/analysis/loop_parts.hpp"
#include "analyzer/analysis/stages.hpp"
#include "analyzer/analysis/worker_lives.hpp"

namespace metatrain_timing::analyzer {
namespace {

// An interval of the loop itself: a wait, a body or the end of a pass.
struct Anchor {
    std::uint32_t interval = 0;
    std::size_t group = 0;
    bool is_end = false;
    bool steady = false;
};

using Anchors = std::map<TrackKey, std::vector<Anchor>>;

Anchors find_anchors(std::span<const Pass> passes, const PhaseGroups& groups,
                     std::span<const StepSeries> series) {
    Anchors anchors;
    for (std::size_t g = 0; g < groups.groups.size(); ++g) {
        const PhaseGroup& group = groups.groups[g];
        for (std::size_t p = 0; p < group.passes.size(); ++p) {
            const Pass& pass = passes[group.passes[p]];
            auto& list = anchors[{pass.process, pass.track}];
            for (std::size_t t = 0; t < pass.turns.size(); ++t) {
                const bool steady = series[g].steady_turns[p][t];
                for (const std::uint32_t wait : pass.turns[t].waits) {
                    list.push_back({wait, g, false, steady});
                }
                if (pass.turns[t].body) {
                    list.push_back({*pass.turns[t].body, g, false, steady});
                }
            }
            for (const std::uint32_t end : pass.ends) {
                list.push_back({end, g, true, false});
            }
        }
    }
    for (auto& [key, list] : anchors) {
        std::sort(list.begin(), list.end(), [](const Anchor& a, const Anchor& b) {
            return a.interval < b.interval;
        });
    }
    return anchors;
}

// The trees of one group.
struct Trees {
    explicit Trees(const std::vector<std::string>& names)
        : main(names), worker(names), worker_sender(names), pin(names), thread(names) {}

    StageTree main;
    StageTree worker;
    StageTree worker_sender;
    StageTree pin;
    StageTree thread;
};

// Sorts the intervals of tracks into the trees of the groups.
class Sorter {
  public:
    Sorter(const Run& run, const PhaseGroups& groups)
        : groups_(groups), names_(run.stages) {
        for (const PhaseGroup& group : groups.groups) {
            trees_.emplace_back(run.stages);
            // In the order of the tables, and closed even where they have no parts.
            StageTree& tree = trees_.back().main;
            if (!group.passes.empty()) {
                for (const char* stage : {"loader", "step"}) {
                    tree.always_close(
                        tree.child(StageTree::kRoot, tree.add_name(stage)));
                }
            }
        }
    }

    std::vector<Trees>& trees() { return trees_; }

    using ThreadKey = std::pair<Role, std::string>;
    std::map<ThreadKey, StageTree>& other_threads() { return other_threads_; }

    /// Where intervals on a thread of `process` go that belong to no group.
    StageTree& other_thread(const Process& process, const Track& track) {
        return other_threads_.try_emplace({process.role, track.name}, names_)
            .first->second;
    }

    // A track that runs loops: everything else on it belongs to the wait or body that
    // encloses it.
    void add_looping(const Track& track, std::span<const Anchor> anchors) {
        std::size_t next = 0;
        walk(track, [&](std::uint32_t i, const Interval& interval, Frame* parent) {
            Frame frame;
            if (next < anchors.size() && anchors[next].interval == i) {
                const Anchor& anchor = anchors[next++];
                frame.tree = &trees_[anchor.group].main;
                frame.steady = anchor.steady;
                const StageTree::Node above =
                    anchor.is_end ? outside_of(*frame.tree) : StageTree::kRoot;
                frame.node = frame.tree->child(above, interval.stage);
                if (parent != nullptr && parent->tree != nullptr) {
                    add_nested_loop(*parent, interval, anchor.group);
                }
                return frame;
            }
            return part_of(parent, interval);
        });
    }

    // The same of what is only summed.
    void add_looping_totals(const Track& track, const StageNumbers& stages,
                            const LoopsOfTrack& group_of) {
        const std::vector<LoopPart> parts = find_loop_parts(track, stages);
        walk_totals(track, [&](std::size_t i, const IntervalTotal& total,
                               const Place* parent) {
            const auto group = group_of.find(total.iterator);
            if (parts[i] == LoopPart::none || group == group_of.end()) {
                return part_of(parent, total);
            }
            Place place;
            place.tree = &trees_[group->second].main;
            const StageTree::Node above =
                parts[i] == LoopPart::end ? outside_of(*place.tree) : StageTree::kRoot;
            place.node = place.tree->child(above, total.stage);
            if (parent != nullptr && parent->tree != nullptr) {
                const std::size_t name = parent->tree->add_name(
                    groups_.groups[group->second].phase + " loop");
                IntervalTotal nested = total;
                nested.cpu_ns = -1;
                parent->tree->add_sums(parent->tree->child(parent->node, name), nested);
            }
            return place;
        });
    }

    // The same for a track that runs no loop, as `add_by_pass()`.
    template <typename PassOf>
    void add_totals_by_pass(const Track& track, StageTree Trees::* tree, PassOf pass_of,
                            StageTree* rest = nullptr) {
        walk_totals(track, [&](std::size_t, const IntervalTotal& total,
                               const Place* parent) {
            if (parent != nullptr) {
                return part_of(parent, total);
            }
            Place place;
            const std::int32_t iterator = pass_of(total);
            const std::int32_t group =
                iterator < 0
                    ? -1
                    : groups_.group_of_iterator[static_cast<std::size_t>(iterator)];
            place.tree =
                group >= 0 ? &(trees_[static_cast<std::size_t>(group)].*tree) : rest;
            if (place.tree != nullptr) {
                place.node = place.tree->child(StageTree::kRoot, total.stage);
            }
            return place;
        });
    }

    // Any other track: outermost intervals belong to the group of the pass that
    // `pass_of` gives, or else into `rest`, if there is one.
    template <typename PassOf>
    void add_by_pass(const Track& track, StageTree Trees::* tree, PassOf pass_of,
                     StageTree* rest = nullptr) {
        walk(track, [&](std::uint32_t, const Interval& interval, Frame* parent) {
            if (parent != nullptr) {
                return part_of(parent, interval);
            }
            Frame frame;
            const std::int32_t iterator = pass_of(interval);
            const std::int32_t group =
                iterator < 0
                    ? -1
                    : groups_.group_of_iterator[static_cast<std::size_t>(iterator)];
            frame.tree =
                group >= 0 ? &(trees_[static_cast<std::size_t>(group)].*tree) : rest;
            if (frame.tree != nullptr) {
                frame.node =
                    frame.tree->child(top_of(*frame.tree, interval), interval.stage);
            }
            return frame;
        });
    }

  private:
    struct Frame {
        std::uint32_t interval = 0;
        StageTree* tree = nullptr;  // null: belongs to no loop
        StageTree::Node node = StageTree::kRoot;
        std::int64_t parts_ns = 0;
        bool steady = false;
    };

    // Where a node of the totals of a track belongs.
    struct Place {
        StageTree* tree = nullptr;  // null: to no loop
        StageTree::Node node = StageTree::kRoot;
    };

    template <typename PlaceOf>
    static void walk_totals(const Track& track, PlaceOf place_of) {
        std::vector<Place> places;
        for (std::size_t i = 0; i < track.totals.size(); ++i) {
            const IntervalTotal& total = track.totals[i];
            const Place* parent = total.parent < 0
                                      ? nullptr
                                      : &places[static_cast<std::size_t>(total.parent)];
            const Place place = place_of(i, total, parent);
            if (place.tree != nullptr) {
                place.tree->add_sums(place.node, total);
            }
            places.push_back(place);
        }
    }

    static Place part_of(const Place* parent, const IntervalTotal& total) {
        Place place;
        if (parent != nullptr && parent->tree != nullptr) {
            place.tree = parent->tree;
            place.node = parent->tree->child(parent->node, total.stage);
        }
        return place;
    }

    template <typename FrameOf>
    void walk(const Track& track, FrameOf frame_of) {
        std::vector<Frame> stack;
        const auto close = [&] {
            const Frame& frame = stack.back();
            const Interval& interval = track.intervals[frame.interval];
            if (frame.tree != nullptr) {
                const std::int64_t cpu_ns =
                    track.cpu_ns.empty() ? -1 : track.cpu_ns[frame.interval];
                frame.tree->add(frame.node, interval.dur_ns, frame.parts_ns,
                                frame.steady, cpu_ns);
            }
            stack.pop_back();
        };
        for (std::uint32_t i = 0; i < track.intervals.size(); ++i) {
            const Interval& interval = track.intervals[i];
            while (!stack.empty() && track.intervals[stack.back().interval].end_ns() <=
                                         interval.start_ns) {
                close();
            }
            Frame frame =
                frame_of(i, interval, stack.empty() ? nullptr : &stack.back());
            frame.interval = i;
            stack.push_back(frame);
        }
        while (!stack.empty()) {
            close();
        }
    }

    static Frame part_of(Frame* parent, const Interval& interval) {
        Frame frame;
        if (parent != nullptr && parent->tree != nullptr) {
            frame.tree = parent->tree;
            frame.steady = parent->steady;
            frame.node = parent->tree->child(parent->node, interval.stage);
            parent->parts_ns += interval.dur_ns;
        }
        return frame;
    }

    // To the enclosing loop a nested one is a single row, so that its table closes.
    void add_nested_loop(Frame& outer, const Interval& interval, std::size_t group) {
        const std::size_t name =
            outer.tree->add_name(groups_.groups[group].phase + " loop");
        const StageTree::Node node = outer.tree->child(outer.node, name);
        outer.tree->add(node, interval.dur_ns, 0, outer.steady, -1);
        outer.parts_ns += interval.dur_ns;
    }

    // What encloses an outermost interval that was none when it was recorded has not
    // ended: the process still runs, or was killed. Its parts get a row of their own.
    static StageTree::Node top_of(StageTree& tree, const Interval& interval) {
        if (interval.depth == 0) {
            return StageTree::kRoot;
        }
        const StageTree::Node unfinished =
            tree.child(StageTree::kRoot, tree.add_name("unfinished"));
        tree.always_close(unfinished);  // its calls come before its parts
        tree.add(unfinished, interval.dur_ns, interval.dur_ns, false, -1);
        return unfinished;
    }

    static StageTree::Node outside_of(StageTree& tree) {
        return tree.child(StageTree::kRoot, tree.add_name("outside"));
    }

    const PhaseGroups& groups_;
    const std::vector<std::string>& names_;
    std::vector<Trees> trees_;
    std::map<ThreadKey, StageTree> other_threads_;
};

bool is_pin_thread(const Track& track, const StageNumbers& stages) {
    return track.name.find("pin") != std::string::npos ||
           std::any_of(
               track.intervals.begin(), track.intervals.end(),
               [&](const Interval& interval) { return is(interval, stages.pin); });
}

template <typename Part>
std::int32_t iterator_of(const Part& part) {
    return part.iterator;
}

void sort_worker(Sorter& sorter, const Run& run, const Process& worker) {
    const std::int32_t fetching = fetching_track(run, worker);
    for (std::size_t t = 0; t < worker.tracks.size(); ++t) {
        const Track& track = worker.tracks[t];
        if (static_cast<std::int32_t>(t) == fetching) {
            const std::vector<std::int32_t> passes = passes_served(track);
            std::size_t position = 0;
            sorter.add_by_pass(track, &Trees::worker,
                               [&](const Interval&) { return passes[position++]; });
            sorter.add_totals_by_pass(
                track, &Trees::worker,
                [&](const IntervalTotal& total) { return pass_served(track, total); });
        } else {
            sorter.add_by_pass(track, &Trees::worker_sender, iterator_of<Interval>);
            sorter.add_totals_by_pass(track, &Trees::worker_sender,
                                      iterator_of<IntervalTotal>);
        }
    }
}

void sort_main(Sorter& sorter, const Process& process, std::size_t p,
               const Anchors& anchors, const LoopGroups& loops,
               const StageNumbers& stages) {
    for (std::size_t t = 0; t < process.tracks.size(); ++t) {
        const Track& track = process.tracks[t];
        const auto own = anchors.find({p, t});
        if (own != anchors.end()) {
            sorter.add_looping(track, own->second);
            sorter.add_looping_totals(track, stages, loops.at({p, t}));
            continue;
        }
        StageTree Trees::* tree =
            is_pin_thread(track, stages) ? &Trees::pin : &Trees::thread;
        StageTree& rest = sorter.other_thread(process, track);
        sorter.add_by_pass(track, tree, iterator_of<Interval>, &rest);
        sorter.add_totals_by_pass(track, tree, iterator_of<IntervalTotal>, &rest);
    }
}

// `outside` is no recorded stage: it is what the wall has beyond waits and bodies, and
// the ends of passes are its parts.
void close_outside(Breakdown& result) {
    const auto outside = std::find_if(
        result.main.begin(), result.main.end(),
        [](const StageRow& row) { return row.level == 0 && row.stage == "outside"; });
    std::vector<StageRow> parts;
    std::int64_t parts_ns = 0;
    if (outside != result.main.end()) {
        for (auto row = outside + 1; row != result.main.end(); ++row) {
            if (row->level == 1 && row->stage == kUnattributed) {
                continue;  // of the empty node; worked out below
            }
            parts_ns += row->level == 1 ? row->total_ns : 0;
            parts.push_back(*row);
        }
        result.main.erase(outside, result.main.end());
    }
    StageRow row;
    row.stage = "outside";
    row.total_ns = result.outside_ns;
    row.share = share_of(row.total_ns, result.wall_ns);
    result.main.push_back(row);
    result.main.insert(result.main.end(), parts.begin(), parts.end());
    row.parent = row.stage;
    row.stage = kUnattributed;
    row.level = 1;
    row.total_ns = result.outside_ns - parts_ns;
    row.share = share_of(row.total_ns, result.wall_ns);
    result.main.push_back(row);
}

void measure_wall(Breakdown& result, std::span<const Pass> passes,
                  const PhaseGroup& group) {
    for (const std::size_t p : group.passes) {
        result.wall_ns += passes[p].end_ns - passes[p].start_ns;
        if (passes[p].summed) {
            result.loader_ns += passes[p].summed->wait_ns;
            result.step_ns += passes[p].summed->body_ns;
        }
        for (const Turn& turn : passes[p].turns) {
            result.loader_ns += turn.wait_ns;
            result.step_ns += turn.body_ns;
        }
    }
    result.outside_ns = result.wall_ns - result.loader_ns - result.step_ns;
}

// What the lives hold beyond the recorded stages of the fetching thread.
void close_worker(Breakdown& result) {
    std::int64_t parts_ns = 0;
    for (const StageRow& row : result.worker) {
        parts_ns += row.level == 0 ? row.total_ns : 0;
    }
    if (result.worker_life_ns == 0) {
        return;
    }
    StageRow rest;
    rest.stage = kUnattributed;
    rest.where = Where::worker;
    rest.total_ns = result.worker_life_ns - parts_ns;
    rest.share = share_of(rest.total_ns, result.worker_life_ns);
    result.worker.push_back(rest);
}

}  // namespace

Breakdowns break_down(const Run& run, std::span<const Pass> passes,
                      const PhaseGroups& groups, std::span<const StepSeries> series,
                      std::span<const std::int64_t> worker_life_ns) {
    const StageNumbers stages(run);
    const Anchors anchors = find_anchors(passes, groups, series);
    const LoopGroups loops = find_loop_groups(passes, groups);
    Sorter sorter(run, groups);
    for (std::size_t p = 0; p < run.processes.size(); ++p) {
        const Process& process = run.processes[p];
        if (process.role == Role::worker) {
            sort_worker(sorter, run, process);
        } else {
            sort_main(sorter, process, p, anchors, loops, stages);
        }
    }
    Breakdowns results;
    results.of_group.resize(groups.groups.size());
    for (std::size_t g = 0; g < results.of_group.size(); ++g) {
        Breakdown& result = results.of_group[g];
        Trees& trees = sorter.trees()[g];
        measure_wall(result, passes, groups.groups[g]);
        result.worker_life_ns = worker_life_ns[g];
        result.main = trees.main.rows(Where::main, result.wall_ns);
        if (!groups.groups[g].passes.empty()) {
            close_outside(result);
        }
        result.worker = trees.worker.rows(Where::worker, result.worker_life_ns);
        close_worker(result);
        result.worker_sender =
            trees.worker_sender.rows(Where::worker, result.worker_life_ns);
        result.pin = trees.pin.rows(Where::pin, result.wall_ns);
        result.thread = trees.thread.rows(Where::thread, result.wall_ns);
    }
    for (auto& [key, tree] : sorter.other_threads()) {
        if (!tree.empty()) {
            results.other_threads.push_back(
                {key.first, key.second, tree.rows(Where::thread, 0)});
        }
    }
    return results;
}

}  // namespace metatrain_timing::analyzer
