#include "analyzer/render/history_json.hpp"

#include <algorithm>
#include <metatrain_timing/version.hpp>
#include <utility>

#include "analyzer/render/gate_report.hpp"
#include "analyzer/render/history_text.hpp"
#include "analyzer/render/units.hpp"
#include "analyzer/stats/change_points.hpp"

namespace metatrain_timing::analyzer {
namespace {

Json runs_of(const HistorySeries& series) {
    Json runs = Json::array();
    for (std::size_t i = 0; i < series.runs.size(); ++i) {
        const RunDigest& run = *series.runs[i];
        const bool is_spike = std::find(series.spikes.begin(), series.spikes.end(),
                                        i) != series.spikes.end();
        runs.push_back({{"path", run.path},
                        {"uuid", run.uuid},
                        {"started_unix", seconds(run.started_unix_ns)},
                        {"steps", run.steps},
                        {"value", in_seconds(series.values_ns[i])},
                        {"within", number(run.within)},
                        {"level", in_seconds(series.level_ns[i])},
                        {"spike", is_spike},
                        {"step_changed", run.shifted}});
    }
    return runs;
}

Json change_of(const HistorySeries& series, const HistoryChange& change) {
    Json stages = Json::array();
    for (const StageShift& stage : change.stages) {
        stages.push_back({{"stage", path_name(stage.path)},
                          {"a", in_seconds(stage.before_ns)},
                          {"b", in_seconds(stage.after_ns)},
                          {"delta", in_seconds(stage.difference_ns())}});
    }
    Json changed = Json::array();
    for (const ChangedFact& fact : change.changed) {
        changed.push_back({{"key", fact.key},
                           {"a", text_or_null(fact.before)},
                           {"b", text_or_null(fact.after)}});
    }
    return {{"run", change.run + 1},
            {"started_unix", seconds(series.runs[change.run]->started_unix_ns)},
            {"a", in_seconds(change.before_ns)},
            {"b", in_seconds(change.after_ns)},
            {"rel", or_null(change.relative)},
            {"ci", Json::array({or_null(change.low), or_null(change.high)})},
            {"p", number(change.p)},
            {"stages", std::move(stages)},
            {"changed", std::move(changed)}};
}

Json orders_of(const HistorySeries& series) {
    Json orders = Json::array();
    for (const SettingOrder& order : series.order_effects) {
        orders.push_back({{"key", order.key},
                          {"a", text_or_null(order.effect.before)},
                          {"b", text_or_null(order.effect.after)},
                          {"run", order.effect.at + 1},
                          {"rel", number(order.effect.difference)},
                          {"by_drift", number(order.effect.by_drift)},
                          {"correlation", number(order.effect.correlation)}});
    }
    return orders;
}

Json series_of(const HistorySeries& series) {
    Json changes = Json::array();
    for (const HistoryChange& change : series.changes) {
        changes.push_back(change_of(series, change));
    }
    const NewestRun& newest = series.newest;
    return {
        {"workload", series.workload},
        {"verdict", to_string(series.verdict)},
        {"current", series.current},
        {"runs", runs_of(series)},
        {"changes", std::move(changes)},
        {"newest",
         {{"verdict", to_string(newest.verdict)},
          {"value", in_seconds(series.values_ns.back())},
          {"expected", Json::array({in_seconds(newest.low), in_seconds(newest.high)})},
          {"again", newest.again},
          {"runs", newest.runs}}},
        {"drift", or_null(series.drift)},
        {"order", orders_of(series)}};
}

}  // namespace

Json history_json(const History& history, const GateOutcome& gate,
                  const std::vector<FileStatus>& files,
                  const std::vector<Warning>& warnings) {
    Json series = Json::array();
    for (const HistorySeries& one : history.series) {
        series.push_back(series_of(one));
    }
    return {{"schema", "mt.history/1"},
            {"tool", {{"version", kVersion}}},
            {"verdict", to_string(history.deciding().verdict)},
            {"text", history_headline(history)},
            {"gate", gate_json(gate)},
            {"metric", history.options.metric},
            {"method",
             {{"alpha", LevelChange().alpha},
              {"ci", history.options.confidence},
              {"prediction", history.options.prediction},
              {"min_effect", history.options.min_effect},
              {"by", text_or_null(history.options.by)},
              {"seed", kNullSeed}}},
            {"series", std::move(series)},
            {"files", files_json(files)},
            {"warnings", warnings_json(warnings)}};
}

}  // namespace metatrain_timing::analyzer
