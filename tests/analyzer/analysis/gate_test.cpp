#include "analyzer/analysis/gate.hpp"

#include <gtest/gtest.h>

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

// A step of 40 ms that took `difference` more, give or take `half`.
Diff step_of(double difference_ms, double half_ms) {
    Diff diff;
    diff.step.name = "step";
    diff.step.before_ns = 40e6;
    diff.step.difference_ns = difference_ms * 1e6;
    diff.step.low_ns = (difference_ms - half_ms) * 1e6;
    diff.step.high_ns = (difference_ms + half_ms) * 1e6;
    Metric wait = diff.step;
    wait.name = "stage";
    wait.path = {"loader"};
    diff.stages.push_back(wait);
    return diff;
}

TEST(Gate, RulesAreReadWithTheirUnits) {
    const auto rules = parse_gate("step:2%,loader:+1.5ms,step/forward:300us");
    ASSERT_EQ(rules.size(), 3U);
    EXPECT_EQ(rules[0].metric, "step");
    EXPECT_TRUE(rules[0].is_relative);
    EXPECT_DOUBLE_EQ(rules[0].limit, 0.02);
    EXPECT_EQ(rules[1].metric, "loader");
    EXPECT_FALSE(rules[1].is_relative);
    EXPECT_DOUBLE_EQ(rules[1].limit, 1.5e6);
    EXPECT_EQ(rules[2].metric, "step/forward");
    EXPECT_DOUBLE_EQ(rules[2].limit, 3e5);
}

TEST(Gate, OthersAreUsageErrors) {
    for (const char* text :
         {"", "step", ":2%", "step:", "step:2", "step:-2%", "step:0%", "step:x%",
          "step:2%,", "step:nan%", "step:1e999ms", "step:2 %"}) {
        EXPECT_THROW(parse_gate(text), Error) << text;
    }
}

TEST(Gate, FailsOnWhatIsSureAndLargeEnough) {
    const GateRule rule = parse_gate("step:2%").front();  // 0.8 ms
    EXPECT_EQ(check(rule, step_of(1.0, 0.5)), GateResult::failed);
    EXPECT_EQ(check(rule, step_of(1.0, 1.5)), GateResult::undecided);
    EXPECT_EQ(check(rule, step_of(0.3, 0.2)), GateResult::passed);
    EXPECT_EQ(check(rule, step_of(0.3, 0.6)), GateResult::undecided);
    EXPECT_EQ(check(rule, step_of(-5, 1)), GateResult::passed);
}

TEST(Gate, StagesHaveLimitsOfTheirOwn) {
    const Diff diff = step_of(1.2, 0.1);
    EXPECT_EQ(check(parse_gate("loader:+1ms").front(), diff), GateResult::failed);
    EXPECT_EQ(check(parse_gate("loader:+2ms").front(), diff), GateResult::passed);
    EXPECT_THROW(check(parse_gate("loadre:+2ms").front(), diff), Error);
}

TEST(Gate, ANameOfSeveralStagesIsAUsageError) {
    Diff diff = step_of(1.2, 0.1);
    Metric fetch = diff.stages.front();
    fetch.path = {"fetch", "loader"};
    diff.fetches.push_back(fetch);
    EXPECT_EQ(check(parse_gate("loader:+1ms").front(), diff), GateResult::failed);
    diff.stages.front().path = {"step", "loader"};
    EXPECT_THROW(check(parse_gate("loader:+1ms").front(), diff), Error);
    EXPECT_EQ(check(parse_gate("fetch/loader:+1ms").front(), diff), GateResult::failed);
}

TEST(Gate, WhereThereAreReasonsNothingIsDecided) {
    Diff diff = step_of(1.2, 0.1);
    diff.reasons.emplace_back("too few steps");
    EXPECT_EQ(check(parse_gate("loader:+1ms").front(), diff), GateResult::undecided);
    EXPECT_EQ(check(parse_gate("loader:+9ms").front(), diff), GateResult::undecided);
}

TEST(Gate, RunsThatAreNotComparableDecideNothing) {
    Diff diff = step_of(5, 0.1);
    diff.step.change = Change::not_comparable;
    EXPECT_EQ(check(parse_gate("step:2%").front(), diff), GateResult::undecided);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
