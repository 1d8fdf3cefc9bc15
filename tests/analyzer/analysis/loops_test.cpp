#include "analyzer/analysis/loops.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::ModelBuilder;
using testing::ElementsAre;
using testing::SizeIs;

constexpr std::int64_t kMs = ModelBuilder::kMillisecond;

TEST(Loops, ATurnIsTheWaitAndTheBodyThatFollows) {
    ModelBuilder run;
    const auto pass = run.iterator(run.loader(run.main(), "data", 0), "train");
    run.add(run.main(), "loader", 100, 110, {pass, 0, 0});
    run.add(run.main(), "step", 110, 140, {pass, 0, 0});
    run.add(run.main(), "optimizer", 130, 138, {pass, 0, 0});
    run.add(run.main(), "loader", 140, 145, {pass, 1, 1});
    run.add(run.main(), "step", 145, 180, {pass, 1, 1});
    run.add(run.main(), "loader_end", 180, 190, {pass, -1, 2});

    const auto passes = find_passes(run.build());

    ASSERT_THAT(passes, SizeIs(1));
    EXPECT_EQ(passes[0].phase, "train");
    EXPECT_EQ(passes[0].start_ns, 100 * kMs);
    EXPECT_EQ(passes[0].end_ns, 190 * kMs);
    EXPECT_TRUE(passes[0].exhausted);
    ASSERT_THAT(passes[0].turns, SizeIs(2));
    EXPECT_EQ(passes[0].turns[0].wait_ns, 10 * kMs);
    EXPECT_EQ(passes[0].turns[0].body_ns, 30 * kMs);
    EXPECT_TRUE(passes[0].turns[0].has_optimizer());
    EXPECT_FALSE(passes[0].turns[1].has_optimizer());
    EXPECT_EQ(passes[0].turns[1].step, 1);
    EXPECT_FALSE(passes[0].turns[1].partial);
}

TEST(Loops, WaitsOfZippedLoadersShareATurn) {
    ModelBuilder run;
    const auto a = run.iterator(run.loader(run.main(), "a", 0), "train");
    const auto b = run.iterator(run.loader(run.main(), "b", 0), "train");
    for (int turn = 0; turn < 2; ++turn) {
        const int at = 100 * turn;
        run.add(run.main(), "loader", at, at + 10, {a, turn, 0});
        run.add(run.main(), "loader", at + 11, at + 15, {b, turn, 0});
        run.add(run.main(), "step", at + 15, at + 100, {a, turn, 0});
    }

    const auto passes = find_passes(run.build());

    ASSERT_THAT(passes, SizeIs(1));
    EXPECT_THAT(passes[0].iterators, ElementsAre(a, b));
    ASSERT_THAT(passes[0].turns, SizeIs(2));
    EXPECT_THAT(passes[0].waits_of(passes[0].turns[0]), SizeIs(2));
    EXPECT_EQ(passes[0].turns[0].wait_ns, 14 * kMs);
    EXPECT_EQ(passes[0].turns[0].body_ns, 85 * kMs);
}

TEST(Loops, ALoopInABodyIsAPassOfItsOwn) {
    ModelBuilder run;
    const auto train = run.iterator(run.loader(run.main(), "train", 0), "train");
    const auto valid = run.iterator(run.loader(run.main(), "valid", 0), "evaluation");
    run.add(run.main(), "loader", 0, 10, {train, 0, 0});
    run.add(run.main(), "step", 10, 100, {train, 0, 0});
    run.add(run.main(), "optimizer", 20, 30, {train, 0, 0});
    run.add(run.main(), "loader", 40, 45, {valid, 0, 0});
    run.add(run.main(), "step", 45, 60, {valid, 0, 0});
    run.add(run.main(), "loader", 100, 105, {train, 1, 1});
    run.add(run.main(), "step", 105, 120, {train, 1, 1});

    const auto passes = find_passes(run.build());

    ASSERT_THAT(passes, SizeIs(2));
    EXPECT_THAT(passes[0].turns, SizeIs(2));
    EXPECT_EQ(passes[1].phase, "evaluation");
    ASSERT_THAT(passes[1].turns, SizeIs(1));
    EXPECT_FALSE(passes[1].turns[0].has_optimizer());
    EXPECT_TRUE(passes[0].turns[0].has_optimizer());
}

