#include "analyzer/cli/diff.hpp"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "analyzer/diff_files.hpp"
#include "analyzer/error.hpp"
#include "analyzer/render/diff_json.hpp"
#include "analyzer/render/diff_report.hpp"
#include "analyzer/render/diff_text.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct Arguments {
    std::vector<std::string> paths;
    DiffQuestion question;
    std::string min_effect;
    std::string run_noise;
    Format format = Format::text;
    bool quiet = false;
    bool verbose = false;
};

// Both sides of "BEFORE AFTER" and of "BEFORE... -- AFTER...".
void split(const std::vector<std::string>& paths, DiffQuestion& question) {
    const auto between = std::find(paths.begin(), paths.end(), kBetweenSides);
    if (between != paths.end()) {
        question.before = {paths.begin(), between};
        question.after = {between + 1, paths.end()};
    } else if (paths.size() == 2) {
        question.before = {paths.front()};
        question.after = {paths.back()};
    }
    const bool once = std::count(paths.begin(), paths.end(), kBetweenSides) <= 1;
    if (question.before.empty() || question.after.empty() || !once) {
        throw Error("diff: give two runs, or several with one -- between both sides",
                    ErrorCode::usage);
    }
}

void print(const Arguments& arguments, const DiffAnswer& answer, Shell& shell) {
    const Diff& diff = answer.diff;
    if (arguments.quiet && arguments.format == Format::text) {
        shell.out << printable(diff_headline(diff), shell.style.utf8) << '\n';
        return;
    }
    switch (arguments.format) {
        case Format::json:
            shell.out << to_text(diff_json(diff, answer.gate));
            break;
        case Format::csv:
            shell.out << diff_csv(diff);
            break;
        case Format::markdown:
            shell.out << diff_markdown(diff, answer.gate);
            break;
        default:
            shell.out << diff_text(diff, answer.gate, shell.style, arguments.verbose);
    }
}

void show(Arguments& arguments, Shell& shell) {
    split(arguments.paths, arguments.question);
    if (!arguments.min_effect.empty()) {
        arguments.question.set_min_effect(arguments.min_effect);
    }
    if (!arguments.run_noise.empty()) {
        arguments.question.set_run_noise(arguments.run_noise);
    }
    const DiffAnswer answer = diff_files(arguments.question);
    shell.warn(answer.diff.warnings);
    print(arguments, answer, shell);
    shell.end_with(answer.gate);
}

void add_options(CLI::App& command, Arguments& arguments) {
    DiffOptions& options = arguments.question.options;
    command.add_option("--phase", options.phase,
                       "Compare this phase instead of the training");
    command
        .add_option("--min-effect", arguments.min_effect,
                    "The least difference that matters, 2% unless given")
        ->type_name("");
    command
        .add_option("--run-noise", arguments.run_noise,
                    "Standard deviation of runs in which nothing was changed, as 0.5%")
        ->type_name("");
    command
        .add_option("--fail-on", arguments.question.fail_on,
                    "End with 3 on regressed, improved or new-stage, with 4 on"
                    " inconclusive; several with a comma between them")
        ->delimiter(',')
        ->type_name("");
    command
        .add_option("--gate", arguments.question.gate,
                    "Limits, as step:2% or loader:+1ms, several with a comma between"
                    " them: end with 3 where one is exceeded, with 4 where that cannot"
                    " be told")
        ->type_name("");
    command.add_flag(
        "--strict", options.strict,
        "Say regressed only where the least difference is surely exceeded");
    command.add_flag("--force", options.force, "Judge runs of different work too");
    command.add_flag("--quiet", arguments.quiet, "Print the verdict only");
    command.add_flag("--verbose", arguments.verbose, "Show every row");
}

}  // namespace

void add_diff_command(CLI::App& app, Shell& shell) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command =
        app.add_subcommand("diff", "Say whether a run is faster than another, and why");
    add_paths_argument(*command, arguments->paths,
                       "BEFORE AFTER, or BEFORE... -- AFTER...: run files or folders,"
                       " FILE@RUN for one of several in a file");
    add_format_option(*command, arguments->format,
                      {Format::text, Format::json, Format::csv, Format::markdown});
    add_options(*command, *arguments);
    command->callback([arguments, &shell] { show(*arguments, shell); });
}

}  // namespace metatrain_timing::analyzer
