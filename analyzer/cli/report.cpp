#include "analyzer/cli/report.hpp"

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {

void add_report_command(CLI::App& app, Shell&) {
    app.add_subcommand("report", "Show where a training step goes")->callback([] {
        throw Error("report: not built into this version");
    });
}

}  // namespace metatrain_timing::analyzer
