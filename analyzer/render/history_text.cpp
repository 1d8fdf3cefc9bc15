#include "analyzer/render/history_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/render/diff_text.hpp"
#include "analyzer/render/leading_parts.hpp"
#include "analyzer/render/text.hpp"
#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

std::string when(const RunDigest& run) {
    return format_time(run.started_unix_ns);
}

std::string range_of(const std::optional<double>& low,
                     const std::optional<double>& high) {
    return fmt::format("{} to {}", format_duration(low.value_or(0)),
                       format_duration(high.value_or(0)));
}

std::string newest_note(const HistorySeries& series) {
    const NewestRun& newest = series.newest;
    const std::string value = format_duration(series.values_ns.back());
    switch (newest.verdict) {
        case NewestVerdict::normal:
            return fmt::format("newest run: normal, {} (expected {})", value,
                               range_of(newest.low, newest.high));
        case NewestVerdict::unknown:
            return fmt::format(
                "newest run: {}; its level has {} before it, too few to judge it by",
                value, format_count(static_cast<std::int64_t>(newest.runs), "run"));
        default:
            return fmt::format(
                "newest run: {}, {} (expected {}){}", to_string(newest.verdict), value,
                range_of(newest.low, newest.high),
                newest.again ? ", as the run before it"
                             : "; one run alone may be chance: run it once more");
    }
}

std::string spikes_note(const HistorySeries& series) {
    constexpr std::size_t kMost = 5;
    if (series.spikes.empty()) {
        return "";
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(series.spikes.size(), kMost); ++i) {
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", series.spikes[i] + 1,
                            format_duration(series.values_ns[series.spikes[i]]));
    }
    if (series.spikes.size() > kMost) {
        text += ", ...";
    }
    return fmt::format(
        "{} ignored: run {}",
        format_count(static_cast<std::int64_t>(series.spikes.size()), "spike"), text);
}

std::string stretches_note(const HistorySeries& series) {
    std::string text;
    for (const RunStretch& stretch : series.stretches) {
        text +=
            fmt::format("{}{} to {} ({})", text.empty() ? "" : ", ", stretch.begin + 1,
                        stretch.end, format_duration(series.values_ns[stretch.begin]));
    }
    return text.empty() ? "" : "off their level together: runs " + text;
}

std::string lacking_note(const HistorySeries& series) {
    return series.lacking == 0
               ? ""
               : format_count(static_cast<std::int64_t>(series.lacking), "run") +
                     " without it, which count as 0";
}

std::string shifted_note(const HistorySeries& series) {
    const auto count = std::count_if(series.runs.begin(), series.runs.end(),
                                     [](const RunDigest* run) { return run->shifted; });
    return count == 0 ? ""
                      : fmt::format("{} changed their step time in the middle",
                                    format_count(count, "run"));
}

// One sentence for each pair of blocks, whichever settings differ between them.
std::vector<std::string> order_notes(const HistorySeries& series) {
    std::map<std::size_t, std::string> settings;
    std::map<std::size_t, const OrderEffect*> effects;
    for (const SettingOrder& order : series.order_effects) {
        std::string& text = settings[order.effect.at];
        text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", order.key,
                            order.effect.before, order.effect.after);
        effects[order.effect.at] = &order.effect;
    }
    std::vector<std::string> notes;
    for (const auto& [at, effect] : effects) {
        notes.push_back(fmt::format(
            "the order of the runs explains as much as {}: the values drift within both"
            " blocks of runs, by {} of the {} between them; run both by turns to tell",
            settings[at], format_change(effect->by_drift),
            format_change(effect->difference)));
    }
    return notes;
}

// Facts that tell the series apart; of a single one what its model and phase are.
std::set<std::string> naming_keys(const History& history) {
    std::set<std::string> keys{"phase", "metatrain.architecture.name"};
    const auto& first = history.series.front().workload;
    for (const HistorySeries& series : history.series) {
        for (const auto& [key, value] : series.workload) {
            const auto other = first.find(key);
            if (other == first.end() || other->second != value) {
                keys.insert(key);
            }
        }
        for (const auto& [key, value] : first) {
            if (!series.workload.contains(key)) {
                keys.insert(key);
            }
        }
    }
    return keys;
}

// Behind verdict and metric.
std::string what_is_so(const HistorySeries& series) {
    const std::string newest = format_duration(series.values_ns.back());
    const std::string expected = range_of(series.newest.low, series.newest.high);
    const std::string runs =
        format_count(static_cast<std::int64_t>(series.runs.size()), "run");
    if (series.newest.again) {
        return fmt::format("of the last two of {}: {}, expected {}", runs, newest,
                           expected);
    }
    if (series.has_recent_change()) {
        const HistoryChange& change = series.changes.back();
        return fmt::format(
            "{} since run {} of {} ({}), {} -> {}",
            change.relative ? format_change(*change.relative) : "new", change.run + 1,
            series.runs.size(), when(*series.runs[change.run]),
            format_duration(change.before_ns), format_duration(change.after_ns));
    }
    if (series.newest.low) {
        return fmt::format("of the newest of {}: {}, expected {}", runs, newest,
                           expected);
    }
    return fmt::format("of the newest of {}: {}", runs, newest);
}

}  // namespace

std::string series_name(const History& history, const HistorySeries& series) {
    std::string name;
    for (const std::string& key : naming_keys(history)) {
        const auto found = series.workload.find(key);
        if (found != series.workload.end()) {
            name += fmt::format("{}{} {}", name.empty() ? "" : ", ", key,
                                found->second.empty() ? "none" : found->second);
        }
    }
    return name;
}

std::string history_headline(const History& history) {
    const HistorySeries& series = history.deciding();
    std::string text = fmt::format("{}  {} {}", in_capitals(to_string(series.verdict)),
                                   history.options.metric, what_is_so(series));
    if (series.drift) {
        text += fmt::format(", drifting by {} a run", format_change(*series.drift));
    }
    return history.series.size() == 1
               ? text
               : fmt::format("{}  [{}]", text, series_name(history, series));
}

std::string change_reason(const HistoryChange& change) {
    constexpr std::size_t kMost = 3;
    std::vector<PartChange> changes;
    for (const StageShift& stage : change.stages) {
        changes.push_back({stage.path, stage.difference_ns()});
    }
    std::string text;
    for (const PartChange& part : leading_parts(changes, kMost)) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", describe(part.path),
                            with_sign(part.difference_ns));
    }
    return text;
}

std::vector<std::string> series_notes(const HistorySeries& series) {
    std::vector<std::string> notes{newest_note(series), spikes_note(series),
                                   stretches_note(series), lacking_note(series)};
    if (series.drift) {
        notes.push_back(fmt::format("drift: {} with each run of the last level",
                                    format_change(*series.drift)));
    }
    notes.push_back(shifted_note(series));
    for (std::string& note : order_notes(series)) {
        notes.push_back(std::move(note));
    }
    std::erase(notes, "");
    return notes;
}

}  // namespace metatrain_timing::analyzer
