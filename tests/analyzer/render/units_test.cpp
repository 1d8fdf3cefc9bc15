#include "analyzer/render/units.hpp"

#include <gtest/gtest.h>

namespace metatrain_timing::analyzer {
namespace {

TEST(Units, DurationsHaveThreeDigitsAndTheUnitThatFits) {
    EXPECT_EQ(format_duration(0), "0 ns");
    EXPECT_EQ(format_duration(750), "750 ns");
    EXPECT_EQ(format_duration(38'200), "38.2 us");
    EXPECT_EQ(format_duration(2'613'000), "2.61 ms");
    EXPECT_EQ(format_duration(214'300'000), "214 ms");
    EXPECT_EQ(format_duration(999'800'000), "1.00 s");
    EXPECT_EQ(format_duration(24.34e9), "24.3 s");
    EXPECT_EQ(format_duration(119e9), "119 s");
    EXPECT_EQ(format_duration(200e9), "3 min 20 s");
    EXPECT_EQ(format_duration(5 * 3600e9 + 12 * 60e9), "5 h 12 min");
    EXPECT_EQ(format_duration(-2'613'000), "-2.61 ms");
}

TEST(Units, SharesThatAreNotNothingDoNotLookLikeIt) {
    EXPECT_EQ(format_share(0), "0 %");
    EXPECT_EQ(format_share(0.0001), "<0.1 %");
    EXPECT_EQ(format_share(0.012), "1.2 %");
    EXPECT_EQ(format_share(0.0996), "10 %");
    EXPECT_EQ(format_share(0.723), "72 %");
    EXPECT_EQ(format_share(1), "100 %");
}

TEST(Units, NumbersHaveThreeDigits) {
    EXPECT_EQ(format_number(0), "0");
    EXPECT_EQ(format_number(0.9384), "0.938");
    EXPECT_EQ(format_number(9.996), "10.0");
    EXPECT_EQ(format_number(71.6), "71.6");
    EXPECT_EQ(format_number(214.6), "215");
    EXPECT_EQ(format_number(12'800), "12,800");
    EXPECT_EQ(format_number(-1'234'567), "-1,234,567");
}

TEST(Units, WholeAmountsHaveNoDigitsAfterThePoint) {
    EXPECT_EQ(format_amount(0), "0");
    EXPECT_EQ(format_amount(8), "8");
    EXPECT_EQ(format_amount(-12), "-12");
    EXPECT_EQ(format_amount(12'800), "12,800");
    EXPECT_EQ(format_amount(2.5), "2.50");
    EXPECT_EQ(format_amount(1e300).substr(0, 2), "1,");
}

TEST(Units, AColumnHasTheDigitsOfItsGreatestValue) {
    EXPECT_EQ(decimals_for(5664), 0);
    EXPECT_EQ(decimals_for(213.8), 1);
    EXPECT_EQ(decimals_for(41.2), 1);
    EXPECT_EQ(decimals_for(9.996), 1);
    EXPECT_EQ(decimals_for(9.99), 2);
    EXPECT_EQ(decimals_for(0.478), 3);
    EXPECT_EQ(format_fixed(2.613, 1), "2.6");
    EXPECT_EQ(format_fixed(0.04, 1), "<0.1");
    EXPECT_EQ(format_fixed(0, 1), "0.0");
    EXPECT_EQ(format_fixed(3, 0), "3");
    EXPECT_EQ(format_fixed(0.3, 0), "<1");
}

TEST(Units, CountsHaveTheirPlural) {
    EXPECT_EQ(format_count(0, "epoch"), "0 epochs");
    EXPECT_EQ(format_count(1, "epoch"), "1 epoch");
    EXPECT_EQ(format_count(1600, "batch", "batches"), "1,600 batches");
    EXPECT_EQ(format_count(1, "batch", "batches"), "1 batch");
}

}  // namespace
}  // namespace metatrain_timing::analyzer
