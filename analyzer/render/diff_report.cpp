#include "analyzer/render/diff_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/render/changed_facts.hpp"
#include "analyzer/render/diff_text.hpp"
#include "analyzer/render/gate_report.hpp"
#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

// The unit of all times of a table, so that its columns compare at a glance.
struct TimeUnit {
    const char* name = "ms";
    double ns = 1e6;
    int decimals = 2;

    std::string show(const std::optional<double>& value) const {
        return value ? format_fixed(*value / ns, decimals) : "";
    }
    std::string show_signed(double value) const {
        const std::string text = format_fixed(value / ns, decimals);
        return value > 0 ? "+" + text : text;
    }
};

TimeUnit unit_for(double greatest_ns) {
    TimeUnit unit;
    if (greatest_ns >= 10e9) {
        unit = {"s", 1e9, 0};
    } else if (greatest_ns < 1e6) {
        unit = {"us", 1e3, 0};
    }
    unit.decimals = std::min(decimals_for(greatest_ns / unit.ns), 2);
    return unit;
}

std::string size_of(const Metric& metric) {
    if (metric.change == Change::added) {
        return "new";
    }
    if (metric.change == Change::removed) {
        return "gone";
    }
    return metric.relative ? format_change(*metric.relative) : "";
}

class Tables {
  public:
    Tables(const Diff& diff, bool for_people, bool verbose)
        : diff_(diff), for_people_(for_people), verbose_(verbose) {}

    Table steps() const {
        const TimeUnit unit = unit_for(std::max(diff_.step.before_ns.value_or(0),
                                                diff_.step.after_ns.value_or(0)));
        Table table =
            stage_table(diff_.unit.empty() ? "step" : "per " + diff_.unit, unit, true);
        add(table, diff_.step, "step time", unit);
        for (const Metric& metric : diff_.stages) {
            if (is_shown(metric, diff_.step.before_ns.value_or(0))) {
                add(table, metric, name_of(metric, 1), unit);
            }
        }
        return table;
    }

    Table fetches() const {
        double greatest = 0;
        for (const Metric& metric : diff_.fetches) {
            greatest = std::max(
                {greatest, metric.before_ns.value_or(0), metric.after_ns.value_or(0)});
        }
        const TimeUnit unit = unit_for(greatest);
        Table table = stage_table("making a batch", unit, false);
        for (const Metric& metric : diff_.fetches) {
            if (is_shown(metric, greatest)) {
                add(table, metric, name_of(metric, 0), unit);
            }
        }
        return table;
    }

    Table distribution() const {
        const TimeUnit unit = unit_for(diff_.distribution.back().before_ns.value_or(0));
        Table table = stage_table("steady steps", unit, false);
        for (const Metric& metric : diff_.distribution) {
            add(table, metric, metric.name, unit);
        }
        return table;
    }

    // Where all the time of the phase goes, per step.
    Table account() const {
        const TimeUnit unit = unit_for(diff_.wall.before_ns.value_or(0));
        Table table({{"all time, per step"},
                     {fmt::format("before, {}", unit.name), Align::right},
                     {"after", Align::right},
                     {"adds", Align::right}});
        const auto row = [&](const Metric& metric, const std::string& name) {
            table.add_row({name, unit.show(metric.before_ns),
                           unit.show(metric.after_ns),
                           unit.show_signed(metric.difference_ns)});
        };
        row(diff_.step, "steady step");
        for (const Metric& metric : diff_.beyond) {
            std::string name = metric.name;
            std::replace(name.begin(), name.end(), '_', ' ');
            row(metric, name);
        }
        table.add_rule();
        row(diff_.wall, "all");
        return table;
    }

  private:
    static Table stage_table(const std::string& title, const TimeUnit& unit,
                             bool adds_up) {
        return Table({{title},
                      {fmt::format("before, {}", unit.name), Align::right},
                      {"after", Align::right},
                      {"change", Align::right},
                      {adds_up ? "adds" : "difference", Align::right},
                      {"+-", Align::right, 1},
                      {"verdict"}});
    }

    static std::string name_of(const Metric& metric, std::size_t indent) {
        return std::string(2 * (indent + metric.path.size() - 1), ' ') +
               metric.path.back();
    }

    void add(Table& table, const Metric& metric, const std::string& name,
             const TimeUnit& unit) const {
        std::string half;
        if (metric.low_ns && metric.high_ns) {
            half = format_fixed((*metric.high_ns - *metric.low_ns) / 2 / unit.ns,
                                unit.decimals);
        }
        table.add_row({name, unit.show(metric.before_ns), unit.show(metric.after_ns),
                       size_of(metric), unit.show_signed(metric.difference_ns), half,
                       std::string(to_string(metric.change))});
    }

    // Small stages that did not change say nothing.
    bool is_shown(const Metric& metric, double whole_ns) const {
        constexpr double kSmall = 0.01;
        const double greatest =
            std::max(metric.before_ns.value_or(0), metric.after_ns.value_or(0));
        return verbose_ || !for_people_ || greatest >= kSmall * whole_ns ||
               (metric.change != Change::same &&
                metric.change != Change::inconclusive &&
                std::abs(metric.difference_ns) >= kSmall / 2 * whole_ns);
    }

