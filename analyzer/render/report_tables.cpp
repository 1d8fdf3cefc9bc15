#include "analyzer/render/report_tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/analysis/stages.hpp"
#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr double kShownRest = 0.005;     // share from which an inner rest is shown
constexpr std::size_t kShownCauses = 8;  // without --verbose
constexpr std::size_t kShownPassCauses = 5;
constexpr std::size_t kShownEpochs = 8;
constexpr double kEpochStartsCount = 0.05;  // share from which they get a table

double ratio(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// The unit and the digits of a column of times, from its greatest value.
class TimeColumn {
  public:
    explicit TimeColumn(double greatest_ns, double seconds_from_ns = 10e9) {
        if (greatest_ns >= seconds_from_ns) {
            unit_ = "s";
            unit_ns_ = 1e9;
        } else if (greatest_ns < 0.1e6) {
            unit_ = "us";
            unit_ns_ = 1e3;
        }
        decimals_ = decimals_for(greatest_ns / unit_ns_);
    }

    const std::string& unit() const { return unit_; }
    std::string cell(double ns) const { return format_fixed(ns / unit_ns_, decimals_); }
    std::string cell(std::int64_t ns) const { return cell(static_cast<double>(ns)); }

  private:
    std::string unit_ = "ms";
    double unit_ns_ = 1e6;
    int decimals_ = 0;
};

std::string share_cell(double share) {
    const double percent = share * 100;
    if (percent == 0 || percent == 100) {
        return percent == 0 ? "0 %" : "100 %";
    }
    return format_fixed(percent, 1) + " %";
}

// Below `transforms` the prefix says nothing new.
std::string stage_cell(const StageRow& row) {
    constexpr std::string_view prefix = "transforms/";
    const std::string indent(2 * row.level, ' ');
    const bool shorten = row.parent == "transforms" && row.stage.starts_with(prefix);
    return indent + (shorten ? row.stage.substr(prefix.size()) : row.stage);
}

std::optional<double> median(const std::optional<Summary>& summary) {
    return summary ? std::optional<double>(summary->median_ns) : std::nullopt;
}

// The spread of calls stands beside a mean per step or batch, so it is shown where each
// of those has one call: with four the median would look like a quarter of the mean.
std::optional<Summary> once_per(std::int64_t units, std::int64_t calls,
                                const std::optional<Summary>& summary) {
    return calls == units || calls == 0 ? summary : std::nullopt;
}

std::string cell_or_blank(const TimeColumn& column, std::optional<double> ns) {
    return ns ? column.cell(*ns) : "";
}

std::int64_t total_of(const std::vector<StageRow>& rows, std::string_view stage,
                      std::string_view parent) {
    std::int64_t sum = 0;
    for (const StageRow& row : rows) {
        sum += row.stage == stage && row.parent == parent ? row.total_ns : 0;
    }
    return sum;
}

// With workers the parts of the wait are small change of the waiting thread; the table
// of causes tells more. Without, they are all there is to see.
bool shows_parts_of_wait(const PhaseReport& phase) {
    return std::any_of(phase.time.main.begin(), phase.time.main.end(),
                       [](const StageRow& row) { return row.stage == "fetch"; });
}

class StepTable {
  public:
    StepTable(const PhaseReport& phase, bool verbose)
        : phase_(phase), verbose_(verbose), steps_(phase.shown_steps()) {
        for (const StageRow& row : phase.time.main) {
            whole_ns_ +=
                row.level == 0 && row.stage != "outside" ? phase.shown_ns(row) : 0;
        }
    }

    Table make() const {
        const TimeColumn time(ratio(whole_ns_, steps_));
        Table table({{""},
                     {time.unit() + "/step", Align::right},
                     {"share", Align::right},
                     {"median", Align::right, 2},
                     {"p95", Align::right, 1}});
        bool inside_wait = false;
        for (const StageRow& row : phase_.time.main) {
            if (row.level == 0) {
                inside_wait = row.stage == "loader";
                if (row.stage == "outside") {
                    break;
                }
            } else if (is_hidden(row, inside_wait)) {
                continue;
            }
            const std::int64_t ns = phase_.shown_ns(row);
            const auto call =
                once_per(steps_, phase_.shown_calls(row), row.steady_call);
            table.add_row({label(row), time.cell(ratio(ns, steps_)),
                           share_cell(ratio(ns, whole_ns_)),
                           cell_or_blank(time, median(call)),
                           call ? time.cell(call->p95_ns) : ""});
        }
        table.add_rule();
        const auto& step = phase_.steps.step;
        table.add_row({"one step", time.cell(ratio(whole_ns_, steps_)), "100 %",
                       step ? time.cell(step->median_ns) : "",
                       step ? time.cell(step->p95_ns) : ""});
        return table;
    }

  private:
    static std::string label(const StageRow& row) {
        if (row.level == 0 && row.stage == "loader") {
            return "loader: waiting for data";
        }
        if (row.level == 0 && row.stage == "step") {
            return "step: using it";
        }
        return stage_cell(row);
    }

    bool is_hidden(const StageRow& row, bool inside_wait) const {
        if (verbose_) {
            return false;
        }
        if (inside_wait && !shows_parts_of_wait(phase_)) {
            return true;
        }
        const bool is_inner_rest = row.stage == kUnattributed && row.level > 1;
        return is_inner_rest && ratio(phase_.shown_ns(row), whole_ns_) < kShownRest;
    }

    const PhaseReport& phase_;
    bool verbose_;
    std::int64_t steps_;
    std::int64_t whole_ns_ = 0;
};

class WorkerStageTable {
  public:
    WorkerStageTable(const PhaseReport& phase, bool verbose)
        : phase_(phase), verbose_(verbose) {
        for (const WorkerTime& worker : phase.workers) {
            batches_ += worker.batches;
        }
        for (const auto* rows : {&phase.time.worker, &phase.time.worker_sender}) {
            for (const StageRow& row : *rows) {
                has_cpu_ = has_cpu_ || row.cpu_ns.has_value();
            }
        }
    }

    std::optional<Table> make() const {
        if (batches_ == 0) {
            return std::nullopt;
        }
        const StageRow* fetch = find_top(phase_.time.worker, "fetch");
        const TimeColumn time(ratio(
            fetch == nullptr ? phase_.time.worker_life_ns : fetch->total_ns, batches_));
        std::vector<Column> columns{{""},
                                    {time.unit() + "/batch", Align::right},
                                    {"of life", Align::right},
                                    {"median", Align::right, 2},
                                    {"p95", Align::right, 1}};
        if (has_cpu_) {
            columns.push_back({"CPU " + time.unit(), Align::right});
        }
        Table table(std::move(columns));
        add_below(table, time,
                  [](const StageRow& top) { return top.stage == "fetch"; });
        add_below(table, time,
                  [](const StageRow& top) { return top.stage != "fetch"; });
        table.add_rule();
        table.add_row({"worker life",
                       time.cell(ratio(phase_.time.worker_life_ns, batches_)),
                       "100 %"});
        if (!phase_.time.worker_sender.empty()) {
            table.add_rule();
            for (const StageRow& row : phase_.time.worker_sender) {
                add(table, time, row, row.level == 0 ? " (beside, own thread)" : "");
            }
        }
        return table;
    }

  private:
    // The rows of the top rows that `wanted` accepts.
    template <typename Wanted>
    void add_below(Table& table, const TimeColumn& time, Wanted wanted) const {
        bool inside = false;
        for (const StageRow& row : phase_.time.worker) {
            inside = row.level == 0 ? wanted(row) : inside;
            if (inside) {
                add(table, time, row);
            }
        }
    }

    void add(Table& table, const TimeColumn& time, const StageRow& row,
             const char* note = "") const {
        const bool is_inner_rest = row.stage == kUnattributed && row.level > 0;
        const StageRow* fetch = find_top(phase_.time.worker, "fetch");
        if (!verbose_ && is_inner_rest && fetch != nullptr &&
            ratio(row.total_ns, fetch->total_ns) < kShownRest) {
            return;
        }
        const auto call = once_per(batches_, row.calls, row.call);
        std::vector<std::string> cells{
            stage_cell(row) + note, time.cell(ratio(row.total_ns, batches_)),
            share_cell(row.share), cell_or_blank(time, median(call)),
            call ? time.cell(call->p95_ns) : ""};
        if (has_cpu_ && row.cpu_ns) {
            cells.push_back(time.cell(ratio(*row.cpu_ns, batches_)));
        }
        table.add_row(std::move(cells));
    }

    const PhaseReport& phase_;
    bool verbose_;
    std::int64_t batches_ = 0;
    bool has_cpu_ = false;
};

std::string cause_label(const WaitCause& cause) {
    if (cause.cause == kUnattributed) {
        return std::string(kUnattributed);
    }
    if (cause.cause == "worker_start") {
        return "worker: starting";
    }
    if (cause.cause == "worker_idle") {
        return "worker: waiting for the index";
    }
    if (cause.cause == "ready") {
        return "batch ready, being received";
    }
    if (cause.cause == "earlier_batch") {
        return "worker, earlier batch: " + cause.stage;
    }
    if (cause.cause == "fetch" || cause.cause == "send") {
        return "worker: " + cause.stage;
    }
    return (cause.cause == "main" ? "main: " : cause.cause + " thread: ") + cause.stage;
}

}  // namespace

