#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis/run_facts.hpp"

namespace metatrain_timing::analyzer {

/// "torch.version 2.12 -> 2.13", one after the other; a value that is not on record is
/// "none". Empty for no facts.
inline std::string changed_facts_text(const std::vector<ChangedFact>& facts,
                                      std::string_view separator) {
    const auto shown = [](const std::string& value) {
        return value.empty() ? std::string("none") : value;
    };
    std::string text;
    for (const ChangedFact& fact : facts) {
        text += fmt::format("{}{} {} -> {}", text.empty() ? "" : separator, fact.key,
                            shown(fact.before), shown(fact.after));
    }
    return text;
}

}  // namespace metatrain_timing::analyzer
