#include "analyzer/analysis/cpu_use.hpp"

#include <gtest/gtest.h>

namespace metatrain_timing::analyzer {
namespace {

// Half a CPU until 100, two from there on; no core was waited for before 100, and 10 of
// every 100 after it.
const std::vector<CpuReading> kReadings{{0, 5, 0}, {100, 55, 0}, {300, 455, 20}};

TEST(CpuUse, IsWhatLiesBetweenTwoReadings) {
    const auto use = cpu_use_between(kReadings, 100, 300);
    ASSERT_TRUE(use);
    EXPECT_EQ(use->wall_ns, 200);
    EXPECT_DOUBLE_EQ(use->cpu_ns, 400);
    EXPECT_DOUBLE_EQ(use->queued_ns, 20);
}

TEST(CpuUse, IsEvenFromOneReadingToTheNext) {
    const auto use = cpu_use_between(kReadings, 50, 200);
    ASSERT_TRUE(use);
    EXPECT_DOUBLE_EQ(use->cpu_ns, 25 + 200);
    EXPECT_DOUBLE_EQ(use->queued_ns, 10);
}

TEST(CpuUse, IsOfTheStretchThatTheReadingsCover) {
    const auto use = cpu_use_between(kReadings, -100, 300);
    ASSERT_TRUE(use);
    EXPECT_EQ(use->wall_ns, 300);
    EXPECT_DOUBLE_EQ(use->cpu_ns, 450);
    EXPECT_FALSE(cpu_use_between(kReadings, 200, 600));  // a quarter of it
}

TEST(CpuUse, IsUnknownWithoutTwoReadings) {
    EXPECT_FALSE(cpu_use_between({}, 0, 10));
    EXPECT_FALSE(cpu_use_between({{0, 5, 0}}, 0, 10));
    EXPECT_FALSE(cpu_use_between(kReadings, 400, 500));
    EXPECT_FALSE(cpu_use_between(kReadings, 100, 100));
}

TEST(CpuUse, DoesNotKnowTheQueueOfAWholeProcess) {
    const auto use = cpu_use_between({{0, 0, -1}, {100, 150, -1}}, 0, 100);
    ASSERT_TRUE(use);
    EXPECT_DOUBLE_EQ(use->cpu_ns, 150);
    EXPECT_EQ(use->queued_ns, -1);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
