#include "analyzer/render/report_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyzer/render/advice_report.hpp"
#include "analyzer/render/report_tables.hpp"
#include "analyzer/render/units.hpp"
#include "analyzer/render/verdict_text.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kShownWorkers = 8;  // without --verbose
constexpr std::string_view kOnRecord = "on record one by one";

std::vector<const PhaseReport*> phases_in_full(const Report& report,
                                               const ReportView& view) {
    std::vector<const PhaseReport*> phases;
    for (const PhaseReport& phase : report.phases) {
        if (view.phase.empty() ? phases.empty() : phase.name == view.phase) {
            phases.push_back(&phase);
        }
    }
    return phases;
}

class TextReport {
  public:
    TextReport(const Report& report, const TextStyle& style, const ReportView& view)
        : report_(report), style_(style), view_(view) {}

    std::string make() {
        head();
        paragraph(verdict_text(report_));
        if (const std::string checks = checks_text(report_); !checks.empty()) {
            paragraph(checks);
        }
        const auto full = phases_in_full(report_, view_);
        for (const PhaseReport* phase : full) {
            phase_in_full(*phase);
        }
        if (view_.phase.empty()) {
            section("OTHER LOOPS",
                    other_phase_table(report_, full.size(), view_.verbose));
            section("THE WHOLE RUN", run_time_table(report_),
                    "unattributed: imports, set-up and whatever is in no loop");
            section("OTHER THREADS", other_thread_table(report_),
                    "stages that belong to no loop");
        }
        section("PROCESSES", process_table(report_, view_.verbose));
        environment();
        return std::move(text_);
    }

  private:
    std::string shown(const std::string& raw) const {
        return printable(raw, style_.utf8);
    }

    void head() {
        const Run& run = *report_.run;
        text_ += fmt::format(
            "run {}  {}  {}  {}{}\n", shown(run.uuid.substr(0, 8)),
            format_time(run.started_unix_ns), shown(run.host),
            format_count(report_.rank_count, "rank"),
            run.attempt > 1 ? fmt::format("  attempt {}", run.attempt) : "");
        if (!run.command.empty()) {
            text_ += wrapped(shown(run.command), style_.width);
        }
    }

    void paragraph(const std::string& raw) {
        text_ += "\n" + wrapped(shown(raw), style_.width);
    }

    void section(const std::string& title, const std::optional<Table>& table,
                 const std::string& subtitle = "") {
        if (!table || table->row_count() == 0) {
            return;
        }
        text_ += "\n" + shown(title) + "\n";
        if (!subtitle.empty()) {
            text_ += wrapped(shown(subtitle), style_.width);
        }
        text_ += table->text(style_);
    }

    void phase_in_full(const PhaseReport& phase) {
        const std::string name = phase.name == "train" ? "TRAINING" : phase.name;
        const bool is_train = phase.name == "train";
        section(is_train ? "WHERE A TRAINING STEP GOES"
                         : fmt::format("WHERE A STEP OF \"{}\" GOES", name),
                step_table(phase, view_.verbose), steps_line(phase));
        if (phase.shown_steps() == 0) {
            paragraph(steps_line(phase));
        }
        section("INSIDE THE WORKERS", worker_stage_table(phase, view_.verbose),
                worker_line(phase));
        section("BESIDE THE LOOP", thread_table(phase),
                "other threads of the training process");
        section("WHY IT WAITS", wait_cause_table(phase, view_.verbose),
                wait_line(phase));
        if (view_.verbose) {
            section("WAITS BY EPOCH", pass_wait_table(phase),
                    "by what went on meanwhile, see docs/report.md");
        }
        section(is_train ? "WHERE THE TRAINING TIME GOES"
                         : fmt::format("WHERE THE TIME OF \"{}\" GOES", name),
                phase_time_table(phase), time_line(phase));
        section("EPOCH STARTS", epoch_start_table(phase, view_.verbose));
        if (report_.advice && &phase == &report_.phases.front()) {
            section("WHAT WOULD HELP", advice_table(*report_.advice),
                    advice_line(*report_.advice));
        }
        if (view_.verbose || phase.workers.size() <= kShownWorkers) {
            section("WORKERS", worker_table(phase, report_),
                    "shares of the life of each worker");
        }
    }

    static std::string steps_line(const PhaseReport& phase) {
        const StepSeries& steps = phase.steps;
        std::string line = format_count(steps.steps, "complete step");
        if (steps.micro_steps != steps.steps) {
            line +=
                fmt::format(" of {}", format_count(steps.micro_steps, "micro-step"));
        }
        if (steps.partial_steps > 0 || steps.steps == 0) {
            line += fmt::format(", {} partial", steps.partial_steps);
        }
        if (phase.rank_count > 1) {
            line +=
                fmt::format(" on each of {}", format_count(phase.rank_count, "rank"));
        }
        line += fmt::format(", {}", format_count(steps.epochs, "epoch"));
        if (phase.is_summed()) {
            line += fmt::format("; shown: all, median and p95 of the {} {}",
                                steps.steady_steps, kOnRecord);
        } else if (steps.steady_from_step) {
            line += fmt::format("; shown: {} steady ones from step {} on",
                                steps.steady_steps, *steps.steady_from_step);
        } else if (!steps.settled) {
            line += "; shown: all, they never settled";
        }
        if (!phase.loader.empty()) {
            line += "; loader: " + phase.loader;
        }
        return line;
    }

    static std::string worker_line(const PhaseReport& phase) {
        std::int64_t batches = 0;
        std::int64_t lives = 0;
        for (const WorkerTime& worker : phase.workers) {
            batches += worker.batches;
            lives += worker.lives;
        }
        return fmt::format(
            "{} in {} of {}; worker time: hidden unless the training waits for it",
            format_count(batches, "batch", "batches"),
            lives == 1 ? "1 life" : fmt::format("{} lives", lives),
            format_count(static_cast<std::int64_t>(phase.workers.size()), "worker"));
    }

