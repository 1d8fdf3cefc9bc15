#pragma once

#include <array>
#include <string>
#include <vector>

#include "analyzer/analysis/diff.hpp"
#include "analyzer/analysis/gate_outcome.hpp"

namespace metatrain_timing::analyzer {

/// A limit that the second side of a diff is held to.
struct GateRule {
    std::string text;    // as given: "step:2%", "loader:+1ms"
    std::string metric;  // "step" or the name of a stage
    double limit = 0;    // of the difference: a part, or nanoseconds
    bool is_relative = true;
};

/// `METRIC:LIMIT[,METRIC:LIMIT...]`, a limit as "2%", "+1ms", "300us" or "0.5s".
///
/// @throws Error (usage) for anything else.
std::vector<GateRule> parse_gate(const std::string& text);

/// Failed where the time grew for sure and by the limit or more, passed where it surely
/// grew by less than that, or shrank.
///
/// @throws Error (usage) for a stage that neither side has.
GateResult check(const GateRule& rule, const Diff& diff);

/// What `--fail-on` takes: a verdict, or "new-stage".
inline constexpr std::array kFailures = {"regressed", "improved", "inconclusive",
                                         "new-stage"};

/// Both kinds of gates: the verdicts of `fail_on`, and rules as `parse_gate()` takes
/// them, or none. What is inconclusive or not comparable is undecided.
///
/// @throws Error (usage) for what is no gate.
GateOutcome check_all(const std::vector<std::string>& fail_on, const std::string& rules,
                      const Diff& diff);

}  // namespace metatrain_timing::analyzer
