#include "analyzer/analysis/diff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/analyzer/analysis/diff_scene.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::DiffScene;

// Runs of one machine that hardly differ.
DiffOptions quiet_runs() {
    DiffOptions options;
    options.noise = {0.001, std::numeric_limits<double>::infinity(), "given", 0};
    return options;
}

Diff diff_of(const DiffScene& before, const DiffScene& after,
             const DiffOptions& options = quiet_runs()) {
    static std::vector<std::vector<ComparedRun>> kept;  // diffs point to their runs
    kept.emplace_back();
    kept.back().push_back(before.prepare());
    kept.emplace_back();
    kept.back().push_back(after.prepare());
    return compare(kept[kept.size() - 2], kept.back(), options);
}

const Metric& stage(const Diff& diff, const std::string& path) {
    const auto found =
        std::find_if(diff.stages.begin(), diff.stages.end(),
                     [&](const Metric& metric) { return metric.stage() == path; });
    EXPECT_NE(found, diff.stages.end()) << path;
    return *found;
}

DiffScene other(std::uint64_t seed = 2) {
    DiffScene scene;
    scene.uuid = "b";
    scene.seed = seed;
    return scene;
}

TEST(Diff, RunsOfOneKindAreTheSame) {
    const Diff diff = diff_of({}, other());
    EXPECT_EQ(diff.step.change, Change::same);
    EXPECT_NEAR(*diff.step.before_ns, 36e6, 0.2e6);
    EXPECT_LT(std::abs(*diff.step.relative), 0.01);
    EXPECT_LT(*diff.step.relative_low, *diff.step.relative);
    EXPECT_GT(*diff.step.relative_high, *diff.step.relative);
    EXPECT_TRUE(diff.reasons.empty());
}

TEST(Diff, ALongerStageIsFoundAndIsTheCause) {
    DiffScene before;
    DiffScene after = other();
    before.steps = after.steps = 800;
    after.forward = 12;
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.step.change, Change::regressed);
    EXPECT_NEAR(*diff.step.relative, 2.0 / 36, 0.006);
    EXPECT_EQ(stage(diff, "step/forward").change, Change::regressed);
    EXPECT_NEAR(stage(diff, "step/forward").difference_ns, 2e6, 0.1e6);
    EXPECT_EQ(stage(diff, "step/backward").change, Change::same);
    EXPECT_EQ(stage(diff, "loader").change, Change::same);
}

TEST(Diff, StagesAddUpToTheStep) {
    DiffScene after = other();
    after.wait = 9;
    after.backward = 17;
    const Diff diff = diff_of({}, after);
    EXPECT_NEAR(stage(diff, "loader").difference_ns + stage(diff, "step").difference_ns,
                diff.step.difference_ns, 1);
    double parts = 0;
    for (const Metric& metric : diff.stages) {
        if (metric.path.size() == 2 && metric.path.front() == "step") {
            parts += metric.difference_ns;
        }
    }
    EXPECT_NEAR(parts, stage(diff, "step").difference_ns, 1);
}

TEST(Diff, SwappingTheSidesNegates) {
    DiffScene after = other();
    after.forward = 13;
    const Diff there = diff_of({}, after);
    const Diff back = diff_of(after, {});
    EXPECT_EQ(there.step.change, Change::regressed);
    EXPECT_EQ(back.step.change, Change::improved);
    EXPECT_NEAR(std::log1p(*there.step.relative), -std::log1p(*back.step.relative),
                1e-12);
    EXPECT_NEAR(there.step.difference_ns, -back.step.difference_ns, 1e-3);
}

TEST(Diff, ARunAgainstItselfIsExactlyTheSame) {
    const Diff diff = diff_of({}, {});
    EXPECT_EQ(diff.step.change, Change::same);
    EXPECT_EQ(diff.step.difference_ns, 0);
    EXPECT_EQ(*diff.step.relative, 0);
    for (const Metric& metric : diff.stages) {
        EXPECT_EQ(metric.difference_ns, 0) << metric.stage();
        EXPECT_EQ(metric.change, Change::same) << metric.stage();
    }
    ASSERT_EQ(diff.warnings.size(), 1U);
    EXPECT_EQ(diff.warnings.front().code, "same_run");
}