std::optional<Table> step_table(const PhaseReport& phase, bool verbose) {
    if (phase.shown_steps() == 0) {
        return std::nullopt;
    }
    return StepTable(phase, verbose).make();
}

std::optional<Table> phase_time_table(const PhaseReport& phase) {
    std::int64_t steady_ns = 0;
    for (const StageRow& row : phase.time.main) {
        steady_ns += row.level == 0 ? row.steady_ns : 0;
    }
    const EpochStartSums sums = sum_up(phase.epoch_starts);
    // First waits are steady only where every step begins an epoch.
    std::int64_t first_ns = sums.known_passes == sums.passes ? sums.first_wait_ns : 0;
    const std::int64_t turns_ns = phase.time.loader_ns + phase.time.step_ns;
    if (steady_ns + first_ns > turns_ns) {
        first_ns = 0;
    }
    const std::int64_t ends_ns = total_of(phase.time.main, "loader_end", "outside");
    const TimeColumn time(static_cast<double>(phase.time.wall_ns), kSecond);
    Table table({{""}, {time.unit(), Align::right}, {"share", Align::right}});
    const auto add = [&](const std::string& what, std::int64_t ns) {
        table.add_row({what, time.cell(ns), share_cell(ratio(ns, phase.time.wall_ns))});
    };
    if (phase.is_summed()) {
        steady_ns = turns_ns - first_ns;
        add(fmt::format("steps ({})", phase.steps.all_steps), steady_ns);
    } else {
        add(fmt::format("steady steps ({})", phase.steps.steady_steps), steady_ns);
    }
    if (first_ns > 0) {
        add(fmt::format("waits for first batches ({})", sums.passes), first_ns);
    }
    if (!phase.is_summed()) {
        add("first steps, not steady yet", turns_ns - steady_ns - first_ns);
    }
    if (ends_ns > 0) {
        add("ends of epochs", ends_ns);
    }
    add("unattributed", phase.time.outside_ns - ends_ns);
    table.add_rule();
    add("all epochs", phase.time.wall_ns);
    return table;
}

