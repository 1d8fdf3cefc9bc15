#include <metatrain_timing/analyzer/analyzer.hpp>

#include "analyzer/analysis/history_question.hpp"
#include "analyzer/analysis/question_text.hpp"
#include "analyzer/analysis/report.hpp"
#include "analyzer/analysis/whatif.hpp"
#include "analyzer/diff_files.hpp"
#include "analyzer/error.hpp"
#include "analyzer/export_run.hpp"
#include "analyzer/history_files.hpp"
#include "analyzer/import_trace.hpp"
#include "analyzer/load/digest_store.hpp"
#include "analyzer/load/list_runs.hpp"
#include "analyzer/load/query.hpp"
#include "analyzer/render/diff_json.hpp"
#include "analyzer/render/history_json.hpp"
#include "analyzer/render/query_report.hpp"
#include "analyzer/render/report_json.hpp"
#include "analyzer/render/runs_report.hpp"
#include "analyzer/render/verdict_text.hpp"
#include "analyzer/render/whatif_report.hpp"

namespace metatrain_timing::analyzer {
namespace {

using Options = std::map<std::string, std::string>;

std::string export_to_file(const std::string& path, const Options& options) {
    ExportQuestion question;
    question.path = path;
    question.run = option_text(options, "run");
    question.output = option_text(options, "output");
    if (const std::string steps = option_text(options, "steps"); !steps.empty()) {
        question.steps = StepSpan::parse(steps);
    }
    question.rank = parse_rank(option_text(options, "rank"));
    const ExportAnswer answer = export_run(question, {});
    return to_text({{"intervals", answer.slice_count},
                    {"bytes", answer.bytes},
                    {"warnings", warnings_json(answer.warnings)}});
}

std::string import_from_files(const std::string& paths, const Options& options) {
    const ImportAnswer answer = import_trace(
        split_text(paths, '\n'), parse_trace_source(option_text(options, "from")),
        option_text(options, "output"));
    return to_text({{"intervals", answer.interval_count},
                    {"events", answer.event_count},
                    {"warnings", warnings_json(answer.warnings)}});
}

}  // namespace

std::string run_json(const std::string& command, const std::string& path,
                     const std::map<std::string, std::string>& options) {
    if (command == "report") {
        const Run run = load_run(path, option_text(options, "run"));
        const Findings findings(run);
        Report report = make_report(findings);
        if (report.phases.empty()) {
            throw Error(no_steps_message(report, path));
        }
        const std::string phase = option_text(options, "phase");
        choose_phase(report, phase);
        report.advice = advise(findings, report);
        return to_text(report_json(report, phase));
    }
    if (command == "whatif") {
        const WhatIfQuestion question = read_question(options);
        const Run run = load_run(path, option_text(options, "run"));
        std::string problem;
        const auto answer = ask_what_if(Findings(run), question, problem);
        if (!answer) {
            throw Error(path + ": nothing to predict: " + problem);
        }
        return to_text(whatif_json(run, *answer));
    }
    if (command == "diff") {
        auto own = options;
        own.try_emplace("before", path);
        const DiffAnswer answer = diff_files(read_diff_question(own));
        return to_text(diff_json(answer.diff, answer.gate));
    }
    if (command == "history") {
        auto own = options;
        own.try_emplace("paths", path);
        const HistoryQuestion question = read_history_question(own);
        const HistoryFiles files =
            read_digests(question.paths, question.phase, digest_store_path(), {});
        const History history = make_history(files.runs, question.options);
        return to_text(history_json(history, check_history(question.fail_on, history),
                                    files.files, files.warnings));
    }
    if (command == "export") {
        return export_to_file(path, options);
    }
    if (command == "import") {
        return import_from_files(path, options);
    }
    if (command == "runs") {
        return to_text(runs_json(list_runs(path)));
    }
    if (command == "sql") {
        return to_text(query_json(run_query(path, option_text(options, "run"),
                                            option_text(options, "query"))));
    }
    throw Error(
        command +
            ": no such command; there are diff, export, history, import, report, runs, "
            "sql and whatif",
        ErrorCode::usage);
}

}  // namespace metatrain_timing::analyzer
