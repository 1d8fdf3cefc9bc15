#include "analyzer/cli/shell.hpp"

#include <algorithm>
#include <ostream>
#include <string>

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

std::string_view name_of(Format format) {
    switch (format) {
        case Format::text:
            return "text";
        case Format::json:
            return "json";
        case Format::csv:
            return "csv";
        case Format::markdown:
            return "markdown";
        case Format::tsv:
            return "tsv";
    }
    return "";
}

}  // namespace

void Shell::warn(const std::vector<Warning>& warnings) const {
    for (const Warning& warning : warnings) {
        err << "mt-analyze: warning: " << printable(warning.text, style.utf8) << '\n';
    }
}

void Shell::end_with(const GateOutcome& gate) {
    if (gate.result == GateResult::failed) {
        exit_code = static_cast<int>(ErrorCode::gate_failed);
    } else if (gate.result == GateResult::undecided) {
        exit_code = static_cast<int>(ErrorCode::gate_undecided);
    }
}

void add_run_arguments(CLI::App& command, RunArguments& arguments, bool with_run) {
    command
        .add_option(
            "path", arguments.path,
            with_run ? "A run file, its folder, or either with @RUN: run.db, run.db@2"
                     : "A run file or a folder of them")
        ->required();
    if (with_run) {
        command.add_option("--run", arguments.run,
                           "Which run: its index as 'mt-analyze runs' shows it or the"
                           " beginning of its uuid (default: the newest)");
    }
}

void add_paths_argument(CLI::App& command, std::vector<std::string>& paths,
                        const std::string& what) {
    command.add_option("RUNS", paths, what)->required()->type_name("");
}

void add_format_option(CLI::App& command, Format& format,
                       const std::vector<Format>& choices) {
    std::vector<std::string> names;
    for (const Format choice : choices) {
        names.emplace_back(name_of(choice));
    }
    command
        .add_option_function<std::string>(
            "--format",
            [&format, choices](const std::string& name) {
                format = *std::find_if(
                    choices.begin(), choices.end(),
                    [&](Format choice) { return name == name_of(choice); });
            },
            "How to write the result")
        ->check(CLI::IsMember(names))
        ->type_name("")
        ->default_str(std::string(name_of(format)));
}

}  // namespace metatrain_timing::analyzer
