#include "analyzer/analysis/history_question.hpp"

#include <algorithm>

#include "analyzer/analysis/question_text.hpp"
#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

GateResult check(const std::string& failure, const HistorySeries& series) {
    if (std::find(kHistoryFailures.begin(), kHistoryFailures.end(), failure) ==
        kHistoryFailures.end()) {
        throw Error("--fail-on " + failure +
                        ": give regressed, improved, inconclusive or new-changepoint",
                    ErrorCode::usage);
    }
    if (failure == "new-changepoint") {
        return series.has_recent_change() ? GateResult::failed : GateResult::passed;
    }
    if (failure != to_string(series.verdict)) {
        return GateResult::passed;
    }
    return series.verdict == HistoryVerdict::inconclusive ? GateResult::undecided
                                                          : GateResult::failed;
}

}  // namespace

void HistoryQuestion::set_min_effect(const std::string& text) {
    options.min_effect = parse_part("--min-effect", text);
}

HistoryQuestion read_history_question(
    const std::map<std::string, std::string>& options) {
    const auto text = [&](const char* name) { return option_text(options, name); };
    HistoryQuestion question;
    question.paths = split_text(text("paths"), '\n');
    if (question.paths.empty()) {
        throw Error("history: give files or folders with runs", ErrorCode::usage);
    }
    if (!text("metric").empty()) {
        question.options.metric = text("metric");
    }
    if (!text("min-effect").empty()) {
        question.set_min_effect(text("min-effect"));
    }
    question.options.by = text("by");
    question.phase = text("phase");
    question.fail_on = split_text(text("fail-on"), ',');
    return question;
}

GateOutcome check_history(const std::vector<std::string>& fail_on,
                          const History& history) {
    GateOutcome outcome;
    for (const std::string& failure : fail_on) {
        outcome.add(failure, check(failure, history.series.front()));
    }
    return outcome;
}

}  // namespace metatrain_timing::analyzer
