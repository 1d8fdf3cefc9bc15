#include "analyzer/stats/estimate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace metatrain_timing::analyzer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Estimate, SingleRunsHaveTheirErrorsAndTheNoiseOfBoth) {
    const std::array before{RunValue{1, {0.04, 9}}};
    const std::array after{RunValue{3, {0.01, 19}}};
    const Difference difference = estimate_difference(before, after, {0.25, kInfinity});
    EXPECT_DOUBLE_EQ(difference.value, 2);
    EXPECT_DOUBLE_EQ(difference.error.variance, 0.04 + 0.01 + 2 * 0.25);
    const double weights = 0.04 * 0.04 / 9 + 0.01 * 0.01 / 19;
    EXPECT_NEAR(difference.error.df, 0.55 * 0.55 / weights, 1e-9);
}

TEST(Estimate, ReplicatesTellTheNoiseTogetherWithWhatWasAssumed) {
    const std::array before{RunValue{1, {0.1, 9}}, RunValue{3, {0.1, 9}}};
    const std::array after{RunValue{4, {0.1, 9}}, RunValue{8, {0.1, 9}}};
    const Difference difference = estimate_difference(before, after, {0.4, 3});
    EXPECT_DOUBLE_EQ(difference.value, 4);
    // (3 x (0.4 + 0.1) + 2 + 8) / (3 + 2), over two runs a side
    EXPECT_DOUBLE_EQ(difference.error.variance, 2.3 * (0.5 + 0.5));
    EXPECT_DOUBLE_EQ(difference.error.df, 5);
}

TEST(Estimate, ReplicatesThatAgreeByChanceAreNoBetterThanEachRun) {
    const std::array before{RunValue{1, {0.1, 9}}, RunValue{1, {0.1, 9}}};
    const std::array after{RunValue{2, {0.1, 9}}, RunValue{2, {0.1, 9}}};
    const Difference difference = estimate_difference(before, after, {0, 1});
    EXPECT_DOUBLE_EQ(difference.error.variance, 0.1);
}

TEST(Estimate, NoiseThatIsGivenIsNotLearned) {
    const std::array before{RunValue{1, {0, 9}}, RunValue{3, {0, 9}}};
    const std::array after{RunValue{4, {0, 9}}};
    const Difference difference = estimate_difference(before, after, {0.01, kInfinity});
    EXPECT_DOUBLE_EQ(difference.error.variance, 0.015);
    EXPECT_EQ(difference.error.df, kInfinity);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
