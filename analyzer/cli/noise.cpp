#include "analyzer/cli/noise.hpp"

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "analyzer/analysis/learned_noise.hpp"
#include "analyzer/diff_files.hpp"
#include "analyzer/error.hpp"
#include "analyzer/load/noise_file.hpp"
#include "analyzer/render/noise_report.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kFewestRuns = 3;
constexpr std::size_t kEnoughRuns = 5;

struct Arguments {
    std::vector<std::string> paths;
    std::string phase;
    Format format = Format::text;
};

std::string keys_of(const std::vector<ChangedFact>& facts, bool of_workload) {
    std::string keys;
    for (const ChangedFact& fact : facts) {
        if ((fact.kind != FactKind::setting) == of_workload) {
            keys += (keys.empty() ? "" : ", ") + fact.key;
        }
    }
    return keys;
}

std::vector<Warning> warn_of(const NoiseLesson& lesson) {
    std::vector<Warning> warnings;
    if (const std::string keys = keys_of(lesson.changed, false); !keys.empty()) {
        warnings.push_back({"facts_differ", "the runs differ in " + keys +
                                                ": what that changes counts as noise"});
    }
    if (lesson.runs.size() < kEnoughRuns) {
        warnings.push_back({"few_runs",
                            "five runs or more tell the noise better: of "
                            "few the intervals of a diff are long"});
    }
    return warnings;
}

void show(const Arguments& arguments, Shell& shell) {
    if (arguments.paths.size() < kFewestRuns) {
        throw Error("noise: give three runs or more in which nothing was changed",
                    ErrorCode::usage);
    }
    const std::vector<ComparedRun> runs =
        load_compared(arguments.paths, arguments.phase);
    NoiseReport report;
    report.paths = arguments.paths;
    report.lesson = learn_noise(runs);
    if (const std::string keys = keys_of(report.lesson.changed, true); !keys.empty()) {
        throw Error("noise: the runs did different work (" + keys + " differ)");
    }
    LearnedNoise& noise = report.lesson.noise;
    noise.learned_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count();
    report.kept_in = noise_path();
    report.warnings = warn_of(report.lesson);
    keep_noise(report.kept_in, noise);
    shell.warn(report.warnings);
    if (arguments.format == Format::json) {
        shell.out << to_text(noise_json(report));
    } else {
        shell.out << noise_text(report, shell.style);
    }
}

}  // namespace

void add_noise_command(CLI::App& app, Shell& shell) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand(
        "noise", "Learn how much runs differ in which nothing was changed, for diff");
    add_paths_argument(
        *command, arguments->paths,
        "Runs of one training, three or more: files or folders, FILE@RUN");
    command->add_option("--phase", arguments->phase,
                        "Of this phase instead of the training");
    add_format_option(*command, arguments->format, {Format::text, Format::json});
    command->callback([arguments, &shell] { show(*arguments, shell); });
}

}  // namespace metatrain_timing::analyzer
