#include "analyzer/render/advice_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/render/settings.hpp"
#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kShown = 3;
constexpr double kLeastShare = 0.01;  // of a step, of a stage that is shown

}  // namespace

std::optional<Table> advice_table(const Advice& advice) {
    if (!advice.problem.empty()) {
        return std::nullopt;
    }
    const double whole_ns = advice.now.whole_step_ns();
    const double step_ns = advice.now.step_ns;
    Table table(
        {{"change"}, {"saves per step", Align::right}, {"of it", Align::right}});
    const auto add = [&](const std::string& change, double saved_ns, double of_ns) {
        table.add_row({change, format_duration(saved_ns),
                       format_share(of_ns > 0 ? saved_ns / of_ns : 0)});
    };
    for (std::size_t i = 0; i < std::min(kShown, advice.settings.size()); ++i) {
        const SettingAdvice& one = advice.settings[i];
        add(describe_change(one.prediction.settings, advice.now.settings), one.saved_ns,
            whole_ns);
    }
    for (std::size_t i = 0; i < std::min(kShown, advice.stages.size()); ++i) {
        const StageSaving& one = advice.stages[i];
        if (one.saved_ns >= kLeastShare * step_ns) {
            add(fmt::format("{} twice as fast ({})", one.stage, to_string(one.where)),
                one.saved_ns, step_ns);
        }
    }
    return table.row_count() > 0 ? std::optional(table) : std::nullopt;
}

Json advice_json(const Advice& advice) {
    if (!advice.problem.empty()) {
        return {{"problem", advice.problem},
                {"replayed_step_s", nullptr},
                {"guesses_worker_start", false},
                {"settings", Json::array()},
                {"stages", Json::array()}};
    }
    Json settings = Json::array();
    for (const SettingAdvice& one : advice.settings) {
        Json json = settings_json(one.prediction.settings);
        json["step_s"] = number(one.prediction.step_ns / kSecond);
        json["low_s"] = number(one.prediction.low_ns / kSecond);
        json["high_s"] = number(one.prediction.high_ns / kSecond);
        json["saved_s"] = number(one.saved_ns / kSecond);
        settings.push_back(std::move(json));
    }
    Json stages = Json::array();
    for (const StageSaving& one : advice.stages) {
        stages.push_back({{"stage", one.stage},
                          {"where", to_string(one.where)},
                          {"saved_s", number(one.saved_ns / kSecond)}});
    }
    return {{"problem", nullptr},
            {"replayed_step_s", number(advice.now.step_ns / kSecond)},
            {"guesses_worker_start", advice.guesses_worker_start},
            {"settings", std::move(settings)},
            {"stages", std::move(stages)}};
}

}  // namespace metatrain_timing::analyzer
