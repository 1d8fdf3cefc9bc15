#include "analyzer/analysis/newest_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace metatrain_timing::analyzer {
namespace {

NewestRun judge(const std::vector<double>& series, double within = 0,
                double least = 0) {
    RunLevels levels;
    levels.levels.push_back({0, series.size(), 0, {}, 1});
    return judge_newest(series, levels, within, least, 0.99);
}

// Of 1, 2, 3, 4, 5: mean 3, variance 2.5; t of 0.995 with 4 degrees of freedom 4.604,
// times the root of 2.5 * 6 / 5.
constexpr double kHalf = 4.6040948713 * 1.7320508076;

TEST(NewestRun, WithinThePredictionIntervalIsNormal) {
    const NewestRun newest = judge({1, 2, 3, 4, 5, 10.9});
    EXPECT_EQ(newest.verdict, NewestVerdict::normal);
    EXPECT_NEAR(newest.low.value(), 3 - kHalf, 1e-6);
    EXPECT_NEAR(newest.high.value(), 3 + kHalf, 1e-6);
    EXPECT_EQ(newest.runs, 5U);
    EXPECT_FALSE(newest.again);
}

TEST(NewestRun, OutsideIsSlowerOrFaster) {
    EXPECT_EQ(judge({1, 2, 3, 4, 5, 11.1}).verdict, NewestVerdict::slower);
    EXPECT_EQ(judge({1, 2, 3, 4, 5, -5.1}).verdict, NewestVerdict::faster);
    EXPECT_FALSE(judge({1, 2, 3, 4, 5, 11.1}).again);
}

TEST(NewestRun, TwoOddRunsAreJudgedByThoseBeforeBoth) {
    const NewestRun newest = judge({1, 2, 3, 4, 5, 12, 11.5});
    EXPECT_EQ(newest.verdict, NewestVerdict::slower);
    EXPECT_TRUE(newest.again);
    EXPECT_EQ(newest.runs, 5U);
    EXPECT_NEAR(newest.high.value(), 3 + kHalf, 1e-6);
}

TEST(NewestRun, OneSlowerAndOneFasterIsNotTwice) {
    EXPECT_FALSE(judge({1, 2, 3, 4, 5, -6, 30}).again);
}

TEST(NewestRun, WhatDoesNotMatterIsNormal) {
    EXPECT_EQ(judge({1, 1, 1, 1, 1, 1.5}).verdict, NewestVerdict::slower);
    EXPECT_EQ(judge({1, 1, 1, 1, 1, 1.5}, 0, 0.6).verdict, NewestVerdict::normal);
}

TEST(NewestRun, NoRunIsKnownBetterThanItsOwnError) {
    // variance 0.25 of its own: t 4.604 times the root of 0.25 * 6 / 5
    EXPECT_NEAR(judge({1, 1, 1, 1, 1, 1.5}, 0.25).high.value(),
                1 + 4.6040948713 * std::sqrt(0.3), 1e-6);
}

TEST(NewestRun, ThreeRunsTellTooLittle) {
    const NewestRun newest = judge({1, 2, 3, 100});
    EXPECT_EQ(newest.verdict, NewestVerdict::unknown);
    EXPECT_FALSE(newest.low);
    EXPECT_EQ(newest.runs, 3U);
    EXPECT_EQ(judge({1}).verdict, NewestVerdict::unknown);
}

TEST(NewestRun, OnlyItsLevelCounts) {
    const std::vector<double> series{50, 50, 50, 50, 1, 2, 3, 4, 5, 50};
    RunLevels levels;
    levels.levels.push_back({0, 4, 0, {}, 1});
    levels.levels.push_back({4, series.size(), 0, {}, 0.001});
    const NewestRun newest = judge_newest(series, levels, 0, 0, 0.99);
    EXPECT_EQ(newest.verdict, NewestVerdict::slower);
    EXPECT_EQ(newest.runs, 5U);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
