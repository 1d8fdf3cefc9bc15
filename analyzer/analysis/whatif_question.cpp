#include "analyzer/analysis/whatif_question.hpp"

#include <CLI/StringTools.hpp>
#include <CLI/TypeTools.hpp>

#include "analyzer/analysis/question_text.hpp"
#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& text,
                         const std::string& wanted) {
    throw Error(name + " " + text + ": give " + wanted, ErrorCode::usage);
}

std::vector<std::string> parts_of(const std::map<std::string, std::string>& options,
                                  const std::string& name, char delimiter) {
    const auto found = options.find(name);
    if (found == options.end() || found->second.empty()) {
        return {};
    }
    return CLI::detail::split(found->second, delimiter);
}

std::vector<std::int64_t> integers(const std::map<std::string, std::string>& options,
                                   const std::string& name, std::int64_t least,
                                   std::int64_t most) {
    std::vector<std::int64_t> values;
    for (const std::string& part : parts_of(options, name, ',')) {
        std::int64_t value = 0;
        if (!CLI::detail::lexical_cast(part, value) || value < least || value > most) {
            refuse(name, part,
                   "numbers from " + std::to_string(least) + " to " +
                       std::to_string(most));
        }
        values.push_back(value);
    }
    return values;
}

std::vector<bool> booleans(const std::map<std::string, std::string>& options,
                           const std::string& name) {
    std::vector<bool> values;
    for (const std::string& part : parts_of(options, name, ',')) {
        if (part != "true" && part != "false") {
            refuse(name, part, "true or false, or both as true,false");
        }
        values.push_back(part == "true");
    }
    return values;
}

}  // namespace

void WhatIfQuestion::add_scale(const std::string& text) {
    const auto at = text.rfind('=');
    double factor = -1;
    if (at == std::string::npos || at == 0 ||
        !CLI::detail::lexical_cast(text.substr(at + 1), factor) ||
        !(factor >= 0 && factor <= kMostScale)) {
        refuse("--scale", text, "a stage and a factor up to 1000, as collate=0.5");
    }
    scale[text.substr(0, at)] = factor;
}

WhatIfQuestion read_question(const std::map<std::string, std::string>& options) {
    WhatIfQuestion question;
    question.num_workers =
        integers(options, "num-workers", 0, WhatIfQuestion::kMostWorkers);
    question.prefetch_factor =
        integers(options, "prefetch-factor", 1, WhatIfQuestion::kMostPrefetch);
    question.in_order = booleans(options, "in-order");
    question.persistent_workers = booleans(options, "persistent-workers");
    question.pin_memory = booleans(options, "pin-memory");
    for (const std::string& line : parts_of(options, "scale", '\n')) {
        question.add_scale(line);
    }
    question.phase = option_text(options, "phase");
    return question;
}

}  // namespace metatrain_timing::analyzer
