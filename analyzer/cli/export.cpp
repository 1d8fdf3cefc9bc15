#include "analyzer/cli/export.hpp"

#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <string>

#include "analyzer/cli/progress.hpp"
#include "analyzer/export_run.hpp"
#include "analyzer/load/counted.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct Arguments {
    RunArguments run;
    ExportQuestion question;
    std::string steps;
};

void write_trace(Arguments& arguments, Shell& shell) {
    ExportQuestion& question = arguments.question;
    question.path = arguments.run.path;
    question.run = arguments.run.run;
    if (!arguments.steps.empty()) {
        question.steps = StepSpan::parse(arguments.steps);
    }
    ExportAnswer answer;
    {
        Progress progress(shell.err, "writing the trace: file");
        answer = export_run(question,
                            {[&](const Warning& warning) { shell.warn({warning}); },
                             [&](std::size_t done, std::size_t total) {
                                 progress.update(done, total);
                             }});
    }
    shell.warn(answer.warnings);
    if (question.output != "-") {
        constexpr double kMega = 1e6;
        shell.out << printable(question.output, shell.style.utf8) << ": "
                  << counted(static_cast<std::int64_t>(answer.slice_count), "interval")
                  << fmt::format(", {:.1f} MB of JSON",
                                 static_cast<double>(answer.bytes) / kMega)
                  << "; open it in https://ui.perfetto.dev or chrome://tracing\n";
    }
}

}  // namespace

void add_export_command(CLI::App& app, Shell& shell) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand(
        "export", "Write the timeline of all processes as a Chrome trace");
    add_run_arguments(*command, arguments->run);
    command
        ->add_option(
            "-o,--output", arguments->question.output,
            "The file to write, compressed if it ends with .gz; '-' is standard"
            " output; one that exists is not overwritten")
        ->required()
        ->type_name("FILE");
    command
        ->add_option("--steps", arguments->steps,
                     "Only these training steps, as 100:200, both included, and"
                     " what the workers did for them")
        ->type_name("A:B");
    command
        ->add_option("--rank", arguments->question.rank,
                     "Only this rank and its workers")
        ->type_name("N");
    command->add_flag("--gzip", arguments->question.gzip,
                      "Compress, whatever the name of the file");
    command->callback([arguments, &shell] { write_trace(*arguments, shell); });
}

}  // namespace metatrain_timing::analyzer