namespace {

// Whether passes begin much slower than they go on, and it matters.
bool starts_count(const PhaseReport& phase, std::int64_t starts_ns) {
    const EpochStartSums sums = sum_up(phase.epoch_starts);
    const std::int64_t others =
        phase.steps.micro_steps * phase.rank_count - sums.passes;
    return others > 0 && ratio(starts_ns, phase.time.wall_ns) >= kEpochStartsCount &&
           ratio(starts_ns, sums.passes) >=
               2 * ratio(phase.time.loader_ns - sums.all_first_waits_ns(), others);
}

// A pass is named by its rank where there are several, and its epoch.
Column pass_column(const PhaseReport& phase) {
    return {phase.rank_count > 1 ? "rank, epoch" : "epoch", Align::right};
}

std::string pass_cell(const PhaseReport& phase, std::int64_t rank, std::int64_t epoch) {
    return (phase.rank_count > 1 ? std::to_string(rank) + ", " : "") +
           std::to_string(epoch);
}

// Those that most of the waits are of, greatest first.
std::vector<std::string> dearest_causes(const PhaseReport& phase) {
    std::map<std::string, std::int64_t> totals;
    for (const PassWaits& pass : phase.pass_waits) {
        for (const auto& [cause, total_ns] : pass.causes) {
            totals[cause] += total_ns;
        }
    }
    std::vector<std::string> causes;
    for (const auto& [cause, total_ns] : totals) {
        causes.push_back(cause);
    }
    std::stable_sort(causes.begin(), causes.end(),
                     [&](const std::string& a, const std::string& b) {
                         return totals[a] > totals[b];
                     });
    causes.resize(std::min(causes.size(), kShownPassCauses));
    return causes;
}

}  // namespace

