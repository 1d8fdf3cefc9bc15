#include "analyzer/cli/merge.hpp"

#include <memory>
#include <ostream>
#include <string>

#include "analyzer/error.hpp"
#include "analyzer/load/counted.hpp"
#include "analyzer/load/merge.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct Arguments {
    RunArguments run;
    std::string output;
    bool in_place = false;
};

void merge(const Arguments& arguments, Shell& shell) {
    if (arguments.in_place == !arguments.output.empty()) {
        throw Error("merge: give either -o FILE or --in-place", ErrorCode::usage);
    }
    if (arguments.in_place && !arguments.run.run.empty()) {
        throw Error("merge: --in-place keeps all runs; leave --run out",
                    ErrorCode::usage);
    }
    const MergeResult result =
        arguments.in_place
            ? merge_in_place(arguments.run.path)
            : merge_to(arguments.run.path, arguments.run.run, arguments.output);
    shell.warn(result.warnings);
    shell.out << printable(result.path, shell.style.utf8) << ": "
              << counted(static_cast<std::int64_t>(result.run_count), "run") << " of "
              << counted(static_cast<std::int64_t>(result.file_count), "file") << '\n';
}

}  // namespace

void add_merge_command(CLI::App& app, Shell& shell) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command =
        app.add_subcommand("merge", "Make one file of a run file and its folder");
    add_run_arguments(*command, arguments->run);
    command->get_option("--run")->description(
        "Only this run: its index as 'mt-analyze runs' shows it or the beginning of its"
        " uuid (default: all)");
    command->add_option("-o,--output", arguments->output,
                        "The file to write; one that exists is not overwritten");
    command->add_flag("--in-place", arguments->in_place,
                      "Fold the folder PATH.d into PATH and remove it");
    command->callback([arguments, &shell] { merge(*arguments, shell); });
}

}  // namespace metatrain_timing::analyzer
