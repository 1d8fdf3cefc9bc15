#include "analyzer/render/diff_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/render/leading_parts.hpp"
#include "analyzer/render/text.hpp"
#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

bool changed(const Metric& metric) {
    return metric.change == Change::regressed || metric.change == Change::improved ||
           metric.change == Change::added || metric.change == Change::removed;
}

std::vector<PartChange> changes_of(const std::vector<Metric>& metrics) {
    std::vector<PartChange> changes;
    for (const Metric& metric : metrics) {
        changes.push_back({metric.path, metric.difference_ns});
    }
    return changes;
}

// The stages that make most of the difference, either way, greatest first.
std::string because(const Diff& diff) {
    constexpr std::size_t kMost = 4;
    constexpr double kRestMatters = 0.05;
    std::string text;
    double rest_ns = diff.step.difference_ns;
    for (const PartChange& part : leading_parts(changes_of(diff.stages), kMost)) {
        text += (text.empty() ? "" : ", ") + describe(part.path) + " " +
                with_sign(part.difference_ns);
        rest_ns -= part.difference_ns;
    }
    if (text.empty()) {
        return "";
    }
    if (std::abs(rest_ns) >= kRestMatters * std::abs(diff.step.difference_ns)) {
        text += ", others " + with_sign(rest_ns);
    }
    return "Of " + with_sign(diff.step.difference_ns) + ": " + text + ".";
}

const Metric* find_stage(const std::vector<Metric>& metrics, const std::string& top,
                         const std::string& name) {
    for (const Metric& metric : metrics) {
        if (metric.path.front() == top && metric.path.back() == name) {
            return &metric;
        }
    }
    return nullptr;
}

// "`serialize` got 9.1 ms a batch cheaper in the workers and ..."
std::string hidden(const Diff& diff) {
    const std::vector<PartChange> all = changes_of(diff.fetches);
    const Metric* most = nullptr;
    for (const Metric& metric : diff.fetches) {
        const bool on_both = metric.before_ns && metric.after_ns;
        if (has_parts(all, metric.path) || !changed(metric) || !on_both) {
            continue;
        }
        const Metric* exposed = find_stage(diff.stages, "loader", metric.path.back());
        const double exposed_ns = exposed == nullptr ? 0 : exposed->difference_ns;
        const bool is_hidden =
            std::abs(exposed_ns) < 0.1 * std::abs(metric.difference_ns) &&
            std::abs(metric.difference_ns) >=
                diff.options.min_effect * diff.step.before_ns.value_or(0);
        if (is_hidden && (most == nullptr || std::abs(metric.difference_ns) >
                                                 std::abs(most->difference_ns))) {
            most = &metric;
        }
    }
    if (most == nullptr) {
        return "";
    }
    const bool cheaper = most->difference_ns < 0;
    return fmt::format(
        "In the workers `{}` takes {} a batch {} ({} -> {}), {}: that is hidden behind "
        "the steps.",
        most->path.back(), format_duration(std::abs(most->difference_ns)),
        cheaper ? "less" : "more", format_duration(most->before_ns.value_or(0)),
        format_duration(most->after_ns.value_or(0)),
        cheaper ? "and no step gains by it" : "and no step loses by it");
}

std::string name_of_part(const Diff& diff, const Metric& part) {
    if (part.name == "long_steps") {
        return "steps beyond the 97.5th percentile";
    }
    if (part.name == "warm_up") {
        return "warm-up";
    }
    if (part.name == "outside") {
        return "time outside of steps";
    }
    const Metric& start = diff.epoch_start;
    const bool sure =
        start.change == Change::regressed || start.change == Change::improved;
    return fmt::format(
        "the begin of epochs (worker start, first batch, worker stop; {} -> {} each{})",
        format_duration(start.before_ns.value_or(0)),
        format_duration(start.after_ns.value_or(0)),
        sure ? "" : ", too few to be sure");
}

// "All in all a step takes 282 ms instead of 210 ms: +30.7 ms of +72.0 ms is the begin
// of epochs (...)."
std::string all_in_all(const Diff& diff) {
    const double least_ns = diff.options.min_effect * diff.wall.before_ns.value_or(0);
    const Metric* most = nullptr;
    for (const Metric& part : diff.beyond) {
        if (std::abs(part.difference_ns) >= least_ns &&
            (most == nullptr ||
             std::abs(part.difference_ns) > std::abs(most->difference_ns))) {
            most = &part;
        }
    }
    if (most == nullptr) {
        return "";
    }
    return fmt::format("All in all a step takes {} instead of {}: {} of {} is {}.",
                       format_duration(diff.wall.after_ns.value_or(0)),
                       format_duration(diff.wall.before_ns.value_or(0)),
                       with_sign(most->difference_ns),
                       with_sign(diff.wall.difference_ns), name_of_part(diff, *most));
}

// Whether the interval of the difference leaves out 0.
bool step_is_sure(const Metric& step) {
    return step.low_ns.value_or(0) > 0 || step.high_ns.value_or(0) < 0;
}

std::string what_decides(const Diff& diff) {
    std::string text;
    if (diff.needed.steps) {
        text = fmt::format("about {} more steps in each run", *diff.needed.steps);
    }
    if (diff.needed.runs) {
        text += fmt::format("{}{} runs on each side", text.empty() ? "" : ", or ",
                            *diff.needed.runs);
    }
    return text.empty() ? "" : "To tell a difference of this size: " + text + ".";
}

}  // namespace

std::string format_change(double relative) {
    const double percent = 100 * relative;
    if (relative == 0) {
        return "0 %";
    }
    if (std::abs(percent) < 0.05) {
        return percent < 0 ? "-<0.1 %" : "+<0.1 %";
    }
    return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 9.95 ? 1 : 0);
}

std::string diff_headline(const Diff& diff) {
    const Metric& step = diff.step;
    const std::string what =
        diff.unit.empty() ? "step time" : "step time by " + diff.unit;
    return fmt::format("{}  {} {} ({} to {}), {} -> {}",
                       in_capitals(to_string(step.change)), what,
                       format_change(step.relative.value_or(0)),
                       format_change(step.relative_low.value_or(0)),
                       format_change(step.relative_high.value_or(0)),
                       format_duration(step.before_ns.value_or(0)),
                       format_duration(step.after_ns.value_or(0)));
}

std::vector<std::string> diff_sentences(const Diff& diff) {
    std::vector<std::string> sentences{diff_headline(diff)};
    const bool moved = step_is_sure(diff.step) && diff.step.change != Change::same;
    if (moved) {
        sentences.push_back(because(diff));
    }
    sentences.push_back(hidden(diff));
    sentences.push_back(all_in_all(diff));
    for (const std::string& reason : diff.reasons) {
        sentences.push_back(reason + ".");
    }
    if (diff.step.change == Change::inconclusive) {
        sentences.push_back(what_decides(diff));
    }
    std::erase(sentences, "");
    return sentences;
}

}  // namespace metatrain_timing::analyzer
