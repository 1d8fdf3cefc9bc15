#include "analyzer/cli/whatif.hpp"

#include <memory>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "analyzer/analysis/whatif.hpp"
#include "analyzer/error.hpp"
#include "analyzer/render/whatif_report.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct Arguments {
    RunArguments run;
    Format format = Format::text;
    WhatIfQuestion question;
    std::vector<std::string> scale;
};

void show(Arguments& arguments, Shell& shell) {
    for (const std::string& text : arguments.scale) {
        arguments.question.add_scale(text);
    }
    const Run run = load_run(arguments.run.path, arguments.run.run);
    std::string problem;
    const auto answer = ask_what_if(Findings(run), arguments.question, problem);
    shell.warn(run.warnings);
    if (!answer) {
        throw Error(arguments.run.path + ": nothing to predict: " + problem);
    }
    shell.warn(answer->warnings);
    switch (arguments.format) {
        case Format::json:
            shell.out << to_text(whatif_json(run, *answer));
            break;
        case Format::csv:
            shell.out << whatif_csv(*answer);
            break;
        case Format::markdown:
            shell.out << whatif_table(*answer).markdown();
            break;
        default:
            shell.out << whatif_text(*answer, shell.style);
    }
}

template <typename Value>
CLI::Option* add_list(CLI::App& command, const char* name, std::vector<Value>& values,
                      const char* help) {
    return command.add_option(name, values, help)->delimiter(',')->type_name("");
}

}  // namespace

void add_whatif_command(CLI::App& app, Shell& shell) {
    const auto arguments = std::make_shared<Arguments>();
    WhatIfQuestion& question = arguments->question;
    CLI::App* command = app.add_subcommand(
        "whatif", "Predict the step time with other settings of the DataLoader");
    add_run_arguments(*command, arguments->run);
    add_format_option(*command, arguments->format,
                      {Format::text, Format::json, Format::csv, Format::markdown});
    command
        ->add_option("--phase", question.phase,
                     "Of this phase: train, evaluation, before-training or a name"
                     " given with phase()")
        ->type_name("");
    add_list(*command, "--num-workers", question.num_workers,
             "Numbers of workers to try, as 0,1,2,4")
        ->check(CLI::Range(std::int64_t{0}, WhatIfQuestion::kMostWorkers));
    add_list(*command, "--prefetch-factor", question.prefetch_factor,
             "Prefetch factors to try")
        ->check(CLI::Range(std::int64_t{1}, WhatIfQuestion::kMostPrefetch));
    add_list(*command, "--in-order", question.in_order,
             "true or false, or both as true,false");
    add_list(*command, "--persistent-workers", question.persistent_workers,
             "true or false, or both as true,false");
    add_list(*command, "--pin-memory", question.pin_memory,
             "true or false, or both as true,false");
    command
        ->add_option("--scale", arguments->scale,
                     "STAGE=FACTOR: as if the stage took this part of what it takes,"
                     " as collate=0.5; may be repeated")
        ->type_name("");
    command->callback([arguments, &shell] { show(*arguments, shell); });
}

}  // namespace metatrain_timing::analyzer
