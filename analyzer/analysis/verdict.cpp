#include "analyzer/analysis/verdict.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "analyzer/analysis/report.hpp"
#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr double kInputBound = 0.30;
constexpr double kMixedBound = 0.10;

double ratio(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

const StageRow* find_top(const std::vector<StageRow>& rows, std::string_view stage) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const StageRow& candidate) {
            return candidate.level == 0 && candidate.stage == stage;
        });
    return row == rows.end() ? nullptr : &*row;
}

bool has_parts(const std::vector<StageRow>& rows, std::size_t i) {
    return i + 1 < rows.size() && rows[i + 1].level > rows[i].level &&
           rows[i + 1].stage != kUnattributed;
}

// The dearest row without parts of those below and at the top row `top`.
const StageRow* dearest_below(const std::vector<StageRow>& rows, std::string_view top) {
    const StageRow* dearest = nullptr;
    bool inside = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].level == 0) {
            inside = rows[i].stage == top;
        }
        if (inside && rows[i].stage != kUnattributed && !has_parts(rows, i) &&
            (dearest == nullptr || rows[i].total_ns > dearest->total_ns)) {
            dearest = &rows[i];
        }
    }
    return dearest;
}

Leaf make_leaf(const StageRow& row, std::int64_t total_ns, std::int64_t units,
               std::int64_t whole_ns) {
    Leaf leaf;
    leaf.stage = row.stage;
    leaf.where = row.where;
    leaf.per_unit_ns = ratio(total_ns, units);
    leaf.share = ratio(total_ns, whole_ns);
    if (row.cpu_ns && row.cpu_wall_ns > 0) {
        leaf.cpu_per_unit_ns = leaf.per_unit_ns * ratio(*row.cpu_ns, row.cpu_wall_ns);
    }
    return leaf;
}

void find_dearest_of_body(Verdict& verdict, const PhaseReport& phase) {
    const StageRow* step = find_top(phase.time.main, "step");
    const StageRow* dearest = dearest_below(phase.time.main, "step");
    if (step != nullptr && dearest != nullptr) {
        verdict.compute = make_leaf(*dearest, dearest->steady_ns,
                                    phase.steps.steady_steps, step->steady_ns);
    }
}

// The rows that making a batch consists of: in the workers or, without any, in the
// wait.
struct BatchRows {
    const std::vector<StageRow>* rows = nullptr;
    std::string_view top;
    std::int64_t batches = 0;
    std::int64_t whole_ns = 0;
};

BatchRows rows_of_batch(const PhaseReport& phase) {
    BatchRows result{&phase.time.worker, "fetch", 0, 0};
    for (const WorkerTime& worker : phase.workers) {
        result.batches += worker.batches;
    }
    if (result.batches == 0) {
        result.rows = &phase.time.main;
        result.top = "loader";
    }
    if (const StageRow* top = find_top(*result.rows, result.top)) {
        result.batches = result.batches > 0 ? result.batches : top->calls;
        result.whole_ns = top->total_ns;
    }
    return result;
}

void find_dearest_of_input(Verdict& verdict, const PhaseReport& phase) {
    const BatchRows batch = rows_of_batch(phase);
    const StageRow* dearest = dearest_below(*batch.rows, batch.top);
    const StageRow* send = dearest_below(phase.time.worker_sender, "send");
    if (send != nullptr && (dearest == nullptr || send->total_ns > dearest->total_ns)) {
        dearest = send;
    }
    if (dearest != nullptr && dearest->stage != "loader") {
        verdict.input =
            make_leaf(*dearest, dearest->total_ns, batch.batches, batch.whole_ns);
    }
    if (!phase.workers.empty()) {
        verdict.worker_batch_ns = ratio(batch.whole_ns, batch.batches);
    }
}