std::optional<Table> epoch_start_table(const PhaseReport& phase, bool verbose) {
    const EpochStartSums sums = sum_up(phase.epoch_starts);
    const std::int64_t sum_ns = sums.worker_start_ns + sums.all_first_waits_ns();
    double greatest_ns = 0;
    for (const EpochStart& start : phase.epoch_starts) {
        const std::int64_t both_ns =
            start.worker_start_ns + start.first_wait_ns.value_or(0);
        greatest_ns = std::max(greatest_ns, static_cast<double>(both_ns));
    }
    if (sum_ns == 0 || (!verbose && !starts_count(phase, sum_ns))) {
        return std::nullopt;
    }
    const TimeColumn time(greatest_ns, kSecond);
    Table table({pass_column(phase),
                 {"making workers, " + time.unit(), Align::right},
                 {"first wait, " + time.unit(), Align::right}});
    const std::size_t shown = verbose
                                  ? phase.epoch_starts.size()
                                  : std::min(phase.epoch_starts.size(), kShownEpochs);
    for (std::size_t i = 0; i < shown; ++i) {
        const EpochStart& start = phase.epoch_starts[i];
        table.add_row({pass_cell(phase, start.rank, start.epoch),
                       time.cell(start.worker_start_ns),
                       start.first_wait_ns ? time.cell(*start.first_wait_ns) : ""});
    }
    table.add_rule();
    table.add_row({fmt::format("mean of {}", sums.passes),
                   time.cell(ratio(sums.worker_start_ns, sums.passes)),
                   sums.known_passes == 0
                       ? ""
                       : time.cell(ratio(sums.first_wait_ns, sums.known_passes))});
    return table;
}