    const Diff& diff_;
    bool for_people_;
    bool verbose_;
};

bool has_beyond(const Diff& diff) {
    return std::any_of(diff.beyond.begin(), diff.beyond.end(), [&](const Metric& part) {
        return std::abs(part.difference_ns) >=
               diff.options.min_effect * diff.wall.before_ns.value_or(0);
    });
}

std::string changed_line(const Diff& diff) {
    const std::string text = changed_facts_text(diff.changed, "; ");
    return fmt::format("changed: {} (the same: {})", text.empty() ? "nothing" : text,
                       format_count(diff.same_facts, "fact"));
}

std::string range_of(const DiffSide& side) {
    return fmt::format("steps {} to {}", side.first_step, side.last_step);
}

std::string compared_line(const Diff& diff) {
    const std::string before = range_of(diff.before);
    const std::string after = range_of(diff.after);
    return fmt::format("compared: {}{}; warm-up of {} and {} steps left out", before,
                       before == after ? " of both" : " with " + after,
                       diff.before.warm_up_steps, diff.after.warm_up_steps);
}

std::string method_line(const Diff& diff) {
    const RunNoise& noise = diff.options.noise;
    std::string source =
        fmt::format("{:.2g} %, {}", 100 * noise.relative, noise.source);
    if (noise.runs > 0) {
        source = fmt::format("{:.2g} %, learned from {} runs", 100 * noise.relative,
                             noise.runs);
    }
    if (noise.source == "assumed") {
        source =
            "not known, 1 % assumed: learn it (mt-analyze noise), or give --run-noise "
            "or several runs on each side";
    }
    if (diff.before.runs.size() + diff.after.runs.size() > 2) {
        source =
            fmt::format("as the runs of both sides differ, with {:.2g} % {} before",
                        100 * noise.relative, noise.source);
    }
    return fmt::format("limit {:.2g} %, {:.3g} % intervals; run-to-run noise {}",
                       100 * diff.options.min_effect, 100 * diff.options.confidence,
                       source);
}

}  // namespace

std::string diff_text(const Diff& diff, const GateOutcome& gate, const TextStyle& style,
                      bool verbose) {
    const auto shown = [&](const std::string& text) {
        return printable(text, style.utf8);
    };
    const Tables tables(diff, true, verbose);
    std::string text;
    for (const std::string& sentence : diff_sentences(diff)) {
        text += wrapped(shown(sentence), style.width);
    }
    text += wrapped(shown(changed_line(diff)), style.width) + "\n";
    text += tables.steps().text(style) + "\n";
    if (!diff.fetches.empty()) {
        text += tables.fetches().text(style) + "\n";
    }
    if (verbose || has_beyond(diff)) {
        text += tables.account().text(style) + "\n";
    }
    text += tables.distribution().text(style) + "\n";
    text += wrapped(compared_line(diff), style.width);
    text += wrapped(method_line(diff), style.width);
    const std::string gated = gate_line(gate);
    text += gated.empty() ? "" : shown(gated) + "\n";
    return text + wrapped(shown(diff_headline(diff)), style.width);
}

std::string diff_markdown(const Diff& diff, const GateOutcome& gate) {
    const Tables tables(diff, true, false);
    std::string text;
    bool is_first = true;
    for (const std::string& sentence : diff_sentences(diff)) {
        text += is_first ? "**" + printable(sentence) + "**\n\n"
                         : printable(sentence) + "\n";
        is_first = false;
    }
    const std::string gated = gate_line(gate);
    text += gated.empty() ? "" : "\n" + printable(gated) + "\n";
    text += "\n" + printable(changed_line(diff)) + "\n\n";
    text += tables.steps().markdown();
    if (!diff.fetches.empty()) {
        text += "\n" + tables.fetches().markdown();
    }
    if (has_beyond(diff)) {
        text += "\n" + tables.account().markdown();
    }
    return text + "\n" + compared_line(diff) + "; " + method_line(diff) + "\n";
}

std::string diff_csv(const Diff& diff) {
    Table table({{"name"},
                 {"stage"},
                 {"before_s"},
                 {"after_s"},
                 {"difference_s"},
                 {"low_s"},
                 {"high_s"},
                 {"p"},
                 {"verdict"}});
    const auto in_s = [](const std::optional<double>& ns) {
        return ns ? fmt::format("{:.9f}", *ns / kSecond) : std::string();
    };
    const auto add = [&](const Metric& metric, bool has_verdict) {
        table.add_row({metric.name, metric.stage(), in_s(metric.before_ns),
                       in_s(metric.after_ns), in_s(metric.difference_ns),
                       in_s(metric.low_ns), in_s(metric.high_ns),
                       metric.p ? fmt::format("{:.3g}", *metric.p) : "",
                       has_verdict ? std::string(to_string(metric.change)) : ""});
    };
    add(diff.step, true);
    for (const auto* metrics : {&diff.stages, &diff.fetches, &diff.distribution}) {
        for (const Metric& metric : *metrics) {
            add(metric, true);
        }
    }
    add(diff.epoch_start, true);
    for (Metric metric : diff.beyond) {
        metric.path = {std::exchange(metric.name, "per_step")};
        add(metric, false);
    }
    add(diff.wall, false);
    return table.csv();
}

}  // namespace metatrain_timing::analyzer
