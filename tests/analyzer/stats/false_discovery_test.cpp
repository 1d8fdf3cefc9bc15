#include "analyzer/stats/false_discovery.hpp"

#include <gtest/gtest.h>

#include <array>

namespace metatrain_timing::analyzer {
namespace {

// The example of Benjamini & Hochberg (1995), section 4: four of fifteen.
TEST(FalseDiscovery, ExampleOfThePaper) {
    const std::array p_values{0.0001, 0.0004, 0.0019, 0.0095, 0.0201,
                              0.0278, 0.0298, 0.0344, 0.0459, 0.3240,
                              0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    const std::vector<bool> believed = believe(p_values, 0.05);
    for (std::size_t i = 0; i < p_values.size(); ++i) {
        EXPECT_EQ(believed[i], i < 4) << i;
    }
}

// The greatest that is small enough for its place takes all below along.
TEST(FalseDiscovery, OneThatIsLowTakesThoseBelowAlong) {
    const std::array p_values{0.049, 0.9, 0.032, 0.031};
    EXPECT_EQ(believe(p_values, 0.05), (std::vector<bool>{false, false, false, false}));
    const std::array all{0.049, 0.048, 0.047};
    EXPECT_EQ(believe(all, 0.05), (std::vector<bool>{true, true, true}));
}

TEST(FalseDiscovery, NothingOfNothing) {
    EXPECT_TRUE(believe({}, 0.05).empty());
}

}  // namespace
}  // namespace metatrain_timing::analyzer
