#include "analyzer/analysis/loops.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <tuple>

#include "analyzer/analysis/stages.hpp"
#include "analyzer/analysis/summed_passes.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::int64_t kNoParent = -1;

// A place in the nesting of a track: the enclosing interval, and the depth, which tells
// apart what lies in an interval that never ended from what lies in none.
struct Level {
    std::int64_t parent = kNoParent;
    std::uint16_t depth = 0;
    auto operator<=>(const Level&) const = default;
};

// A wait of a turn that is being put together, and the turn's next one.
struct RawWait {
    std::uint32_t interval = 0;
    std::uint32_t next = 0;  // position in RawTurns::waits
};

struct RawTurn {
    Turn turn;  // its waits are RawTurns::waits, from `first_wait` on
    Level level;
    std::uint32_t last_wait = 0;
    std::int32_t iterator = -1;  // where there is no wait
};

// What is found on one track. Large ones are most of what a report needs beside the
// intervals: few bytes a turn, and they go as the passes are made.
struct RawTurns {
    explicit RawTurns(const Track& of) : track(of) {}

    /// Calls `visit(interval)` for each wait of a turn, in their order.
    template <typename Visit>
    void for_each_wait(const RawTurn& raw, Visit visit) const {
        std::uint32_t at = raw.turn.first_wait;
        for (std::uint32_t i = 0; i < raw.turn.wait_count; ++i) {
            visit(waits[at].interval);
            at = waits[at].next;
        }
    }

    /// Calls `visit(iterator)` for each iterator that a turn waits for, or is of.
    template <typename Visit>
    void for_each_iterator(const RawTurn& raw, Visit visit) const {
        for_each_wait(
            raw, [&](std::uint32_t wait) { visit(track.intervals[wait].iterator); });
        if (raw.turn.wait_count == 0) {
            visit(raw.iterator);
        }
    }

    std::int32_t first_iterator(const RawTurn& raw) const {
        return raw.turn.wait_count == 0
                   ? raw.iterator
                   : track.intervals[waits[raw.turn.first_wait].interval].iterator;
    }

    bool is_of(const RawTurn& raw, std::int32_t iterator) const {
        bool found = false;
        for_each_iterator(raw, [&](std::int32_t one) { found |= one == iterator; });
        return found;
    }

    void append_wait(RawTurn& raw, std::uint32_t i) {
        const Interval& interval = track.intervals[i];
        const auto at = static_cast<std::uint32_t>(waits.size());
        waits.push_back({i, at});
        if (raw.turn.wait_count == 0) {
            raw.turn.first_wait = at;
        } else {
            waits[raw.last_wait].next = at;
        }
        raw.last_wait = at;
        raw.turn.wait_count += 1;
        raw.turn.wait_ns += interval.dur_ns;
        raw.turn.end_ns = interval.end_ns();
    }

    const Track& track;
    std::deque<RawTurn> turns;
    std::vector<RawWait> waits;
};

struct RawEnd {
    std::uint32_t interval = 0;
    std::int32_t iterator = -1;
    std::uint16_t depth = 0;
};

