#include "analyzer/render/diff_json.hpp"

#include <cmath>
#include <metatrain_timing/version.hpp>

#include "analyzer/render/diff_text.hpp"
#include "analyzer/render/gate_report.hpp"
#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

Json interval(const std::optional<double>& low, const std::optional<double>& high,
              double unit) {
    if (!low || !high) {
        return nullptr;
    }
    return Json::array({number(*low / unit), number(*high / unit)});
}

Json metric_json(const Diff& diff, const Metric& metric, const char* per) {
    const bool is_part = metric.name == "stage";
    const bool is_step = metric.name == "step";
    Json needed = nullptr;
    if (is_step && (diff.needed.steps || diff.needed.runs)) {
        needed = {{"steps", or_null(diff.needed.steps)},
                  {"runs", or_null(diff.needed.runs)}};
    }
    Json effective = nullptr;
    if (is_step) {
        effective = Json::array(
            {number(diff.before.effective_steps), number(diff.after.effective_steps)});
    }
    return {{"name", metric.name},
            {"stage", text_or_null(metric.stage())},
            {"unit", "s"},
            {"per", per},
            {"a", in_seconds(metric.before_ns)},
            {"b", in_seconds(metric.after_ns)},
            {"delta", number(metric.difference_ns / kSecond)},
            {"delta_ci", interval(metric.low_ns, metric.high_ns, kSecond)},
            {"rel", or_null(metric.relative)},
            {"ci", interval(metric.relative_low, metric.relative_high, 1)},
            {"p", or_null(metric.p)},
            {"contrib_ms",
             is_part || is_step ? number(metric.difference_ns / 1e6) : Json(nullptr)},
            {"n_eff", std::move(effective)},
            {"needed", std::move(needed)},
            {"verdict", to_string(metric.change)}};
}

Json run_json(const ComparedRun& run, const DiffSide& side) {
    const PhaseGroup& phase = run.phase();
    return {{"path", run.path},
            {"uuid", run.run->uuid},
            {"started_unix", seconds(run.run->started_unix_ns)},
            {"command", run.run->command},
            {"phase", phase.phase},
            {"loader", phase.loader},
            {"steps", run.series().steps},
            {"compared_from_step", side.first_step},
            {"compared_to_step", side.last_step},
            {"warm_up_steps", run.steps.warm_up_steps}};
}

Json side_json(const DiffSide& side) {
    Json runs = Json::array();
    for (const ComparedRun* run : side.runs) {
        runs.push_back(run_json(*run, side));
    }
    return runs;
}

Json changed_json(const Diff& diff) {
    Json changed = Json::array();
    for (const ChangedFact& fact : diff.changed) {
        changed.push_back({{"key", fact.key},
                           {"a", text_or_null(fact.before)},
                           {"b", text_or_null(fact.after)}});
    }
    return changed;
}

Json method_json(const Diff& diff) {
    const DiffOptions& options = diff.options;
    Json noise = {{"value", number(options.noise.relative)},
                  {"source", options.noise.source},
                  {"runs", options.noise.runs},
                  {"df", number(options.noise.df)}};
    return {{"alpha", number(std::round((1 - options.confidence) * 1e6) / 1e6)},
            {"ci", number(options.confidence)},
            {"min_effect", number(options.min_effect)},
            {"strict", options.strict},
            {"estimator", "mean of steady steps, each at most the 97.5th percentile"},
            {"sigma_run", std::move(noise)},
            {"seed", nullptr}};
}

Json metrics_json(const Diff& diff) {
    const char* per = diff.unit.empty() ? "step" : diff.unit.c_str();
    const char* per_batch = diff.unit.empty() ? "batch" : diff.unit.c_str();
    Json metrics = Json::array();
    metrics.push_back(metric_json(diff, diff.step, per));
    const auto add = [&](const std::vector<Metric>& some, const char* of) {
        for (const Metric& metric : some) {
            metrics.push_back(metric_json(diff, metric, of));
        }
    };
    add(diff.stages, per);
    add(diff.fetches, per_batch);
    add(diff.distribution, per);
    metrics.push_back(metric_json(diff, diff.epoch_start, "epoch"));
    return metrics;
}

Json account_json(const Diff& diff) {
    Json parts = Json::object();
    const auto both = [](const Metric& metric) {
        return Json{{"a", in_seconds(metric.before_ns)},
                    {"b", in_seconds(metric.after_ns)}};
    };
    parts["wall"] = both(diff.wall);
    parts["step"] = both(diff.step);
    for (const Metric& metric : diff.beyond) {
        parts[metric.name] = both(metric);
    }
    return parts;
}

}  // namespace

Json diff_json(const Diff& diff, const GateOutcome& gate) {
    Json text = Json::array();
    for (const std::string& sentence : diff_sentences(diff)) {
        text.push_back(sentence);
    }
    Json unit = nullptr;
    if (!diff.unit.empty()) {
        unit = {{"name", diff.unit},
                {"a", number(diff.units_before)},
                {"b", number(diff.units_after)}};
    }
    return {{"schema", "mt.diff/1"},
            {"tool", {{"version", kVersion}}},
            {"verdict", to_string(diff.step.change)},
            {"text", std::move(text)},
            {"gate", gate_json(gate)},
            {"baseline", side_json(diff.before)},
            {"candidate", side_json(diff.after)},
            {"comparable",
             {{"ok", diff.step.change != Change::not_comparable},
              {"changed", changed_json(diff)}}},
            {"unit", std::move(unit)},
            {"method", method_json(diff)},
            {"metrics", metrics_json(diff)},
            {"per_step", account_json(diff)},
            {"excluded",
             {{"warm_up_steps",
               Json::array({diff.before.warm_up_steps, diff.after.warm_up_steps})},
              {"other_steady_steps",
               Json::array({diff.before.steady_steps - diff.before.steps,
                            diff.after.steady_steps - diff.after.steps})}}},
            {"warnings", warnings_json(diff.warnings)}};
}

}  // namespace metatrain_timing::analyzer
