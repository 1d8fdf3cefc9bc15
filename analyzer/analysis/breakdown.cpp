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
    std::uint32_t group = 0;
    bool is_end = false;
    bool steady = false;
};

using Anchors = std::map<TrackKey, std::vector<Anchor>>;

Anchors find_anchors(std::span<const Pass> passes, const PhaseGroups& groups,
                     std::span<const StepSeries> series) {
    Anchors anchors;
    for (std::uint32_t g = 0; g < groups.groups.size(); ++g) {
        const PhaseGroup& group = groups.groups[g];
        for (std::size_t p = 0; p < group.passes.size(); ++p) {
            const Pass& pass = passes[group.passes[p]];
            auto& list = anchors[{pass.process, pass.track}];
            for (std::size_t t = 0; t < pass.turns.size(); ++t) {
                const bool steady = series[g].steady_turns[p][t];
                for (const std::uint32_t wait : pass.waits_of(pass.turns[t])) {
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
            if (next >= anchors.size() || anchors[next].interval != i) {
                return part_of(parent, interval);
            }
            const Anchor& anchor = anchors[next++];
            Frame frame;
            frame.steady = anchor.steady;
            frame.place = loop_place(anchor.group, anchor.is_end, interval.stage);
            if (parent != nullptr && parent->place.tree != nullptr) {
                parent->place.tree->add(nested_loop(parent->place, anchor.group),
                                        interval.dur_ns, 0, parent->steady, -1);
                parent->parts_ns += interval.dur_ns;
            }
            return frame;
        });
    }

    // The same of what is only summed.
    void add_looping_totals(const Track& track, const StageNumbers& stages,
                            const LoopsOfTrack& group_of) {
        const std::vector<LoopPart> parts = find_loop_parts(track, stages);
        walk_totals(
            track, [&](std::size_t i, const IntervalTotal& total, const Place* parent) {
                const auto group = group_of.find(total.iterator);
                if (parts[i] == LoopPart::none || group == group_of.end()) {
                    return part_place(parent, total.stage);
                }
                const Place place =
                    loop_place(group->second, parts[i] == LoopPart::end, total.stage);
                if (parent != nullptr && parent->tree != nullptr) {
                    IntervalTotal nested = total;
                    nested.cpu_ns = -1;
                    parent->tree->add_sums(nested_loop(*parent, group->second), nested);
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
            frame.place.tree = tree_of(pass_of(interval), tree, rest);
            if (frame.place.tree != nullptr) {
                frame.place.node = frame.place.tree->child(
                    top_of(*frame.place.tree, interval), interval.stage);
            }
            return frame;
        });
    }

    // The same of what is only summed.
    template <typename PassOf>
    void add_totals_by_pass(const Track& track, StageTree Trees::* tree, PassOf pass_of,
                            StageTree* rest = nullptr) {
        walk_totals(
            track, [&](std::size_t, const IntervalTotal& total, const Place* parent) {
                if (parent != nullptr) {
                    return part_place(parent, total.stage);
                }
                Place place;
                place.tree = tree_of(pass_of(total), tree, rest);
                if (place.tree != nullptr) {
                    place.node = place.tree->child(StageTree::kRoot, total.stage);
                }
                return place;
            });
    }

  private:
    // Where an interval or a node of the totals belongs.
    struct Place {
        StageTree* tree = nullptr;  // null: to no loop
        StageTree::Node node = StageTree::kRoot;
    };

    struct Frame {
        std::uint32_t interval = 0;
        Place place;
        std::int64_t parts_ns = 0;
        bool steady = false;
    };

    template <typename PlaceOf>
    static void walk_totals(const Track& track, PlaceOf place_of) {
        std::vector<Place> places;
        for (std::size_t i = 0; i < track.totals.size(); ++i) {
            const IntervalTotal& total = track.totals[i];
            const auto parent = parent_of(total);
            const Place place = place_of(i, total, parent ? &places[*parent] : nullptr);
            if (place.tree != nullptr) {
                place.tree->add_sums(place.node, total);
            }
            places.push_back(place);
        }
    }

    template <typename FrameOf>
    void walk(const Track& track, FrameOf frame_of) {
        std::vector<Frame> stack;
        const auto close = [&] {
            const Frame& frame = stack.back();
            const Interval& interval = track.intervals[frame.interval];
            if (frame.place.tree != nullptr) {
                const std::int64_t cpu_ns =
                    track.cpu_ns.empty() ? -1 : track.cpu_ns[frame.interval];
                frame.place.tree->add(frame.place.node, interval.dur_ns, frame.parts_ns,
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
        if (parent != nullptr && parent->place.tree != nullptr) {
            frame.place = part_place(&parent->place, interval.stage);
            frame.steady = parent->steady;
            parent->parts_ns += interval.dur_ns;
        }
        return frame;
    }

    static Place part_place(const Place* parent, std::size_t stage) {
        if (parent == nullptr || parent->tree == nullptr) {
            return {};
        }
        return {parent->tree, parent->tree->child(parent->node, stage)};
    }

    // Of a wait, a body or the end of a pass.
    Place loop_place(std::size_t group, bool is_end, std::size_t stage) {
        StageTree& tree = trees_[group].main;
        return {&tree, tree.child(is_end ? outside_of(tree) : StageTree::kRoot, stage)};
    }

    // To the enclosing loop a nested one is a single row, so that its table closes.
    StageTree::Node nested_loop(const Place& outer, std::size_t group) const {
        return outer.tree->child(
            outer.node, outer.tree->add_name(groups_.groups[group].phase + " loop"));
    }

    StageTree* tree_of(std::int32_t iterator, StageTree Trees::* tree,
                       StageTree* rest) {
        const auto group = groups_.group_of(iterator);
        return group ? &(trees_[*group].*tree) : rest;
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
        result.loader_ns += passes[p].wait_ns();
        result.step_ns += passes[p].body_ns();
    }
    result.outside_ns = result.wall_ns - result.loader_ns - result.step_ns;
}

// Of all processes but workers. The trees go when their rows are made: those of long
// runs are large.
void add_main(Breakdowns& results, const Findings& findings) {
    const Run& run = findings.run();
    const std::vector<Pass>& passes = findings.passes();
    const PhaseGroups& groups = findings.groups();
    const Anchors anchors = find_anchors(passes, groups, findings.series());
    const LoopGroups loops = find_loop_groups(passes, groups);
    Sorter sorter(run, groups);
    for (std::size_t p = 0; p < run.processes.size(); ++p) {
        if (run.processes[p].role != Role::worker) {
            sort_main(sorter, run.processes[p], p, anchors, loops, findings.stages());
        }
    }
    for (std::size_t g = 0; g < results.of_group.size(); ++g) {
        Breakdown& result = results.of_group[g];
        Trees& trees = sorter.trees()[g];
        measure_wall(result, passes, groups.groups[g]);
        result.main = trees.main.rows(Where::main, result.wall_ns);
        if (!groups.groups[g].passes.empty()) {
            close_outside(result);
        }
        result.pin = trees.pin.rows(Where::pin, result.wall_ns);
        result.thread = trees.thread.rows(Where::thread, result.wall_ns);
    }
    for (auto& [key, tree] : sorter.other_threads()) {
        if (!tree.empty()) {
            results.other_threads.push_back(
                {key.first, key.second, tree.rows(Where::thread, 0)});
        }
    }
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

void add_workers(Breakdowns& results, const Findings& findings,
                 std::span<const std::int64_t> worker_life_ns) {
    const Run& run = findings.run();
    Sorter sorter(run, findings.groups());
    for (const Process& process : run.processes) {
        if (process.role == Role::worker) {
            sort_worker(sorter, run, process);
        }
    }
    for (std::size_t g = 0; g < results.of_group.size(); ++g) {
        Breakdown& result = results.of_group[g];
        Trees& trees = sorter.trees()[g];
        result.worker_life_ns = worker_life_ns[g];
        result.worker = trees.worker.rows(Where::worker, result.worker_life_ns);
        close_worker(result);
        result.worker_sender =
            trees.worker_sender.rows(Where::worker, result.worker_life_ns);
    }
}

}  // namespace

Breakdowns break_down(const Findings& findings,
                      std::span<const std::int64_t> worker_life_ns) {
    Breakdowns results;
    results.of_group.resize(findings.groups().groups.size());
    add_main(results, findings);
    add_workers(results, findings, worker_life_ns);
    return results;
}

}  // namespace metatrain_timing::analyzer