    static std::string advice_line(const Advice& advice) {
        std::string line = "predicted by replaying the run";
        if (advice.settings.empty()) {
            line += "; no other setting of the loader saves 3 %";
        }
        if (advice.guesses_worker_start) {
            line +=
                "; recorded without the start of workers, which is taken to be 50 ms "
                "each, and without sending batches";
        }
        return line + " (mt-analyze whatif)";
    }

    static std::string wait_line(const PhaseReport& phase) {
        std::string line =
            fmt::format("exposed wait, all steps: {}, {} of the time",
                        format_duration(static_cast<double>(phase.time.loader_ns)),
                        format_share(phase.time.wall_ns > 0
                                         ? static_cast<double>(phase.time.loader_ns) /
                                               static_cast<double>(phase.time.wall_ns)
                                         : 0));
        std::int64_t held_ns = 0;
        for (const WaitCause& cause : phase.wait_causes) {
            held_ns += cause.head_of_line_ns;
        }
        if (held_ns * 20 > phase.time.loader_ns) {
            line += fmt::format("; {} of it while a later batch lay ready",
                                format_duration(static_cast<double>(held_ns)));
        }
        if (phase.is_summed()) {
            line += fmt::format("; estimated from the waits {}", kOnRecord);
            if (const auto error = greatest_share_error(phase)) {
                line += fmt::format(", shares to {} % (standard error)",
                                    format_fixed(std::max(*error * 100, 0.1), 1));
            }
        }
        return line;
    }

    // "9,600 atoms (3,400/s, 0.29 ms each; 540 to 705 in a batch)"
    static std::string counter_text(const CounterRate& counter) {
        std::string details;
        if (counter.per_s && counter.each_ns) {
            details = fmt::format("{}/s, {} each", format_number(*counter.per_s),
                                  format_duration(*counter.each_ns));
        }
        if (const auto& batch = counter.per_batch; batch && batch->batches > 1) {
            details += fmt::format(
                "{}{}{} in a batch", details.empty() ? "" : "; ",
                format_amount(batch->min),
                batch->min < batch->max ? " to " + format_amount(batch->max) : "");
        }
        return fmt::format("{} {}{}", format_amount(counter.total), counter.name,
                           details.empty() ? "" : " (" + details + ")");
    }

    std::string time_line(const PhaseReport& phase) const {
        std::string line =
            phase.rank_count > 1
                ? fmt::format("summed over {}", format_count(phase.rank_count, "rank"))
                : "";
        const auto append = [&](const std::string& part) {
            line += line.empty() ? part : "; " + part;
        };
        for (const CounterRate& counter : phase.counters) {
            append(counter_text(counter));
        }
        std::int64_t before_ns = 0;
        for (const EpochStart& start : phase.epoch_starts) {
            before_ns += start.before_wall_ns;
        }
        if (before_ns > 0) {
            append(fmt::format("starting the workers before that: {}",
                               format_duration(static_cast<double>(before_ns))));
        }
        return line;
    }

    void environment() {
        if (report_.environment.empty()) {
            return;
        }
        std::string line;
        for (const auto& [key, value] : report_.environment) {
            if (view_.verbose) {
                line += fmt::format("  {}: {}\n", shown(key), shown(value));
            } else if (is_worth_a_glance(key)) {
                line += fmt::format("{}{} {}", line.empty() ? "" : ", ", key, value);
            }
        }
        if (line.empty()) {
            return;
        }
        text_ += "\nENVIRONMENT\n" +
                 (view_.verbose ? line : wrapped(shown(line), style_.width));
    }

    static bool is_worth_a_glance(std::string_view key) {
        for (const std::string_view prefix :
             {"python.version", "torch.version", "cpu.granted", "gpu.",
              "torch.num_threads", "git.commit", "metatrain.version",
              "benchmark.prediction"}) {
            if (key.starts_with(prefix)) {
                return true;
            }
        }
        return false;
    }

    const Report& report_;
    const TextStyle& style_;
    const ReportView& view_;
    std::string text_;
};

Table stages_of(const Report& report, const ReportView& view) {
    Table table = stage_table();
    for (const PhaseReport& phase : report.phases) {
        if (view.phase.empty() || phase.name == view.phase) {
            append_stage_rows(table, phase);
        }
    }
    return table;
}

}  // namespace

std::string report_text(const Report& report, const TextStyle& style,
                        const ReportView& view) {
    return TextReport(report, style, view).make();
}

std::string report_csv(const Report& report, const ReportView& view) {
    return stages_of(report, view).csv();
}

std::string report_markdown(const Report& report, const ReportView& view) {
    std::string text = "**" + printable(verdict_text(report)) + "**\n";
    if (const std::string checks = checks_text(report); !checks.empty()) {
        text += "\n" + printable(checks) + "\n";
    }
    for (const PhaseReport* phase : phases_in_full(report, view)) {
        const auto add = [&](const char* title, const std::optional<Table>& table) {
            if (table) {
                text += fmt::format("\n### {}\n\n{}", title, table->markdown());
            }
        };
        add("Where a step goes", step_table(*phase, view.verbose));
        add("Inside the workers", worker_stage_table(*phase, view.verbose));
        add("Why it waits", wait_cause_table(*phase, view.verbose));
        add("Where the time goes", phase_time_table(*phase));
    }
    if (const auto others = other_phase_table(report, 1, view.verbose);
        others && view.phase.empty()) {
        text += "\n### Other loops\n\n" + others->markdown();
    }
    return text;
}

}  // namespace metatrain_timing::analyzer
