#include <metatrain_timing/analyzer/analyzer.hpp>

#include "analyzer/analysis/report.hpp"
#include "analyzer/error.hpp"
#include "analyzer/load/list_runs.hpp"
#include "analyzer/load/query.hpp"
#include "analyzer/render/query_report.hpp"
#include "analyzer/render/report_json.hpp"
#include "analyzer/render/runs_report.hpp"
#include "analyzer/render/verdict_text.hpp"

namespace metatrain_timing::analyzer {
namespace {

std::string option(const std::map<std::string, std::string>& options,
                   const std::string& name) {
    const auto found = options.find(name);
    return found == options.end() ? "" : found->second;
}

}  // namespace

std::string run_json(const std::string& command, const std::string& path,
                     const std::map<std::string, std::string>& options) {
    if (command == "report") {
        const Run run = load_run(path, option(options, "run"));
        const Report report = make_report(run);
        if (report.phases.empty()) {
            throw Error(no_steps_message(report, path));
        }
        return to_text(report_json(report));
    }
    if (command == "runs") {
        return to_text(runs_json(list_runs(path)));
    }
    if (command == "sql") {
        return to_text(query_json(
            run_query(path, option(options, "run"), option(options, "query"))));
    }
    throw Error(command + ": no such command; there are report, runs and sql",
                ErrorCode::usage);
}

}  // namespace metatrain_timing::analyzer