// Causes of one stage belong together, whichever batch or worker they are of.
void find_waited_for(Verdict& verdict, const PhaseReport& phase) {
    std::map<std::string, std::int64_t> total_ns;
    for (const WaitCause& cause : phase.wait_causes) {
        total_ns[cause.stage] += cause.stage.empty() ? 0 : cause.total_ns;
    }
    const auto most = std::max_element(
        total_ns.begin(), total_ns.end(),
        [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == total_ns.end() || most->second == 0) {
        return;
    }
    WaitedFor waited;
    waited.stage = most->first;
    waited.share = ratio(most->second, phase.time.loader_ns);
    // greatest cause first
    waited.cause = std::find_if(phase.wait_causes.begin(), phase.wait_causes.end(),
                                [&](const WaitCause& cause) {
                                    return cause.stage == waited.stage;
                                })
                       ->cause;
    const BatchRows batch = rows_of_batch(phase);
    for (const auto* rows : {batch.rows, &phase.time.worker_sender}) {
        std::int64_t stage_ns = 0;
        const StageRow* row = nullptr;
        for (const StageRow& candidate : *rows) {
            if (candidate.stage == waited.stage && candidate.stage != "worker_start" &&
                candidate.stage != "worker_idle") {
                stage_ns += candidate.total_ns;
                row = &candidate;
            }
        }
        if (row != nullptr && !waited.cost) {
            waited.cost = make_leaf(*row, stage_ns, batch.batches, batch.whole_ns);
        }
    }
    verdict.waited_for = std::move(waited);
}

void measure_waits(Verdict& verdict, const PhaseReport& phase) {
    const Breakdown& time = phase.time;
    verdict.wait_share = ratio(time.loader_ns, time.wall_ns);
    const StageRow* loader = find_top(time.main, "loader");
    const StageRow* step = find_top(time.main, "step");
    if (loader != nullptr && step != nullptr && phase.steps.steady_steps > 0) {
        verdict.steady_wait_ns = ratio(loader->steady_ns, phase.steps.steady_steps);
        verdict.steady_step_ns =
            ratio(loader->steady_ns + step->steady_ns, phase.steps.steady_steps);
    }
    std::int64_t first_ns = 0;
    for (const EpochStart& start : phase.epoch_starts) {
        first_ns += start.first_wait_ns;
    }
    verdict.pass_count = static_cast<std::int64_t>(phase.epoch_starts.size());
    verdict.first_wait_ns = ratio(first_ns, verdict.pass_count);
    verdict.first_wait_share = ratio(first_ns, time.wall_ns);
}

void count_crowded_workers(Verdict& verdict, const Report& report,
                           const PhaseReport& phase) {
    std::int64_t workers = 0;
    for (const std::int32_t loader : phase.loaders) {
        workers += report.run->loaders[static_cast<std::size_t>(loader)].num_workers;
    }
    workers *= std::max<std::int64_t>(phase.rank_count, 1);
    for (const auto& [key, value] : report.environment) {
        double cpus = 0;
        if (key == "cpu.granted" &&
            std::from_chars(value.data(), value.data() + value.size(), cpus).ec ==
                std::errc{} &&
            cpus > 0 && static_cast<double>(workers) > cpus) {
            verdict.crowded_workers = workers;
            verdict.granted_cpus = cpus;
        }
    }
}

void name_stage(Verdict& verdict) {
    if (verdict.bound_by == BoundBy::compute) {
        verdict.stage = verdict.compute ? verdict.compute->stage : "step";
    } else {
        verdict.stage = verdict.waited_for ? verdict.waited_for->stage : "loader";
    }
}

}  // namespace

std::string_view to_string(BoundBy bound_by) {
    switch (bound_by) {
        case BoundBy::input:
            return "input";
        case BoundBy::mixed:
            return "mixed";
        case BoundBy::compute:
            return "compute";
        case BoundBy::unknown:
            return "unknown";
    }
    return "unknown";
}

Verdict judge(const Report& report) {
    Verdict verdict;
    if (report.phases.empty() || report.phases.front().steps.steps == 0) {
        return verdict;
    }
    const PhaseReport& phase = report.phases.front();
    measure_waits(verdict, phase);
    verdict.bound_by = verdict.wait_share >= kInputBound   ? BoundBy::input
                       : verdict.wait_share >= kMixedBound ? BoundBy::mixed
                                                           : BoundBy::compute;
    find_dearest_of_body(verdict, phase);
    find_dearest_of_input(verdict, phase);
    find_waited_for(verdict, phase);
    count_crowded_workers(verdict, report, phase);
    name_stage(verdict);
    return verdict;
}

}  // namespace metatrain_timing::analyzer
