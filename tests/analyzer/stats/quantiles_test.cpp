#include "analyzer/stats/quantiles.hpp"

#include <gtest/gtest.h>

namespace metatrain_timing::analyzer {
namespace {

using Values = std::vector<std::int64_t>;

TEST(Quantiles, LieBetweenOrderStatistics) {
    Values values{40, 10, 20, 30};
    EXPECT_DOUBLE_EQ(*quantile(values, 0.5), 25.0);
    EXPECT_DOUBLE_EQ(*quantile(values, 0.95), 38.5);  // position 2.85: 30 + 0.85 * 10
    EXPECT_DOUBLE_EQ(*quantile(values, 0), 10.0);
    EXPECT_DOUBLE_EQ(*quantile(values, 1), 40.0);
}

TEST(Quantiles, OfOneValueAreThatValue) {
    Values values{7};
    EXPECT_DOUBLE_EQ(*quantile(values, 0.95), 7.0);
}

TEST(Quantiles, OfNothingAreNothing) {
    Values values;
    EXPECT_EQ(quantile(values, 0.5), std::nullopt);
    EXPECT_FALSE(summarize(values).has_value());
}

TEST(Quantiles, SummaryHoldsMeanMedianAndTail) {
    Values values;
    for (int i = 100; i >= 0; --i) {
        values.push_back(i * i);
    }
    const auto summary = summarize(values);
    EXPECT_DOUBLE_EQ(summary->mean_ns, 3350.0);  // n (2n + 1) / 6 for n = 100
    EXPECT_DOUBLE_EQ(summary->median_ns, 2500.0);
    EXPECT_DOUBLE_EQ(summary->p95_ns, 9025.0);
    EXPECT_DOUBLE_EQ(summary->p99_ns, 9801.0);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
