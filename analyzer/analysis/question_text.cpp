#include "analyzer/analysis/question_text.hpp"

#include <charconv>
#include <sstream>
#include <system_error>

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {

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

std::string option_text(const std::map<std::string, std::string>& options,
                        const std::string& name) {
    const auto found = options.find(name);
    return found == options.end() ? std::string() : found->second;
}

}  // namespace metatrain_timing::analyzer