bool contains(const std::vector<std::int32_t>& values, std::int32_t value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

// Puts the waits and bodies of one track together to turns.
class TurnFinder {
  public:
    TurnFinder(const Track& track, const StageNumbers& stages,
               const SummedPasses& summed)
        : found(track), track_(track), stages_(stages), summed_(summed) {}

    void run() {
        for (std::uint32_t i = 0; i < track_.intervals.size(); ++i) {
            visit(i, track_.intervals[i]);
        }
        for (const Interval& open : track_.open) {
            visit_open(open);
        }
    }

    RawTurns found;
    std::vector<RawEnd> ends;

  private:
    void visit(std::uint32_t i, const Interval& interval) {
        while (!stack_.empty() &&
               at(stack_.back().interval).end_ns() <= interval.start_ns) {
            stack_.pop_back();
        }
        const bool in_wait =
            !stack_.empty() && is(at(stack_.back().interval), stages_.loader);
        std::optional<std::size_t> turn;
        if (is(interval, stages_.loader) && !in_wait) {
            add_wait(i, interval);
        } else if (is(interval, stages_.step)) {
            turn = add_body(i, interval);
        } else if (is(interval, stages_.loader_end)) {
            ends.push_back({i, interval.iterator, interval.depth});
        } else if (is(interval, stages_.optimizer)) {
            mark_optimizer();
        }
        stack_.push_back({i, turn});
    }

    const Interval& at(std::uint32_t i) const { return track_.intervals[i]; }

    Level level_of(const Interval& interval) const {
        return {stack_.empty() ? kNoParent : std::int64_t{stack_.back().interval},
                interval.depth};
    }

    void add_wait(std::uint32_t i, const Interval& interval) {
        const Level level = level_of(interval);
        const auto waiting = waiting_.find(level);
        if (waiting != waiting_.end() &&
            !found.is_of(found.turns[waiting->second], interval.iterator)) {
            found.append_wait(found.turns[waiting->second], i);
            return;
        }
        waiting_[level] = found.turns.size();
        RawTurn turn;
        turn.level = level;
        turn.turn.start_ns = interval.start_ns;
        turn.turn.step = interval.step;
        found.append_wait(turn, i);
        found.turns.push_back(turn);
    }

    // The body carries the iterator of the first wait of its turn. Waits before that
    // one are of a loop that never got to its body.
    std::optional<std::size_t> add_body(std::uint32_t i, const Interval& interval) {
        const auto waiting = waiting_.find(level_of(interval));
        if (has_summed_waits(interval.iterator) &&
            (waiting == waiting_.end() || !is_of(waiting->second, interval))) {
            return add_body_without_wait(i, interval);
        }
        if (waiting == waiting_.end()) {
            return std::nullopt;  // its wait was not recorded: an ordinary stage
        }
        std::size_t index = waiting->second;
        if (!found.is_of(found.turns[index], interval.iterator)) {
            return std::nullopt;
        }
        if (found.first_iterator(found.turns[index]) != interval.iterator) {
            split(index, interval.iterator);
            index = found.turns.size() - 1;
        }
        Turn& turn = found.turns[index].turn;
        turn.body = i;
        turn.body_ns = interval.dur_ns;
        turn.end_ns = interval.end_ns();
        waiting_.erase(waiting);
        return index;
    }

    bool has_summed_waits(std::int32_t iterator) const {
        const auto summed = summed_.find(iterator);
        return summed != summed_.end() && summed->second.waits > 0;
    }

    // Whether a turn waits for the body `interval`; another's may be only summed.
    bool is_of(std::size_t turn, const Interval& interval) const {
        const RawTurn& raw = found.turns[turn];
        const Interval& wait = at(found.waits[raw.turn.first_wait].interval);
        return wait.iterator != interval.iterator ||
               (wait.batch == interval.batch && wait.step == interval.step);
    }

    // Where its wait is only summed: the limit was reached between the two.
    std::optional<std::size_t> add_body_without_wait(std::uint32_t i,
                                                     const Interval& interval) {
        const bool is_inside =
            std::any_of(stack_.begin(), stack_.end(), [&](const Frame& enclosing) {
                return enclosing.turn &&
                       found.is_of(found.turns[*enclosing.turn], interval.iterator);
            });
        if (is_inside) {
            return std::nullopt;  // a user's stage of that name
        }
        RawTurn turn;
        turn.level = level_of(interval);
        turn.iterator = interval.iterator;
        turn.turn.start_ns = interval.start_ns;
        turn.turn.end_ns = interval.end_ns();
        turn.turn.step = interval.step;
        turn.turn.body = i;
        turn.turn.body_ns = interval.dur_ns;
        found.turns.push_back(turn);
        return found.turns.size() - 1;
    }

    // Leaves the waits before the one for `iterator` to the turn, and makes a new one
    // of the rest.
    void split(std::size_t index, std::int32_t iterator) {
        RawTurn whole = found.turns[index];
        RawTurn first;
        first.level = whole.level;
        first.turn.start_ns = whole.turn.start_ns;
        first.turn.step = whole.turn.step;
        RawTurn rest = first;
        std::vector<std::uint32_t> waits;
        found.for_each_wait(whole, [&](std::uint32_t wait) { waits.push_back(wait); });
        for (const std::uint32_t wait : waits) {
            const Interval& interval = at(wait);
            if (rest.turn.wait_count == 0 && interval.iterator == iterator) {
                rest.turn.start_ns = interval.start_ns;
                found.append_wait(rest, wait);
            } else {
                found.append_wait(rest.turn.wait_count == 0 ? first : rest, wait);
            }
        }
        found.turns[index] = first;
        found.turns.push_back(rest);
    }

    void mark_optimizer() {
        for (auto enclosing = stack_.rbegin(); enclosing != stack_.rend();
             ++enclosing) {
            if (enclosing->turn) {
                ++found.turns[*enclosing->turn].turn.optimizer_calls;
                return;
            }
        }
    }

    // A wait that never ended is a turn of its own; a body that never ended leaves its
    // turn without one.
    void visit_open(const Interval& open) {
        if (!is(open, stages_.loader)) {
            return;
        }
        RawTurn turn;
        turn.level = {kNoParent, open.depth};
        turn.turn.start_ns = open.start_ns;
        turn.turn.end_ns = open.start_ns;
        turn.turn.step = open.step;
        turn.iterator = open.iterator;
        found.turns.push_back(turn);
    }

    const Track& track_;
    const StageNumbers& stages_;
    const SummedPasses& summed_;
    struct Frame {
        std::uint32_t interval = 0;
        std::optional<std::size_t> turn;  // whose body it is
    };
    std::vector<Frame> stack_;
    std::map<Level, std::size_t> waiting_;  // turns without a body yet
};

// Sets of passes over single loaders that one loop makes at a time.
class Groups {
  public:
    explicit Groups(std::size_t count) : parents_(count) {
        std::iota(parents_.begin(), parents_.end(), std::size_t{0});
    }
    std::size_t find(std::size_t i) {
        while (parents_[i] != i) {
            i = parents_[i] = parents_[parents_[i]];
        }
        return i;
    }
    void join(std::size_t a, std::size_t b) { parents_[find(b)] = find(a); }

  private:
    std::vector<std::size_t> parents_;
};

// What one iterator of a track did, before the passes that belong together are joined.
struct Extent {
    std::int32_t iterator = -1;
    std::uint16_t depth = 0;
    std::string phase;
    std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
};

std::string phase_of(const Run& run, std::int32_t iterator) {
    // A loop without a loader was timed by hand: a program without torch trains in it.
    return iterator < 0 ? "train"
                        : run.iterators[static_cast<std::size_t>(iterator)].phase;
}

class PassMaker {
  public:
    PassMaker(const Run& run, RawTurns found, std::vector<RawEnd> ends,
              SummedPasses summed)
        : run_(run),
          track_(found.track),
          found_(std::move(found)),
          ends_(std::move(ends)),
          summed_(std::move(summed)) {}

    std::vector<Pass> make() {
        std::sort(found_.turns.begin(), found_.turns.end(),
                  [](const RawTurn& a, const RawTurn& b) {
                      return a.turn.start_ns < b.turn.start_ns;
                  });
        measure_extents();
        Groups groups = join_extents();
        const auto group_of = [&](std::int32_t iterator) {
            return groups.find(extent_of_.at(iterator));
        };
        std::map<std::size_t, std::size_t> turns_of_group;
        for (const RawTurn& raw : found_.turns) {
            ++turns_of_group[group_of(found_.first_iterator(raw))];
        }
        std::map<std::size_t, std::size_t> pass_of_group;
        std::vector<Pass> passes;
        const auto pass_of = [&](std::int32_t iterator) -> Pass& {
            const std::size_t group = group_of(iterator);
            const auto [at, is_new] = pass_of_group.emplace(group, passes.size());
            if (is_new) {
                passes.emplace_back();
                passes.back().turns.reserve(turns_of_group[group]);
            }
            return passes[at->second];
        };
        for (; !found_.turns.empty(); found_.turns.pop_front()) {
            const RawTurn& raw = found_.turns.front();
            append(pass_of(found_.first_iterator(raw)), raw);
        }
        for (const auto& [iterator, summed] : summed_) {
            append(pass_of(iterator), iterator, summed);
        }
        for (const RawEnd& end : ends_) {
            const auto extent = extent_of_.find(end.iterator);
            if (extent != extent_of_.end()) {
                Pass& pass = passes[pass_of_group.at(groups.find(extent->second))];
                pass.ends.push_back(end.interval);
                pass.ends_ns += track_.intervals[end.interval].dur_ns;
                pass.end_ns =
                    std::max(pass.end_ns, track_.intervals[end.interval].end_ns());
            }
        }
        for (Pass& pass : passes) {
            finish(pass);
        }
        std::stable_sort(
            passes.begin(), passes.end(),
            [](const Pass& a, const Pass& b) { return a.start_ns < b.start_ns; });
        return passes;
    }

  private:
    void measure_extents() {
        for (const RawTurn& raw : found_.turns) {
            found_.for_each_iterator(raw, [&](std::int32_t iterator) {
                widen(iterator, raw.level.depth, raw.turn.start_ns, raw.turn.end_ns);
            });
        }
        for (const auto& [iterator, summed] : summed_) {
            widen(iterator, summed.depth, summed.start_ns, summed.end_ns);
        }
        std::stable_sort(
            extents_.begin(), extents_.end(),
            [](const Extent& a, const Extent& b) { return a.start_ns < b.start_ns; });
        for (std::size_t i = 0; i < extents_.size(); ++i) {
            extent_of_[extents_[i].iterator] = i;
        }
    }

    void widen(std::int32_t iterator, std::uint16_t depth, std::int64_t start_ns,
               std::int64_t end_ns) {
        const auto [at, is_new] = extent_of_.emplace(iterator, extents_.size());
        if (is_new) {
            extents_.push_back({iterator, depth, phase_of(run_, iterator)});
        }
        Extent& extent = extents_[at->second];
        extent.start_ns = std::min(extent.start_ns, start_ns);
        extent.end_ns = std::max(extent.end_ns, end_ns);
    }

    Groups join_extents() {
        Groups groups(extents_.size());
        for (const RawTurn& raw : found_.turns) {
            const std::size_t first = extent_of_.at(found_.first_iterator(raw));
            found_.for_each_iterator(raw, [&](std::int32_t iterator) {
                groups.join(first, extent_of_.at(iterator));
            });
        }
        // Extents are in order of their begins: compare each with the last one to end.
        std::map<std::pair<std::uint16_t, std::string>, std::size_t> last_to_end;
        for (std::size_t i = 0; i < extents_.size(); ++i) {
            const auto key = std::make_pair(extents_[i].depth, extents_[i].phase);
            const auto [last, is_first] = last_to_end.emplace(key, i);
            if (is_first) {
                continue;
            }
            if (extents_[i].start_ns < extents_[last->second].end_ns) {
                groups.join(last->second, i);
            }
            if (extents_[i].end_ns > extents_[last->second].end_ns) {
                last->second = i;
            }
        }
        return groups;
    }

    void append(Pass& pass, const RawTurn& raw) {
        if (pass.turns.empty()) {
            pass.start_ns = raw.turn.start_ns;
            pass.phase = phase_of(run_, found_.first_iterator(raw));
            pass.is_zipped = raw.turn.wait_count > 1;
        }
        found_.for_each_iterator(
            raw, [&](std::int32_t iterator) { add_iterator(pass, iterator); });
        Turn turn = raw.turn;
        turn.follows_gap = follows_gap(raw);
        turn.first_wait = static_cast<std::uint32_t>(pass.waits.size());
        found_.for_each_wait(raw,
                             [&](std::uint32_t wait) { pass.waits.push_back(wait); });
        pass.end_ns = std::max(pass.end_ns, turn.end_ns);
        pass.turns.push_back(turn);
    }

    void append(Pass& pass, std::int32_t iterator, const SummedPass& summed) {
        if (pass.turns.empty() && !pass.summed) {
            pass.start_ns = summed.start_ns;
            pass.end_ns = summed.end_ns;
            pass.phase = phase_of(run_, iterator);
        }
        add_iterator(pass, iterator);
        pass.start_ns = std::min(pass.start_ns, summed.start_ns);
        pass.end_ns = std::max(pass.end_ns, summed.end_ns);
        pass.ends_ns += summed.ends_ns;
        pass.exhausted |= summed.ends > 0;
        pass.is_zipped |= summed.waits > 0 && summed.turns.bodies == 0;
        if (summed.waits > 0 || summed.turns.bodies > 0) {
            pass.summed = pass.summed.value_or(SummedTurns());
            *pass.summed += summed.turns;
        }
    }

    static void add_iterator(Pass& pass, std::int32_t iterator) {
        if (iterator >= 0 && !contains(pass.iterators, iterator)) {
            pass.iterators.push_back(iterator);
        }
    }

    // Whether turns of its iterator are missing directly before this one.
    bool follows_gap(const RawTurn& raw) {
        const std::int32_t iterator = found_.first_iterator(raw);
        const bool has_wait = raw.turn.wait_count > 0;
        if (!summed_.contains(iterator) || (!has_wait && !raw.turn.body)) {
            return false;
        }
        const std::uint32_t first =
            has_wait ? found_.waits[raw.turn.first_wait].interval : *raw.turn.body;
        const std::int32_t batch = track_.intervals[first].batch;
        const std::int64_t position = batch >= 0 ? batch : raw.turn.step;
        const auto [last, is_first] = last_position_.try_emplace(iterator, -1);
        const bool is_next = position == last->second + 1 ||
                             (batch < 0 && position == last->second && !is_first);
        last->second = position;
        return !is_next;
    }

    void finish(Pass& pass) const {
        pass.exhausted |= !pass.ends.empty();
        for (const std::int32_t iterator : pass.iterators) {
            pass.exhausted |=
                run_.iterators[static_cast<std::size_t>(iterator)].exhausted;
        }
        for (Turn& turn : pass.turns) {
            turn.partial = !turn.body.has_value();
        }
        mark_interrupted_turn(pass);
    }

    // The last turn of a pass that was left early is cut short if it alone saw no
    // optimizer. With gradient accumulation most turns see none.
    static void mark_interrupted_turn(Pass& pass) {
        if (pass.turns.empty() ||
            (pass.summed && pass.turns.back().end_ns < pass.end_ns)) {
            return;  // it is not on record
        }
        Turn& last = pass.turns.back();
        const std::span others(pass.turns.data(), pass.turns.size() - 1);
        if (!pass.exhausted && !last.has_optimizer() && !others.empty() &&
            std::all_of(others.begin(), others.end(),
                        [](const Turn& turn) { return turn.has_optimizer(); })) {
            last.partial = true;
        }
    }

    const Run& run_;
    const Track& track_;
    RawTurns found_;
    std::vector<RawEnd> ends_;
    SummedPasses summed_;
    std::vector<Extent> extents_;
    std::map<std::int32_t, std::size_t> extent_of_;
    std::map<std::int32_t, std::int64_t> last_position_;  // by iterator
};

// A training whose first body raised looks like an evaluation of one batch that was
// left early: nothing trained, and nothing came after. It is taken for what it was
// meant to be.
void mark_failed_first_turn(std::span<Pass> passes) {
    const bool is_ordinary =
        passes.empty() ||
        std::any_of(passes.begin(), passes.end(), [](const Pass& pass) {
            return pass.summed.has_value() ||
                   std::any_of(pass.turns.begin(), pass.turns.end(),
                               [](const Turn& turn) {
                                   return turn.has_optimizer() || turn.partial;
                               });
        });
    if (is_ordinary) {
        return;
    }
    Pass& last = *std::max_element(
        passes.begin(), passes.end(),
        [](const Pass& a, const Pass& b) { return a.start_ns < b.start_ns; });
    if (!last.exhausted && last.turns.size() == 1 && !last.iterators.empty()) {
        last.turns.front().partial = true;
    }
}

}  // namespace

