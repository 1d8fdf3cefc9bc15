#include "analyzer/render/runs_report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <metatrain_timing/version.hpp>

namespace metatrain_timing::analyzer {
namespace {

std::string local_time(std::int64_t unix_ns) {
    const auto time = static_cast<std::time_t>(unix_ns / 1'000'000'000);
    std::tm parts{};
    if (localtime_r(&time, &parts) == nullptr) {
        return fmt::format("{}", time);
    }
    return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

}  // namespace

Json runs_json(const RunList& list) {
    Json runs = Json::array();
    for (const RunSummary& run : list.runs) {
        runs.push_back({{"index", run.index},
                        {"uuid", run.uuid},
                        {"attempt", run.attempt},
                        {"started_unix", seconds(run.started_unix_ns)},
                        {"command", run.command},
                        {"host", run.host},
                        {"rank_count", run.rank_count},
                        {"steps", run.step_count},
                        {"ended", run.ended},
                        {"newest", run.newest}});
    }
    return {{"schema", "mt.runs/1"},
            {"tool", {{"version", kVersion}}},
            {"files", files_json(list.files)},
            {"runs", std::move(runs)},
            {"warnings", warnings_json(list.warnings)}};
}

Table runs_table(const RunList& list, bool for_people) {
    Table table({{"run", Align::right},
                 {"started", Align::left},
                 {"attempt", Align::right, 2},
                 {"ranks", Align::right, 3},
                 {"steps", Align::right},
                 {"ended", Align::left},
                 {"uuid", Align::left},
                 {"host", Align::left, 4},
                 {"command", Align::left, 5}});
    for (const RunSummary& run : list.runs) {
        table.add_row(
            {fmt::format("{}{}", for_people && run.newest ? "*" : "", run.index),
             local_time(run.started_unix_ns), fmt::format("{}", run.attempt),
             fmt::format("{}", run.rank_count), fmt::format("{}", run.step_count),
             run.ended, for_people ? run.uuid.substr(0, 8) : run.uuid, run.host,
             run.command});
    }
    return table;
}

}  // namespace metatrain_timing::analyzer