TEST(Loops, LoadersThatTakeTurnsInOneLoopAreOnePass) {
    ModelBuilder run;
    const auto a = run.iterator(run.loader(run.main(), "a", 0), "train");
    const auto b = run.iterator(run.loader(run.main(), "b", 0), "train");
    const std::vector<std::int32_t> order{a, b, b, a};
    for (int turn = 0; turn < 4; ++turn) {
        const auto pass = order[static_cast<std::size_t>(turn)];
        run.add(run.main(), "loader", 10 * turn, 10 * turn + 2, {pass, turn, turn});
        run.add(run.main(), "step", 10 * turn + 2, 10 * turn + 10, {pass, turn, turn});
    }

    const auto passes = find_passes(run.build());

    ASSERT_THAT(passes, SizeIs(1));
    EXPECT_THAT(passes[0].iterators, ElementsAre(a, b));
    EXPECT_THAT(passes[0].turns, SizeIs(4));
}

TEST(Loops, PassesThatFollowEachOtherStayApart) {
    ModelBuilder run;
    const auto loader = run.loader(run.main(), "data", 0);
    const auto first = run.iterator(loader, "train");
    const auto second = run.iterator(loader, "train");
    run.add(run.main(), "loader", 0, 1, {first, 0, 0});
    run.add(run.main(), "step", 1, 10, {first, 0, 0});
    run.add(run.main(), "loader", 10, 12, {second, 0, 1});
    run.add(run.main(), "step", 12, 20, {second, 0, 1});

    EXPECT_THAT(find_passes(run.build()), SizeIs(2));
}

TEST(Loops, ATurnWhoseBodyNeverEndedIsPartial) {
    ModelBuilder run;
    const auto pass = run.iterator(run.loader(run.main(), "data", 0), "train", false);
    run.add(run.main(), "loader", 0, 10, {pass, 0, 0});
    run.add_open(run.main(), "step", 10, {pass, 0, 0});
    run.add(run.main(), "forward", 12, 15, {pass, 0, 0});

    const auto passes = find_passes(run.build());

    ASSERT_THAT(passes, SizeIs(1));
    ASSERT_THAT(passes[0].turns, SizeIs(1));
    EXPECT_TRUE(passes[0].turns[0].partial);
}

TEST(Loops, AnInnerLoopOfAnUnfinishedBodyIsNotZippedToIt) {
    ModelBuilder run;
    const auto train = run.iterator(run.loader(run.main(), "train", 0), "train", false);
    const auto valid =
        run.iterator(run.loader(run.main(), "valid", 0), "evaluation", false);
    run.add(run.main(), "loader", 0, 10, {train, 0, 0});
    run.add_open(run.main(), "step", 10, {train, 0, 0});
    run.add(run.main(), "loader", 20, 25, {valid, 0, 0});
    run.add(run.main(), "step", 25, 30, {valid, 0, 0});

    const auto passes = find_passes(run.build());

    ASSERT_THAT(passes, SizeIs(2));
    EXPECT_TRUE(passes[0].turns[0].partial);
    EXPECT_FALSE(passes[1].turns[0].partial);
}

TEST(Loops, AWaitThatNeverEndedIsAPartialTurn) {
    ModelBuilder run;
    const auto pass =
        run.iterator(run.loader(run.main(), "data", 2), "evaluation", false);
    run.add(run.main(), "worker_start", 0, 10, {pass, -1, 0});
    run.add_open(run.main(), "loader", 10, {pass, 0, 0});

    const auto passes = find_passes(run.build());

    ASSERT_THAT(passes, SizeIs(1));
    ASSERT_THAT(passes[0].turns, SizeIs(1));
    EXPECT_TRUE(passes[0].turns[0].partial);
    EXPECT_EQ(passes[0].end_ns - passes[0].start_ns, 0);
}

