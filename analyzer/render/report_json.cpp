#include "analyzer/render/report_json.hpp"

#include <metatrain_timing/version.hpp>

#include "analyzer/render/advice_report.hpp"
#include "analyzer/render/verdict_text.hpp"

namespace metatrain_timing::analyzer {
namespace {

Json seconds_or_null(const std::optional<double>& ns) {
    return ns ? number(*ns * 1e-9) : Json(nullptr);
}

Json summary_json(const std::optional<Summary>& summary) {
    const auto of = [&](double Summary::* member) {
        return summary ? number((*summary).*member * 1e-9) : Json(nullptr);
    };
    return {{"mean", of(&Summary::mean_ns)},
            {"median", of(&Summary::median_ns)},
            {"p95", of(&Summary::p95_ns)},
            {"p99", of(&Summary::p99_ns)}};
}

Json stage_json(const StageRow& row) {
    const auto of = [](const std::optional<Summary>& summary,
                       double Summary::* member) {
        return summary ? number((*summary).*member * 1e-9) : Json(nullptr);
    };
    return {{"stage", row.stage},
            {"parent", text_or_null(row.parent)},
            {"where", to_string(row.where)},
            {"level", row.level},
            {"calls", row.calls},
            {"total_s", seconds(row.total_ns)},
            {"mean_s", of(row.call, &Summary::mean_ns)},
            {"median_s", of(row.call, &Summary::median_ns)},
            {"p95_s", of(row.call, &Summary::p95_ns)},
            {"share", number(row.share)},
            {"cpu_s", row.cpu_ns ? Json(seconds(*row.cpu_ns)) : Json(nullptr)},
            {"steady",
             {{"calls", row.steady_calls},
              {"total_s", seconds(row.steady_ns)},
              {"mean_s", of(row.steady_call, &Summary::mean_ns)},
              {"median_s", of(row.steady_call, &Summary::median_ns)},
              {"p95_s", of(row.steady_call, &Summary::p95_ns)}}}};
}

Json stages_json(const Breakdown& time) {
    Json stages = Json::array();
    for (const auto* rows :
         {&time.main, &time.pin, &time.thread, &time.worker, &time.worker_sender}) {
        for (const StageRow& row : *rows) {
            stages.push_back(stage_json(row));
        }
    }
    return stages;
}

Json causes_json(const std::vector<WaitCause>& causes) {
    Json list = Json::array();
    for (const WaitCause& cause : causes) {
        list.push_back({{"cause", cause.cause},
                        {"stage", text_or_null(cause.stage)},
                        {"worker", or_null(cause.worker)},
                        {"total_s", seconds(cause.total_ns)},
                        {"share", number(cause.share)},
                        {"share_error", or_null(cause.share_error)},
                        {"head_of_line_s", seconds(cause.head_of_line_ns)}});
    }
    return list;
}

Json cpus_json(const PhaseCpus& cpus) {
    return {{"granted", or_null(cpus.granted)},
            {"main_cpus", or_null(cpus.main_cpus)},
            {"worker_cpus", or_null(cpus.worker_cpus)},
            {"main_queued_share", or_null(cpus.main_queued_share)},
            {"worker_queued_share", or_null(cpus.worker_queued_share)}};
}

Json rank_waits_json(const RankWaits& waits) {
    Json ranks = Json::array();
    for (const RankWait& rank : waits.ranks) {
        ranks.push_back(
            {{"rank", rank.rank},
             {"steps", rank.steps},
             {"own_s", number(rank.own_ns * 1e-9)},
             {"wait_s", number(rank.loader_ns * 1e-9)},
             {"backward_s", number(rank.backward_ns * 1e-9)},
             {"waits_for_others_s", number(rank.waits_for_others_ns * 1e-9)},
             {"last_share", number(rank.last_share)}});
    }
    return {{"ranks", std::move(ranks)},
            {"straggler", or_null(waits.straggler)},
            {"stage", text_or_null(waits.stage)},
            {"cost_s", number(waits.cost_ns * 1e-9)}};
}

Json label_json(const Report& report, std::int32_t loader) {
    return loader < 0
               ? Json(nullptr)
               : text_or_null(report.loader_labels[static_cast<std::size_t>(loader)]);
}

Json workers_json(const Report& report, const std::vector<WorkerTime>& workers) {
    Json list = Json::array();
    for (const WorkerTime& worker : workers) {
        list.push_back({{"worker", worker.worker},
                        {"rank", worker.rank},
                        {"loader", label_json(report, worker.loader)},
                        {"lives", worker.lives},
                        {"life_s", seconds(worker.life_ns)},
                        {"busy_s", seconds(worker.busy_ns)},
                        {"idle_s", seconds(worker.idle_ns)},
                        {"start_s", seconds(worker.start_ns)},
                        {"unattributed_s", seconds(worker.unattributed_ns)},
                        {"batches", worker.batches}});
    }
    return list;
}

Json loaders_json(const Report& report, const PhaseReport& phase) {
    Json list = Json::array();
    for (const std::int32_t index : phase.loaders) {
        const Loader& loader = report.run->loaders[static_cast<std::size_t>(index)];
        list.push_back({{"name", label_json(report, index)},
                        {"created_at", text_or_null(loader.created_at)},
                        {"dataset_class", text_or_null(loader.dataset_class)},
                        {"sampler_class", text_or_null(loader.sampler_class)},
                        {"num_workers", loader.num_workers},
                        {"batch_size", or_null(loader.batch_size)},
                        {"prefetch_factor", or_null(loader.prefetch_factor)},
                        {"persistent_workers", loader.persistent_workers},
                        {"pin_memory", loader.pin_memory},
                        {"in_order", loader.in_order},
                        {"start_method", text_or_null(loader.start_method)}});
    }
    return list;
}

Json spread_json(const BatchSpread& spread) {
    return {{"batches", spread.batches},
            {"min", number(spread.min)},
            {"median", number(spread.median)},
            {"max", number(spread.max)}};
}

Json counters_json(const std::vector<CounterRate>& counters) {
    Json list = Json::array();
    for (const CounterRate& counter : counters) {
        list.push_back(
            {{"name", counter.name},
             {"total", number(counter.total)},
             {"per_s", or_null(counter.per_s)},
             {"each_s", in_seconds(counter.each_ns)},
             {"per_batch",
              counter.per_batch ? spread_json(*counter.per_batch) : Json(nullptr)}});
    }
    return list;
}

Json epoch_starts_json(const std::vector<EpochStart>& starts) {
    Json list = Json::array();
    for (const EpochStart& start : starts) {
        list.push_back(
            {{"rank", start.rank},
             {"epoch", start.epoch},
             {"worker_start_s", seconds(start.worker_start_ns)},
             {"first_wait_s", start.first_wait_ns ? Json(seconds(*start.first_wait_ns))
                                                  : Json(nullptr)}});
    }
    return list;
}

Json pass_waits_json(const std::vector<PassWaits>& passes) {
    Json list = Json::array();
    for (const PassWaits& pass : passes) {
        Json causes = Json::object();
        for (const auto& [cause, total_ns] : pass.causes) {
            causes[cause] = seconds(total_ns);
        }
        list.push_back({{"rank", pass.rank},
                        {"epoch", pass.epoch},
                        {"wait_s", seconds(pass.total_ns)},
                        {"causes", std::move(causes)},
                        {"summed_s", seconds(pass.summed_ns)}});
    }
    return list;
}

Json phase_json(const Report& report, const PhaseReport& phase) {
    const StepSeries& steps = phase.steps;
    return {{"name", phase.name},
            {"loader", text_or_null(phase.loader)},
            {"loaders", loaders_json(report, phase)},
            {"rank_count", phase.rank_count},
            {"epochs", steps.epochs},
            {"steps", steps.steps},
            {"micro_steps", steps.micro_steps},
            {"partial_steps", steps.partial_steps},
            {"summed_turns", steps.summed_turns},
            {"wall_s", seconds(phase.time.wall_ns)},
            {"steady_from_step", or_null(steps.steady_from_step)},
            {"steady_steps", steps.steady_steps},
            {"step_s", summary_json(steps.step)},
            {"micro_step_s", summary_json(steps.turn)},
            {"stages", stages_json(phase.time)},
            {"worker_life_s", seconds(phase.time.worker_life_ns)},
            {"exposed_wait_s", seconds(phase.time.loader_ns)},
            {"wait_causes", causes_json(phase.wait_causes)},
            {"pass_waits", pass_waits_json(phase.pass_waits)},
            {"workers", workers_json(report, phase.workers)},
            {"counters", counters_json(phase.counters)},
            {"epoch_starts", epoch_starts_json(phase.epoch_starts)},
            {"cpu", cpus_json(phase.cpus)},
            {"rank_waits", rank_waits_json(phase.rank_waits)}};
}

Json unused_json(const std::vector<UnusedPasses>& all) {
    Json list = Json::array();
    for (const UnusedPasses& unused : all) {
        list.push_back({{"loader", text_or_null(unused.loader)},
                        {"passes", unused.passes},
                        {"batches", unused.batches},
                        {"worker_s", seconds(unused.worker_ns)}});
    }
    return list;
}

Json run_time_json(const RunTime& run_time) {
    Json rows = Json::array();
    for (const RunTimeRow& row : run_time.rows) {
        rows.push_back({{"what", row.what},
                        {"loader", text_or_null(row.loader)},
                        {"total_s", seconds(row.total_ns)}});
    }
    return {{"wall_s", seconds(run_time.wall_ns)},
            {"process_count", run_time.process_count},
            {"rows", std::move(rows)}};
}

Json other_threads_json(const std::vector<OtherThread>& others) {
    Json list = Json::array();
    for (const OtherThread& other : others) {
        Json stages = Json::array();
        for (const StageRow& row : other.rows) {
            stages.push_back({{"stage", row.stage},
                              {"parent", text_or_null(row.parent)},
                              {"level", row.level},
                              {"calls", row.calls},
                              {"total_s", seconds(row.total_ns)}});
        }
        list.push_back({{"role", to_string(other.role)},
                        {"thread", other.thread},
                        {"stages", std::move(stages)}});
    }
    return list;
}

Json processes_json(const Report& report) {
    Json list = Json::array();
    for (const ProcessLives& process : report.processes) {
        list.push_back({{"role", to_string(process.role)},
                        {"rank", process.rank},
                        {"worker", or_null(process.worker)},
                        {"loader", label_json(report, process.loader)},
                        {"lives", process.lives},
                        {"life_s", seconds(process.life_ns)},
                        {"ending", process.ending},
                        {"raised", text_or_null(process.raised)},
                        {"alive", process.alive},
                        {"open_stage", text_or_null(process.open_stage)},
                        {"dropped", process.dropped}});
    }
    return list;
}

Json verdict_json(const Report& report) {
    const Verdict& verdict = report.verdict;
    const bool known = verdict.bound_by != BoundBy::unknown;
    Json checks = Json::array();
    for (const Check& check : verdict.checks) {
        checks.push_back(
            {{"suspect", to_string(check.suspect)},
             {"share", or_null(check.share)},
             {"holds_up", check.share ? Json(check.holds_up()) : Json(nullptr)}});
    }
    return {{"text", verdict_text(report)},
            {"bound_by", to_string(verdict.bound_by)},
            {"stage", text_or_null(verdict.stage)},
            {"wait_share", known ? number(verdict.wait_share) : Json(nullptr)},
            {"step_s", seconds_or_null(verdict.steady_step_ns)},
            {"wait_per_step_s", seconds_or_null(verdict.steady_wait_ns)},
            {"checks", std::move(checks)}};
}

}  // namespace

Json report_json(const Report& report, const std::string& phase) {
    const Run& run = *report.run;
    Json phases = Json::array();
    for (const PhaseReport& candidate : report.phases) {
        if (phase.empty() || candidate.name == phase) {
            phases.push_back(phase_json(report, candidate));
        }
    }
    Json environment = Json::object();
    for (const auto& [key, value] : report.environment) {
        environment[key] = value;
    }
    return {{"schema", "mt.report/1"},
            {"tool", {{"version", kVersion}}},
            {"files", files_json(run.files)},
            {"run",
             {{"uuid", run.uuid},
              {"job", text_or_null(run.job)},
              {"attempt", run.attempt},
              {"started_unix", seconds(run.started_unix_ns)},
              {"command", run.command},
              {"cwd", text_or_null(run.cwd)},
              {"host", run.host},
              {"rank_count", report.rank_count},
              {"ended", report.ended}}},
            {"environment", std::move(environment)},
            {"phases", std::move(phases)},
            {"unused", unused_json(report.unused)},
            {"run_time", run_time_json(report.run_time)},
            {"other_threads", other_threads_json(report.other_threads)},
            {"processes", processes_json(report)},
            {"verdict", verdict_json(report)},
            {"advice", report.advice ? advice_json(*report.advice) : Json(nullptr)},
            {"warnings", warnings_json(report.warnings)}};
}

}  // namespace metatrain_timing::analyzer