TEST(Diff, TwiceTheTimesTellTheSame) {
    DiffScene before;
    DiffScene after = other();
    after.forward = 12;
    const Diff diff = diff_of(before, after);
    for (DiffScene* scene : {&before, &after}) {
        scene->factor = [](int) { return 2.0; };
    }
    const Diff twice = diff_of(before, after);
    EXPECT_EQ(twice.step.change, diff.step.change);
    EXPECT_NEAR(*twice.step.relative, *diff.step.relative, 1e-6);
    EXPECT_NEAR(*twice.step.relative_low, *diff.step.relative_low, 1e-6);
}

TEST(Diff, SingleRunsOfUnknownNoiseAreNotCalledTheSame) {
    DiffScene after = other();
    after.forward = 11.8;
    EXPECT_EQ(diff_of({}, after, {}).step.change, Change::inconclusive);
    EXPECT_EQ(diff_of({}, after).step.change, Change::regressed);
    const Diff diff = diff_of({}, after, {});
    EXPECT_TRUE(diff.needed.runs.has_value());
    EXPECT_FALSE(diff.needed.steps.has_value()) << "steps do not tell runs apart";
}

TEST(Diff, AStageOfOneSideIsNewOrGone) {
    DiffScene after = other();
    after.check = 3;
    const Diff diff = diff_of({}, after);
    EXPECT_EQ(stage(diff, "step/check").change, Change::added);
    EXPECT_FALSE(stage(diff, "step/check").before_ns.has_value());
    EXPECT_FALSE(stage(diff, "step/check").relative.has_value());
    EXPECT_NEAR(stage(diff, "step/check").difference_ns, 3e6, 0.1e6);
    EXPECT_EQ(stage(diff_of(after, {}), "step/check").change, Change::removed);
}

TEST(Diff, TooFewStepsDecideNothing) {
    DiffScene before;
    DiffScene after = other();
    before.steps = after.steps = 12;
    after.forward = 30;
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.step.change, Change::inconclusive);
    EXPECT_EQ(diff.reasons.size(), 2U);  // of both sides
    EXPECT_GE(diff.needed.steps.value_or(0), 39);
}

TEST(Diff, ConstantStepsAreNoTrouble) {
    DiffScene before;
    DiffScene after = other();
    before.noise = after.noise = 0;
    EXPECT_EQ(diff_of(before, after).step.change, Change::same);
    after.forward = 12;
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.step.change, Change::regressed);
    EXPECT_NEAR(*diff.step.relative, 2.0 / 36, 1e-9);
    EXPECT_TRUE(std::isfinite(*diff.step.p));
}

TEST(Diff, StepsOfAnotherSizeAreComparedByWhatTheyCount) {
    DiffScene before;
    before.structures = 8;
    DiffScene after = other();
    after.structures = 16;
    after.factor = [](int) { return 2.0; };
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.unit, "structures");
    EXPECT_EQ(diff.units_before, 8);
    EXPECT_EQ(diff.units_after, 16);
    EXPECT_EQ(diff.step.change, Change::same);
    EXPECT_NEAR(*diff.step.before_ns, 36e6 / 8, 0.05e6);
    EXPECT_NEAR(stage(diff, "step/forward").difference_ns, 0, 0.02e6);
}

TEST(Diff, RunsThatChangeAtTheSameStepAreTheSame) {
    const auto slower_later = [](int step) { return step >= 340 ? 1.5 : 1.0; };
    DiffScene before;
    DiffScene after = other();
    before.steps = after.steps = 600;
    before.factor = after.factor = slower_later;
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.step.change, Change::same);
    ASSERT_EQ(diff.before.shifts.size(), 1U);
    EXPECT_NEAR(static_cast<double>(diff.before.shifts[0].step), 340, 10);
    EXPECT_NEAR(diff.before.shifts[0].relative, 0.5, 0.02);
}

TEST(Diff, ARunThatStoppedBeforeTheChangeIsNotFaster) {
    const auto slower_later = [](int step) { return step >= 340 ? 1.5 : 1.0; };
    DiffScene before;
    before.steps = 300;
    DiffScene after = other();
    after.steps = 600;
    after.factor = slower_later;
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.step.change, Change::same);
    EXPECT_EQ(diff.after.last_step, 299);
    ASSERT_EQ(diff.warnings.size(), 1U);
    EXPECT_EQ(diff.warnings.front().code, "step_changed");
    EXPECT_NE(diff.warnings.front().text.find("+50 %"), std::string::npos);
}

