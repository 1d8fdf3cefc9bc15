#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/analysis/diff_options.hpp"

namespace metatrain_timing::analyzer {

/// What is asked of `mt-analyze diff`.
struct DiffQuestion {
    std::vector<std::string> before;  // paths, each with or without "@RUN"
    std::vector<std::string> after;
    DiffOptions options;
    std::string gate;                  // see parse_gate()
    std::vector<std::string> fail_on;  // of kFailures

    /// "2%" or "0.02".
    /// @throws Error (usage) with one line.
    void set_min_effect(const std::string& text);
    void set_run_noise(const std::string& text);
};

/// A question of options as `run_json()` takes them: "before" and "after" by lines,
/// "fail-on" by commas, "strict" and "force" are "true".
/// @throws Error (usage) with one line.
DiffQuestion read_diff_question(const std::map<std::string, std::string>& options);

}  // namespace metatrain_timing::analyzer
