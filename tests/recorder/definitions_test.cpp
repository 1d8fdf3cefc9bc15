#include "recorder/core/src/definitions.hpp"

#include <gtest/gtest.h>

namespace metatrain_timing::detail {
namespace {

TEST(Definitions, NumbersGoOnCountingInTheOrderOfCalls) {
    Definitions definitions;
    EXPECT_EQ(definitions.define_loader({}, -1), 1);
    EXPECT_EQ(definitions.define_loader({}, 5), 5);
    EXPECT_EQ(definitions.define_loader({}, -1), 6);
    EXPECT_EQ(definitions.define_iterator(1, 0, -1, 100), 1);
    EXPECT_EQ(definitions.define_iterator(5, 0, -1, 100), 2);
}

TEST(Definitions, APassEvaluatesFromItsFirstWaitOn) {
    Definitions definitions;
    const auto loader = definitions.define_loader({}, -1);
    const auto pass = definitions.define_iterator(loader, 3, -1, 100);
    EXPECT_EQ(definitions.take().iterators.at(0).phase, "");
    definitions.first_wait(pass, 150);
    definitions.first_wait(pass, 160);
    const IteratorState state = definitions.take().iterators.at(0);
    EXPECT_EQ(state.phase, "evaluation");
    EXPECT_EQ(state.first_wait_ns, 150);
    EXPECT_EQ(state.started_ns, 100);
    EXPECT_EQ(state.epoch, 3);
}

TEST(Definitions, APhaseThatWasNamedStays) {
    Definitions definitions;
    const auto pass = definitions.define_iterator(1, 0, -1, 100);
    definitions.phase(pass, "warm-up");
    definitions.first_wait(pass, 150);
    EXPECT_EQ(definitions.take().iterators.at(0).phase, "warm-up");
    definitions.phase(pass, "train");
    EXPECT_EQ(definitions.take().iterators.at(0).phase, "train");
}

TEST(Definitions, APassEndsOnce) {
    Definitions definitions;
    const auto pass = definitions.define_iterator(1, 0, -1, 100);
    definitions.ended(pass, true, 200);
    definitions.ended(pass, false, 300);
    const IteratorState state = definitions.take().iterators.at(0);
    EXPECT_EQ(state.ended_ns, 200);
    EXPECT_TRUE(state.exhausted);
}

TEST(Definitions, WhatNobodyAnnouncedIsIgnored) {
    Definitions definitions;
    definitions.first_wait(9, 100);
    definitions.phase(9, "train");
    definitions.ended(-1, true, 100);
    EXPECT_FALSE(definitions.pending());
}

TEST(Definitions, APassOverAnUnknownLoaderMakesOne) {
    Definitions definitions;
    definitions.define_iterator(4, 0, -1, 100);
    const auto taken = definitions.take();
    ASSERT_EQ(taken.loaders.size(), 1U);
    EXPECT_EQ(taken.loaders[0].number, 4);
    EXPECT_EQ(taken.loaders[0].info.name, "loader 4");
}

TEST(Definitions, AreTakenOnceUnlessGivenBack) {
    Definitions definitions;
    definitions.define_iterator(definitions.define_loader({}, -1), 0, -1, 100);
    definitions.set_fact("key", "old");
    definitions.set_fact("key", "new");
    definitions.add_problem({1, "code", "text"});
    const auto taken = definitions.take();
    EXPECT_FALSE(definitions.pending());
    EXPECT_TRUE(definitions.take().empty());
    definitions.give_back(taken);
    const auto again = definitions.take();
    EXPECT_EQ(again.loaders.size(), 1U);
    EXPECT_EQ(again.iterators.size(), 1U);
    ASSERT_EQ(again.facts.size(), 1U);
    EXPECT_EQ(again.facts[0].second, "new");
    EXPECT_EQ(again.problems.size(), 1U);
}

TEST(Definitions, AllButProblemsAreWrittenAgainOnDemand) {
    Definitions definitions;
    definitions.define_iterator(definitions.define_loader({}, -1), 0, -1, 100);
    definitions.set_fact("key", "value");
    definitions.add_problem({1, "code", "text"});
    definitions.take();
    definitions.mark_all();
    const auto again = definitions.take();
    EXPECT_EQ(again.loaders.size(), 1U);
    EXPECT_EQ(again.iterators.size(), 1U);
    EXPECT_EQ(again.facts.size(), 1U);
    EXPECT_TRUE(again.problems.empty());
}

TEST(Definitions, ProblemsAreBounded) {
    Definitions definitions;
    for (int index = 0; index < 1000; ++index) {
        definitions.add_problem({index, "code", "text " + std::to_string(index)});
    }
    EXPECT_EQ(definitions.last_problem(), "text 999");
    EXPECT_EQ(definitions.take().problems.size(), Definitions::kMaxProblems);
}

}  // namespace
}  // namespace metatrain_timing::detail