std::optional<Table> pass_wait_table(const PhaseReport& phase) {
    if (phase.pass_waits.size() < 2 || phase.time.loader_ns == 0) {
        return std::nullopt;
    }
    const std::vector<std::string> causes = dearest_causes(phase);
    std::int64_t greatest_ns = 0;
    for (const PassWaits& pass : phase.pass_waits) {
        greatest_ns = std::max(greatest_ns, pass.total_ns);
    }
    const TimeColumn time(static_cast<double>(greatest_ns), kSecond);
    std::vector<Column> columns{pass_column(phase),
                                {"waits, " + time.unit(), Align::right}};
    for (const std::string& cause : causes) {
        columns.push_back({cause, Align::right});
    }
    columns.push_back({"rest", Align::right});
    Table table(std::move(columns));
    for (const PassWaits& pass : phase.pass_waits) {
        std::vector<std::string> row{pass_cell(phase, pass.rank, pass.epoch),
                                     time.cell(pass.total_ns)};
        std::int64_t rest_ns = pass.total_ns;
        for (const std::string& cause : causes) {
            const auto own = pass.causes.find(cause);
            const std::int64_t ns = own == pass.causes.end() ? 0 : own->second;
            row.push_back(time.cell(ns));
            rest_ns -= ns;
        }
        row.push_back(time.cell(rest_ns));
        table.add_row(std::move(row));
    }
    return table;
}

std::optional<Table> worker_stage_table(const PhaseReport& phase, bool verbose) {
    return WorkerStageTable(phase, verbose).make();
}

std::optional<Table> thread_table(const PhaseReport& phase) {
    const std::int64_t turns = phase.steps.micro_steps * phase.rank_count;
    double greatest_ns = 0;
    for (const auto* rows : {&phase.time.pin, &phase.time.thread}) {
        for (const StageRow& row : *rows) {
            greatest_ns = std::max(greatest_ns, ratio(row.total_ns, turns));
        }
    }
    const TimeColumn time(greatest_ns);
    Table table({{"thread"},
                 {"stage"},
                 {time.unit() + "/batch", Align::right},
                 {"median", Align::right, 2},
                 {"p95", Align::right, 1}});
    for (const auto* rows : {&phase.time.pin, &phase.time.thread}) {
        for (const StageRow& row : *rows) {
            table.add_row({row.where == Where::pin ? "pin" : "other", stage_cell(row),
                           time.cell(ratio(row.total_ns, turns)),
                           cell_or_blank(time, median(row.call)),
                           row.call ? time.cell(row.call->p95_ns) : ""});
        }
    }
    return table.row_count() == 0 ? std::nullopt : std::optional<Table>(table);
}

// Errors of one cause in several workers are taken to be independent.
std::optional<double> greatest_share_error(const PhaseReport& phase) {
    std::map<std::string, double> squares;
    for (const WaitCause& cause : phase.wait_causes) {
        if (cause.share_error) {
            squares[cause_label(cause)] += *cause.share_error * *cause.share_error;
        }
    }
    std::optional<double> greatest;
    for (const auto& [label, square] : squares) {
        greatest = std::max(greatest.value_or(0), std::sqrt(square));
    }
    return greatest;
}

std::optional<Table> wait_cause_table(const PhaseReport& phase, bool verbose) {
    if (phase.wait_causes.empty() || phase.time.loader_ns == 0) {
        return std::nullopt;
    }
    std::vector<std::pair<std::string, std::int64_t>> rows;  // workers put together
    std::int64_t rest_ns = 0;
    for (const WaitCause& cause : phase.wait_causes) {
        if (cause.cause == kUnattributed) {
            rest_ns += cause.total_ns;
            continue;
        }
        const std::string label = cause_label(cause);
        const auto known = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
            return row.first == label;
        });
        if (known == rows.end()) {
            rows.emplace_back(label, cause.total_ns);
        } else {
            known->second += cause.total_ns;
        }
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });

    const TimeColumn time(static_cast<double>(phase.time.loader_ns), kSecond);
    Table table(
        {{"meanwhile"}, {time.unit(), Align::right}, {"of waits", Align::right}});
    const auto add = [&](const std::string& what, std::int64_t ns) {
        table.add_row(
            {what, time.cell(ns), share_cell(ratio(ns, phase.time.loader_ns))});
    };
    const std::size_t shown =
        verbose || rows.size() <= kShownCauses ? rows.size() : kShownCauses - 1;
    for (std::size_t i = 0; i < shown; ++i) {
        add(rows[i].first, rows[i].second);
    }
    if (shown < rows.size()) {
        std::int64_t others_ns = 0;
        for (std::size_t i = shown; i < rows.size(); ++i) {
            others_ns += rows[i].second;
        }
        add(fmt::format("{} others", rows.size() - shown), others_ns);
    }
    add(std::string(kUnattributed), rest_ns);
    table.add_rule();
    add("all waits", phase.time.loader_ns);
    return table;
}

