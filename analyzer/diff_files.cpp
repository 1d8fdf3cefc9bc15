#include "analyzer/diff_files.hpp"

#include <future>
#include <memory>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <set>
#include <utility>

#include "analyzer/analysis/learned_noise.hpp"
#include "analyzer/error.hpp"
#include "analyzer/load/noise_file.hpp"

namespace metatrain_timing::analyzer {
namespace {

ComparedRun load(const std::string& path, const std::string& phase) {
    auto compared = prepare(path, std::make_unique<const Run>(load_run(path)), phase);
    if (!compared) {
        throw Error(path + ": no complete step" +
                    (phase.empty() ? "" : " of a phase '" + phase + "'") +
                    "; there is nothing to compare");
    }
    return std::move(*compared);
}

void add_warnings(Diff& diff, const std::vector<ComparedRun>& runs) {
    for (const ComparedRun& run : runs) {
        for (const Warning& warning : run.run->warnings) {
            diff.warnings.push_back({warning.code, run.path + ": " + warning.text});
        }
    }
}

// What was learned of the workload, where nothing was given.
RunNoise noise_for(const DiffOptions& options, const ComparedRun& run) {
    if (options.noise.source != assumed_noise().source) {
        return options.noise;
    }
    const auto workload = workload_of_run(run);
    for (const LearnedNoise& entry : read_noise(noise_path())) {
        if (entry.workload == workload) {
            return {entry.relative, static_cast<double>(entry.runs - 1), "learned",
                    entry.runs};
        }
    }
    return options.noise;
}

}  // namespace

std::vector<ComparedRun> load_compared(const std::vector<std::string>& paths,
                                       const std::string& phase) {
    std::vector<ComparedRun> runs;
    std::set<std::string> known;
    for (const std::string& path : paths) {
        runs.push_back(load(path, phase));
        if (!known.insert(runs.back().run->uuid).second) {
            throw Error(path + ": this run is there twice", ErrorCode::usage);
        }
    }
    return runs;
}

DiffAnswer diff_files(const DiffQuestion& question) {
    if (!question.gate.empty()) {
        parse_gate(question.gate);  // before anything is read
    }
    const std::string& phase = question.options.phase;
    DiffAnswer answer;
    auto later = std::async(std::launch::async | std::launch::deferred,
                            [&] { return load_compared(question.after, phase); });
    answer.before = load_compared(question.before, phase);
    answer.after = later.get();
    DiffOptions options = question.options;
    options.noise = noise_for(options, answer.before.front());
    answer.diff = compare(answer.before, answer.after, options);
    answer.gate = check_all(question.fail_on, question.gate, answer.diff);
    add_warnings(answer.diff, answer.before);
    add_warnings(answer.diff, answer.after);
    return answer;
}

}  // namespace metatrain_timing::analyzer
