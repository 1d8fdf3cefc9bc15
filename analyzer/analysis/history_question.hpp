#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "analyzer/analysis/gate_outcome.hpp"
#include "analyzer/analysis/history.hpp"

namespace metatrain_timing::analyzer {

/// What is asked of `mt-analyze history`.
struct HistoryQuestion {
    std::vector<std::string> paths;  // files, folders, each with or without "@RUN"
    HistoryOptions options;
    std::string phase;                 // empty: the training
    std::vector<std::string> fail_on;  // of kHistoryFailures

    /// "2%" or "0.02".
    /// @throws Error (usage) with one line.
    void set_min_effect(const std::string& text);
};

/// A question of options as `run_json()` takes them: "paths" by lines, "fail-on" by
/// commas.
/// @throws Error (usage) with one line.
HistoryQuestion read_history_question(
    const std::map<std::string, std::string>& options);

/// What `--fail-on` takes: a verdict; "new-changepoint", a change of level within the
/// last five runs in either direction; "drift", a last level that gets slower.
inline constexpr std::array kHistoryFailures = {"regressed", "improved", "inconclusive",
                                                "new-changepoint", "drift"};

/// Of all current series; `inconclusive`, which is undecided, of that with the newest
/// run.
///
/// @throws Error (usage) for what is no gate.
GateOutcome check_history(const std::vector<std::string>& fail_on,
                          const History& history);

}  // namespace metatrain_timing::analyzer
