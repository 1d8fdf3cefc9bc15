#include "analyzer/stats/series_mean.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace metatrain_timing::analyzer {
namespace {

// Values between -0.5 and 0.5 that do not depend on each other, `repeated` times each.
std::vector<double> noise(std::size_t count, std::size_t repeated) {
    std::mt19937_64 random(7);
    std::vector<double> series;
    while (series.size() < count) {
        const double value =
            static_cast<double>(random() >> 11U) / 9007199254740992.0 - 0.5;
        series.insert(series.end(), repeated, value);
    }
    series.resize(count);
    return series;
}

TEST(SeriesMean, BatchesAreOfNeighboursAndHoldAll) {
    EXPECT_EQ(batch_begin(0, 25), 0U);
    EXPECT_EQ(batch_begin(1, 25), 2U);
    EXPECT_EQ(batch_begin(9, 25), 22U);
    EXPECT_EQ(batch_begin(10, 25), 25U);
}

TEST(SeriesMean, VarianceByBatchesIsThatOfTheirMeans) {
    const std::array<double, 4> sums{10, 14, 6, 10};
    const std::array<std::size_t, 4> counts{2, 2, 2, 2};
    // means 5, 7, 3, 5: their variance is 8/3, that of the mean of four 2/3
    const VarianceTerm error = batch_variance(sums, counts);
    EXPECT_NEAR(error.variance, 2.0 / 3, 1e-12);
    EXPECT_EQ(error.df, 3);
}

TEST(SeriesMean, ConstantsAreKnownExactly) {
    const SeriesMean mean = estimate_mean(std::vector<double>(100, 4.0));
    EXPECT_EQ(mean.mean, 4);
    EXPECT_EQ(mean.error.variance, 0);
    EXPECT_EQ(mean.effective_count, 100);
}

TEST(SeriesMean, IndependentValuesCountOnce) {
    const SeriesMean mean = estimate_mean(noise(4000, 1));
    EXPECT_NEAR(mean.effective_count, 4000, 600);
    // 1/12 is the variance of one; the larger of two estimates is taken
    EXPECT_GT(mean.error.variance, 0.8 / 12 / 4000);
    EXPECT_LT(mean.error.variance, 2.5 / 12 / 4000);
}

TEST(SeriesMean, RepeatedValuesTellAsMuchAsOne) {
    const SeriesMean mean = estimate_mean(noise(4000, 10));
    EXPECT_NEAR(mean.effective_count, 400, 120);
    EXPECT_GT(mean.error.variance, 0.7 / 12 / 400);
    EXPECT_LT(mean.error.variance, 2.5 / 12 / 400);
}

TEST(SeriesMean, SeriesThatArePutTogetherFirstTellTheSame) {
    const SeriesMean mean = estimate_mean(noise(100'000, 50));
    EXPECT_NEAR(mean.effective_count, 2000, 500);
}

TEST(SeriesMean, FewValuesAreNoTrouble) {
    EXPECT_EQ(estimate_mean({}).mean, 0);
    EXPECT_EQ(estimate_mean(std::array{3.0}).mean, 3);
    EXPECT_EQ(estimate_mean(std::array{3.0, 5.0}).mean, 4);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
