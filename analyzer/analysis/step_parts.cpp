#include "analyzer/analysis/step_parts.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "analyzer/analysis/stages.hpp"
#include "analyzer/analysis/wait_slices.hpp"
#include "analyzer/stats/quantiles.hpp"

namespace metatrain_timing::analyzer {
namespace {

// What a slice of a wait is called: the stage where there is one.
std::string_view name_of(const Run& run, const SliceCause& cause) {
    return cause.stage < 0
               ? metatrain_timing::analyzer::name_of(cause.kind)
               : std::string_view(run.stages[static_cast<std::size_t>(cause.stage)]);
}

class Divider {
  public:
    Divider(const Findings& findings, const CriticalSteps& steps)
        : findings_(findings),
          steps_(steps),
          slicer_(findings),
          wait_(paths_.child(PathSums::kRoot, "loader")),
          body_(paths_.child(PathSums::kRoot, "step")) {}

    void add(const CriticalStep& step, double weight, std::size_t batch) {
        weight_ = weight;
        batch_ = batch;
        const PhaseGroup& group = findings_.groups().groups[steps_.group];
        const ProcessSteps& process = steps_.of_ranks.processes.at(step.process);
        for (const TurnRef at : process.turns_of(process.steps[step.step])) {
            const Pass& pass = findings_.passes()[group.passes[at.pass]];
            const Turn& turn = pass.turns[at.turn];
            const Track& track =
                findings_.run().processes[pass.process].tracks[pass.track];
            for (const std::uint32_t wait : pass.waits_of(turn)) {
                add_wait(track, wait);
            }
            if (turn.body) {
                add_body(track, *turn.body);
            }
        }
    }

    std::vector<PathSum> parts() const { return paths_.rows(); }

  private:
    void add_wait(const Track& track, std::uint32_t wait) {
        add(wait_, track.intervals[wait].dur_ns);
        slicer_.cut(
            track, wait,
            [&](const SliceCause& cause, std::int64_t from_ns, std::int64_t to_ns) {
                add(paths_.child(wait_, name_of(findings_.run(), cause)),
                    to_ns - from_ns);
            });
    }

    // All that lies in the body: a loop nested there is one part.
    void add_body(const Track& track, std::uint32_t body) {
        const Interval& whole = track.intervals[body];
        add(body_, whole.dur_ns);
        add_nested(
            track, body + 1, whole.end_ns(), body_,
            [&](const Interval& interval, PathSums::Node parent) {
                const auto loop = loop_at(interval);
                const std::string& stage = findings_.run().stages[interval.stage];
                return NestedNode{paths_.child(parent, loop ? *loop : stage),
                                  loop.has_value()};
            },
            [&](PathSums::Node node, std::int64_t dur_ns) { add(node, dur_ns); });
    }

    // The name of the loop that an interval belongs to as a wait or a body.
    std::optional<std::string> loop_at(const Interval& interval) const {
        const StageNumbers& stages = findings_.stages();
        if (!is(interval, stages.loader) && !is(interval, stages.step) &&
            !is(interval, stages.loader_end)) {
            return std::nullopt;
        }
        const auto group = findings_.groups().group_of(interval.iterator);
        return (group ? findings_.groups().groups[*group].phase : "nested") + " loop";
    }

    void add(PathSums::Node node, std::int64_t dur_ns) {
        paths_.add(node, batch_, weight_ * static_cast<double>(dur_ns));
    }

    const Findings& findings_;
    const CriticalSteps& steps_;
    WaitSlicer slicer_;
    PathSums paths_;
    const PathSums::Node wait_;
    const PathSums::Node body_;
    double weight_ = 1;
    std::size_t batch_ = 0;
};

}  // namespace

double StepRange::cut_ns(const CriticalStep& step) const {
    return std::min(static_cast<double>(step.dur_ns), limit_ns);
}

double StepRange::weight(const CriticalStep& step) const {
    return static_cast<double>(step.dur_ns) > limit_ns ? 0 : part_weight;
}

StepRange limit_steps(std::span<const CriticalStep> steps) {
    constexpr double kCounted = 0.975;
    std::vector<std::int64_t> lengths;
    lengths.reserve(steps.size());
    for (const CriticalStep& step : steps) {
        lengths.push_back(step.dur_ns);
    }
    StepRange range{steps, quantile(lengths, kCounted).value_or(0)};
    double all_ns = 0;
    double within_ns = 0;
    for (const CriticalStep& step : steps) {
        all_ns += range.cut_ns(step);
        within_ns += range.weight(step) * static_cast<double>(step.dur_ns);
    }
    range.part_weight = within_ns > 0 ? all_ns / within_ns : 1;
    return range;
}

std::vector<PathSum> find_step_parts(const Findings& findings,
                                     const CriticalSteps& steps,
                                     const StepRange& range) {
    Divider divider(findings, steps);
    for (std::size_t batch = 0; batch < kSeriesBatches; ++batch) {
        const std::size_t end = batch_begin(batch + 1, range.steps.size());
        for (std::size_t i = batch_begin(batch, range.steps.size()); i < end; ++i) {
            divider.add(range.steps[i], range.weight(range.steps[i]), batch);
        }
    }
    return divider.parts();
}

}  // namespace metatrain_timing::analyzer
