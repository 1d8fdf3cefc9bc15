#include "analyzer/render/noise_report.hpp"

#include <fmt/format.h>

#include <metatrain_timing/version.hpp>

#include "analyzer/render/table.hpp"
#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {

Json noise_json(const NoiseReport& report) {
    const NoiseLesson& lesson = report.lesson;
    Json runs = Json::array();
    for (std::size_t i = 0; i < lesson.runs.size(); ++i) {
        runs.push_back({{"path", report.paths[i]},
                        {"step_s", number(lesson.runs[i].step_ns / kSecond)},
                        {"within", number(lesson.runs[i].within)}});
    }
    return {{"schema", "mt.noise/1"},
            {"tool", {{"version", kVersion}}},
            {"workload", lesson.noise.workload},
            {"sigma_run", number(lesson.noise.relative)},
            {"runs", std::move(runs)},
            {"kept_in", report.kept_in},
            {"warnings", warnings_json(report.warnings)}};
}

std::string noise_text(const NoiseReport& report, const TextStyle& style) {
    const NoiseLesson& lesson = report.lesson;
    const auto shown = [&](const std::string& text) {
        return printable(text, style.utf8);
    };
    std::string text =
        fmt::format("run-to-run noise {:.2g} % (standard deviation), from {} runs\n\n",
                    100 * lesson.noise.relative, lesson.noise.runs);
    Table table({{"run"}, {"step", Align::right}, {"+-, of itself", Align::right}});
    for (std::size_t i = 0; i < lesson.runs.size(); ++i) {
        table.add_row({report.paths[i], format_duration(lesson.runs[i].step_ns),
                       fmt::format("{:.2g} %", 100 * lesson.runs[i].within)});
    }
    std::string workload;
    for (const auto& [key, value] : lesson.noise.workload) {
        workload += fmt::format("{}{} {}", workload.empty() ? "" : ", ", key, value);
    }
    return text + table.text(style) + "\n" +
           wrapped(
               "kept in " + shown(report.kept_in) + " for runs of: " + shown(workload),
               style.width);
}

}  // namespace metatrain_timing::analyzer