TEST(Diff, ARunThatChangesAloneDecidesNothing) {
    DiffScene before;
    DiffScene after = other();
    before.steps = after.steps = 600;
    after.factor = [](int step) { return step >= 340 ? 1.5 : 1.0; };
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.step.change, Change::inconclusive);
    ASSERT_EQ(diff.reasons.size(), 1U);
    EXPECT_NE(diff.reasons.front().find("did not stay the same"), std::string::npos);
}

// A stall of a second in every fiftieth step is in no part of the others.
TEST(Diff, LongStepsAreApart) {
    DiffScene after = other();
    after.steps = 400;
    after.factor = [](int step) { return step % 50 == 49 ? 30.0 : 1.0; };
    DiffScene before;
    before.steps = 400;
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.step.change, Change::same);
    EXPECT_EQ(stage(diff, "step/forward").change, Change::same);
    EXPECT_NEAR(*diff.beyond.front().after_ns, 29 * 36e6 / 50, 1e6);
    EXPECT_NEAR(diff.wall.difference_ns, 29 * 36e6 / 50, 1e6);
}

TEST(Diff, QuantilesOfFewStepsHaveNoInterval) {
    const Diff diff = diff_of({}, other());
    for (const Metric& metric : diff.distribution) {
        const bool known = metric.name == "mean" || metric.name == "median";
        EXPECT_EQ(metric.low_ns.has_value(), known) << metric.name;
    }
}

TEST(Diff, TheSlowestRankIsTheStep) {
    DiffScene before;
    before.ranks = 2;
    before.noise = 0;
    const Diff diff = diff_of(before, before);
    EXPECT_NEAR(*diff.step.before_ns, 36e6, 1);
    EXPECT_EQ(diff.before.steps, 199);
}

TEST(Diff, EpochStartsAreTheirOwn) {
    DiffScene before;
    before.epochs = 5;
    before.start = 100;
    DiffScene after = other();
    after.epochs = 5;
    after.start = 20;
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.step.change, Change::same);
    EXPECT_NEAR(*diff.epoch_start.before_ns, 100e6, 3e6);
    EXPECT_NEAR(diff.epoch_start.difference_ns, -80e6, 5e6);
    EXPECT_EQ(diff.epoch_start.change, Change::improved);
    double beyond_ns = 0;
    for (const Metric& part : diff.beyond) {
        beyond_ns += *part.before_ns;
    }
    EXPECT_NEAR(*diff.step.before_ns + beyond_ns, *diff.wall.before_ns, 1);
    // 5 starts of 80 ms less in 200 steps
    EXPECT_NEAR(diff.wall.difference_ns, -2e6, 0.3e6);
}

TEST(Diff, OtherWorkIsNotComparable) {
    auto before = DiffScene().build();
    auto after = other().build();
    before.processes[0].environment = {{"metatrain.device", "cpu"}, {"torch", "1"}};
    after.processes[0].environment = {{"metatrain.device", "cuda"}, {"torch", "2"}};
    std::vector<ComparedRun> a;
    std::vector<ComparedRun> b;
    a.push_back(*prepare("a.db", std::make_unique<decltype(before)>(before), ""));
    b.push_back(*prepare("b.db", std::make_unique<decltype(before)>(after), ""));
    DiffOptions options = quiet_runs();
    const Diff diff = compare(a, b, options);
    EXPECT_EQ(diff.step.change, Change::not_comparable);
    ASSERT_EQ(diff.changed.size(), 2U);
    EXPECT_EQ(diff.changed[0].key, "metatrain.device");
    EXPECT_EQ(diff.changed[1].key, "torch");
    options.force = true;
    EXPECT_EQ(compare(a, b, options).step.change, Change::same);
}

TEST(Diff, ReplicatesTellTheNoiseOfRuns) {
    std::vector<ComparedRun> before;
    std::vector<ComparedRun> after;
    const std::vector<double> noise{0.99, 1.0, 1.01};
    for (std::uint64_t i = 0; i < 3; ++i) {
        DiffScene one = other(10 + i);
        one.factor = [&, i](int) { return noise[i]; };
        before.push_back(one.prepare());
        one = other(20 + i);
        one.uuid = "c";
        one.factor = [&, i](int) { return 1.06 * noise[i]; };
        after.push_back(one.prepare());
    }
    const Diff diff = compare(before, after, {});
    EXPECT_EQ(diff.step.change, Change::regressed);
    EXPECT_NEAR(*diff.step.relative, 0.06, 0.003);
    EXPECT_EQ(diff.before.runs.size(), 3U);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
