#include "analyzer/render/history_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/render/diff_text.hpp"
#include "analyzer/render/gate_report.hpp"
#include "analyzer/render/history_text.hpp"
#include "analyzer/render/sparkline.hpp"
#include "analyzer/render/table.hpp"
#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

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

std::string name_of(const HistorySeries& series, const std::set<std::string>& keys) {
    std::string name;
    for (const std::string& key : keys) {
        const auto found = series.workload.find(key);
        if (found != series.workload.end()) {
            name +=
                fmt::format("{}{} {}", name.empty() ? "" : ", ", key, found->second);
        }
    }
    return name;
}

std::string series_line(const HistorySeries& series, const std::string& metric,
                        const std::set<std::string>& keys) {
    const auto [least, greatest] =
        std::minmax_element(series.values_ns.begin(), series.values_ns.end());
    return fmt::format(
        "{}: {}, {} to {}; {} {} to {}", name_of(series, keys),
        format_count(static_cast<std::int64_t>(series.runs.size()), "run"),
        format_time(series.runs.front()->started_unix_ns),
        format_time(series.runs.back()->started_unix_ns), metric,
        format_duration(*least), format_duration(*greatest));
}

std::string interval_of(const HistoryChange& change) {
    return change.low ? fmt::format("{} to {}", format_change(*change.low),
                                    format_change(*change.high))
                      : "";
}

Table changes_table(const HistorySeries& series) {
    Table table({{"since run", Align::right},
                 {"began"},
                 {"change", Align::right},
                 {"99 %", Align::right, 1},
                 {"before", Align::right},
                 {"after", Align::right}});
    for (const HistoryChange& change : series.changes) {
        table.add_row({fmt::format("{}", change.run + 1),
                       format_time(series.runs[change.run]->started_unix_ns),
                       change.relative ? format_change(*change.relative) : "new",
                       interval_of(change), format_duration(change.before_ns),
                       format_duration(change.after_ns)});
    }
    return table;
}

// "run 17: waiting for `collate` +2.31 ms; changed: torch.version 2.12 -> 2.13"
std::vector<std::string> reason_lines(const HistorySeries& series) {
    std::vector<std::string> lines;
    for (const HistoryChange& change : series.changes) {
        std::string line = change_reason(change);
        if (const std::string changed = changed_settings(change); !changed.empty()) {
            line += (line.empty() ? "changed: " : "; changed: ") + changed;
        }
        if (!line.empty()) {
            lines.push_back(fmt::format("run {}: {}", change.run + 1, line));
        }
    }
    return lines;
}

std::string series_text(const HistorySeries& series, const std::string& metric,
                        const std::set<std::string>& keys, const TextStyle& style) {
    const auto shown = [&](const std::string& line) {
        return wrapped(printable(line, style.utf8), style.width);
    };
    std::string text = shown(series_line(series, metric, keys));
    text += sparkline(series.values_ns, style.width, style.utf8) + "\n";
    if (series.changes.empty()) {
        text += "no change of level\n";
    } else {
        text += "\n" + changes_table(series).text(style) + "\n";
    }
    for (const std::string& line : reason_lines(series)) {
        text += shown(line);
    }
    for (const std::string& note : series_notes(series)) {
        text += shown(note);
    }
    return text;
}

}  // namespace

std::string history_text(const History& history, const GateOutcome& gate,
                         const TextStyle& style) {
    const auto shown = [&](const std::string& line) {
        return wrapped(printable(line, style.utf8), style.width);
    };
    const std::set<std::string> keys = naming_keys(history);
    std::string text = shown(history_headline(history)) + "\n";
    for (const HistorySeries& series : history.series) {
        text += series_text(series, history.options.metric, keys, style) + "\n";
    }
    text += shown(fmt::format(
        "limit {:.2g} %, {:.3g} % intervals, 1 in 100 series "
        "without a change is said to have one",
        100 * history.options.min_effect, 100 * history.options.confidence));
    const std::string gated = gate_line(gate);
    text += gated.empty() ? "" : shown(gated);
    return text + shown(history_headline(history));
}

std::string history_markdown(const History& history, const GateOutcome& gate) {
    const std::set<std::string> keys = naming_keys(history);
    std::string text = "**" + printable(history_headline(history)) + "**\n";
    const std::string gated = gate_line(gate);
    text += gated.empty() ? "" : "\n" + printable(gated) + "\n";
    for (const HistorySeries& series : history.series) {
        text += "\n" + printable(series_line(series, history.options.metric, keys)) +
                "\n\n";
        if (!series.changes.empty()) {
            text += changes_table(series).markdown() + "\n";
        }
        for (const std::string& line : reason_lines(series)) {
            text += "- " + printable(line) + "\n";
        }
        for (const std::string& note : series_notes(series)) {
            text += "- " + printable(note) + "\n";
        }
    }
    return text;
}

std::string history_csv(const History& history) {
    Table table({{"series"},
                 {"run"},
                 {"started_unix"},
                 {"path"},
                 {"uuid"},
                 {"value_s"},
                 {"level_s"},
                 {"change"}});
    for (std::size_t s = 0; s < history.series.size(); ++s) {
        const HistorySeries& series = history.series[s];
        for (std::size_t i = 0; i < series.runs.size(); ++i) {
            const RunDigest& run = *series.runs[i];
            const bool changes = std::any_of(
                series.changes.begin(), series.changes.end(),
                [&](const HistoryChange& change) { return change.run == i; });
            table.add_row(
                {fmt::format("{}", s + 1), fmt::format("{}", i + 1),
                 fmt::format("{:.9f}", static_cast<double>(run.started_unix_ns) * 1e-9),
                 run.path, run.uuid,
                 fmt::format("{:.9f}", series.values_ns[i] / kSecond),
                 fmt::format("{:.9f}", series.level_ns[i] / kSecond),
                 changes ? "true" : "false"});
        }
    }
    return table.csv();
}

}  // namespace metatrain_timing::analyzer
