#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <algorithm>
#include <clocale>
#include <csignal>
#include <exception>
#include <iostream>
#include <metatrain_timing/schema/sql.hpp>
#include <metatrain_timing/version.hpp>
#include <new>
#include <string>
#include <vector>

#include "analyzer/cli/diff.hpp"
#include "analyzer/cli/export.hpp"
#include "analyzer/cli/history.hpp"
#include "analyzer/cli/import.hpp"
#include "analyzer/cli/merge.hpp"
#include "analyzer/cli/noise.hpp"
#include "analyzer/cli/report.hpp"
#include "analyzer/cli/runs.hpp"
#include "analyzer/cli/shell.hpp"
#include "analyzer/cli/sql.hpp"
#include "analyzer/cli/whatif.hpp"
#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  mt-analyze report run.db                    where a training step goes\n"
    "  mt-analyze report run.db@2 --format json    the second run, for programs\n"
    "  mt-analyze whatif run.db --num-workers 0,2,4   what other settings would give\n"
    "  mt-analyze diff before.db after.db          is it faster, and because of what\n"
    "  mt-analyze history runs/                    when did it change, over many runs\n"
    "  mt-analyze noise a.db b.db c.db             what runs differ by by themselves\n"
    "  mt-analyze runs run.db                      the runs in the file\n"
    "  mt-analyze sql run.db 'SELECT * FROM v_stage_summary'\n"
    "  mt-analyze merge run.db -o all.db           one file to carry home\n"
    "  mt-analyze export run.db -o trace.json.gz   a timeline for ui.perfetto.dev\n"
    "  mt-analyze import trace.json --from kineto -o run.db   a run of torch.profiler\n"
    "\n"
    "Reads what trainings record with METATRAIN_TIMING_DB=run.db; changes nothing, "
    "but\n"
    "for saving the last records of processes that were killed.\n"
    "Exit codes: 0 done, 1 error, 2 usage, 3 a gate failed, 4 a gate is undecided.\n";

// Help that begins with examples: they tell most of what a reader wants to know.
class HelpFormatter : public CLI::Formatter {
  public:
    std::string make_description(const CLI::App* app) const override {
        const std::string description = CLI::Formatter::make_description(app);
        return app->get_parent() == nullptr ? kExamples + ("\n" + description)
                                            : description;
    }
};

void print_error(const Shell& shell, const std::string& message) {
    shell.err << "mt-analyze: error: " << printable(message, shell.style.utf8) << '\n';
}

// Runs the command line; CLI11's own exit codes become 0 and 2.
int run_commands(int argc, char** argv, Shell& shell) {
    CLI::App app("mt-analyze: what a training step spends its time on", "mt-analyze");
    app.formatter(std::make_shared<HelpFormatter>());
    app.set_version_flag("--version", "mt-analyze " + std::string(kVersion) +
                                          " (schema " + std::string(schema::kVersion) +
                                          ")");
    app.require_subcommand(1);
    add_report_command(app, shell);
    add_whatif_command(app, shell);
    add_diff_command(app, shell);
    add_noise_command(app, shell);
    add_history_command(app, shell);
    add_runs_command(app, shell);
    add_merge_command(app, shell);
    add_sql_command(app, shell);
    add_export_command(app, shell);
    add_import_command(app, shell);
    std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    if (!arguments.empty() && arguments.front() == "diff") {
        std::replace(arguments.begin(), arguments.end(), std::string("--"),
                     std::string(kBetweenSides));
    }
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    try {
        app.parse(std::move(arguments));
    } catch (const CLI::Success& request) {
        return app.exit(request, shell.out, shell.err);  // --help, --version
    } catch (const CLI::ParseError& error) {
        print_error(shell, std::string(error.what()) + "; see 'mt-analyze --help'");
        return static_cast<int>(ErrorCode::usage);
    }
    return shell.exit_code;
}

int run_guarded(int argc, char** argv, Shell& shell) {
    try {
        return run_commands(argc, argv, shell);
    } catch (const Error& error) {
        print_error(shell, error.what());
        return static_cast<int>(error.code());
    } catch (const std::bad_alloc&) {
        print_error(shell, "out of memory");
    } catch (const std::exception& error) {
        print_error(shell, std::string("internal: ") + error.what());
    }
    return static_cast<int>(ErrorCode::failed);
}

}  // namespace
}  // namespace metatrain_timing::analyzer

int main(int argc, char** argv) {
    using namespace metatrain_timing::analyzer;
    // A parent may have it ignored, and then 'mt-analyze ... | head' would complain.
    std::signal(SIGPIPE, SIG_DFL);
    std::setlocale(LC_CTYPE, "");
    std::ios::sync_with_stdio(false);
#ifdef M_MMAP_THRESHOLD
    // What is large goes back to the system when it is freed: glibc learns to keep it.
    constexpr int kLarge = 256 * 1024;
    mallopt(M_MMAP_THRESHOLD, kLarge);
#endif
    Shell shell{std::cout, std::cerr, detect_text_style()};
    int code = run_guarded(argc, argv, shell);
    std::cout.flush();
    if (!std::cout) {
        print_error(shell, "the result could not be written; is the disk full?");
        code = static_cast<int>(ErrorCode::failed);
    }
    return code;
}