std::int64_t Pass::wait_ns() const {
    return std::accumulate(
        turns.begin(), turns.end(), summed ? summed->wait_ns : std::int64_t{0},
        [](std::int64_t sum, const Turn& turn) { return sum + turn.wait_ns; });
}

std::int64_t Pass::body_ns() const {
    return std::accumulate(
        turns.begin(), turns.end(), summed ? summed->body_ns : std::int64_t{0},
        [](std::int64_t sum, const Turn& turn) { return sum + turn.body_ns; });
}

std::vector<Pass> find_passes(const Run& run) {
    const StageNumbers stages(run);
    std::vector<Pass> all;
    for (std::size_t p = 0; p < run.processes.size(); ++p) {
        if (run.processes[p].role == Role::worker) {
            continue;
        }
        const std::size_t first_of_process = all.size();
        for (std::size_t t = 0; t < run.processes[p].tracks.size(); ++t) {
            const Track& track = run.processes[p].tracks[t];
            SummedPasses summed = sum_passes(track, stages);
            TurnFinder finder(track, stages, summed);
            finder.run();
            PassMaker maker(run, std::move(finder.found), std::move(finder.ends),
                            std::move(summed));
            for (Pass& pass : maker.make()) {
                pass.process = p;
                pass.track = t;
                all.push_back(std::move(pass));
            }
        }
        mark_failed_first_turn(std::span(all).subspan(first_of_process));
    }
    return all;
}

}  // namespace metatrain_timing::analyzer
