#include "analyzer/stats/change_points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace metatrain_timing::analyzer {
namespace {

// Sums of twelve uniform values, less their mean: nearly normal with deviation 1.
class Noise {
  public:
    explicit Noise(std::uint64_t seed) : random_(seed) {}

    double next() {
        double sum = -6;
        for (int i = 0; i < 12; ++i) {
            sum += static_cast<double>(random_() >> 11U) / 9007199254740992.0;
        }
        return sum;
    }

  private:
    std::mt19937_64 random_;
};

std::vector<double> noise(std::size_t count, std::uint64_t seed, double rho = 0) {
    Noise source(seed);
    std::vector<double> series;
    double value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        value = rho * value + source.next();
        series.push_back(value);
    }
    return series;
}

TEST(ChangePoints, OneChangeIsFoundWhereItIs) {
    std::vector<double> series = noise(60, 1);
    for (std::size_t i = 40; i < series.size(); ++i) {
        series[i] += 6;
    }
    const auto points = find_change_points(series, {});
    ASSERT_EQ(points.size(), 1U);
    EXPECT_EQ(points[0].at, 40U);
    EXPECT_NEAR(points[0].shift, 6, 0.8);
    EXPECT_LE(points[0].p, 0.01);
}

TEST(ChangePoints, ValuesWithoutNoiseChangeToo) {
    std::vector<double> series(40, 1.0);
    std::fill(series.begin() + 15, series.end(), 1.1);
    const auto points = find_change_points(series, {});
    ASSERT_EQ(points.size(), 1U);
    EXPECT_EQ(points[0].at, 15U);
}

TEST(ChangePoints, ThereAndBackAreTwo) {
    std::vector<double> series = noise(90, 2);
    for (std::size_t i = 30; i < 60; ++i) {
        series[i] -= 5;
    }
    const auto points = find_change_points(series, {});
    ASSERT_EQ(points.size(), 2U);
    EXPECT_NEAR(static_cast<double>(points[0].at), 30, 1);
    EXPECT_NEAR(static_cast<double>(points[1].at), 60, 1);
    EXPECT_LT(points[0].shift, 0);
    EXPECT_GT(points[1].shift, 0);
}

TEST(ChangePoints, ASpikeIsNone) {
    std::vector<double> series = noise(50, 3);
    series[20] += 40;
    series[21] += 40;
    EXPECT_TRUE(find_change_points(series, {}).empty());
}

TEST(ChangePoints, SmallShiftsAreLeftAlone) {
    std::vector<double> series(40, 1.0);
    for (std::size_t i = 0; i < series.size(); ++i) {
        series[i] = (i < 20 ? 1.0 : 1.5) + 0.01 * static_cast<double>(i % 3);
    }
    EXPECT_EQ(find_change_points(series, {}).size(), 1U);
    LevelChange change;
    change.least_shift = 1;
    EXPECT_TRUE(find_change_points(series, change).empty());
}

// At 1 % a series of 300 has a change: binomial, at most 9 with 99.9 %.
TEST(ChangePoints, NoiseRarelyHasOne) {
    int flagged = 0;
    int dependent = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        flagged += find_change_points(noise(50, seed), {}).empty() ? 0 : 1;
        dependent += find_change_points(noise(50, seed, 0.5), {}).empty() ? 0 : 1;
    }
    EXPECT_LE(flagged, 9);
    EXPECT_LE(dependent, 18);
}

TEST(ChangePoints, FewOrEqualValuesHaveNone) {
    EXPECT_TRUE(find_change_points({}, {}).empty());
    EXPECT_TRUE(find_change_points(std::vector<double>{1, 2}, {}).empty());
    EXPECT_TRUE(find_change_points(std::vector<double>(30, 5.0), {}).empty());
}

}  // namespace
}  // namespace metatrain_timing::analyzer
