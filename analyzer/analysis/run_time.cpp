#include "analyzer/analysis/run_time.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "analyzer/analysis/loop_parts.hpp"
#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {
namespace {

// The passes of one track: what they cover, each instant once.
class Coverage {
  public:
    void add(std::int64_t start_ns, std::int64_t end_ns, std::size_t group) {
        stretches_.push_back({start_ns, end_ns, group});
    }

    // Sorts the stretches and cuts off what lies in an earlier one: a nested loop, or
    // one that overlaps.
    void settle() {
        std::sort(stretches_.begin(), stretches_.end(),
                  [](const Stretch& a, const Stretch& b) {
                      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns
                                                      : a.end_ns > b.end_ns;
                  });
        std::int64_t at_ns = std::numeric_limits<std::int64_t>::min();
        for (Stretch& stretch : stretches_) {
            stretch.start_ns = std::max(stretch.start_ns, at_ns);
            stretch.end_ns = std::max(stretch.end_ns, stretch.start_ns);
            at_ns = stretch.end_ns;
        }
    }

    struct Stretch {
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        std::size_t group = 0;
    };
    const std::vector<Stretch>& stretches() const { return stretches_; }

    // How much of [start_ns, end_ns) is covered; calls come in order of start_ns.
    std::int64_t covered_ns(std::int64_t start_ns, std::int64_t end_ns) {
        while (next_ < stretches_.size() && stretches_[next_].end_ns <= start_ns) {
            ++next_;
        }
        std::int64_t sum = 0;
        for (std::size_t i = next_; i < stretches_.size(); ++i) {
            if (stretches_[i].start_ns >= end_ns) {
                break;
            }
            sum += std::min(end_ns, stretches_[i].end_ns) -
                   std::max(start_ns, stretches_[i].start_ns);
        }
        return sum;
    }

  private:
    std::vector<Stretch> stretches_;
    std::size_t next_ = 0;
};

// Sums up what training processes did.
class Meter {
  public:
    Meter(const Run& run, const PhaseGroups& groups)
        : run_(run), groups_(groups), stage_numbers_(run) {}

    void add(const Process& process, const Track& track, Coverage& coverage) {
        coverage.settle();
        std::int64_t last_ns = process.started_ns;
        for (const auto& stretch : coverage.stretches()) {
            loops_[stretch.group] += stretch.end_ns - stretch.start_ns;
            known_ns_ += stretch.end_ns - stretch.start_ns;
            last_ns = std::max(last_ns, stretch.end_ns);
        }
        last_ns = std::max(last_ns, add_outermost(track, coverage));
        last_ns = std::max(last_ns, add_sums(track));
        result_.wall_ns +=
            std::max(process.ended_ns.value_or(last_ns), last_ns) - process.started_ns;
        result_.process_count += 1;
    }

    RunTime take() {
        for (const auto& [group, total_ns] : loops_) {
            const PhaseGroup& of = groups_.groups[group];
            result_.rows.push_back({of.phase, of.loader, total_ns});
        }
        const auto first_stage = static_cast<std::ptrdiff_t>(result_.rows.size());
        for (const auto& [stage, total_ns] : stages_) {
            result_.rows.push_back({stage, "", total_ns});
        }
        std::stable_sort(result_.rows.begin() + first_stage, result_.rows.end(),
                         [](const RunTimeRow& a, const RunTimeRow& b) {
                             return a.total_ns > b.total_ns;
                         });
        result_.rows.push_back(
            {std::string(kUnattributed), "", result_.wall_ns - known_ns_});
        return std::move(result_);
    }

  private:
    // The outermost intervals, as far as no loop covers them; returns the end of the
    // last.
    std::int64_t add_outermost(const Track& track, Coverage& coverage) {
        std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
        for (const Interval& interval : track.intervals) {
            if (interval.start_ns < end_ns) {
                continue;
            }
            end_ns = interval.end_ns();
            const std::int64_t part_ns =
                interval.dur_ns - coverage.covered_ns(interval.start_ns, end_ns);
            if (part_ns > 0) {
                // An outermost interval that was none lies in one that never ended.
                const bool finished = interval.depth == 0;
                stages_[finished ? run_.stages[interval.stage] : "unfinished"] +=
                    part_ns;
                known_ns_ += part_ns;
            }
        }
        return end_ns;
    }

    // What is only summed, without the loops in it; returns the end of the last.
    std::int64_t add_sums(const Track& track) {
        const std::vector<LoopPart> parts = find_loop_parts(track, stage_numbers_);
        std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const IntervalTotal& total = track.totals[i];
            if (total.calls > 0) {
                end_ns = std::max(end_ns, total.last_ns);
            }
            const bool is_loop = parts[i] != LoopPart::none;
            const std::optional<std::size_t> top = top_outside_loops(track, parts, i);
            if (!top || is_loop == (*top == i) || track.totals[*top].calls == 0) {
                continue;
            }
            const std::int64_t ns = is_loop ? -total.total_ns : total.total_ns;
            stages_[run_.stages[track.totals[*top].stage]] += ns;
            known_ns_ += ns;
        }
        return end_ns;
    }

    // The outermost node around node `i` or itself; nothing where it is inside a loop
    // or is neither outermost nor a part of a loop.
    static std::optional<std::size_t> top_outside_loops(
        const Track& track, const std::vector<LoopPart>& parts, std::size_t i) {
        std::size_t top = i;
        for (auto at = parent_of(track.totals[i]); at;
             at = parent_of(track.totals[top])) {
            top = *at;
            if (parts[top] != LoopPart::none || parts[i] == LoopPart::none) {
                return std::nullopt;
            }
        }
        return top;
    }

    const Run& run_;
    const PhaseGroups& groups_;
    const StageNumbers stage_numbers_;
    RunTime result_;
    std::map<std::size_t, std::int64_t> loops_;
    std::map<std::string, std::int64_t> stages_;
    std::int64_t known_ns_ = 0;
};

}  // namespace

RunTime measure_run_time(const Run& run, std::span<const Pass> passes,
                         const PhaseGroups& groups) {
    std::map<std::pair<std::size_t, std::size_t>, Coverage> of_track;
    for (std::size_t g = 0; g < groups.groups.size(); ++g) {
        for (const std::size_t p : groups.groups[g].passes) {
            of_track[{passes[p].process, passes[p].track}].add(passes[p].start_ns,
                                                               passes[p].end_ns, g);
        }
    }
    Meter meter(run, groups);
    std::set<std::size_t> processes;
    for (auto& [key, coverage] : of_track) {
        const Process& process = run.processes[key.first];
        // Loops of a second thread run beside the first one's.
        if (process.role == Role::main && processes.insert(key.first).second) {
            meter.add(process, process.tracks[key.second], coverage);
        }
    }
    return meter.take();
}

}  // namespace metatrain_timing::analyzer
