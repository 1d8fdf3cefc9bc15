#include "recorder/core/src/tick_scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>

namespace metatrain_timing::detail {
namespace {

constexpr std::int64_t kPeriodNs = 50'000'000;

/// A counter of 2.5 GHz and a clock, both turned by hand.
class TickFollowerTest : public testing::Test {
  protected:
    /// Lets time pass. `rate`: how much faster the clock goes than it should.
    void pass(std::int64_t ns, double rate = 0) {
        now_.ticks += static_cast<std::uint64_t>(ns * 5 / 2);
        now_.ns += ns + std::llround(static_cast<double>(ns) * rate);
    }

    void follow() { scale_ = follower_.follow(now_); }

    void settle() {
        follow();
        for (int i = 0; i < 40; ++i) {
            pass(kPeriodNs);
            follow();
        }
    }

    std::int64_t error_ns() const { return scale_->ns(now_.ticks) - now_.ns; }

    TickReading now_{7'000'000'000, 1'000'000'000'000};
    TickFollower follower_;
    std::optional<TickScale> scale_;
};

TEST_F(TickFollowerTest, AScaleTakesTwoReadings) {
    follow();
    EXPECT_FALSE(scale_);
    pass(19'999'999);
    follow();
    EXPECT_FALSE(scale_);  // too near to tell the rate
    pass(kPeriodNs);
    follow();
    ASSERT_TRUE(scale_);
    EXPECT_EQ(scale_->base_ticks, now_.ticks);
    EXPECT_EQ(scale_->base_ns, now_.ns + 100);  // never before what the clock said
    EXPECT_NEAR(static_cast<double>(scale_->factor), 0.4 * 0x1p32, 10);
    EXPECT_NEAR(static_cast<double>(scale_->valid_ticks), 1.25e9, 10);
}

TEST_F(TickFollowerTest, AScaleEndsAfterHalfASecond) {
    settle();
    const std::uint64_t base = scale_->base_ticks;
    EXPECT_TRUE(scale_->covers(base));
    EXPECT_NEAR(static_cast<double>(scale_->valid_ticks), 1.25e9, 1e3);
    EXPECT_TRUE(scale_->covers(base + scale_->valid_ticks - 1));
    EXPECT_FALSE(scale_->covers(base + scale_->valid_ticks));
    EXPECT_FALSE(scale_->covers(base - 1));  // the counter of another core
}

TEST_F(TickFollowerTest, WithoutDriftTheErrorGoesAway) {
    settle();
    EXPECT_LE(std::abs(error_ns()), 1);
    EXPECT_NEAR(static_cast<double>(follower_.worst_error_ns()), 100, 1);
    EXPECT_EQ(follower_.restarts(), 0);
}

TEST_F(TickFollowerTest, TimeNeitherJumpsNorGoesBackWhileTheClockIsSlewed) {
    settle();
    for (int i = 0; i < 200; ++i) {
        const TickScale before = *scale_;
        pass(kPeriodNs, i % 40 < 20 ? 500e-6 : -500e-6);
        follow();
        ASSERT_TRUE(scale_) << i;
        EXPECT_EQ(scale_->base_ns, before.ns(now_.ticks));
        EXPECT_GT(scale_->factor, 0);
    }
    EXPECT_EQ(follower_.restarts(), 0);
    EXPECT_LE(follower_.worst_error_ns(), TickFollower::kMaxErrorNs);
    EXPECT_GT(follower_.worst_error_ns(), 20'000);
}

TEST_F(TickFollowerTest, ASuspensionThatTheCounterDoesNotSeeBeginsAnew) {
    settle();
    now_.ticks += 25'000'000'000;  // ten seconds that CLOCK_MONOTONIC leaves out
    EXPECT_FALSE(scale_->covers(now_.ticks));
    pass(kPeriodNs);
    follow();
    EXPECT_FALSE(scale_);
    EXPECT_EQ(follower_.restarts(), 1);
    pass(kPeriodNs);
    follow();
    ASSERT_TRUE(scale_);
    EXPECT_EQ(error_ns(), 100);
}

TEST_F(TickFollowerTest, ACounterThatGoesBackBeginsAnew) {
    settle();
    now_.ticks = 5;  // suspended to disk
    EXPECT_FALSE(scale_->covers(now_.ticks));
    now_.ns += kPeriodNs;
    follow();
    EXPECT_FALSE(scale_);
}

TEST_F(TickFollowerTest, AStepOfTheClockBeginsAnew) {
    settle();
    pass(kPeriodNs);
    now_.ns += 60'000;
    follow();
    EXPECT_FALSE(scale_);
    EXPECT_NEAR(static_cast<double>(follower_.worst_error_ns()), 60'000, 1);
}

TEST_F(TickFollowerTest, AfterAPauseTheScaleBeginsAtTheClock) {
    settle();
    pass(5'000'000'000);  // nobody drained, or the process was stopped
    follow();
    ASSERT_TRUE(scale_);
    EXPECT_EQ(error_ns(), 100);
    EXPECT_EQ(follower_.restarts(), 0);
}

TEST_F(TickFollowerTest, ACounterThatNeverSettlesIsGivenUp) {
    follow();
    for (int i = 0; i < 100; ++i) {
        now_.ticks += 100'000'000ULL << (i % 2);
        now_.ns += kPeriodNs;
        follow();
    }
    EXPECT_EQ(follower_.restarts(), TickFollower::kMaxRestarts + 1);
    for (int i = 0; i < 10; ++i) {
        pass(kPeriodNs);
        follow();
        EXPECT_FALSE(scale_);
    }
}

TEST_F(TickFollowerTest, ACounterOfOneMegahertzIsNoneOfACpu) {
    follow();
    for (int i = 0; i < 5; ++i) {
        now_.ticks += 50'000;
        now_.ns += kPeriodNs;
        follow();
        EXPECT_FALSE(scale_);
    }
}

}  // namespace
}  // namespace metatrain_timing::detail
