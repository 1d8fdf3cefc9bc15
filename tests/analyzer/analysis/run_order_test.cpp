#include "analyzer/analysis/run_order.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace metatrain_timing::analyzer {
namespace {

using Values = std::vector<double>;
using Settings = std::vector<std::string>;

TEST(RunOrder, ASteadyRiseIsATrendOfItsSlope) {
    const auto trend = find_trend(Values{0, 2, 4, 6, 8, 10, 12, 14, 16, 18});
    ASSERT_TRUE(trend);
    EXPECT_DOUBLE_EQ(trend->per_run, 2);
    EXPECT_LT(trend->p, 1e-6);
}

TEST(RunOrder, UpAndDownIsNoTrend) {
    const auto trend = find_trend(Values{1, -1, 1, -1, 1, -1, 1, -1, 1, -1});
    ASSERT_TRUE(trend);
    EXPECT_GT(trend->p, 0.1);
}

TEST(RunOrder, FewValuesHaveNoTrend) {
    EXPECT_FALSE(find_trend(Values{1, 2, 3, 4, 5, 6, 7}));
}

// Two blocks of three, each rising by 1 a run: the second is 3 higher, as the drift
// alone would make it.
TEST(RunOrder, ADriftThroughBothBlocksExplainsTheirDifference) {
    const auto effects = find_order_effects(Values{0, 1, 2.1, 3, 4.1, 5},
                                            Settings{"a", "a", "a", "b", "b", "b"}, 1);
    ASSERT_EQ(effects.size(), 1U);
    EXPECT_EQ(effects[0].before, "a");
    EXPECT_EQ(effects[0].after, "b");
    EXPECT_EQ(effects[0].at, 3U);
    EXPECT_NEAR(effects[0].difference, 3, 1e-9);
    EXPECT_NEAR(effects[0].by_drift, 3.075, 1e-9);  // slope (2.1 + 2) / 4
    EXPECT_DOUBLE_EQ(effects[0].correlation, 1);
}

TEST(RunOrder, AStepBetweenLevelBlocksIsNotExplained) {
    EXPECT_TRUE(find_order_effects(Values{0, 0.1, 0, 3, 3.1, 3},
                                   Settings{"a", "a", "a", "b", "b", "b"}, 1)
                    .empty());
}

TEST(RunOrder, ByTurnsTheOrderExplainsNothing) {
    EXPECT_TRUE(find_order_effects(Values{0, 4, 1, 5, 2, 6},
                                   Settings{"a", "b", "a", "b", "a", "b"}, 1)
                    .empty());
}

TEST(RunOrder, SmallDifferencesAreNotTold) {
    EXPECT_TRUE(find_order_effects(Values{0, 1, 2.1, 3, 4.1, 5},
                                   Settings{"a", "a", "a", "b", "b", "b"}, 3.5)
                    .empty());
}

}  // namespace
}  // namespace metatrain_timing::analyzer
