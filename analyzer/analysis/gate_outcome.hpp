#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace metatrain_timing::analyzer {

enum class GateResult : std::uint8_t { passed, failed, undecided };

/// What became of all gates that were asked for.
struct GateOutcome {
    std::string rule;  // all of them, as given; empty: none was asked for
    GateResult result = GateResult::passed;
    std::vector<std::string> broken;  // rules that failed or could not be decided

    /// One that failed decides, then one that could not be decided.
    void add(const std::string& one, GateResult of_it) {
        rule += (rule.empty() ? "" : ",") + one;
        if (of_it == GateResult::passed) {
            return;
        }
        broken.push_back(one);
        if (result != GateResult::failed) {
            result = of_it;
        }
    }
};

}  // namespace metatrain_timing::analyzer
