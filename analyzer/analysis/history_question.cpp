#include "analyzer/analysis/history_question.hpp"

#include <algorithm>

#include "analyzer/analysis/question_text.hpp"
#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Whether a series is what a gate is to fail on.
bool fails_on(const std::string& failure, const HistorySeries& series) {
    if (failure == "new-changepoint") {
        return series.has_recent_change();
    }
    if (failure == "drift") {
        return series.drift.value_or(0) > 0;
    }
    return failure == to_string(series.verdict);
}

GateResult check(const std::string& failure, const History& history) {
    if (std::find(kHistoryFailures.begin(), kHistoryFailures.end(), failure) ==
        kHistoryFailures.end()) {
        throw Error("--fail-on " + failure +
                        ": give regressed, improved, inconclusive, new-changepoint or "
                        "drift",
                    ErrorCode::usage);
    }
    if (failure == to_string(HistoryVerdict::inconclusive)) {
        return fails_on(failure, history.series.front()) ? GateResult::undecided
                                                         : GateResult::passed;
    }
    const bool any = std::any_of(history.series.begin(), history.series.end(),
                                 [&](const HistorySeries& series) {
                                     return series.current && fails_on(failure, series);
                                 });
    return any ? GateResult::failed : GateResult::passed;
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
        outcome.add(failure, check(failure, history));
    }
    return outcome;
}

}  // namespace metatrain_timing::analyzer
