#include "analyzer/cli/runs.hpp"

#include <memory>
#include <ostream>

#include "analyzer/load/list_runs.hpp"
#include "analyzer/render/runs_report.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct Arguments {
    RunArguments run;
    Format format = Format::text;
};

void show(const Arguments& arguments, Shell& shell) {
    const RunList list = list_runs(arguments.run.path);
    shell.warn(list.warnings);
    switch (arguments.format) {
        case Format::json:
            shell.out << to_text(runs_json(list));
            break;
        case Format::csv:
            shell.out << runs_table(list, false).csv();
            break;
        case Format::markdown:
            shell.out << runs_table(list, false).markdown();
            break;
        default:
            shell.out << runs_table(list, true).text(shell.style)
                      << "*: the newest, which other commands read unless --run names"
                         " another\n";
    }
}

}  // namespace

void add_runs_command(CLI::App& app, Shell& shell) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand("runs", "List the runs in a file");
    add_run_arguments(*command, arguments->run, false);
    add_format_option(*command, arguments->format,
                      {Format::text, Format::json, Format::csv, Format::markdown});
    command->callback([arguments, &shell] { show(*arguments, shell); });
}

}  // namespace metatrain_timing::analyzer
