#include <metatrain_timing/analyzer/analyzer.hpp>

#include "analyzer/error.hpp"
#include "analyzer/load/list_runs.hpp"
#include "analyzer/load/query.hpp"
#include "analyzer/render/query_report.hpp"
#include "analyzer/render/runs_report.hpp"

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
