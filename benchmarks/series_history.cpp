// What `mt-analyze history` makes of series of step times, without the files: a line
// with a JSON array of nanoseconds in, a line with a JSON object out.
//
//   echo '[40e6, 41e6, ...]' | series_history
//   {"changes":[17],"verdict":"same","newest":"normal"}
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/analysis/history.hpp"

namespace {

using namespace metatrain_timing::analyzer;

std::vector<RunDigest> runs_of(const std::vector<double>& values_ns) {
    std::vector<RunDigest> runs;
    for (std::size_t i = 0; i < values_ns.size(); ++i) {
        RunDigest& run = runs.emplace_back();
        run.uuid = std::to_string(i);
        run.started_unix_ns = static_cast<std::int64_t>(i);
        run.steps = 1;
        run.step_ns = values_ns[i];
    }
    return runs;
}

nlohmann::json answer_to(const std::vector<double>& values_ns) {
    const std::vector<RunDigest> runs = runs_of(values_ns);
    const History history = make_history(runs, {});
    const HistorySeries& series = history.series.front();
    nlohmann::json changes = nlohmann::json::array();
    for (const HistoryChange& change : series.changes) {
        changes.push_back(change.run);
    }
    return {{"changes", std::move(changes)},
            {"verdict", to_string(series.verdict)},
            {"newest", to_string(series.newest.verdict)}};
}

}  // namespace

int main() {
    try {
        for (std::string line; std::getline(std::cin, line);) {
            const auto values = nlohmann::json::parse(line);
            std::cout << answer_to(values.get<std::vector<double>>()).dump() << '\n';
        }
    } catch (const std::exception& error) {
        std::cerr << "series_history: " << error.what() << '\n';
        return 1;
    }
    return 0;
}
