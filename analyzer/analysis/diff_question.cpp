#include "analyzer/analysis/diff_question.hpp"

#include <limits>

#include "analyzer/analysis/question_text.hpp"
#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {

void DiffQuestion::set_min_effect(const std::string& text) {
    options.min_effect = parse_part("--min-effect", text);
}

void DiffQuestion::set_run_noise(const std::string& text) {
    options.noise = {parse_part("--run-noise", text),
                     std::numeric_limits<double>::infinity(), "given", 0};
}

DiffQuestion read_diff_question(const std::map<std::string, std::string>& options) {
    const auto text = [&](const char* name) { return option_text(options, name); };
    DiffQuestion question;
    question.before = split_text(text("before"), '\n');
    question.after = split_text(text("after"), '\n');
    if (question.before.empty() || question.after.empty()) {
        throw Error("diff: give runs before and after", ErrorCode::usage);
    }
    if (!text("min-effect").empty()) {
        question.set_min_effect(text("min-effect"));
    }
    if (!text("run-noise").empty()) {
        question.set_run_noise(text("run-noise"));
    }
    question.options.phase = text("phase");
    question.options.strict = text("strict") == "true";
    question.options.force = text("force") == "true";
    question.gate = text("gate");
    question.fail_on = split_text(text("fail-on"), ',');
    return question;
}

}  // namespace metatrain_timing::analyzer
