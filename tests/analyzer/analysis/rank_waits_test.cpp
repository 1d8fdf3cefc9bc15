#include "analyzer/analysis/rank_waits.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::ModelBuilder;

constexpr double kMs = ModelBuilder::kMillisecond;

// What one step of a rank consists of, in milliseconds: wait, forward, backward, and
// the optimizer, which takes 2.
struct Step {
    double wait = 0;
    double forward = 0;
    double backward = 0;
};

// Each rank repeats its step ten times; clocks of ranks differ by 5 s.
Run ranks(const std::vector<Step>& steps) {
    ModelBuilder run;
    for (std::size_t rank = 0; rank < steps.size(); ++rank) {
        const auto main = run.main(static_cast<std::int64_t>(rank));
        const auto pass = run.iterator(run.loader(main, "data", 0), "train");
        double at = 5000.0 * static_cast<double>(rank);
        for (int batch = 0; batch < 10; ++batch) {
            const Step& step = steps[rank];
            const double body = at + step.wait;
            const double end = body + step.forward + step.backward + 2;
            run.add(main, "loader", at, body, {pass, batch, batch});
            run.add(main, "step", body, end, {pass, batch, batch});
            run.add(main, "forward", body, body + step.forward, {pass, batch, batch});
            run.add(main, "backward", body + step.forward, end - 2,
                    {pass, batch, batch});
            run.add(main, "optimizer", end - 2, end, {pass, batch, batch});
            at = end;
        }
    }
    return run.build();
}

RankWaits waits_of(const std::vector<Step>& steps) {
    const Run run = ranks(steps);
    const auto passes = find_passes(run);
    const auto groups = group_passes(run, passes);
    return find_rank_waits(run, passes, groups.groups.at(0));
}

TEST(RankWaits, NameTheRankThatWaitsLongerForItsData) {
    const RankWaits waits = waits_of({{5, 10, 40}, {35, 10, 10}});
    ASSERT_EQ(waits.ranks.size(), 2);
    EXPECT_EQ(waits.straggler, 1);
    EXPECT_EQ(waits.stage, "loader");
    EXPECT_DOUBLE_EQ(waits.cost_ns, 30 * kMs);
    EXPECT_DOUBLE_EQ(waits.step_ns, 57 * kMs);
    EXPECT_EQ(waits.ranks[0].steps, 9);  // the first of a pass has none before it
    EXPECT_DOUBLE_EQ(waits.ranks[0].own_ns, 17 * kMs);
    EXPECT_DOUBLE_EQ(waits.ranks[0].waits_for_others_ns, 30 * kMs);
    EXPECT_DOUBLE_EQ(waits.ranks[1].loader_ns, 35 * kMs);
    EXPECT_DOUBLE_EQ(waits.ranks[1].waits_for_others_ns, 0);
    EXPECT_DOUBLE_EQ(waits.ranks[1].last_share, 1);
}

TEST(RankWaits, NameTheRankWhoseOwnStagesTakeLonger) {
    const RankWaits waits = waits_of({{5, 40, 10}, {5, 10, 40}, {5, 10, 40}});
    EXPECT_EQ(waits.straggler, 0);
    EXPECT_EQ(waits.stage, "");
}

TEST(RankWaits, DoNotTellWhoIsSlowInsideOfBackward) {
    const RankWaits waits = waits_of({{5, 10, 50}, {5, 10, 50}});
    EXPECT_EQ(waits.ranks.size(), 2);
    EXPECT_FALSE(waits.straggler);
}

TEST(RankWaits, SayNothingOfRanksThatDoNotMeet) {
    EXPECT_TRUE(waits_of({{5, 10, 10}, {35, 10, 10}}).ranks.empty());
    EXPECT_TRUE(waits_of({{5, 10, 10}}).ranks.empty());
}

}  // namespace
}  // namespace metatrain_timing::analyzer
