#include "analyzer/render/history_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/render/changed_facts.hpp"
#include "analyzer/render/diff_text.hpp"
#include "analyzer/render/gate_report.hpp"
#include "analyzer/render/history_text.hpp"
#include "analyzer/render/sparkline.hpp"
#include "analyzer/render/table.hpp"
#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

std::string series_line(const History& history, const HistorySeries& series) {
    const auto [least, greatest] =
        std::minmax_element(series.values_ns.begin(), series.values_ns.end());
    return fmt::format(
        "{}: {}, {} to {}; {} {} to {}", series_name(history, series),
        format_count(static_cast<std::int64_t>(series.runs.size()), "run"),
        format_time(series.runs.front()->started_unix_ns),
        format_time(series.runs.back()->started_unix_ns), history.options.metric,
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
                 {"95 %", Align::right, 1},
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
        const std::string changed = changed_facts_text(change.changed, ", ");
        if (!changed.empty()) {
            line += (line.empty() ? "changed: " : "; changed: ") + changed;
        }
        if (!line.empty()) {
            lines.push_back(fmt::format("run {}: {}", change.run + 1, line));
        }
    }
    return lines;
}

std::string series_text(const History& history, const HistorySeries& series,
                        const TextStyle& style) {
    const auto shown = [&](const std::string& line) {
        return wrapped(printable(line, style.utf8), style.width);
    };
    std::string text = shown(series_line(history, series));
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
    std::string text = shown(history_headline(history)) + "\n";
    for (const HistorySeries& series : history.series) {
        text += series_text(history, series, style) + "\n";
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
    std::string text = "**" + printable(history_headline(history)) + "**\n";
    const std::string gated = gate_line(gate);
    text += gated.empty() ? "" : "\n" + printable(gated) + "\n";
    for (const HistorySeries& series : history.series) {
        text += "\n" + printable(series_line(history, series)) + "\n\n";
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
