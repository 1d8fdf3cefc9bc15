#include "analyzer/analysis/gate.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <system_error>

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

[[noreturn]] void refuse(const std::string& text) {
    throw Error("--gate " + text +
                    ": give METRIC:LIMIT, as step:2% or loader:+1ms, several with a "
                    "comma between them",
                ErrorCode::usage);
}

GateRule parse_rule(const std::string& text, const std::string& all) {
    static const std::map<std::string, double> kUnits = {
        {"%", 0.01}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    GateRule rule;
    rule.text = text;
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        refuse(all);
    }
    rule.metric = text.substr(0, colon);
    const char* begin = text.data() + colon + 1;
    const char* end = text.data() + text.size();
    begin += begin < end && *begin == '+' ? 1 : 0;
    double value = 0;
    const auto [rest, error] = std::from_chars(begin, end, value);
    const auto unit = kUnits.find(std::string(rest, end));
    if (error != std::errc() || unit == kUnits.end() || !std::isfinite(value) ||
        value <= 0) {
        refuse(all);
    }
    rule.limit = value * unit->second;
    rule.is_relative = unit->first == "%";
    return rule;
}

const Metric& find_metric(const std::string& name, const Diff& diff) {
    if (name == "step") {
        return diff.step;
    }
    for (const Metric& metric : diff.distribution) {
        if (metric.name == name) {
            return metric;
        }
    }
    std::vector<const Metric*> named;
    for (const auto* metrics : {&diff.stages, &diff.fetches}) {
        for (const Metric& metric : *metrics) {
            if (metric.stage() == name) {
                return metric;
            }
            if (metric.path.back() == name) {
                named.push_back(&metric);
            }
        }
    }
    if (named.empty()) {
        throw Error("--gate " + name + ": no such metric or stage in these runs",
                    ErrorCode::usage);
    }
    if (named.size() > 1) {
        throw Error("--gate " + name + ": there are several, say " + named[0]->stage() +
                        " or " + named[1]->stage(),
                    ErrorCode::usage);
    }
    return *named.front();
}

// Those that surely take time.
std::string new_stages(const Diff& diff) {
    std::string names;
    for (const Metric& metric : diff.stages) {
        if (metric.change == Change::added && metric.low_ns.value_or(0) > 0) {
            names += (names.empty() ? "" : " ") + metric.stage();
        }
    }
    return names;
}

GateResult check_verdict(const std::string& failure, const Diff& diff) {
    if (std::find(kFailures.begin(), kFailures.end(), failure) == kFailures.end()) {
        throw Error("--fail-on " + failure +
                        ": give regressed, improved, inconclusive or new-stage",
                    ErrorCode::usage);
    }
    if (diff.step.change == Change::not_comparable) {
        return GateResult::undecided;
    }
    if (failure == "new-stage") {
        return new_stages(diff).empty() ? GateResult::passed : GateResult::failed;
    }
    if (failure != to_string(diff.step.change)) {
        return GateResult::passed;
    }
    return diff.step.change == Change::inconclusive ? GateResult::undecided
                                                    : GateResult::failed;
}

}  // namespace

std::vector<GateRule> parse_gate(const std::string& text) {
    std::vector<GateRule> rules;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        rules.push_back(parse_rule(text.substr(begin, end - begin), text));
        begin = end + 1;
    }
    return rules;
}

GateResult check(const GateRule& rule, const Diff& diff) {
    if (diff.step.change == Change::not_comparable) {
        return GateResult::undecided;
    }
    const Metric& metric = find_metric(rule.metric, diff);
    double limit_ns = rule.limit;
    if (rule.is_relative) {
        limit_ns *= metric.before_ns.value_or(0);
    }
    if (!metric.low_ns || !metric.high_ns || !diff.reasons.empty()) {
        return GateResult::undecided;
    }
    if (*metric.low_ns > 0 && metric.difference_ns >= limit_ns) {
        return GateResult::failed;
    }
    return *metric.high_ns < limit_ns ? GateResult::passed : GateResult::undecided;
}

GateOutcome check_all(const std::vector<std::string>& fail_on, const std::string& rules,
                      const Diff& diff) {
    GateOutcome outcome;
    for (const std::string& failure : fail_on) {
        const GateResult result = check_verdict(failure, diff);
        const bool has_names = failure == "new-stage" && result == GateResult::failed;
        outcome.add(has_names ? failure + ": " + new_stages(diff) : failure, result);
    }
    if (!rules.empty()) {
        for (const GateRule& rule : parse_gate(rules)) {
            outcome.add(rule.text, check(rule, diff));
        }
    }
    return outcome;
}

}  // namespace metatrain_timing::analyzer
