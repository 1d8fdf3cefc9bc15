#include <metatrain_timing/recorder/step_tracker.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/child_process.hpp"

namespace metatrain_timing {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(StepTracker, ARequesterCountsItsSteps) {
    StepTracker tracker;
    EXPECT_EQ(tracker.current_step(), 0);
    EXPECT_EQ(tracker.increment_step("loop"), 1);
    EXPECT_EQ(tracker.increment_step("loop"), 2);
    EXPECT_EQ(tracker.current_step(), 2);
    EXPECT_THAT(tracker.step_counts(), ElementsAre(Pair("loop", 2)));
}

TEST(StepTracker, TwoThatStepInTurnsRaiseItOncePerRound) {
    StepTracker tracker;
    tracker.init_step_count("adam");
    tracker.init_step_count("sgd");
    for (int round = 1; round <= 5; ++round) {
        EXPECT_EQ(tracker.increment_step("adam"), round);
        EXPECT_EQ(tracker.increment_step("sgd"), round);
    }
}

TEST(StepTracker, ANewRequesterBeginsWithTheCurrentStep) {
    StepTracker tracker;
    tracker.increment_step("a");
    tracker.increment_step("a");
    tracker.init_step_count("b");
    EXPECT_THAT(tracker.step_counts(), ElementsAre(Pair("a", 2), Pair("b", 2)));
    EXPECT_EQ(tracker.increment_step("b"), 3);
    EXPECT_EQ(tracker.increment_step("a"), 3);
    EXPECT_EQ(tracker.increment_step("c"), 4);
}

TEST(StepTracker, BeginningAnewTakesARequesterToTheCurrentStep) {
    StepTracker tracker;
    tracker.init_step_count("slow");
    tracker.increment_step("fast");
    tracker.increment_step("fast");
    EXPECT_EQ(tracker.increment_step("slow"), 2);
    tracker.init_step_count("slow");
    EXPECT_EQ(tracker.increment_step("slow"), 3);
}

TEST(StepTracker, ErasingTheLeaderDoesNotLowerTheStep) {
    StepTracker tracker;
    tracker.init_step_count("b");
    tracker.increment_step("a");
    tracker.increment_step("a");
    EXPECT_TRUE(tracker.erase_step_count("a"));
    EXPECT_FALSE(tracker.erase_step_count("a"));
    EXPECT_EQ(tracker.current_step(), 2);
    // "b" has counted none of the two.
    EXPECT_EQ(tracker.increment_step("b"), 2);
    EXPECT_EQ(tracker.increment_step("b"), 2);
    EXPECT_EQ(tracker.increment_step("b"), 3);
}

TEST(StepTracker, TrackersKnowNothingOfEachOther) {
    StepTracker one;
    StepTracker other;
    one.increment_step("a");
    EXPECT_EQ(other.current_step(), 0);
    EXPECT_NE(&StepTracker::of_process(), &one);
    EXPECT_EQ(&StepTracker::of_process(), &StepTracker::of_process());
}

TEST(StepTracker, TheHookIsCalledOncePerStep) {
    std::vector<std::int64_t> steps;
    StepTracker tracker([&](std::int64_t step) { steps.push_back(step); });
    for (int round = 0; round < 3; ++round) {
        tracker.increment_step("a");
        tracker.increment_step("b");
    }
    // "b" is new in the first round, after "a" has raised the step.
    EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4));
}

TEST(StepTracker, AHookMayAskForAStep) {
    std::vector<std::int64_t> steps;
    StepTracker* self = nullptr;
    StepTracker tracker([&](std::int64_t step) {
        steps.push_back(step);
        if (step < 3) {
            self->increment_step("a");
            steps.push_back(-step);  // the next one is not called from in here
        }
    });
    self = &tracker;
    EXPECT_EQ(tracker.increment_step("a"), 3);
    EXPECT_THAT(steps, ElementsAre(1, -1, 2, -2, 3));
}

TEST(StepTracker, WhatAHookThrowsComesOutAndTheStepCounts) {
    int calls = 0;
    StepTracker tracker([&](std::int64_t) {
        if (++calls == 1) {
            throw std::runtime_error("no");
        }
    });
    EXPECT_THROW(tracker.increment_step("a"), std::runtime_error);
    EXPECT_EQ(tracker.current_step(), 1);
    EXPECT_EQ(tracker.increment_step("a"), 2);
    EXPECT_EQ(calls, 2);
}

TEST(StepTracker, EightThreadsCountEveryStep) {
    constexpr int kThreads = 8;
    constexpr std::int64_t kSteps = 2'000;
    std::int64_t last = 0;  // hooks come one at a time, so that no atomic is needed
    bool in_order = true;
    StepTracker tracker([&](std::int64_t step) {
        in_order = in_order && step == last + 1;
        last = step;
    });
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < kThreads; ++thread) {
            threads.emplace_back([&tracker, name = std::to_string(thread)] {
                for (int step = 0; step < kSteps; ++step) {
                    tracker.increment_step("all");
                    tracker.increment_step(name);
                    tracker.init_step_count(name + "'");
                    tracker.erase_step_count(name + "'");
                }
            });
        }
    }
    EXPECT_EQ(tracker.step_counts().at("all"), kThreads * kSteps);
    EXPECT_EQ(tracker.current_step(), last);
    EXPECT_TRUE(in_order);
    // Each thread's own count begins where the step is, so that it may be ahead.
    EXPECT_GE(tracker.current_step(), kThreads * kSteps);
}

TEST(StepTracker, AForkedChildGoesOnWithACopy) {
    std::atomic<bool> is_over{false};
    StepTracker tracker;
    std::jthread other([&] {
        while (!is_over.load()) {
            tracker.increment_step("other");
        }
    });
    for (int child = 0; child < 50; ++child) {
        const std::int64_t before = tracker.increment_step("main");
        const auto result = test::in_child([&] {
            const std::int64_t inherited = tracker.current_step();
            for (int step = 0; step < 100; ++step) {
                tracker.increment_step("child");
            }
            _exit(inherited >= before && tracker.current_step() == inherited + 100 ? 7
                                                                                   : 1);
        });
        EXPECT_EQ(result.exit_code, 7);
    }
    is_over = true;
}

}  // namespace
}  // namespace metatrain_timing
