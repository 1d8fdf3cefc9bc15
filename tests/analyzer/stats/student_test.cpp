#include "analyzer/stats/student.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace metatrain_timing::analyzer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Values of scipy.stats.t and norm.
TEST(Student, IntervalsAreThoseOfTheDistribution) {
    EXPECT_NEAR(half_width({1, kInfinity}, 0.99), 2.5758293, 1e-6);
    EXPECT_NEAR(half_width({1, 5}, 0.99), 4.0321430, 1e-6);
    EXPECT_NEAR(half_width({4, 5}, 0.99), 2 * 4.0321430, 1e-6);
    EXPECT_EQ(half_width({0, 5}, 0.99), 0);
}

TEST(Student, TwoSidedProbabilities) {
    EXPECT_NEAR(two_sided_p(2, {1, 10}), 0.0733880, 1e-6);
    EXPECT_NEAR(two_sided_p(-2, {1, 10}), 0.0733880, 1e-6);
    EXPECT_EQ(two_sided_p(0, {0, 1}), 1);
    EXPECT_EQ(two_sided_p(1, {0, 1}), 0);
}

TEST(Student, TooFewDegreesOfFreedomStayFinite) {
    EXPECT_TRUE(std::isfinite(half_width({1, 0}, 0.99)));
    EXPECT_TRUE(std::isfinite(two_sided_p(3, {1, 0})));
}

TEST(Student, TermsAddUpWithTheDegreesOfFreedomOfWelch) {
    const std::array terms{VarianceTerm{4, 5}, VarianceTerm{1, 9}};
    const VarianceTerm sum = add_terms(terms);
    EXPECT_DOUBLE_EQ(sum.variance, 5);
    EXPECT_NEAR(sum.df, 25 / (16.0 / 5 + 1.0 / 9), 1e-12);
    const std::array known{VarianceTerm{4, kInfinity}, VarianceTerm{0, 0}};
    EXPECT_EQ(add_terms(known).df, kInfinity);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
