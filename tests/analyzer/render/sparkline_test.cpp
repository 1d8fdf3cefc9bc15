#include "analyzer/render/sparkline.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace metatrain_timing::analyzer {
namespace {

using Values = std::vector<double>;

TEST(Sparkline, BarsGoFromTheLeastToTheGreatest) {
    EXPECT_EQ(sparkline(Values{10, 17, 13}, 80, true), "▁█▄");
    EXPECT_EQ(sparkline(Values{10, 17, 13}, 80, false), "073");
}

TEST(Sparkline, ValuesThatAreAllTheSameAreInTheMiddle) {
    EXPECT_EQ(sparkline(Values{5, 5}, 80, false), "44");
}

TEST(Sparkline, MoreValuesThanFitAreMeansOfNeighbours) {
    EXPECT_EQ(sparkline(Values{0, 2, 7, 9, 1, 1}, 3, false), "070");
}

TEST(Sparkline, NothingIsNothing) {
    EXPECT_EQ(sparkline(Values{}, 80, true), "");
    EXPECT_EQ(sparkline(Values{1}, 0, true), "");
}

}  // namespace
}  // namespace metatrain_timing::analyzer
