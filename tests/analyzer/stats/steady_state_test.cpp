#include "analyzer/stats/steady_state.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace metatrain_timing::analyzer {
namespace {

using Series = std::vector<std::int64_t>;

// A wobble around 1000 that no cut improves on.
std::int64_t steady_value(std::size_t i) {
    return 1000 + static_cast<std::int64_t>((i * 7919) % 11);
}

Series steady_series(std::size_t count) {
    Series series;
    for (std::size_t i = 0; i < count; ++i) {
        series.push_back(steady_value(i));
    }
    return series;
}

TEST(SteadyState, SeriesThatIsSteadyIsKeptWhole) {
    const SteadyState steady = find_steady_state(Series(100, 1000));
    EXPECT_EQ(steady.from, 0U);
    EXPECT_TRUE(steady.settled);
}

TEST(SteadyState, WarmUpIsCutOffInBatchesOfFive) {
    Series series = steady_series(200);
    for (std::size_t i = 0; i < 15; ++i) {
        series[i] += 500;
    }
    const SteadyState steady = find_steady_state(series);
    EXPECT_GE(steady.from, 15U);
    EXPECT_LE(steady.from, 40U);
    EXPECT_TRUE(steady.settled);
}

TEST(SteadyState, ALoneSpikeIsNoWarmUp) {
    Series series = steady_series(100);
    series[2] = 100'000;
    Series without = steady_series(100);
    EXPECT_EQ(find_steady_state(series).from, find_steady_state(without).from);
}

TEST(SteadyState, ASeriesThatKeepsGettingSlowerNeverSettles) {
    Series series;
    for (std::int64_t i = 0; i < 200; ++i) {
        series.push_back(1000 + 10 * i);
    }
    const SteadyState steady = find_steady_state(series);
    EXPECT_FALSE(steady.settled);
    EXPECT_EQ(steady.from, 0U);
}

TEST(SteadyState, TooFewValuesAreNotCut) {
    Series series(19, 1000);
    series[0] = 50'000;
    series[1] = 50'000;
    series[2] = 50'000;
    EXPECT_EQ(find_steady_state(series).from, 0U);
    EXPECT_TRUE(find_steady_state(series).settled);
}

TEST(SteadyState, NothingIsSteadyFromItsBegin) {
    EXPECT_EQ(find_steady_state({}).from, 0U);
    EXPECT_TRUE(find_steady_state({}).settled);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