std::optional<Table> worker_table(const PhaseReport& phase, const Report& report) {
    if (phase.workers.empty()) {
        return std::nullopt;
    }
    Table table({{"rank", Align::right, 3},
                 {"worker", Align::right},
                 {"loader", Align::left, 4},
                 {"lives", Align::right},
                 {"batches", Align::right},
                 {"busy", Align::right},
                 {"idle", Align::right},
                 {"start", Align::right},
                 {"unattributed", Align::right}});
    for (const WorkerTime& worker : phase.workers) {
        const auto share = [&](std::int64_t ns) {
            return share_cell(ratio(ns, worker.life_ns));
        };
        table.add_row(
            {std::to_string(worker.rank), std::to_string(worker.worker),
             worker.loader < 0
                 ? ""
                 : report.loader_labels[static_cast<std::size_t>(worker.loader)],
             std::to_string(worker.lives), std::to_string(worker.batches),
             share(worker.busy_ns), share(worker.idle_ns), share(worker.start_ns),
             share(worker.unattributed_ns)});
    }
    return table;
}

std::optional<Table> other_phase_table(const Report& report, std::size_t skip,
                                       bool verbose) {
    double greatest_ns = 0;
    double greatest_wall_ns = 0;
    for (std::size_t i = skip; i < report.phases.size(); ++i) {
        const PhaseReport& phase = report.phases[i];
        greatest_ns =
            std::max(greatest_ns, phase.steps.turn ? phase.steps.turn->mean_ns : 0);
        greatest_wall_ns =
            std::max(greatest_wall_ns, static_cast<double>(phase.time.wall_ns));
    }
    const TimeColumn time(greatest_ns);
    const TimeColumn wall(greatest_wall_ns, kSecond);
    Table table({{"phase"},
                 {"loader"},
                 {"passes", Align::right, 2},
                 {"batches", Align::right},
                 {wall.unit(), Align::right},
                 {"waiting", Align::right, 1},
                 {time.unit() + "/batch", Align::right, 3}});
    for (std::size_t i = skip; i < report.phases.size(); ++i) {
        const PhaseReport& phase = report.phases[i];
        table.add_row({phase.name, phase.loader, std::to_string(phase.steps.epochs),
                       std::to_string(phase.steps.micro_steps),
                       wall.cell(phase.time.wall_ns),
                       share_cell(ratio(phase.time.loader_ns, phase.time.wall_ns)),
                       phase.steps.turn ? time.cell(phase.steps.turn->mean_ns) : ""});
    }
    for (const UnusedPasses& unused : report.unused) {
        if (unused.batches == 0 && !verbose) {
            continue;
        }
        table.add_row({"unused", unused.loader, std::to_string(unused.passes),
                       std::to_string(unused.batches), "", "", ""});
    }
    return table.row_count() == 0 ? std::nullopt : std::optional<Table>(table);
}

std::optional<Table> run_time_table(const Report& report) {
    const RunTime& run_time = report.run_time;
    if (run_time.wall_ns == 0) {
        return std::nullopt;
    }
    const TimeColumn time(static_cast<double>(run_time.wall_ns), kSecond);
    Table table({{""},
                 {"loader", Align::left, 1},
                 {time.unit(), Align::right},
                 {"share", Align::right}});
    for (const RunTimeRow& row : run_time.rows) {
        const bool is_inside = row.total_ns == 0 && !row.loader.empty();
        table.add_row(
            {row.what, row.loader, is_inside ? "inside" : time.cell(row.total_ns),
             is_inside ? "" : share_cell(ratio(row.total_ns, run_time.wall_ns))});
    }
    table.add_rule();
    table.add_row(
        {run_time.process_count == 1 ? "training process" : "training processes", "",
         time.cell(run_time.wall_ns), "100 %"});
    return table;
}

