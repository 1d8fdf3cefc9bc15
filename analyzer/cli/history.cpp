#include "analyzer/cli/history.hpp"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "analyzer/analysis/history_question.hpp"
#include "analyzer/cli/progress.hpp"
#include "analyzer/history_files.hpp"
#include "analyzer/load/digest_store.hpp"
#include "analyzer/render/history_json.hpp"
#include "analyzer/render/history_report.hpp"
#include "analyzer/render/history_text.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct Arguments {
    HistoryQuestion question;
    std::string min_effect;
    Format format = Format::text;
    bool quiet = false;
    bool no_cache = false;
};

HistoryFiles read(const Arguments& arguments, Shell& shell) {
    Progress progress(shell.err, "reading runs");
    return read_digests(
        arguments.question.paths, arguments.question.phase,
        arguments.no_cache ? "" : digest_store_path(),
        [&](std::size_t done, std::size_t total) { progress.update(done, total); });
}

void print(const Arguments& arguments, const History& history, const GateOutcome& gate,
           const HistoryFiles& files, Shell& shell) {
    if (arguments.quiet && arguments.format == Format::text) {
        shell.out << printable(history_headline(history), shell.style.utf8) << '\n';
        return;
    }
    switch (arguments.format) {
        case Format::json:
            shell.out << to_text(
                history_json(history, gate, files.files, files.warnings));
            break;
        case Format::csv:
            shell.out << history_csv(history);
            break;
        case Format::markdown:
            shell.out << history_markdown(history, gate);
            break;
        default:
            shell.out << history_text(history, gate, shell.style);
    }
}

void show(Arguments& arguments, Shell& shell) {
    HistoryQuestion& question = arguments.question;
    if (!arguments.min_effect.empty()) {
        question.set_min_effect(arguments.min_effect);
    }
    const HistoryFiles files = read(arguments, shell);
    const History history = make_history(files.runs, question.options);
    const GateOutcome gate = check_history(question.fail_on, history);
    shell.warn(files.warnings);
    print(arguments, history, gate, files, shell);
    shell.end_with(gate);
}

void add_options(CLI::App& command, Arguments& arguments) {
    HistoryQuestion& question = arguments.question;
    command
        .add_option("--metric", question.options.metric,
                    "step, mean, median, p95, p99 or a stage, as loader/collate")
        ->type_name("");
    command.add_option("--phase", question.phase,
                       "Of this phase instead of the training");
    command
        .add_option("--by", question.options.by,
                    "A setting whose values are to be series of their own, as"
                    " loader.num_workers")
        ->type_name("");
    command
        .add_option("--min-effect", arguments.min_effect,
                    "The least change that is told, 2% unless given")
        ->type_name("");
    command
        .add_option(
            "--fail-on", question.fail_on,
            "End with 3 on regressed, improved, new-changepoint or drift, with 4"
            " on inconclusive; several with a comma between them")
        ->delimiter(',')
        ->type_name("");
    command.add_flag("--no-cache", arguments.no_cache,
                     "Read every run again and keep nothing of it");
    command.add_flag("--quiet", arguments.quiet, "Print the verdict only");
}

}  // namespace

void add_history_command(CLI::App& app, Shell& shell) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand(
        "history", "Say when the step time changed over many runs, and why");
    add_paths_argument(*command, arguments->question.paths,
                       "Run files, and folders of them at any depth; FILE@RUN for one"
                       " of several in a file");
    add_format_option(*command, arguments->format,
                      {Format::text, Format::json, Format::csv, Format::markdown});
    add_options(*command, *arguments);
    command->callback([arguments, &shell] { show(*arguments, shell); });
}

}  // namespace metatrain_timing::analyzer