// Two turns with an optimizer, then one without, in a pass that was or was not left
// early.
std::vector<Turn> turns_with_a_last_one_without_optimizer(bool exhausted) {
    ModelBuilder run;
    const auto pass =
        run.iterator(run.loader(run.main(), "data", 0), "train", exhausted);
    for (int turn = 0; turn < 3; ++turn) {
        const int at = 100 * turn;
        run.add(run.main(), "loader", at, at + 10, {pass, turn, turn});
        run.add(run.main(), "step", at + 10, at + 90, {pass, turn, turn});
        if (turn < 2) {
            run.add(run.main(), "optimizer", at + 50, at + 60, {pass, turn, turn});
        }
    }
    return find_passes(run.build()).at(0).turns;
}

TEST(Loops, TheLastTurnOfAnInterruptedPassIsPartialIfItAloneSawNoOptimizer) {
    EXPECT_TRUE(turns_with_a_last_one_without_optimizer(false).at(2).partial);
    EXPECT_FALSE(turns_with_a_last_one_without_optimizer(false).at(1).partial);
    EXPECT_FALSE(turns_with_a_last_one_without_optimizer(true).at(2).partial);
}

TEST(Loops, AFirstBodyThatRaisedIsPartial) {
    for (const bool exhausted : {false, true}) {
        ModelBuilder run;
        const auto fit =
            run.iterator(run.loader(run.main(), "fit", 0), "evaluation", true);
        const auto pass =
            run.iterator(run.loader(run.main(), "data", 0), "evaluation", exhausted);
        run.add(run.main(), "loader", 0, 10, {fit, 0, 0});
        run.add(run.main(), "step", 10, 20, {fit, 0, 0});
        run.add(run.main(), "loader", 30, 40, {pass, 0, 0});
        run.add(run.main(), "step", 40, 41, {pass, 0, 0});

        const auto passes = find_passes(run.build());

        ASSERT_THAT(passes, SizeIs(2));
        EXPECT_FALSE(passes[0].turns[0].partial);
        EXPECT_EQ(passes[1].turns[0].partial, !exhausted);
    }
}

TEST(Loops, WithGradientAccumulationATurnWithoutOptimizerIsComplete) {
    ModelBuilder run;
    const auto pass = run.iterator(run.loader(run.main(), "data", 0), "train", false);
    for (int turn = 0; turn < 5; ++turn) {
        const int at = 100 * turn;
        run.add(run.main(), "loader", at, at + 10, {pass, turn, turn / 2});
        run.add(run.main(), "step", at + 10, at + 90, {pass, turn, turn / 2});
        if (turn % 2 == 1) {
            run.add(run.main(), "optimizer", at + 50, at + 60, {pass, turn, turn / 2});
        }
    }

    const auto turns = find_passes(run.build()).at(0).turns;

    ASSERT_THAT(turns, SizeIs(5));
    EXPECT_FALSE(turns[4].partial);
}

TEST(Loops, ALoopTimedWithoutALoaderTrains) {
    ModelBuilder run;
    run.add(run.main(), "loader", 0, 10);
    run.add(run.main(), "step", 10, 30);
    run.add(run.main(), "loader", 30, 35);
    run.add(run.main(), "step", 35, 60);

    const auto passes = find_passes(run.build());

    ASSERT_THAT(passes, SizeIs(1));
    EXPECT_EQ(passes[0].phase, "train");
    EXPECT_THAT(passes[0].turns, SizeIs(2));
}

TEST(Loops, WorkersHaveNone) {
    ModelBuilder run;
    const auto loader = run.loader(run.main(), "data", 1);
    const auto pass = run.iterator(loader, "train");
    run.add(run.worker(loader, 0, 0, 100), "loader", 0, 10, {pass, 0});

    EXPECT_THAT(find_passes(run.build()), SizeIs(0));
}

}  // namespace
}  // namespace metatrain_timing::analyzer
