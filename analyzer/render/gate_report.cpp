#include "analyzer/render/gate_report.hpp"

#include <utility>

namespace metatrain_timing::analyzer {

std::string gate_line(const GateOutcome& gate) {
    if (gate.rule.empty()) {
        return "";
    }
    std::string broken;
    for (const std::string& rule : gate.broken) {
        broken += (broken.empty() ? "" : ", ") + rule;
    }
    switch (gate.result) {
        case GateResult::failed:
            return "gate failed: " + broken;
        case GateResult::undecided:
            return "gate undecided: " + broken;
        case GateResult::passed:
            break;
    }
    return "gate passed: " + gate.rule;
}

Json gate_json(const GateOutcome& gate) {
    if (gate.rule.empty()) {
        return nullptr;
    }
    Json passed = nullptr;
    if (gate.result != GateResult::undecided) {
        passed = gate.result == GateResult::passed;
    }
    return {
        {"rule", gate.rule}, {"passed", std::move(passed)}, {"broken", gate.broken}};
}

}  // namespace metatrain_timing::analyzer
