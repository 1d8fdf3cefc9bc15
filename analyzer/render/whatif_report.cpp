#include "analyzer/render/whatif_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <metatrain_timing/version.hpp>
#include <string_view>
#include <vector>

#include "analyzer/render/settings.hpp"
#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

Json prediction_json(const Prediction& prediction) {
    Json row = settings_json(prediction.settings);
    row["step_s"] = number(prediction.step_ns / kSecond);
    row["low_s"] = number(prediction.low_ns / kSecond);
    row["high_s"] = number(prediction.high_ns / kSecond);
    row["wait_s"] = number(prediction.wait_ns / kSecond);
    row["epoch_start_s"] = prediction.pass_start_ns
                               ? number(*prediction.pass_start_ns / kSecond)
                               : Json(nullptr);
    return row;
}

std::string_view yes(bool value) {
    return value ? "yes" : "no";
}

std::string change(double ns, double recorded_ns) {
    return recorded_ns > 0 ? fmt::format("{:+.0f} %", 100 * (ns / recorded_ns - 1))
                           : "";
}

}  // namespace

Json whatif_json(const Run& run, const WhatIf& answer) {
    Json recorded = settings_json(answer.recorded);
    recorded["step_s"] = number(answer.recorded_step_ns / kSecond);
    recorded["wait_s"] = number(answer.recorded_wait_ns / kSecond);
    Json scale = Json::object();
    for (const auto& [stage, factor] : answer.scale) {
        scale[stage] = number(factor);
    }
    Json predictions = Json::array();
    for (const Prediction& prediction : answer.predictions) {
        predictions.push_back(prediction_json(prediction));
    }
    return {{"schema", "mt.whatif/1"},
            {"tool", {{"version", kVersion}}},
            {"run", {{"uuid", run.uuid}, {"command", run.command}}},
            {"phase", answer.phase},
            {"loader", answer.loader},
            {"recorded", std::move(recorded)},
            {"cpus", number(answer.cpus)},
            {"turns", answer.turns},
            {"scale", std::move(scale)},
            {"predictions", std::move(predictions)},
            {"best", answer.best ? Json(*answer.best) : Json(nullptr)},
            {"warnings", warnings_json(answer.warnings)}};
}

std::string whatif_csv(const WhatIf& answer) {
    Table table({{"num_workers"},
                 {"prefetch_factor"},
                 {"in_order"},
                 {"persistent_workers"},
                 {"pin_memory"},
                 {"step_s"},
                 {"low_s"},
                 {"high_s"},
                 {"wait_s"},
                 {"epoch_start_s"}});
    const auto text = [](bool value) { return value ? "true" : "false"; };
    const auto in_s = [](double ns) { return fmt::format("{:.9f}", ns / kSecond); };
    for (const Prediction& one : answer.predictions) {
        const LoaderSettings& settings = one.settings;
        const bool workers = settings.num_workers > 0;
        table.add_row({fmt::format("{}", settings.num_workers),
                       workers ? fmt::format("{}", settings.prefetch_factor) : "",
                       text(settings.in_order), text(settings.persistent_workers),
                       text(settings.pin_memory), in_s(one.step_ns), in_s(one.low_ns),
                       in_s(one.high_ns), in_s(one.wait_ns),
                       one.pass_start_ns ? in_s(*one.pass_start_ns) : ""});
    }
    return table.csv();
}

Table whatif_table(const WhatIf& answer) {
    const auto varies = [&](auto LoaderSettings::* setting) {
        return std::any_of(answer.predictions.begin(), answer.predictions.end(),
                           [&](const Prediction& one) {
                               return one.settings.*setting != answer.recorded.*setting;
                           });
    };
    struct Setting {
        const char* title;
        bool LoaderSettings::* value;
    };
    std::vector<Setting> shown;  // those that are the same everywhere tell nothing
    for (const Setting& setting :
         {Setting{"in order", &LoaderSettings::in_order},
          Setting{"persistent", &LoaderSettings::persistent_workers},
          Setting{"pinned", &LoaderSettings::pin_memory}}) {
        if (varies(setting.value)) {
            shown.push_back(setting);
        }
    }
    std::vector<Column> columns{{"workers", Align::right}, {"prefetch", Align::right}};
    for (const Setting& setting : shown) {
        columns.push_back({setting.title});
    }
    for (Column& column : std::vector<Column>{{"step", Align::right},
                                              {"95 %"},
                                              {"of it wait", Align::right, 2},
                                              {"change", Align::right, 1},
                                              {"epoch start", Align::right, 3}}) {
        columns.push_back(std::move(column));
    }
    Table table(std::move(columns));
    for (const Prediction& one : answer.predictions) {
        const bool workers = one.settings.num_workers > 0;
        std::vector<std::string> row{
            fmt::format("{}", one.settings.num_workers),
            workers ? fmt::format("{}", one.settings.prefetch_factor) : ""};
        for (const Setting& setting : shown) {
            const bool says = workers || setting.value == &LoaderSettings::pin_memory;
            row.emplace_back(says ? yes(one.settings.*setting.value) : "");
        }
        row.push_back(format_duration(one.step_ns));
        row.push_back(fmt::format("{} to {}", format_duration(one.low_ns),
                                  format_duration(one.high_ns)));
        row.push_back(format_duration(one.wait_ns));
        row.push_back(change(one.step_ns, answer.recorded_step_ns));
        row.push_back(one.pass_start_ns ? format_duration(*one.pass_start_ns) : "");
        table.add_row(std::move(row));
    }
    return table;
}

std::string whatif_text(const WhatIf& answer, const TextStyle& style) {
    const auto shown = [&](const std::string& name) {
        return printable(name, style.utf8);
    };
    std::string text = fmt::format(
        "{} of {}: {} a step, {} of it waiting, with {}\n", shown(answer.phase),
        shown(answer.loader), format_duration(answer.recorded_step_ns),
        format_duration(answer.recorded_wait_ns), describe(answer.recorded));
    for (const auto& [stage, factor] : answer.scale) {
        text +=
            fmt::format("if {} took {:.3g} of what it takes\n", shown(stage), factor);
    }
    text += fmt::format("predicted from {} turns, on {:.3g} CPUs:\n\n", answer.turns,
                        answer.cpus);
    text += whatif_table(answer).text(style);
    if (answer.best) {
        text += fmt::format("\nbest within {:.3g} CPUs: {}\n", answer.cpus,
                            describe(answer.predictions[*answer.best].settings));
    }
    return text;
}

}  // namespace metatrain_timing::analyzer
