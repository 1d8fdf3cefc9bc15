#include "analyzer/analysis/diff_question.hpp"

#include <charconv>
#include <limits>
#include <sstream>
#include <system_error>

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

double parse_part(const std::string& option, const std::string& text) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const std::string unit(rest, end);
    value *= unit == "%" ? 0.01 : 1;
    // 0.5 without a unit is more likely meant as percent
    const double most = unit == "%" ? 1 : 0.2;
    const bool is_part = value >= 0 && value <= most;  // false for nan
    if (error != std::errc() || (!unit.empty() && unit != "%") || !is_part) {
        throw Error(
            option + " " + text + ": give a part of the step time, as 2% or 0.02",
            ErrorCode::usage);
    }
    return value;
}

std::vector<std::string> split_text(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) {
        parts.push_back(part);
    }
    return parts;
}

}  // namespace

void DiffQuestion::set_min_effect(const std::string& text) {
    options.min_effect = parse_part("--min-effect", text);
}

void DiffQuestion::set_run_noise(const std::string& text) {
    options.noise = {parse_part("--run-noise", text),
                     std::numeric_limits<double>::infinity(), "given", 0};
}

DiffQuestion read_diff_question(const std::map<std::string, std::string>& options) {
    const auto text = [&](const char* name) {
        const auto found = options.find(name);
        return found == options.end() ? std::string() : found->second;
    };
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
