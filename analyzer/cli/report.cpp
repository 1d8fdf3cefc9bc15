#include "analyzer/cli/report.hpp"

#include <memory>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <ostream>

#include "analyzer/analysis/report.hpp"
#include "analyzer/error.hpp"
#include "analyzer/render/report_json.hpp"
#include "analyzer/render/report_text.hpp"
#include "analyzer/render/verdict_text.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct Arguments {
    RunArguments run;
    Format format = Format::text;
    ReportView view;
};

void show(const Arguments& arguments, Shell& shell) {
    const Run run = load_run(arguments.run.path, arguments.run.run);
    const Findings findings(run);
    Report report = make_report(findings);
    shell.warn(report.warnings);
    if (report.phases.empty()) {
        throw Error(no_steps_message(report, arguments.run.path));
    }
    choose_phase(report, arguments.view.phase);
    report.advice = advise(findings, report);
    switch (arguments.format) {
        case Format::json:
            shell.out << to_text(report_json(report, arguments.view.phase));
            break;
        case Format::csv:
            shell.out << report_csv(report, arguments.view);
            break;
        case Format::markdown:
            shell.out << report_markdown(report, arguments.view);
            break;
        default:
            shell.out << report_text(report, shell.style, arguments.view);
    }
}

}  // namespace

void add_report_command(CLI::App& app, Shell& shell) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand("report", "Show where a training step goes");
    add_run_arguments(*command, arguments->run);
    add_format_option(*command, arguments->format,
                      {Format::text, Format::json, Format::csv, Format::markdown});
    command->add_option(
        "--phase", arguments->view.phase,
        "Show this phase in full: train, evaluation, before-training or a"
        " name given with phase()");
    command->add_flag("--verbose", arguments->view.verbose,
                      "Show every row, every worker and the whole environment");
    command->callback([arguments, &shell] { show(*arguments, shell); });
}

}  // namespace metatrain_timing::analyzer