std::optional<Table> other_thread_table(const Report& report) {
    double greatest_ns = 0;
    for (const OtherThread& other : report.other_threads) {
        for (const StageRow& row : other.rows) {
            greatest_ns = std::max(greatest_ns, static_cast<double>(row.total_ns));
        }
    }
    const TimeColumn time(greatest_ns, kSecond);
    Table table({{"process"},
                 {"thread"},
                 {"stage"},
                 {"calls", Align::right},
                 {time.unit(), Align::right}});
    for (const OtherThread& other : report.other_threads) {
        for (const StageRow& row : other.rows) {
            table.add_row({std::string(to_string(other.role)), other.thread,
                           stage_cell(row), std::to_string(row.calls),
                           time.cell(static_cast<double>(row.total_ns))});
        }
    }
    return table.row_count() == 0 ? std::nullopt : std::optional<Table>(table);
}

std::string ending_cell(const ProcessLives& process) {
    if (process.alive) {
        return "running";
    }
    return process.raised.empty() ? process.ending : process.raised;
}

std::optional<Table> process_table(const Report& report, bool verbose) {
    if (report.processes.empty()) {
        return std::nullopt;
    }
    // Without --verbose: workers of a rank that ended alike are one line.
    std::vector<ProcessLives> rows;
    for (const ProcessLives& process : report.processes) {
        const auto like =
            std::find_if(rows.begin(), rows.end(), [&](const ProcessLives& row) {
                return row.role == process.role && row.rank == process.rank &&
                       row.ending == process.ending && row.raised == process.raised &&
                       row.alive == process.alive &&
                       row.open_stage == process.open_stage;
            });
        if (verbose || like == rows.end()) {
            rows.push_back(process);
            continue;
        }
        like->lives += process.lives;
        like->dropped += process.dropped;
        like->worker = std::nullopt;
    }
    Table table({{"process"},
                 {"rank", Align::right},
                 {"worker", Align::right, 2},
                 {"lives", Align::right},
                 {"ended"},
                 {"in stage"},
                 {"dropped", Align::right, 1}});
    for (const ProcessLives& row : rows) {
        table.add_row({std::string(to_string(row.role)), std::to_string(row.rank),
                       row.worker ? std::to_string(*row.worker) : "",
                       std::to_string(row.lives), ending_cell(row), row.open_stage,
                       row.dropped == 0 ? "" : std::to_string(row.dropped)});
    }
    return table;
}

Table stage_table() {
    return Table({{"phase"},
                  {"loader"},
                  {"where"},
                  {"stage"},
                  {"parent"},
                  {"calls", Align::right},
                  {"total_s", Align::right},
                  {"mean_s", Align::right},
                  {"median_s", Align::right},
                  {"p95_s", Align::right},
                  {"share", Align::right}});
}

void append_stage_rows(Table& table, const PhaseReport& phase) {
    const auto seconds = [](double ns) { return fmt::format("{:.9g}", ns * 1e-9); };
    for (const auto* rows : {&phase.time.main, &phase.time.pin, &phase.time.thread,
                             &phase.time.worker, &phase.time.worker_sender}) {
        for (const StageRow& row : *rows) {
            table.add_row({phase.name, phase.loader, std::string(to_string(row.where)),
                           row.stage, row.parent, std::to_string(row.calls),
                           seconds(static_cast<double>(row.total_ns)),
                           row.call ? seconds(row.call->mean_ns) : "",
                           row.call ? seconds(row.call->median_ns) : "",
                           row.call ? seconds(row.call->p95_ns) : "",
                           fmt::format("{:.6g}", row.share)});
        }
    }
}

}  // namespace metatrain_timing::analyzer
